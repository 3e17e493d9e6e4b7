/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The entries of a socket in epolls. */
#ifndef LIBRDMACM_PRELOAD_ENTRIES_H
#define LIBRDMACM_PRELOAD_ENTRIES_H

#include "librdmacm/rsocket/private.h"

struct entries {
	struct rs_entry *list; /* freed by socket_entries_give() */
	unsigned int count;
};
struct entries socket_entries_take(int rs);
/* Add the entries again. Their descriptors are sockets of the kernel now. */
void socket_entries_give(struct entries *e);
/* Add the entries of a socket of the kernel. */
void kernel_entries_take(int fd, struct entries *e);

#endif
