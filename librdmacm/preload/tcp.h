/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replacing an RDMA socket by a TCP or UDP socket, or by a fresh RDMA socket. */
#ifndef LIBRDMACM_PRELOAD_TCP_H
#define LIBRDMACM_PRELOAD_TCP_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Replace the RDMA socket of @fd by a TCP or UDP socket with the same numbers. Return: 0, or -1
 * with errno.
 */
int socket_to_tcp(int fd, const char *what);
/* Connect by TCP, after RDMA failed with errno. Return: as connect(). */
int socket_connect_tcp(int fd, const struct sockaddr *addr, socklen_t addrlen);
/*
 * Take the result of a TCP connect that failed, if no call has returned it yet. Return: whether
 * errno is this result.
 */
bool socket_result_take(int fd);
/* Put an RDMA socket in the place of a TCP socket that could not connect. Return: the RDMA socket,
 * or -1 if TCP stays. */
int socket_to_rdma(int fd);
/* Do the same as socket_disconnect() for a connection that processes share. For the other processes
 * the connection ends. */
int socket_disconnect_relayed(int fd);
/*
 * Take a fresh RDMA socket if connect() failed before, or if a listener was shut down. Return: as
 * fd_socket().
 */
int socket_renew(int fd);
/* Reset the connection, as connect() to no address does. Return: 0, or -1 with errno. */
int socket_disconnect(int fd);
/* Return whether the socket is a UDP socket from now on, after a datagram could not be sent. */
bool socket_is_udp_now(int fd);

#endif
