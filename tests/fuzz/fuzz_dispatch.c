/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A host with a listener, connections in every state and requests without a listener, to which
 * peers and strangers send messages. Its program takes each offered connection, and destroys it. An
 * input is a list of steps.
 *
 * Invariants:
 *
 * - No message of a stranger changes a connection of others.
 *
 * - Every wait has a deadline: at most a minute beside the time that the peer asked for.
 *
 * - No object is left two minutes after the program has destroyed everything.
 */
#include <endian.h>
#include <stdlib.h>

#include "libibverbs/provider.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/dispatch.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/table.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ibcm/host.h"
#include "util/util.h"

enum {
	STEPS_MAX = 128,
	PEERS = 2,
	STRANGER = 9, /* has only connections that it asks for itself */
	CONNECTIONS = 3,
	BACKLOG = 4,
	BODY = 24,
	IDS_MAX = 64,
	LATER_PORT = HOST_PORT + 1,
};
#define SECOND 1000000000ull

/* Checked even if assertions are compiled out. */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static struct ibcm_id *ids[IDS_MAX]; /* the program's identifiers */
static struct ibcm_id *listener;
static unsigned int count;

static void keep(struct ibcm_id *iid)
{
	if (count < IDS_MAX)
		ids[count++] = iid;
	else
		host_destroy(iid);
}

/* --- invariants --- */

static unsigned int seen;

static void check_one(struct ibcm_id *iid, void *arg)
{
	const struct ibcm_conn *conn = &iid->conn;

	seen++;
	MUST(iid->in_table && conn->state < IBCM_STATES);
	MUST(ibcm_table_find(conn->local_id) == iid);
	MUST(!iid->detached || (!iid->id && conn->state != IBCM_IDLE));
	MUST(!iid->heap_place == !conn->deadline);
	MUST(!conn->deadline || conn->deadline <= host.now + 3 * 60 * SECOND);
	if (conn->state == IBCM_REP_SENT || conn->state == IBCM_DREQ_SENT ||
	    conn->state == IBCM_TIMEWAIT || conn->state == IBCM_REQ_SENT)
		MUST(conn->deadline);
}

static void check(void)
{
	for (unsigned int i = 0; i < count; i++)
		if (ids[i]->in_table)
			check_one(ids[i], NULL);
	MUST(listener->waiting >= 0 && listener->waiting <= BACKLOG + PEERS + 1);
}

static void check_all(void)
{
	seen = 0;
	ibcm_table_each(check_one, NULL);
	MUST(seen == (1u << 16) - ibcm_table_room());
}

/* Return a digest of the program's objects, without those that the stranger asked for, because
 * it may change them. */
static uint32_t digest(void)
{
	union ibv_gid stranger = host_gid(STRANGER);
	uint32_t sum = 0;

	for (unsigned int i = 0; i < count; i++) {
		const uint8_t *p = (const uint8_t *)&ids[i]->conn;

		if (!memcmp(&ids[i]->remote_gid, &stranger, sizeof(stranger)))
			continue;
		for (size_t n = 0; n < sizeof(ids[i]->conn); n++)
			sum = sum * 31 + p[n];
	}
	return sum;
}

/* --- messages --- */

/* Write the ids of a connection, so that the message may concern it. */
static void name_connection(struct input *in, uint8_t *data)
{
	const struct ibcm_conn *conn;
	uint8_t what = input_u8(in);
	uint32_t local, remote, qpn;

	if (!count)
		return;
	conn = &ids[input_u8(in) % count]->conn;
	local = htobe32(conn->local_id);
	remote = htobe32(conn->remote_id);
	qpn = htobe32(conn->qp.local_qpn << 8);
	if (what & 1)
		memcpy(data + BODY, &remote, sizeof(remote));
	if (what & 2)
		memcpy(data + BODY + 4, &local, sizeof(local));
	if (what & 4)
		memcpy(data + BODY + 8, &qpn, 3);
	if (what & 8) { /* messages of its probe */
		uint64_t tid = htobe64(conn->probe.tid);

		memcpy(data + 8, &tid, sizeof(tid));
	}
}

static void arrive(uint8_t from, const uint8_t data[IBCM_MAD_LEN])
{
	struct verbs_gsi_mad mad = { .port_num = 1,
				     .local_gid = host.gid,
				     .remote_gid = host_gid(from) };
	uint32_t before = digest();

	memcpy(mad.data, data, sizeof(mad.data));
	ibcm_arrived(&host.dev, &mad);
	if (from == STRANGER)
		MUST(digest() == before);
}

static uint8_t sender(struct input *in)
{
	uint8_t n = input_u8(in) % (PEERS + 1);

	return n < PEERS ? 2 + n : STRANGER;
}

