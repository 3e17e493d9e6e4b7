/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state machine: every message in every state, the passing of time, and two machines over a
 * wire that loses messages, on a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "librdmacm/ibcm/state.h"
#include "util/util.h"

enum {
	LOCAL = 0x01000001,
	REMOTE = 0x02000002,
	ACK_TIMEOUT = 17,
	RESPONSE_TIMEOUT = 20,
	RETRIES = 15,
	NO_EVENT = -1,
};
#define NOW  1000000000ull
#define NONE ((enum ibcm_message)0)

static struct ibcm_mad req(uint32_t id)
{
	return (struct ibcm_mad){
		.type = IBCM_REQ,
		.tid = id,
		.local_id = id,
		.req = { .ca_guid = id,
			 .qpn = 0x111,
			 .starting_psn = 0x222,
			 .responder_resources = 3,
			 .initiator_depth = 4,
			 .retry_count = 7,
			 .rnr_retry_count = 6,
			 .max_cm_retries = RETRIES,
			 .mtu = IBV_MTU_1024,
			 .remote_response_timeout = RESPONSE_TIMEOUT,
			 .local_response_timeout = RESPONSE_TIMEOUT,
			 .primary.ack_timeout = ACK_TIMEOUT },
	};
}

static struct ibcm_mad rep(void)
{
	return (struct ibcm_mad){
		.type = IBCM_REP,
		.local_id = REMOTE,
		.remote_id = LOCAL,
		.rep = { .ca_guid = REMOTE,
			 .qpn = 0x333,
			 .starting_psn = 0x444,
			 .responder_resources = 1,
			 .initiator_depth = 2,
			 .rnr_retry_count = 5 },
	};
}

static struct ibcm_mad sidr(uint32_t id)
{
	return (struct ibcm_mad){ .type = IBCM_SIDR_REQ, .tid = id, .local_id = id };
}

static enum ibcm_message sent(const struct ibcm_out *out, unsigned int index)
{
	struct ibcm_mad mad;

	if (index >= out->mads)
		return NONE;
	assert_int_equal(ibcm_mad_unpack(out->mad[index], &mad), 0);
	return mad.type;
}

/* Return a connection in @state. REQ_SENT, REP_RCVD and DREQ_SENT belong to the active side,
 * others to the passive one. */
static struct ibcm_conn conn_in(enum ibcm_state state, bool active)
{
	struct ibcm_conn conn = { .local_id = LOCAL };
	struct ibcm_mad request = req(active ? LOCAL : REMOTE), reply = rep(),
			rtu = { .type = IBCM_RTU }, dreq = { .type = IBCM_DREQ };
	struct ibcm_out out = {};

	if (state == IBCM_IDLE)
		return conn;
	if (state == IBCM_SIDR_REQ_SENT || state == IBCM_SIDR_REQ_RCVD) {
		request = sidr(active ? LOCAL : REMOTE);
		active = state == IBCM_SIDR_REQ_SENT;
	}
	if (active) {
		assert_int_equal(ibcm_state_request(&conn, &request, NOW, &out), 0);
		if (conn.state == state)
			return conn;
		ibcm_state_message(&conn, &reply, NOW, &out);
		if (conn.state == state)
			return conn;
		assert_int_equal(ibcm_state_establish(&conn, &out), 0);
	} else {
		assert_int_equal(ibcm_state_arrive(&conn, &request), 0);
		if (conn.state == state)
			return conn;
		assert_int_equal(ibcm_state_reply(&conn, &reply, NOW, &out), 0);
		if (conn.state == state)
			return conn;
		ibcm_state_message(&conn, &rtu, NOW, &out);
	}
	if (conn.state == state)
		return conn;
	if (state == IBCM_DREQ_SENT) {
		out = (struct ibcm_out){};
		assert_int_equal(ibcm_state_disconnect(&conn, NOW, &out), 0);
		return conn;
	}
	dreq.dreq.remote_qpn = conn.qp.local_qpn;
	ibcm_state_message(&conn, &dreq, NOW, &out);
	if (conn.state == state)
		return conn;
	out = (struct ibcm_out){};
	assert_int_equal(ibcm_state_disconnect(&conn, NOW, &out), 0);
	assert_int_equal(conn.state, state);
	return conn;
}

static bool active_only(enum ibcm_state state)
{
	return state == IBCM_REQ_SENT || state == IBCM_REP_RCVD || state == IBCM_SIDR_REQ_SENT;
}

/* --- every message in every state --- */

struct outcome {
	enum ibcm_state state;
	enum ibcm_message answer;
	int event;
};
#define SAME(s)                     \
	{                           \
		(s), NONE, NO_EVENT \
	}

