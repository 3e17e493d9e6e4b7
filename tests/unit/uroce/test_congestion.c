/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The number of packets that a QP keeps on their way, and its reaction to congestion that it
 * measures or is notified of. */
#include "tests/unit/uroce/fixture.h"
#include "providers/uroce/host/receive.h"

enum {
	FIRST = 8,
	LEAST = 2,
	NOW = 1000000000,
	INTERVAL = 50000, /* ns between two notifications */
};

static struct uroce_cq *cq;
static struct uroce_qp *qp;
static union ibv_gid peer, stranger;

static void begin_on(enum ibv_qp_type type, uint32_t mtu, bool lossless)
{
	fx.path.lossless = lossless;
	cq = fixture_cq(64, NULL, 0);
	qp = fixture_qp(type, cq, NULL, 0);
	qp->mtu = mtu;
	qp->dest_qpn = 0x654321;
	memset(&peer, 5, sizeof(peer));
	memset(&stranger, 6, sizeof(stranger));
	qp->av.route.dgid = peer;
	uroce_window_start(qp);
	fx.sent = 0;
	fx.send_result = 0;
}

static void begin(void)
{
	begin_on(IBV_QPT_RC, 1024, false);
}

static void end(void)
{
	fixture_qp_free(qp);
	fixture_cq_free(cq);
	fx.path.lossless = true;
}

/* @packets are on their way: acknowledge all of them, @by at a time, and send others. */
static void flight(uint32_t packets, uint32_t by)
{
	for (uint32_t done = 0, part; done < packets; done += part) {
		uint32_t before = qp->req.una;

		part = min_of(by, packets - done);
		qp->req.psn = qp->req.max_psn = psn_add(before, packets);
		qp->req.una = psn_add(before, part);
		uroce_window_acked(qp, before);
	}
	qp->req.psn = qp->req.max_psn = qp->req.una;
}

static void round_trips(unsigned int count)
{
	while (count--)
		flight(qp->req.window, qp->req.window);
}

/* A packet arrives from the network for the QP. */
static void arrive(uint8_t opcode, const union ibv_gid *from, bool marked, uint64_t now)
{
	static uint8_t data[4096];
	struct uroce_packet pkt = {
		.hdr = { .opcode = opcode,
			 .dest_qpn = qp->vqp.qp.qp_num,
			 .pkey = UROCE_PKEY_DEFAULT,
			 .psn = psn_add(qp->resp.psn, 5), /* no request to execute */
			 .syndrome = AETH_ACK },
		.payload = { .data = data, .length = opcode == UROCE_CNP ? 0 : qp->mtu },
		.marked = marked,
	};

	uroce_path_events.packet(&fx.host.paths, &pkt, from, now);
}

static void notify(void)
{
	arrive(UROCE_CNP, &peer, false, NOW);
}

/* --- growth --- */

static void test_begins_small(void **state)
{
	begin();
	assert_int_equal(qp->req.window, FIRST);
	end();
	begin_on(IBV_QPT_RC, 1024, true);
	assert_int_equal(qp->req.window, UROCE_WINDOW_LOSSLESS);
	round_trips(1);
	assert_int_equal(qp->req.window, UROCE_WINDOW_LOSSLESS);
	end();
}

/* The window grows fast up to the buffer that every peer has, then by one for each window that
 * arrives whole. */
