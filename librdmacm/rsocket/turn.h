/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of senders, and of receivers. */
#ifndef LIBRDMACM_RSOCKET_TURN_H
#define LIBRDMACM_RSOCKET_TURN_H

#include "librdmacm/rsocket/socket.h"

void rs_turn_init(struct rs_turn *t);
void rs_turn_destroy(struct rs_turn *t);
/*
 * Return: 0; -EAGAIN: the holder waits for the peer, and the caller does not want to wait, or its
 * timeout has passed; -EINTR: a signal.
 */
int rs_turn_take(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait);
void rs_turn_give(struct rs_socket *s, struct rs_turn *t);
/*
 * As rs_wait(), for the holder of the turn. @begun: the call is in the middle of its data and keeps
 * the turn. Otherwise the turn is given away during the wait, and after an error the call may have
 * lost it: rs_turn_give() checks.
 */
int rs_turn_wait(struct rs_socket *s, struct rs_turn *t, bool begun,
		 bool (*ready)(struct rs_socket *s), enum rs_wait wait, int timeout_ms);

#endif