static struct outcome expected(enum ibcm_state state, enum ibcm_message message, bool active)
{
	static const struct {
		enum ibcm_state in;
		enum ibcm_message message;
		struct outcome then;
	} rows[] = {
		{ IBCM_REQ_SENT, IBCM_REP, { IBCM_REP_RCVD, NONE, IBCM_EVENT_REPLY } },
		{ IBCM_REQ_SENT, IBCM_REJ, { IBCM_IDLE, NONE, IBCM_EVENT_REJECTED } },
		{ IBCM_REQ_RCVD, IBCM_REQ, { IBCM_REQ_RCVD, IBCM_MRA, NO_EVENT } },
		{ IBCM_REQ_RCVD, IBCM_REJ, { IBCM_IDLE, NONE, IBCM_EVENT_REJECTED } },
		{ IBCM_REP_SENT, IBCM_REQ, { IBCM_REP_SENT, IBCM_REP, NO_EVENT } },
		{ IBCM_REP_SENT, IBCM_RTU, { IBCM_ESTABLISHED, NONE, IBCM_EVENT_ESTABLISHED } },
		{ IBCM_REP_SENT, IBCM_REJ, { IBCM_IDLE, NONE, IBCM_EVENT_REJECTED } },
		{ IBCM_REP_SENT, IBCM_DREQ, { IBCM_DREQ_RCVD, NONE, IBCM_EVENT_DISCONNECTED } },
		{ IBCM_REP_RCVD, IBCM_REP, { IBCM_REP_RCVD, IBCM_MRA, NO_EVENT } },
		{ IBCM_REP_RCVD, IBCM_REJ, { IBCM_TIMEWAIT, NONE, IBCM_EVENT_REJECTED } },
		{ IBCM_ESTABLISHED, IBCM_REJ, { IBCM_TIMEWAIT, NONE, IBCM_EVENT_REJECTED } },
		{ IBCM_ESTABLISHED, IBCM_DREQ, { IBCM_DREQ_RCVD, NONE, IBCM_EVENT_DISCONNECTED } },
		{ IBCM_ESTABLISHED, IBCM_LAP, { IBCM_ESTABLISHED, IBCM_APR, NO_EVENT } },
		{ IBCM_DREQ_SENT,
		  IBCM_DREQ,
		  { IBCM_TIMEWAIT, IBCM_DREP, IBCM_EVENT_DISCONNECTED } },
		{ IBCM_DREQ_SENT, IBCM_DREP, { IBCM_TIMEWAIT, NONE, IBCM_EVENT_DISCONNECTED } },
		{ IBCM_DREQ_SENT, IBCM_REJ, { IBCM_TIMEWAIT, NONE, IBCM_EVENT_DISCONNECTED } },
		{ IBCM_DREQ_RCVD, IBCM_DREP, { IBCM_TIMEWAIT, NONE, NO_EVENT } },
		{ IBCM_TIMEWAIT, IBCM_REQ, { IBCM_TIMEWAIT, IBCM_REJ, NO_EVENT } },
		{ IBCM_TIMEWAIT, IBCM_DREQ, { IBCM_TIMEWAIT, IBCM_DREP, NO_EVENT } },
		{ IBCM_SIDR_REQ_SENT, IBCM_SIDR_REP, { IBCM_IDLE, NONE, IBCM_EVENT_RESOLVED } },
	};
	struct outcome none = SAME(state);

	if (state == IBCM_ESTABLISHED && message == IBCM_REP && active)
		return (struct outcome){ state, IBCM_RTU, NO_EVENT };
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].in == state && rows[i].message == message)
			return rows[i].then;
	return none;
}

static void one_pair(enum ibcm_state state, enum ibcm_message message, bool active)
{
	struct ibcm_conn conn = conn_in(state, active);
	struct ibcm_mad mad = message == IBCM_REQ ? req(REMOTE) : rep();
	struct outcome want = expected(state, message, active);
	struct ibcm_out out = {};

	mad.type = message;
	mad.local_id = REMOTE;
	if (message == IBCM_REJ)
		mad.rej = (struct ibcm_rej){ .reason = IBCM_REJ_CONSUMER };
	if (message == IBCM_DREQ)
		mad.dreq = (struct ibcm_dreq){ .remote_qpn = conn.qp.local_qpn };
	ibcm_state_message(&conn, &mad, NOW, &out);
	if (conn.state != want.state || sent(&out, 0) != want.answer ||
	    (out.has_event ? (int)out.event : NO_EVENT) != want.event)
		fail_msg("%s in '%s' (%s side): '%s', answer %s, event %d",
			 ibcm_message_name(message), ibcm_state_name(state),
			 active ? "active" : "passive", ibcm_state_name(conn.state),
			 ibcm_message_name(sent(&out, 0)), out.has_event ? (int)out.event : -1);
	assert_in_range(out.mads, 0, 1);
}

static void test_every_pair(void **state)
{
	for (enum ibcm_state s = 0; s < IBCM_STATES; s++)
		for (enum ibcm_message m = IBCM_REQ; m <= IBCM_APR; m++) {
			one_pair(s, m, active_only(s));
			if (s >= IBCM_ESTABLISHED && s <= IBCM_TIMEWAIT)
				one_pair(s, m, true);
		}
}

/* A message of an unknown type changes nothing. */
static void test_unknown_message(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_ESTABLISHED, true);
	struct ibcm_mad mad = { .type = 0x7fff };
	struct ibcm_out out = {};

	ibcm_state_message(&conn, &mad, NOW, &out);
	assert_int_equal(conn.state, IBCM_ESTABLISHED);
	assert_int_equal(out.mads, 0);
}

/* --- values that a machine keeps from the messages --- */

static void test_facts(void **state)
{
	struct ibcm_conn active = conn_in(IBCM_REP_RCVD, true),
			 passive = conn_in(IBCM_REP_SENT, false);

	assert_int_equal(active.remote_id, REMOTE);
	assert_int_equal(active.qp.remote_qpn, 0x333);
	/* the first PSN that this side sent to the peer */
	assert_int_equal(active.qp.rq_psn, 0x222);
	assert_int_equal(active.qp.sq_psn, 0x444);
	assert_int_equal(active.qp.responder_resources, 2); /* the peer's initiator depth */
	assert_int_equal(active.qp.initiator_depth, 1);
	assert_int_equal(active.qp.retry_count, 7);
	assert_int_equal(active.qp.rnr_retry_count, 5);
	assert_int_equal(active.qp.ack_timeout, ACK_TIMEOUT);
	assert_int_equal(active.qp.mtu, IBV_MTU_1024);

	assert_int_equal(passive.remote_id, REMOTE);
	assert_int_equal(passive.qp.remote_qpn, 0x111);
	assert_int_equal(passive.qp.rq_psn, 0x444);
	assert_int_equal(passive.qp.sq_psn, 0x222);
	assert_int_equal(passive.qp.responder_resources, 1);
	assert_int_equal(passive.qp.initiator_depth, 2);
	assert_int_equal(passive.qp.retry_count, 7);
	assert_int_equal(passive.qp.rnr_retry_count, 6);
}

