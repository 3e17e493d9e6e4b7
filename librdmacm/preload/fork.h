/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections that use TCP until their first use, for servers that fork. */
#ifndef LIBRDMACM_PRELOAD_FORK_H
#define LIBRDMACM_PRELOAD_FORK_H

#include <stdbool.h>
#include <sys/socket.h>

bool fork_is_wanted(void);
int fork_connect(int fd, const struct sockaddr *addr, socklen_t addrlen);
/* Change the connection to RDMA, if possible. Return: as fd_socket(). */
int fork_change_over(int fd);

#endif
