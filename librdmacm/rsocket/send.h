/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The send buffer. */
#ifndef LIBRDMACM_RSOCKET_SEND_H
#define LIBRDMACM_RSOCKET_SEND_H

#include "librdmacm/rsocket/socket.h"

/*
 * Wait for the first message of the peer, on the accepting side of iWARP. Data that arrives right
 * behind the answer to the peer's request may end the connection. Our peers send a message at once,
 * which may take long on a busy host. Other peers may send none: wait one second for them.
 */
void rs_first_word_await(struct rs_socket *s);
/* Return the bytes that the send buffer takes in one piece. @lock is held. */
uint32_t rs_send_free(const struct rs_socket *s);
/* Copy @length bytes into the send buffer. */
struct ibv_sge rs_send_copy(struct rs_socket *s, const void *bytes, uint32_t length);

#endif