/* --- time --- */

static void test_timeout(void **state)
{
	static const struct {
		enum ibcm_state in;
		enum ibcm_message again, last;
		int event;
		enum ibcm_state end;
	} rows[] = {
		{ IBCM_REQ_SENT, IBCM_REQ, IBCM_REJ, IBCM_EVENT_UNREACHABLE, IBCM_IDLE },
		{ IBCM_REP_SENT, IBCM_REP, IBCM_REJ, IBCM_EVENT_UNREACHABLE, IBCM_TIMEWAIT },
		{ IBCM_DREQ_SENT, IBCM_DREQ, NONE, IBCM_EVENT_DISCONNECTED, IBCM_TIMEWAIT },
		{ IBCM_SIDR_REQ_SENT, IBCM_SIDR_REQ, NONE, IBCM_EVENT_UNREACHABLE, IBCM_IDLE },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ibcm_conn conn = conn_in(rows[i].in, active_only(rows[i].in));
		uint64_t interval = conn.state == IBCM_SIDR_REQ_SENT ? ibcm_time(RESPONSE_TIMEOUT)
				    : conn.active
					    ? ibcm_time(RESPONSE_TIMEOUT) + ibcm_time(ACK_TIMEOUT)
					    : IBCM_PATIENCE / (RETRIES + 1);
		struct ibcm_out out = {};

		while (conn.ask_until) /* early: test_ask_again() */
			ibcm_state_timeout(&conn, conn.deadline, &out);
		for (unsigned int n = 0; n < RETRIES; n++) {
			uint64_t due = conn.deadline;

			out = (struct ibcm_out){};
			ibcm_state_timeout(&conn, due - 1, &out); /* not yet */
			assert_int_equal(out.mads, 0);
			ibcm_state_timeout(&conn, due, &out);
			assert_int_equal(sent(&out, 0), rows[i].again);
			assert_false(out.has_event);
			assert_int_equal(conn.deadline, due + interval);
		}
		out = (struct ibcm_out){};
		ibcm_state_timeout(&conn, conn.deadline, &out);
		assert_int_equal(sent(&out, 0), rows[i].last);
		assert_true(out.has_event);
		assert_int_equal(out.event, rows[i].event);
		assert_int_equal(out.status, -ETIMEDOUT);
		assert_int_equal(conn.state, rows[i].end);
	}
}

/* --- whether anybody is there --- */

/* A request goes out again soon, and a second after that, so that a host without a receiver can
 * report it, which it does once a second. Later repetitions ask for that report too. */
static void test_ask_again(void **state)
{
	static const enum ibcm_state asking[] = { IBCM_REQ_SENT, IBCM_SIDR_REQ_SENT };

	for (unsigned int i = 0; i < ARRAY_SIZE(asking); i++) {
		struct ibcm_conn conn = conn_in(asking[i], true);
		struct ibcm_out out = {};
		uint32_t left = conn.left;

		ibcm_state_refused(&conn, NOW, &out); /* not to this request */
		assert_int_equal(conn.state, asking[i]);
		assert_true(conn.deadline < NOW + conn.interval);
		ibcm_state_timeout(&conn, conn.deadline, &out);
		assert_true(out.probe);
		assert_memory_equal(out.mad[0], conn.sent, sizeof(conn.sent));
		assert_true(conn.deadline > NOW + 1500000000ull);
		for (unsigned int again = 0; again < 2; again++) {
			assert_int_equal(conn.left, left);
			out = (struct ibcm_out){};
			ibcm_state_timeout(&conn, conn.deadline, &out);
			assert_true(out.probe);
			assert_memory_equal(out.mad[0], conn.sent, sizeof(conn.sent));
			left -= again;
			if (!again)
				assert_int_equal(conn.deadline, NOW + conn.interval);
		}
		assert_int_equal(conn.left, left);
		ibcm_state_refused(&conn, NOW, &out);
		assert_int_equal(conn.state, IBCM_IDLE);
		assert_int_equal(out.event, IBCM_EVENT_UNREACHABLE);
		assert_int_equal(out.status, -ECONNREFUSED);
	}
}

static void probe_now(struct ibcm_conn *conn, uint64_t *now, struct ibcm_out *out)
{
	*now = conn->deadline;
	*out = (struct ibcm_out){};
	ibcm_state_timeout(conn, *now, out);
}

static void answer(struct ibcm_conn *conn, uint64_t tid, uint32_t status, uint64_t now,
		   struct ibcm_out *out)
{
	struct ibcm_mad apr = { .type = IBCM_APR, .tid = tid, .apr.status = status };

	*out = (struct ibcm_out){};
	ibcm_state_message(conn, &apr, now, out);
}

static struct ibcm_conn watched(bool active)
{
	struct ibcm_conn conn = conn_in(IBCM_ESTABLISHED, active);

	ibcm_state_watch(&conn, NOW);
	assert_true(conn.deadline > NOW);
	return conn;
}

