/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA sockets that this process has inherited. */
#ifndef LIBRDMACM_PRELOAD_HEIR_H
#define LIBRDMACM_PRELOAD_HEIR_H

#include <stdbool.h>
#include <sys/socket.h>

#include "librdmacm/preload/door.h"

/* Each FD_RELAYED descriptor has names */
int heir_door_for_child(void); /* -1: no door */
void heir_begin(int door);
void heir_closed(int rs);
int heir_claim(int fd); /* Return: as fd_socket() */
int heir_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags);
int heir_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen);
/* Return the protocol family. *ret_has_peer: whether the socket has a peer; may be NULL */
int heir_family(int fd, bool *ret_has_peer);
/* Set the peer of all descriptors of this socket. @size 0: it has no peer. */
void heir_set_peer(int fd, const struct sockaddr *addr, socklen_t size);
bool heir_is_same(int fd, int other); /* both descriptors belong to one socket of the kernel */
/* Set the names of all descriptors of the relay with this number. */
void heir_rename(int relay, const struct relay_names *names);
/* Give @fd names, with the lock held. @relay: the number of the relay in this process, or 0. */
void heir_add(int fd, int relay, const struct relay_names *names);
int heir_relay(int fd);
void heir_copy(int fd, int copy);
void heir_forget(int fd);

#endif
