/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the steps of the state machine are made of: messages, events, the next state. Of state.c,
 * what the application does, and state_message.c, what the other side and time do.
 */
#ifndef IBCM_STATE_OUT_H
#define IBCM_STATE_OUT_H

#include "librdmacm/ibcm/state.h"

void ibcm_out_data(struct ibcm_out *out, const uint8_t data[IBCM_MAD_LEN]);
void ibcm_out_event(struct ibcm_out *out, enum ibcm_event event, int status);

/* A message with the connection's ids: once, or until the peer answers. -EINVAL: it does not fit.
 */
int ibcm_out_mad(const struct ibcm_conn *conn, struct ibcm_mad *mad, struct ibcm_out *out);
int ibcm_out_repeated(struct ibcm_conn *conn, struct ibcm_mad *mad, uint64_t now,
		      struct ibcm_out *out);
void ibcm_out_plain(const struct ibcm_conn *conn, enum ibcm_message type, struct ibcm_out *out);
void ibcm_out_drep(struct ibcm_conn *conn, struct ibcm_out *out);
void ibcm_out_mra(const struct ibcm_conn *conn, enum ibcm_answered answered, struct ibcm_out *out);
int ibcm_out_rej(const struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		 uint32_t private_len, struct ibcm_out *out);

/* state_message.c: nobody answered. */
void ibcm_give_up(struct ibcm_conn *conn, uint64_t now, int status, struct ibcm_out *out);
/* state_probe.c: ask whether the peer is there; it answered. */

/* state_probe.c: the request, which was sent, goes out again early until something comes back. */
void ibcm_ask_begin(struct ibcm_conn *conn, uint64_t now);
void ibcm_ask_end(struct ibcm_conn *conn);
/* Return: whether it was one of the early ones. */
bool ibcm_ask_early(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* Repeats what was sent last, in its time. */
void ibcm_repeat(struct ibcm_conn *conn, struct ibcm_out *out);

void ibcm_probe_due(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
void ibcm_probe_answered(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out);

/* The next state, in which nothing is waited for; TIMEWAIT for its end. */
void ibcm_become(struct ibcm_conn *conn, enum ibcm_state state);
void ibcm_become_timewait(struct ibcm_conn *conn, uint64_t now);

#endif
