/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a socket to a connection: handshake.c, and rs_connect_finish() of connect.c. */
#ifndef LIBRDMACM_RSOCKET_HANDSHAKE_H
#define LIBRDMACM_RSOCKET_HANDSHAKE_H

#include "librdmacm/rsocket/socket.h"

/* With @lock held. Handle the events of the connection manager, without waiting. */
void rs_connect_step(struct rs_socket *s);

bool rs_connect_has_ended(struct rs_socket *s);
/* End the connection to a peer that did not acknowledge a request. */
void rs_silence_resolve(struct rs_socket *s);
/* Return whether an RDMA listener can have the address, with another port. */
bool rs_is_bindable(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen);
/*
 * End a connect that is under way. Its caller gets ECONNRESET. Return: whether there was a connect.
 */
bool rs_connect_end(struct rs_socket *s);
/*
 * Wait until the connection is made or failed, or until @ended returns true, if @wait allows. 0:
 * the attempt has ended.
 */
int rs_connect_finish(struct rs_socket *s, bool (*ended)(struct rs_socket *s), enum rs_wait wait);

#endif