static void test_grows(void **state)
{
	static const struct {
		uint32_t mtu;
		uint32_t held; /* packets in 212,992 bytes, with what the kernel needs for each */
	} cases[] = { { 256, 166 }, { 1024, 92 }, { 2048, 48 }, { 4096, 25 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_on(IBV_QPT_RC, cases[i].mtu, false);
		round_trips(1);
		assert_int_equal(qp->req.window, 2 * FIRST);
		while (qp->req.window < cases[i].held) {
			uint32_t twice = 2 * qp->req.window;

			round_trips(1);
			assert_int_equal(qp->req.window, min_of(twice, cases[i].held));
		}
		for (int round = 0; round < 10; round++) {
			uint32_t before = qp->req.window;

			flight(before, 1 + round);
			assert_in_range(qp->req.window, before + 3, before + 4);
		}
		round_trips(1000);
		assert_int_equal(qp->req.window, UROCE_WINDOW);
		end();
	}
}

/* The window does not grow while it is unused, so that a ping-pong cannot send a burst later. */
static void test_unused(void **state)
{
	begin();
	for (int i = 0; i < 1000; i++)
		flight(1, 1);
	assert_int_equal(qp->req.window, FIRST);
	end();
}

static void test_psn_wraps(void **state)
{
	begin();
	qp->req.psn = qp->req.una = qp->req.max_psn = PSN_MASK - 20;
	uroce_window_start(qp);
	round_trips(4);
	assert_in_range(qp->req.window, 80, 92);
	notify();
	assert_in_range(qp->req.window, 40, 46);
	end();
}

/* --- loss --- */

static void test_loss(void **state)
{
	begin();
	round_trips(3);
	assert_int_equal(qp->req.window, 8 * FIRST);
	uroce_window_halve(qp);
	assert_int_equal(qp->req.window, 4 * FIRST);
	round_trips(1);
	assert_in_range(qp->req.window, 4 * FIRST + 3, 4 * FIRST + 4); /* slowly now */
	uroce_window_restart(qp);
	assert_int_equal(qp->req.window, LEAST);
	round_trips(3);
	assert_int_equal(qp->req.window, 2 * FIRST); /* fast up to half of the former window */
	for (int i = 0; i < 10; i++)
		uroce_window_halve(qp);
	assert_int_equal(qp->req.window, LEAST);
	end();
}

/* --- notifications --- */

/* The first notification halves the window; further ones of the same round trip have no effect. */
static void test_notified(void **state)
{
	begin();
	round_trips(3);
	qp->req.psn = qp->req.max_psn = psn_add(qp->req.una, 64);
	for (int i = 0; i < 10; i++)
		notify();
	assert_int_equal(qp->req.window, 32);
	assert_int_equal(qp->counters.cnps_received, 10);
	flight(64, 64);
	notify();
	assert_in_range(qp->req.window, 16, 20);
	for (int i = 0; i < 20; i++) {
		flight(1, 1);
		notify();
	}
	assert_int_equal(qp->req.window, LEAST);
	round_trips(20);
	assert_in_range(qp->req.window, 32, 64); /* it recovers */
	end();
}

/* A QP that is notified rarely reduces its window less than a QP that is notified always. */
static void test_seldom(void **state)
{
	uint32_t before;

	begin();
	notify();
	round_trips(60);
	before = qp->req.window;
	notify();
	assert_in_range(qp->req.window, before * 9 / 10, before - 1);
	for (int i = 0; i < 40; i++) {
		round_trips(1);
		notify();
	}
	round_trips(1);
	qp->req.window = 100;
	notify();
	assert_in_range(qp->req.window, 50, 60);
	end();
}

/* Notifications are ignored if a stranger sends them or if the QP has no use for them. */
static void test_not_obeyed(void **state)
{
	begin();
	arrive(UROCE_CNP, &stranger, false, NOW);
	assert_int_equal(qp->req.window, FIRST);
	qp->state = IBV_QPS_RTR;
	notify();
	assert_int_equal(qp->req.window, FIRST);
	assert_int_equal(qp->counters.cnps_received, 0);
	end();
	begin_on(IBV_QPT_RC, 1024, true);
	notify();
	assert_int_equal(qp->req.window, UROCE_WINDOW_LOSSLESS);
	end();
	begin_on(IBV_QPT_UD, 1024, false);
	notify();
	assert_int_equal(qp->counters.cnps_received, 0);
	end();
}

/* A round trip that became longer by a quarter of the QP's timeout (67 ms). */
static void test_long_queue(void **state)
{
	static const struct {
		uint32_t rtt, least;
		uint8_t timeout;
		bool congested;
	} cases[] = { { 20000000, 1000000, 14, true },
		      { 10000000, 1000000, 14, false },
		      { 50000000, 40000000, 14, false }, /* the peer is that far away */
		      { 50000000, 1000000, 18, false },
		      { 50000000, 1000000, 0, false } };

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		round_trips(2);
		qp->req.rtt = cases[i].rtt;
		qp->req.rtt_least = cases[i].least;
		qp->req.timeout = cases[i].timeout;
		round_trips(1);
		if (cases[i].congested)
			assert_in_range(qp->req.window, LEAST, 3 * FIRST);
		else
			assert_int_equal(qp->req.window, 8 * FIRST);
		round_trips(50);
		if (cases[i].congested)
			assert_in_range(qp->req.window, LEAST, FIRST);
		end();
	}
}

/* --- marks --- */