static void test_probe(void **state)
{
	struct ibcm_conn conn = watched(true), other = conn_in(IBCM_ESTABLISHED, false);
	uint64_t now, tid = conn.tid;
	struct ibcm_out out, reply = {};
	struct ibcm_mad lap, apr;

	for (int i = 0; i < 3; i++) {
		probe_now(&conn, &now, &out);
		assert_true(out.probe);
		assert_int_equal(out.mads, 1);
		assert_int_equal(ibcm_mad_unpack(out.mad[0], &lap), 0);
		assert_int_equal(lap.type, IBCM_LAP);
		assert_int_equal(lap.local_id, LOCAL);
		assert_int_equal(lap.remote_id, REMOTE);
		assert_int_equal(lap.lap.remote_qpn, 0x333);
		/* the probe does not change the tid of the connection's own messages */
		assert_int_equal(conn.tid, tid);
		reply = (struct ibcm_out){};
		ibcm_state_message(&other, &lap, now, &reply);
		assert_int_equal(ibcm_mad_unpack(reply.mad[0], &apr), 0);
		ibcm_state_message(&conn, &apr, now, &out);
		assert_int_equal(conn.state, IBCM_ESTABLISHED);
		assert_false(out.has_event);
		assert_int_equal(conn.deadline, now + 5000000000ull);
	}
	assert_int_equal(ibcm_state_stray(&lap, &apr), 0);
	/* an answer to another request */
	answer(&conn, lap.tid + 1, apr.apr.status, now, &out);
	assert_false(out.has_event);
	answer(&conn, lap.tid, apr.apr.status, now, &out);
	assert_int_equal(out.event, IBCM_EVENT_DISCONNECTED);
	assert_int_equal(conn.state, IBCM_TIMEWAIT);
}

/* A kernel's manager does not answer: it is asked ever more rarely, and the connection lives for
 * ever. */
static void test_probe_of_a_kernel(void **state)
{
	struct ibcm_conn conn = watched(true);
	uint64_t now, before = NOW;
	struct ibcm_out out;

	for (int i = 0; i < 20; i++) {
		probe_now(&conn, &now, &out);
		assert_int_equal(conn.state, IBCM_ESTABLISHED);
		assert_true(out.probe);
		assert_in_range(conn.deadline - now, 5000000000ull, 80000000000ull);
		assert_true(i < 2 || conn.deadline - now >= now - before);
		before = now;
		ibcm_state_refused(&conn, now, &out); /* forged, therefore */
		assert_false(out.has_event);
	}
}

/* A refusal by the host counts only if it comes twice without an answer in between. */
static void test_probe_refused(void **state)
{
	struct ibcm_conn conn = watched(false), alive;
	uint64_t now, killed;
	struct ibcm_out out;

	probe_now(&conn, &now, &out);
	answer(&conn, conn.probe.tid, IBCM_APR_UNSUPPORTED, now, &out);
	killed = now;
	ibcm_state_refused(&conn, now, &out); /* no probe was sent */
	assert_int_equal(conn.probe.refused, 0);
	alive = conn;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(conn.state, IBCM_ESTABLISHED);
		probe_now(&conn, &now, &out);
		for (int twice = 0; twice < 2; twice++) /* counts once */
			ibcm_state_refused(&conn, now, &out);
		assert_int_equal(conn.probe.refused, 1 + i);
		assert_false(out.has_event);
	}
	probe_now(&conn, &now, &out);
	assert_int_equal(out.event, IBCM_EVENT_DISCONNECTED);
	assert_int_equal(out.mads, 0);
	assert_in_range(now, killed, killed + 7000000000ull);
	/* another host sends refusals at any time, and the peer answers */
	for (int i = 0; i < 10; i++) {
		probe_now(&alive, &now, &out);
		ibcm_state_refused(&alive, now, &out);
		answer(&alive, alive.probe.tid, IBCM_APR_UNSUPPORTED, now, &out);
		ibcm_state_refused(&alive, now, &out);
		assert_int_equal(alive.state, IBCM_ESTABLISHED);
		assert_int_equal(alive.probe.refused, 0);
	}
}

static void test_near(void **state)
{
	struct ibcm_conn conn = watched(true);

	ibcm_state_near(&conn);
	ibcm_state_watch(&conn, NOW);
	assert_int_equal(conn.deadline, 0);
}

/* A side that has not received a message of its peer repeats its request once, and then gives up
 * before the timeout. No other side does. */
static void test_unreachable(void **state)
{
	for (enum ibcm_state in = IBCM_IDLE; in < IBCM_STATES; in++) {
		struct ibcm_conn conn = conn_in(in, active_only(in));
		bool asking = in == IBCM_REQ_SENT || in == IBCM_SIDR_REQ_SENT;
		struct ibcm_out out = {};
		uint32_t left = conn.left;

		assert_int_equal(ibcm_state_is_asking(&conn), asking);
		ibcm_state_unreachable(&conn, NOW, &out);
		assert_false(out.has_event);
		assert_int_equal(conn.state, in);
		assert_int_equal(out.mads, asking);
		if (!asking)
			continue;
		assert_int_equal(conn.left, left - 1);
		assert_in_range(conn.deadline, NOW + 3000000001ull, NOW + 4000000000ull);
		out = (struct ibcm_out){};
		ibcm_state_unreachable(&conn, conn.deadline, &out);
		assert_true(out.has_event);
		assert_int_equal(out.event, IBCM_EVENT_UNREACHABLE);
		assert_int_equal(out.status, -EHOSTUNREACH);
		assert_int_equal(conn.state, IBCM_IDLE);
		assert_int_equal(conn.deadline, 0);
	}
}

