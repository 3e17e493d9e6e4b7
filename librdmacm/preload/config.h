/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choice of programs and sockets. */
#ifndef LIBRDMACM_PRELOAD_CONFIG_H
#define LIBRDMACM_PRELOAD_CONFIG_H

#include <stdbool.h>

/* Return whether RDMA takes sockets of that kind. @type: without flags */
bool config_takes(int domain, int type, int protocol);

#endif
