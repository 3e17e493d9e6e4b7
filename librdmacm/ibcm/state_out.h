/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of a step of the state machine: messages, events, the next state. Used by state.c, for
 * the calls of the application, and by state_message.c, for messages and time.
 */
#ifndef IBCM_STATE_OUT_H
#define IBCM_STATE_OUT_H

#include "librdmacm/ibcm/state.h"

void ibcm_out_data(struct ibcm_out *out, const uint8_t data[IBCM_MAD_LEN]);
void ibcm_out_event(struct ibcm_out *out, enum ibcm_event event, int status);

/*
 * Send a message with the connection's ids, once or until the peer answers. -EINVAL: it does not
 * fit.
 */
int ibcm_out_mad(const struct ibcm_conn *conn, struct ibcm_mad *mad, struct ibcm_out *out);
int ibcm_out_repeated(struct ibcm_conn *conn, struct ibcm_mad *mad, uint64_t now,
		      struct ibcm_out *out);
void ibcm_out_plain(const struct ibcm_conn *conn, enum ibcm_message type, struct ibcm_out *out);
void ibcm_out_drep(struct ibcm_conn *conn, struct ibcm_out *out);
void ibcm_out_mra(const struct ibcm_conn *conn, enum ibcm_answered answered, struct ibcm_out *out);
int ibcm_out_rej(const struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		 uint32_t private_len, struct ibcm_out *out);

/* state_message.c: end the connection, because no answer came. */
void ibcm_give_up(struct ibcm_conn *conn, uint64_t now, int status, struct ibcm_out *out);

/* state_probe.c: repeat the request early until an answer comes. */
void ibcm_ask_begin(struct ibcm_conn *conn, uint64_t now);
void ibcm_ask_end(struct ibcm_conn *conn);
/* Return whether the deadline belonged to an early repetition. */
bool ibcm_ask_early(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* Repeat the last message. */
void ibcm_repeat(struct ibcm_conn *conn, struct ibcm_out *out);

/* Send a probe to the peer; handle the answer to it. */
void ibcm_probe_due(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
void ibcm_probe_answered(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out);

/* Enter the next state, without a deadline. Only TIMEWAIT has a deadline. */
void ibcm_become(struct ibcm_conn *conn, enum ibcm_state state);
void ibcm_become_timewait(struct ibcm_conn *conn, uint64_t now);

#endif