static void test_quiet_states_ask_for_no_time(void **state)
{
	static const enum ibcm_state quiet[] = { IBCM_REQ_RCVD, IBCM_REP_RCVD, IBCM_ESTABLISHED,
						 IBCM_DREQ_RCVD, IBCM_SIDR_REQ_RCVD };

	for (unsigned int i = 0; i < ARRAY_SIZE(quiet); i++) {
		struct ibcm_conn conn = conn_in(quiet[i], active_only(quiet[i]));
		struct ibcm_out out = {};

		assert_int_equal(conn.deadline, 0);
		ibcm_state_timeout(&conn, NOW * 1000, &out);
		assert_int_equal(conn.state, quiet[i]);
		assert_int_equal(out.mads, 0);
	}
}

static void test_timewait_ends(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_TIMEWAIT, false);
	struct ibcm_out out = {};

	assert_int_equal(conn.deadline, NOW + ibcm_time(ACK_TIMEOUT));
	ibcm_state_timeout(&conn, conn.deadline, &out);
	assert_int_equal(conn.state, IBCM_IDLE);
	assert_int_equal(out.event, IBCM_EVENT_TIMEWAIT_EXIT);
}

static void test_mra_gives_time(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_REQ_SENT, true);
	struct ibcm_mad mra = { .type = IBCM_MRA, .local_id = REMOTE, .mra.service_timeout = 24 };
	uint64_t before;
	struct ibcm_out out = {};

	ibcm_state_timeout(&conn, conn.deadline, &out);
	assert_true(out.probe);
	before = conn.deadline;
	out = (struct ibcm_out){};
	mra.mra.answered = IBCM_ANSWERS_REP; /* of another message */
	ibcm_state_message(&conn, &mra, NOW, &out);
	assert_int_equal(conn.deadline, before);
	mra.mra.answered = IBCM_ANSWERS_REQ;
	ibcm_state_message(&conn, &mra, NOW, &out);
	assert_int_equal(conn.deadline, NOW + conn.interval + IBCM_PATIENCE);
	assert_int_equal(conn.state, IBCM_REQ_SENT);
	ibcm_state_refused(&conn, NOW, &out); /* another host answers */
	assert_int_equal(conn.state, IBCM_REQ_SENT);
	ibcm_state_timeout(&conn, conn.deadline, &out); /* was there */
	assert_int_equal(sent(&out, 0), IBCM_REQ);
	assert_true(out.probe);
	ibcm_state_refused(&conn, NOW, &out);
	assert_int_equal(conn.state, IBCM_IDLE);

	conn = conn_in(IBCM_REP_SENT, false);
	mra.mra.answered = IBCM_ANSWERS_REP;
	mra.mra.service_timeout = 20;
	ibcm_state_message(&conn, &mra, NOW, &out);
	assert_int_equal(conn.deadline, NOW + conn.interval + ibcm_time(20));
}

/* Times that a message names are limited, so that no peer makes this side keep dead connections. */
static void test_patience(void **state)
{
	struct ibcm_mad request = req(REMOTE), reply = rep();

	request.req.max_cm_retries = 15;
	for (uint32_t n = 0; n < 32; n++) {
		struct ibcm_conn conn = { .local_id = LOCAL };
		struct ibcm_out out = {};
		uint64_t now = NOW;

		request.req.local_response_timeout = n;
		request.req.primary.ack_timeout = 31 - n;
		assert_int_equal(ibcm_state_arrive(&conn, &request), 0);
		assert_int_equal(ibcm_state_reply(&conn, &reply, now, &out), 0);
		while (conn.state == IBCM_REP_SENT) {
			now = conn.deadline;
			out = (struct ibcm_out){};
			ibcm_state_timeout(&conn, now, &out);
		}
		assert_in_range(now, NOW, NOW + IBCM_PATIENCE);
		assert_int_equal(conn.state, IBCM_TIMEWAIT);
		assert_in_range(conn.deadline, now, now + IBCM_PATIENCE);
	}
}

/* A DREQ for another queue pair belongs to an earlier connection with the same id. */
static void test_dreq_of_another(void **state)
{
	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		struct ibcm_conn conn = conn_in(s, active_only(s)), before = conn;
		struct ibcm_mad dreq = { .type = IBCM_DREQ,
					 .dreq.remote_qpn = conn.qp.local_qpn + 1 };
		struct ibcm_out out = {};

		ibcm_state_message(&conn, &dreq, NOW, &out);
		assert_memory_equal(&conn, &before, sizeof(conn));
		assert_int_equal(out.mads, 0);
		assert_false(out.has_event);
	}
}

static void test_stale(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_REQ_SENT, true);
	struct ibcm_mad rej = { .type = IBCM_REJ, .rej.reason = IBCM_REJ_STALE_CONN };
	struct ibcm_out out = {};

	for (int tries = 0;; tries++) {
		ibcm_state_message(&conn, &rej, NOW, &out);
		if (out.has_event)
			break;
		assert_in_range(tries, 0, 8);
		/* of a copy of the request */
		ibcm_state_message(&conn, &rej, NOW, &out);
		assert_int_equal(conn.state, IBCM_REQ_SENT);
		assert_int_equal(out.mads, 0);
		assert_in_range(conn.deadline, NOW + 1, NOW + 500000000);
		ibcm_state_timeout(&conn, conn.deadline, &out);
		assert_int_equal(out.mads, 1);
		assert_memory_equal(out.mad[0], conn.sent, sizeof(conn.sent));
		out = (struct ibcm_out){};
	}
	assert_int_equal(conn.state, IBCM_TIMEWAIT);
	assert_int_equal(out.event, IBCM_EVENT_REJECTED);
	assert_int_equal(out.status, IBCM_REJ_STALE_CONN);
}