static void test_marked(void **state)
{
	begin();
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &peer, true, NOW);
	assert_int_equal(fx.sent, 1);
	assert_int_equal(fx.hdr.opcode, UROCE_CNP);
	assert_int_equal(fx.hdr.dest_qpn, 0x654321);
	assert_int_equal(fx.length, 0);
	/* No second notification within the interval. */
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &peer, true, NOW + INTERVAL - 1);
	assert_int_equal(fx.sent, 1);
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &peer, true, NOW + INTERVAL);
	assert_int_equal(fx.sent, 2);
	assert_int_equal(qp->counters.marked, 3);
	assert_int_equal(qp->counters.cnps_sent, 2);
	assert_int_equal(qp->req.window, FIRST); /* this side did not send too much */
	end();
}

static void test_marked_in_vain(void **state)
{
	begin();
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &peer, false, NOW);
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &stranger, true, NOW);
	arrive(UROCE_RC | UROCE_ACK, &peer, true, NOW);
	arrive(UROCE_CNP, &peer, true, NOW);
	assert_int_equal(fx.sent, 0);
	assert_int_equal(qp->counters.marked, 0);
	fx.send_result = -EAGAIN;
	arrive(UROCE_RC | UROCE_WRITE_MIDDLE, &peer, true, NOW);
	assert_int_equal(qp->counters.cnps_sent, 0);
	end();
}

/* A marked read response halves the window of further read requests. */
static void test_marked_response(void **state)
{
	begin();
	arrive(UROCE_RC | UROCE_READ_RESP_MIDDLE, &peer, true, NOW);
	assert_int_equal(qp->req.window, FIRST / 2);
	assert_int_equal(fx.sent, 1);
	end();
}

/* --- bytes --- */

/* As adapters send it: annex A17.9.3. */
static void test_bytes(void **state)
{
	static const uint8_t expected[BTH_LEN + CNP_LEN] = { 0x81, 0x00, 0xff, 0xff,
							     0x40, 0x65, 0x43, 0x21 };
	const struct uroce_hdr hdr = { .opcode = UROCE_CNP,
				       .pkey = UROCE_PKEY_DEFAULT,
				       .dest_qpn = 0x654321 };
	uint8_t bytes[UROCE_HEADER_MAX];
	struct uroce_hdr read;
	uint32_t length;

	memset(bytes, 0xaa, sizeof(bytes));
	assert_int_equal(uroce_wire_pack(&hdr, 0, bytes), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(uroce_wire_unpack(bytes, sizeof(expected), &read, &length),
			 sizeof(expected));
	assert_int_equal(length, 0);
	assert_int_equal(read.opcode, UROCE_CNP);
	assert_int_equal(read.dest_qpn, 0x654321);
	/* The reserved bytes may have any value. */
	memset(bytes + BTH_LEN, 0xff, CNP_LEN);
	assert_true(uroce_wire_unpack(bytes, sizeof(expected), &read, &length) > 0);
}

static void test_bytes_wrong(void **state)
{
	uint8_t bytes[BTH_LEN + CNP_LEN + 4] = { 0x81, 0x00, 0xff, 0xff, 0x40 };
	struct uroce_hdr read;
	uint32_t length;

	for (unsigned int size = 0; size <= sizeof(bytes); size++)
		if (size != BTH_LEN + CNP_LEN)
			assert_int_equal(uroce_wire_unpack(bytes, size, &read, &length), -EBADMSG);
	bytes[1] = 0x10; /* padding */
	assert_int_equal(uroce_wire_unpack(bytes, BTH_LEN + CNP_LEN, &read, &length), -EBADMSG);
	bytes[1] = 0x01; /* a version that does not exist */
	assert_int_equal(uroce_wire_unpack(bytes, BTH_LEN + CNP_LEN, &read, &length), -EBADMSG);
	bytes[1] = 0;
	bytes[2] = 0x12; /* another partition */
	assert_int_equal(uroce_wire_unpack(bytes, BTH_LEN + CNP_LEN, &read, &length), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_small),   cmocka_unit_test(test_grows),
		cmocka_unit_test(test_unused),	       cmocka_unit_test(test_psn_wraps),
		cmocka_unit_test(test_loss),	       cmocka_unit_test(test_notified),
		cmocka_unit_test(test_seldom),	       cmocka_unit_test(test_not_obeyed),
		cmocka_unit_test(test_long_queue),     cmocka_unit_test(test_marked),
		cmocka_unit_test(test_marked_in_vain), cmocka_unit_test(test_marked_response),
		cmocka_unit_test(test_bytes),	       cmocka_unit_test(test_bytes_wrong),
	};

	uroce_copy_init();
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
