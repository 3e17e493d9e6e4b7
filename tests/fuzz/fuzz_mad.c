/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the connection manager from the network: unpacking any bytes, the header of
 * connections by IP address, and a connection that follows the messages.
 *
 * An input is a list of steps: control byte, then for a message its type, whether it is about
 * this side's connection, and its bytes. The other steps are actions of the program and the
 * clock.
 */
#include <stdlib.h>

#include "librdmacm/ibcm/state.h"
#include "tests/fuzz/input.h"
#include "util/util.h"

enum {
	STEPS_MAX = 64,
	BODY = 24,
	LOCAL_ID = 0x01020304,
	FLAG_HEADER = 1 << 0, /* valid class, version and method */
	FLAG_OURS = 1 << 1,   /* the receiver's id belongs to this side */
};

/* Checked even if assertions are compiled out. */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static struct ibcm_conn conn;
static uint64_t now;

/* A peer can read every message that is sent, and every wait has a deadline. */
static void check(const struct ibcm_out *out)
{
	struct ibcm_mad mad;

	MUST(conn.state < IBCM_STATES);
	MUST(out->mads <= ARRAY_SIZE(out->mad));
	for (unsigned int i = 0; i < out->mads; i++)
		MUST(!ibcm_mad_unpack(out->mad[i], &mad));
	if (conn.state == IBCM_REQ_SENT || conn.state == IBCM_REP_SENT ||
	    conn.state == IBCM_DREQ_SENT || conn.state == IBCM_TIMEWAIT)
		MUST(conn.deadline);
	else if (conn.state != IBCM_SIDR_REQ_SENT)
		MUST(!conn.deadline);
}

static void check_ip(const struct ibcm_mad *mad)
{
	uint8_t data[IBCM_IP_LEN];
	struct ibcm_ip ip, back;

	if (ibcm_ip_unpack(mad->private_data, mad->private_len, &ip) < 0)
		return;
	ibcm_ip_pack(&ip, data);
	MUST(!ibcm_ip_unpack(data, sizeof(data), &back));
	MUST(!memcmp(&ip, &back, sizeof(ip)));
}

static void step_message(struct input *in)
{
	uint8_t flags = input_u8(in), data[IBCM_MAD_LEN], again[IBCM_MAD_LEN];
	static const uint8_t header[] = { 1, 7, 2, 3 }, ours[] = { 1, 2, 3, 4 };
	struct ibcm_mad mad, answer;
	struct ibcm_out out = {};

	input_bytes(in, data, sizeof(data));
	if (flags & FLAG_HEADER) {
		memcpy(data, header, sizeof(header));
		data[16] = 0;
	}
	if (flags & FLAG_OURS)
		memcpy(data + BODY + 4, ours, sizeof(ours));
	if (ibcm_mad_unpack(data, &mad) < 0)
		return;
	MUST(!ibcm_mad_pack(&mad, again));
	check_ip(&mad);
	if (!ibcm_state_stray(&mad, &answer))
		MUST(!ibcm_mad_pack(&answer, again));
	if (conn.state == IBCM_IDLE && (mad.type == IBCM_REQ || mad.type == IBCM_SIDR_REQ)) {
		conn = (struct ibcm_conn){ .local_id = LOCAL_ID };
		MUST(!ibcm_state_arrive(&conn, &mad));
	} else {
		ibcm_state_message(&conn, &mad, now, &out);
	}
	check(&out);
}

static void step_request(struct input *in)
{
	struct ibcm_mad mad = { .type = input_u8(in) % 2 ? IBCM_REQ : IBCM_SIDR_REQ,
				.local_id = LOCAL_ID };
	struct ibcm_out out = {};

	if (conn.state == IBCM_IDLE)
		conn = (struct ibcm_conn){};
	if (mad.type == IBCM_REQ)
		mad.req = (struct ibcm_req){ .max_cm_retries = input_u8(in) % 16,
					     .remote_response_timeout = input_u8(in) % 32 };
	ibcm_state_request(&conn, &mad, now, &out);
	check(&out);
}

static void step_program(unsigned int what)
{
	struct ibcm_mad reply = { .type = conn.state == IBCM_SIDR_REQ_RCVD ? IBCM_SIDR_REP
									   : IBCM_REP };
	struct ibcm_out out = {};

	switch (what) {
	case 0:
		ibcm_state_reply(&conn, &reply, now, &out);
		break;
	case 1:
		ibcm_state_establish(&conn, &out);
		break;
	case 2:
		ibcm_state_reject(&conn, IBCM_REJ_CONSUMER, NULL, 0, now, &out);
		break;
	case 3:
		ibcm_state_disconnect(&conn, now, &out);
		break;
	case 4:
		ibcm_state_destroy(&conn, now, &out);
		break;
	case 5:
		ibcm_state_peer_gone(&conn, now, &out);
		break;
	}
	check(&out);
}

static void step_time(void)
{
	struct ibcm_out out = {};

	now = conn.deadline ? conn.deadline : now + 1;
	ibcm_state_timeout(&conn, now, &out);
	check(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	conn = (struct ibcm_conn){ .local_id = LOCAL_ID };
	now = 1;
	for (unsigned int i = 0; i < STEPS_MAX && in.size; i++) {
		uint8_t control = input_u8(&in) % 16;

		if (control < 8)
			step_message(&in);
		else if (control == 8)
			step_request(&in);
		else if (control == 9)
			step_time();
		else
			step_program(control - 10);
	}
	return 0;
}