static void test_stale_then_accepted(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_REQ_SENT, true);
	struct ibcm_mad rej = { .type = IBCM_REJ, .rej.reason = IBCM_REJ_STALE_CONN };
	struct ibcm_mad answer = rep();
	struct ibcm_out out = {};

	ibcm_state_message(&conn, &rej, NOW, &out);
	assert_false(out.has_event);
	ibcm_state_message(&conn, &answer, NOW, &out);
	assert_int_equal(conn.state, IBCM_REP_RCVD);
	assert_int_equal(out.event, IBCM_EVENT_REPLY);
	assert_int_equal(conn.deadline, 0);
	assert_false(conn.again);
}

/* --- the application --- */

static void test_application_in_wrong_state(void **state)
{
	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		struct ibcm_conn conn = conn_in(s, active_only(s));
		struct ibcm_conn before = conn;
		struct ibcm_mad request = req(LOCAL), reply = rep();
		struct ibcm_out out = {};

		if (s != IBCM_IDLE) {
			assert_int_equal(ibcm_state_request(&conn, &request, NOW, &out), -EINVAL);
			assert_int_equal(ibcm_state_arrive(&conn, &request), -EINVAL);
		}
		if (s != IBCM_REQ_RCVD)
			assert_int_equal(ibcm_state_reply(&conn, &reply, NOW, &out), -EINVAL);
		if (s != IBCM_REP_RCVD && s != IBCM_REP_SENT)
			assert_int_equal(ibcm_state_establish(&conn, &out), -EINVAL);
		if (s != IBCM_ESTABLISHED && s != IBCM_DREQ_RCVD)
			assert_int_equal(ibcm_state_disconnect(&conn, NOW, &out), -EINVAL);
		assert_int_equal(out.mads, 0);
		assert_false(out.has_event);
		assert_memory_equal(&conn, &before, sizeof(conn));
	}
}

static void test_destroy(void **state)
{
	static const struct {
		enum ibcm_message sent;
		enum ibcm_state end;
	} rows[] = {
		[IBCM_IDLE] = { NONE, IBCM_IDLE },
		[IBCM_REQ_SENT] = { IBCM_REJ, IBCM_IDLE },
		[IBCM_REQ_RCVD] = { IBCM_REJ, IBCM_IDLE },
		[IBCM_REP_SENT] = { IBCM_REJ, IBCM_TIMEWAIT },
		[IBCM_REP_RCVD] = { IBCM_REJ, IBCM_TIMEWAIT },
		[IBCM_ESTABLISHED] = { IBCM_DREQ, IBCM_TIMEWAIT },
		[IBCM_DREQ_SENT] = { NONE, IBCM_TIMEWAIT },
		[IBCM_DREQ_RCVD] = { IBCM_DREP, IBCM_TIMEWAIT },
		[IBCM_TIMEWAIT] = { NONE, IBCM_TIMEWAIT },
		[IBCM_SIDR_REQ_SENT] = { NONE, IBCM_IDLE },
		[IBCM_SIDR_REQ_RCVD] = { IBCM_SIDR_REP, IBCM_IDLE },
	};

	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		struct ibcm_conn conn = conn_in(s, active_only(s));
		struct ibcm_out out = {};

		ibcm_state_destroy(&conn, NOW, &out);
		assert_int_equal(sent(&out, 0), rows[s].sent);
		assert_int_equal(conn.state, rows[s].end);
		assert_false(out.has_event);
		assert_true(!conn.deadline || conn.state == IBCM_TIMEWAIT);
	}
}

/* A side that confirmed a DREQ sends the DREP again. A side whose DREQ was confirmed sends no
 * message. */
static void test_exit(void **state)
{
	struct ibcm_conn confirmed = conn_in(IBCM_TIMEWAIT, false),
			 other = conn_in(IBCM_DREQ_SENT, false);
	struct ibcm_mad drep = { .type = IBCM_DREP };
	struct ibcm_out out = {};

	ibcm_state_exit(&confirmed, NOW, &out);
	assert_int_equal(sent(&out, 0), IBCM_DREP);
	assert_int_equal(out.mads, 1);
	ibcm_state_message(&other, &drep, NOW, &out);
	assert_int_equal(other.state, IBCM_TIMEWAIT);
	out = (struct ibcm_out){};
	ibcm_state_exit(&other, NOW, &out);
	assert_int_equal(out.mads, 0);
	other = conn_in(IBCM_ESTABLISHED, true);
	ibcm_state_exit(&other, NOW, &out);
	assert_int_equal(sent(&out, 0), IBCM_DREQ);
}

static void test_peer_gone(void **state)
{
	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		struct ibcm_conn conn = conn_in(s, active_only(s));
		struct ibcm_out out = {};

		ibcm_state_peer_gone(&conn, NOW, &out);
		assert_int_equal(out.mads, 0);
		if (s == IBCM_ESTABLISHED || s == IBCM_DREQ_SENT)
			assert_int_equal(out.event, IBCM_EVENT_DISCONNECTED);
		else if (s == IBCM_REQ_SENT || s == IBCM_REQ_RCVD || s == IBCM_REP_SENT ||
			 s == IBCM_REP_RCVD)
			assert_int_equal(out.event, IBCM_EVENT_UNREACHABLE);
		else
			assert_false(out.has_event);
		/* No message is sent to it any more. */
		if (s != IBCM_SIDR_REQ_SENT)
			assert_true(conn.state == IBCM_IDLE || conn.state == IBCM_TIMEWAIT ||
				    conn.state == IBCM_SIDR_REQ_RCVD);
	}
}

