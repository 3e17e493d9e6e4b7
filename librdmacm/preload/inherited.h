/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA sockets that this process has inherited. */
#ifndef LIBRDMACM_PRELOAD_INHERITED_H
#define LIBRDMACM_PRELOAD_INHERITED_H

#include <stdbool.h>
#include <sys/socket.h>

#include "librdmacm/preload/channel.h"

/* Each FD_RELAYED descriptor has names */
int inherited_channel_for_child(void); /* -1: no channel */
void inherited_begin(int channel);
void inherited_closed(int rs);
int inherited_claim(int fd); /* Return: as fd_socket() */
int inherited_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags);
int inherited_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen);
/* Return the protocol family. *ret_has_peer: whether the socket has a peer; may be NULL */
int inherited_family(int fd, bool *ret_has_peer);
/* Set the peer of all descriptors of this socket. @size 0: it has no peer. */
void inherited_set_peer(int fd, const struct sockaddr *addr, socklen_t size);
bool inherited_is_same(int fd, int other); /* both descriptors belong to one socket of the kernel */
/* Set the names of all descriptors of the relay with this number. */
void inherited_rename(int relay, const struct relay_names *names);
/* Give @fd names, with the lock held. @relay: the number of the relay in this process, or 0. */
void inherited_add(int fd, int relay, const struct relay_names *names);
int inherited_relay(int fd);
void inherited_copy(int fd, int copy);
void inherited_forget(int fd);

#endif
