/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagram sockets that processes share. */
#ifndef LIBRDMACM_PRELOAD_DATAGRAM_H
#define LIBRDMACM_PRELOAD_DATAGRAM_H

#include <sys/socket.h>
#include <sys/types.h>

/*
 * Calls for a FD_RELAYED_DATAGRAM descriptor. A receive returns no control messages,
 * and a send ignores them.
 */
ssize_t datagram_send(int fd, const struct msghdr *msg, int flags);
ssize_t datagram_receive(int fd, struct msghdr *msg, int flags);
int datagram_connect(int fd, const struct sockaddr *addr, socklen_t size);
int datagram_shutdown(int fd, int how);
int datagram_bytes_waiting(int fd, int *ret_bytes);
/* Let the Unix domain socket send the largest datagram, as a UDP socket with any buffer does. */
void datagram_room_need(int fd);

#endif