static void test_reject_private_data(void **state)
{
	struct ibcm_conn conn = conn_in(IBCM_REQ_RCVD, false);
	uint8_t bytes[IBCM_PRIVATE_MAX];
	struct ibcm_out out = {};
	struct ibcm_mad mad;

	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(ibcm_state_reject(&conn, IBCM_REJ_CONSUMER, bytes, 149, NOW, &out),
			 -EINVAL);
	assert_int_equal(conn.state, IBCM_REQ_RCVD);
	assert_int_equal(ibcm_state_reject(&conn, IBCM_REJ_CONSUMER, bytes, 148, NOW, &out), 0);
	assert_int_equal(ibcm_mad_unpack(out.mad[0], &mad), 0);
	assert_int_equal(mad.rej.rejected, IBCM_ANSWERS_REQ);
	assert_int_equal(mad.rej.reason, IBCM_REJ_CONSUMER);
	assert_int_equal(mad.remote_id, REMOTE);
	assert_memory_equal(mad.private_data, bytes, 148);
}

static void test_stray(void **state)
{
	static const enum ibcm_message answers[] = {
		[IBCM_REQ] = IBCM_REJ, [IBCM_REP] = IBCM_REJ,		[IBCM_DREQ] = IBCM_DREP,
		[IBCM_LAP] = IBCM_APR, [IBCM_SIDR_REQ] = IBCM_SIDR_REP, [IBCM_APR] = NONE,
	};

	for (enum ibcm_message m = IBCM_REQ; m <= IBCM_APR; m++) {
		struct ibcm_mad mad = {
			.type = m, .tid = 9, .local_id = REMOTE, .remote_id = LOCAL
		};
		struct ibcm_mad answer;
		int r = ibcm_state_stray(&mad, &answer);

		assert_int_equal(r, answers[m] ? 0 : -ENOENT);
		if (r < 0)
			continue;
		assert_int_equal(answer.type, answers[m]);
		assert_int_equal(answer.remote_id, REMOTE);
		assert_int_equal(answer.tid, 9);
		/* An answer is not answered, so that two managers do not send messages for ever. */
		assert_int_equal(ibcm_state_stray(&answer, &mad), -ENOENT);
	}
}

/* --- two machines and a wire --- */

enum {
	WIRE = 64,
	SIDES = 2,
};

struct sim {
	struct ibcm_conn conn[SIDES]; /* active, passive */
	uint64_t now;
	uint32_t seed;
	unsigned int loss; /* lost messages of 100 */
	struct {
		uint8_t data[IBCM_MAD_LEN];
		unsigned int to;
	} wire[WIRE];
	unsigned int head, tail, lost;
	bool connected[SIDES], disconnected[SIDES], unreachable[SIDES];
};

static void sim_out(struct sim *sim, unsigned int side, const struct ibcm_out *out);

static void sim_event(struct sim *sim, unsigned int side, const struct ibcm_out *event)
{
	struct ibcm_out out = {};

	switch (event->event) {
	case IBCM_EVENT_REPLY:
		assert_int_equal(ibcm_state_establish(&sim->conn[side], &out), 0);
		sim->connected[side] = true;
		break;
	case IBCM_EVENT_ESTABLISHED:
		sim->connected[side] = true;
		break;
	case IBCM_EVENT_DISCONNECTED:
		sim->disconnected[side] = true;
		ibcm_state_disconnect(&sim->conn[side], sim->now, &out);
		break;
	case IBCM_EVENT_UNREACHABLE:
	case IBCM_EVENT_REJECTED:
		sim->unreachable[side] = true;
		break;
	default:
		break;
	}
	sim_out(sim, side, &out);
}

static void sim_out(struct sim *sim, unsigned int side, const struct ibcm_out *out)
{
	for (unsigned int i = 0; i < out->mads; i++) {
		sim->seed = sim->seed * 1103515245 + 12345;
		if ((sim->seed >> 16) % 100 < sim->loss) {
			sim->lost++;
			continue;
		}
		assert_true(sim->head - sim->tail < WIRE);
		memcpy(sim->wire[sim->head % WIRE].data, out->mad[i], IBCM_MAD_LEN);
		sim->wire[sim->head++ % WIRE].to = !side;
	}
	if (out->has_event)
		sim_event(sim, side, out);
}

static void sim_arrive(struct sim *sim, unsigned int side, const struct ibcm_mad *mad)
{
	struct ibcm_conn *conn = &sim->conn[side];
	struct ibcm_mad reply = rep();
	struct ibcm_out out = {};

	if (side == 1 && mad->type == IBCM_REQ && conn->state == IBCM_IDLE && !conn->remote_id) {
		assert_int_equal(ibcm_state_arrive(conn, mad), 0);
		assert_int_equal(ibcm_state_reply(conn, &reply, sim->now, &out), 0);
	} else if (conn->state == IBCM_IDLE) {
		if (!ibcm_state_stray(mad, &reply)) {
			assert_int_equal(ibcm_mad_pack(&reply, out.mad[0]), 0);
			out.mads = 1;
		}
	} else {
		ibcm_state_message(conn, mad, sim->now, &out);
	}
	sim_out(sim, side, &out);
}

static void sim_deliver(struct sim *sim)
{
	while (sim->tail != sim->head) {
		unsigned int at = sim->tail++ % WIRE;
		struct ibcm_mad mad;

		assert_int_equal(ibcm_mad_unpack(sim->wire[at].data, &mad), 0);
		sim_arrive(sim, sim->wire[at].to, &mad);
	}
}

/* Deliver messages and let time pass until no deadline is left. */
static void sim_run(struct sim *sim)
{
	for (unsigned int steps = 0; steps < 1000; steps++) {
		uint64_t next = UINT64_MAX;

		sim_deliver(sim);
		for (unsigned int s = 0; s < SIDES; s++)
			if (sim->conn[s].deadline)
				next = min_of(next, sim->conn[s].deadline);
		if (next == UINT64_MAX)
			return;
		sim->now = next;
		for (unsigned int s = 0; s < SIDES; s++) {
			struct ibcm_out out = {};

			ibcm_state_timeout(&sim->conn[s], sim->now, &out);
			sim_out(sim, s, &out);
		}
	}
	fail_msg("it never ends");
}

