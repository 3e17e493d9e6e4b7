/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending. */
#ifndef LIBRDMACM_PRELOAD_TRANSFER_H
#define LIBRDMACM_PRELOAD_TRANSFER_H

#include <sys/types.h>

/*
 * Raise SIGPIPE, as TCP does, if a send by the RDMA socket failed with EPIPE. Return:
 * @n, the result of the send.
 */
ssize_t send_signal(int rs, ssize_t n, int flags);

#endif