static void step_message(struct input *in)
{
	static const uint8_t header[] = { 1, 7, 2, 3 };
	uint8_t data[IBCM_MAD_LEN], from = sender(in), type = input_u8(in);

	input_bytes(in, data, sizeof(data));
	memcpy(data, header, sizeof(header));
	data[16] = 0;
	data[17] = IBCM_REQ + type % (IBCM_APR - IBCM_REQ + 2);
	name_connection(in, data);
	arrive(from, data);
}

/* Deliver a request as a peer makes it, with changes by the input. */
static void step_request(struct input *in)
{
	uint8_t from = sender(in);
	union ibv_gid gid = host_gid(from);
	struct ibcm_mad mad = host_req(&gid, 1 + input_u8(in) % 16, 1 + input_u8(in) % 16,
				       input_u8(in) % 4 ? HOST_PORT : LATER_PORT);
	uint8_t data[IBCM_MAD_LEN];

	mad.req.primary.ack_timeout = input_u8(in) % 32;
	mad.req.local_response_timeout = input_u8(in) % 32;
	MUST(!ibcm_mad_pack(&mad, data));
	arrive(from, data);
}

static void step_refused(struct input *in)
{
	struct ibcm_out out = {};
	struct ibcm_id *iid;

	if (!count)
		return;
	iid = ids[input_u8(in) % count];
	ibcm_state_refused(&iid->conn, host.now, &out);
	ibcm_run(iid, &out, NULL);
}

/* --- the program --- */

static void step_events(void)
{
	struct cm_event event;

	while (host_event(&event) >= 0)
		if (event.new_ibcm)
			keep(event.new_ibcm);
}

static void step_ask(struct input *in)
{
	struct ibcm_id *iid = ibcm_id_new(host.channel.ibcm, RDMA_PS_TCP, false);
	struct ibcm_out out = {};
	struct ibcm_mad mad;

	MUST(iid);
	iid->id = &host.listener;
	iid->dev = &host.dev;
	iid->step = STEP_CONNECT;
	iid->local = (struct ibcm_local){ .cm = &host.cm, .gid = host.gid };
	iid->remote_gid = host_gid(2 + input_u8(in) % PEERS);
	MUST(!ibcm_table_add(iid, HOST_PREFIX));
	mad = host_req(&host.gid, iid->conn.local_id, input_u8(in), HOST_PORT);
	MUST(!ibcm_state_request(&iid->conn, &mad, host.now, &out));
	ibcm_run(iid, &out, NULL);
	keep(iid);
}

static void step_program(struct input *in)
{
	struct ibcm_out out = {};
	unsigned int index;
	struct ibcm_id *iid;
	int r = 0;

	if (!count)
		return;
	index = input_u8(in) % count;
	iid = ids[index];
	switch (input_u8(in) % 6) {
	case 0:
		host_accept(iid, input_u8(in));
		return;
	case 1:
		r = ibcm_state_establish(&iid->conn, &out);
		break;
	case 2:
		r = ibcm_state_disconnect(&iid->conn, host.now, &out);
		break;
	case 3:
		r = ibcm_state_reject(&iid->conn, IBCM_REJ_CONSUMER, NULL, 0, host.now, &out);
		break;
	default:
		host_destroy(iid);
		ids[index] = ids[--count];
		return;
	}
	if (!r)
		ibcm_run(iid, &out, NULL);
}

static void step_gone(struct input *in)
{
	struct verbs_gsi_mad mad = { .gone = input_u8(in) };

	ibcm_arrived(&host.dev, &mad);
}

static void step(struct input *in)
{
	uint8_t control = input_u8(in);

	switch (control % 16) {
	case 0 ... 6:
		step_message(in);
		break;
	case 7 ... 8:
		step_request(in);
		break;
	case 9:
		host_pass((uint64_t)input_u16(in) << 20);
		break;
	case 10:
		step_events();
		break;
	case 11:
		step_ask(in);
		break;
	case 12 ... 13:
		step_program(in);
		break;
	case 14:
		step_refused(in);
		break;
	default:
		step_gone(in);
		break;
	}
}

static void begin(bool near)
{
	union ibv_gid peer = host_gid(2);

	host_begin();
	host.peers_are_here = near;
	count = 0;
	listener = host_listen(BACKLOG);
	for (uint32_t i = 1; i <= CONNECTIONS; i++) {
		struct ibcm_id *iid = host_connect(&peer, i << 24 | i, 100 + i);

		MUST(iid);
		keep(iid);
	}
}

static void end(void)
{
	host_destroy(listener);
	step_events();
	while (count)
		host_destroy(ids[--count]);
	for (int i = 0; i < 200; i++)
		host_pass(SECOND);
	MUST(ibcm_table_room() == 1u << 16);
	MUST(!ibcm_heap_first());
	host_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	begin(input_u8(&in) % 2);
	for (unsigned int i = 0; i < STEPS_MAX && in.size; i++) {
		step(&in);
		check();
	}
	check_all();
	end();
	return 0;
}