static void sim_start(struct sim *sim, uint32_t seed, unsigned int loss)
{
	struct ibcm_mad request = req(LOCAL);
	struct ibcm_out out = {};

	/* Neighbouring seeds would lose the same messages. */
	*sim = (struct sim){ .now = NOW, .seed = seed * 2654435761u, .loss = loss };
	sim->conn[1].local_id = REMOTE;
	assert_int_equal(ibcm_state_request(&sim->conn[0], &request, sim->now, &out), 0);
	sim_out(sim, 0, &out);
	sim_run(sim);
}

static void sim_end(struct sim *sim, unsigned int side)
{
	struct ibcm_out out = {};

	assert_int_equal(ibcm_state_disconnect(&sim->conn[side], sim->now, &out), 0);
	sim_out(sim, side, &out);
	sim_run(sim);
}

static void test_loss(void **state)
{
	static const unsigned int losses[] = { 0, 5, 30 };
	unsigned int lost = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(losses); i++)
		for (uint32_t seed = 1; seed <= 200; seed++) {
			struct sim sim;

			sim_start(&sim, seed, losses[i]);
			assert_true(sim.connected[0] && sim.connected[1]);
			assert_int_equal(sim.conn[0].state, IBCM_ESTABLISHED);
			assert_int_equal(sim.conn[1].state, IBCM_ESTABLISHED);
			sim_end(&sim, seed % SIDES);
			assert_true(sim.disconnected[0] && sim.disconnected[1]);
			assert_int_equal(sim.conn[0].state, IBCM_IDLE);
			assert_int_equal(sim.conn[1].state, IBCM_IDLE);
			assert_false(sim.unreachable[0] || sim.unreachable[1]);
			lost += sim.lost;
		}
	assert_true(lost > 100);
}

/* Both sides disconnect before they hear from each other. */
static void test_both_disconnect(void **state)
{
	for (uint32_t seed = 1; seed <= 100; seed++) {
		struct ibcm_out out[SIDES] = {};
		struct sim sim;

		sim_start(&sim, seed, 0);
		sim.loss = 30;
		for (unsigned int s = 0; s < SIDES; s++)
			assert_int_equal(ibcm_state_disconnect(&sim.conn[s], sim.now, &out[s]), 0);
		for (unsigned int s = 0; s < SIDES; s++)
			sim_out(&sim, s, &out[s]);
		sim_run(&sim);
		assert_true(sim.disconnected[0] && sim.disconnected[1]);
		assert_int_equal(sim.conn[0].state, IBCM_IDLE);
		assert_int_equal(sim.conn[1].state, IBCM_IDLE);
	}
}

/* A side disappears without a message at any moment: the other side always comes to an end. */
static void test_silence(void **state)
{
	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		struct sim sim = { .now = NOW, .loss = 100, .seed = 1 };
		bool hears = s == IBCM_REQ_SENT || s == IBCM_REP_SENT;

		sim.conn[0] = conn_in(s, active_only(s));
		sim_run(&sim);
		assert_int_equal(sim.unreachable[0], hears || s == IBCM_SIDR_REQ_SENT);
		assert_int_equal(sim.disconnected[0], s == IBCM_DREQ_SENT);
		assert_int_equal(sim.conn[0].deadline, 0);
	}
}

/* The message sent for a process that was killed, in each state. */
static void test_last_word(void **state)
{
	static const enum ibcm_message word[IBCM_STATES] = {
		[IBCM_REQ_SENT] = IBCM_REJ,	[IBCM_REQ_RCVD] = IBCM_REJ,
		[IBCM_REP_SENT] = IBCM_REJ,	[IBCM_REP_RCVD] = IBCM_REJ,
		[IBCM_ESTABLISHED] = IBCM_DREQ, [IBCM_DREQ_SENT] = IBCM_DREQ,
		[IBCM_DREQ_RCVD] = IBCM_DREQ,
	};

	for (enum ibcm_state s = 0; s < IBCM_STATES; s++) {
		const struct ibcm_conn conn = conn_in(s, active_only(s));
		struct ibcm_mad mad = {};
		uint8_t data[IBCM_MAD_LEN];

		if (!word[s]) {
			assert_int_equal(ibcm_state_last_word(&conn, data), -ENOENT);
			continue;
		}
		assert_int_equal(ibcm_state_last_word(&conn, data), 0);
		assert_int_equal(ibcm_mad_unpack(data, &mad), 0);
		assert_int_equal(mad.type, word[s]);
		assert_int_equal(mad.local_id, LOCAL);
		assert_int_equal(mad.remote_id, s == IBCM_REQ_SENT ? 0 : REMOTE);
		if (mad.type == IBCM_DREQ)
			assert_int_equal(mad.dreq.remote_qpn, conn.qp.remote_qpn);
		else
			assert_int_equal(mad.rej.reason,
					 s == IBCM_REQ_SENT ? IBCM_REJ_TIMEOUT : IBCM_REJ_CONSUMER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_unknown_message),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_ask_again),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_probe_of_a_kernel),
		cmocka_unit_test(test_probe_refused),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_quiet_states_ask_for_no_time),
		cmocka_unit_test(test_timewait_ends),
		cmocka_unit_test(test_mra_gives_time),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_dreq_of_another),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_stale_then_accepted),
		cmocka_unit_test(test_application_in_wrong_state),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_last_word),
		cmocka_unit_test(test_peer_gone),
		cmocka_unit_test(test_reject_private_data),
		cmocka_unit_test(test_stray),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_both_disconnect),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
