/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time that a peer on this host has to read its packets. It has any time as long as it reads
 * earlier packets. */
#include "tests/unit/uroce/fixture.h"

enum {
	MS = 1000000,
	FIRST_PSN = 100,
	RETRIES = 2,
	TIMEOUT = 18,		  /* 1.07 s */
	BEHIND = 1 << 20,	  /* bytes that the peer has not read when the packet is sent */
	LONG = 3600,		  /* s in which a slow peer reads its packets */
	LIMIT = 2 * (RETRIES + 2) /* seconds until a peer without progress is given up */
};

static struct uroce_cq *cq;
static struct uroce_qp *qp;
static uint64_t now; /* the test moves it */

/* The state of the peer as the path sees it. */
static struct {
	uint32_t unread; /* bytes before the packet */
	uint32_t pace;	 /* bytes that it reads in a second */
	bool others;	 /* other queue pairs send to it without a pause */
} peer;

static bool receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		      uint32_t own_qpn)
{
	return true;
}

static uint32_t unread(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		       uint32_t *mark, bool anew)
{
	if (peer.others && anew)
		peer.unread = BEHIND;
	return peer.unread;
}

static void begin(uint32_t bytes, uint32_t pace)
{
	static const struct uroce_path_ops ops = { .send = fixture_send,
						   .receiving = receiving,
						   .unread = unread };
	struct uroce_swqe *wqe;

	/*
	 * On a lossless path the engine reads the clock, which is behind the time of the last test.
	 */
	now = uroce_now();
	fx.host.engine.wheel.tick = now / UROCE_WHEEL_TICK;
	peer.unread = bytes;
	peer.pace = pace;
	peer.others = false;
	fx.path.ops = &ops;
	fx.path.lossless = true;
	fx.sent = 0;
	cq = fixture_cq(64, NULL, 0);
	qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	qp->req.psn = qp->req.una = qp->req.max_psn = FIRST_PSN;
	qp->req.timeout = TIMEOUT;
	qp->req.retry_cnt = qp->req.retry_left = RETRIES;
	wqe = sq_wqe(&qp->sq, qp->sq.head);
	*wqe = (struct uroce_swqe){
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .num_sge = 1, .length = 8
	};
	wqe->sge[0] = sge_at(0, 8);
	uroce_lock(&qp->lock);
	qp->sq.head++;
	uroce_req_run(qp, now);
	uroce_unlock(&qp->lock);
	assert_int_equal(fx.sent, 1);
}

static void end(void)
{
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* Let up to @seconds pass. Return whether the queue pair failed. */
static bool given_up(unsigned int seconds)
{
	for (unsigned int ms = 0; ms < 1000 * seconds && !qp->counters.retry_exceeded; ms++) {
		now += MS;
		if (ms % 1000 == 0)
			peer.unread -= min_of(peer.unread, peer.pace);
		if (!uroce_wheel_expire(&fx.host.engine.wheel, now))
			continue;
		uroce_lock(&qp->lock);
		uroce_req_timeout(qp, now);
		uroce_unlock(&qp->lock);
	}
	return qp->counters.retry_exceeded;
}

/* A slow peer gets no packet twice, because that would make it slower. */
static void test_slow(void **state)
{
	begin(BEHIND, BEHIND / LONG);
	assert_false(given_up(LONG / 2));
	assert_int_equal(fx.sent, 1);
	end();
}

static void test_stopped(void **state)
{
	begin(BEHIND, 0);
	assert_true(given_up(2 * LIMIT));
	assert_int_equal(fx.sent, 1);
	end();
}

/* The peer has read the packet and does not answer: it is sent again. */
static void test_silent(void **state)
{
	begin(0, 0);
	assert_true(given_up(2 * LIMIT));
	assert_true(fx.sent > RETRIES);
	end();
}

/* The peer has read the packet and does not answer, but reads those of other queue pairs. */
static void test_silent_and_busy(void **state)
{
	begin(0, BEHIND);
	peer.others = true;
	assert_true(given_up(2 * LIMIT));
	assert_true(fx.sent > RETRIES);
	end();
}

/* A peer that stops for a while and continues does not fail. After that it has the usual time. */
static void test_continues(void **state)
{
	begin(BEHIND, 0);
	assert_false(given_up(2));
	peer.pace = BEHIND / 100;
	assert_false(given_up(90));
	peer.pace = 0;
	assert_true(given_up(2 * LIMIT));
	end();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow),	  cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_silent),	  cmocka_unit_test(test_silent_and_busy),
		cmocka_unit_test(test_continues),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
