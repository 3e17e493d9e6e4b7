/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cases in which the engine reports to the path that packets do not seem to arrive. */
#include "tests/unit/uroce/fixture.h"

enum {
	MS = 1000000,
	PROBES_REROUTE = 4,
	AGAIN_REROUTE = 3,
	FIRST_PSN = 100,
	PEER_QPN = 0x4321,
};

static struct uroce_cq *cq;
static struct uroce_qp *qp;
static uint64_t now = 1000ull * MS; /* the test moves it */

static struct {
	unsigned int count;
	unsigned int sent; /* packets before the last one */
} reroutes;

static void reroute(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn)
{
	assert_ptr_equal(path, &fx.path);
	assert_ptr_equal(av, &qp->av);
	assert_int_equal(dest_qpn, PEER_QPN);
	reroutes.count++;
	reroutes.sent = fx.sent;
}

static const struct uroce_path_ops rerouting = { .send = fixture_send, .reroute = reroute };
static const struct uroce_path_ops trusting = { .send = fixture_send };

static void begin(const struct uroce_path_ops *ops)
{
	fx.path.ops = ops;
	fx.path.lossless = false;
	cq = fixture_cq(64, NULL, 0);
	qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	qp->dest_qpn = PEER_QPN;
	qp->access = IBV_ACCESS_REMOTE_WRITE;
	qp->req.psn = qp->req.una = qp->req.max_psn = FIRST_PSN;
	qp->req.timeout = 20; /* 4 s: no timeout between the probes */
	qp->req.retry_cnt = qp->req.retry_left = 7;
	qp->resp.psn = FIRST_PSN;
	fx.sent = 0;
	memset(&reroutes, 0, sizeof(reroutes));
}

static void end(void)
{
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* --- the requester --- */

static void post(void)
{
	struct uroce_swqe *wqe = sq_wqe(&qp->sq, qp->sq.head);

	*wqe = (struct uroce_swqe){
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .num_sge = 1, .length = 8
	};
	wqe->sge[0] = sge_at(0, 8);
	uroce_lock(&qp->lock);
	qp->sq.head++;
	uroce_req_run(qp, now);
	uroce_unlock(&qp->lock);
}

/* Let time pass until the next probe has left. Return the number of packets sent before. */
static unsigned int probe(void)
{
	unsigned int probes = qp->req.probes, sent = fx.sent;

	while (qp->req.probes == probes) {
		now += MS;
		if (!uroce_wheel_expire(&fx.host.engine.wheel, now))
			continue;
		uroce_lock(&qp->lock);
		uroce_req_timeout(qp, now);
		uroce_unlock(&qp->lock);
	}
	assert_int_equal(qp->req.probes, probes + 1);
	assert_true(fx.sent > sent);
	return sent;
}

static void acknowledge(uint32_t psn)
{
	uroce_lock(&qp->lock);
	uroce_comp_ack(qp, psn, AETH_ACK | AETH_ACK_NO_CREDIT, now);
	uroce_unlock(&qp->lock);
	assert_int_equal(qp->req.una, psn + 1);
}

/* The path is notified once, before the probe leaves. Therefore the probe already takes another
 * way. */
static void test_probes(void **state)
{
	unsigned int sent;

	begin(&rerouting);
	post();
	for (int i = 1; i < PROBES_REROUTE; i++) {
		probe();
		assert_int_equal(reroutes.count, 0);
	}
	sent = probe();
	assert_int_equal(reroutes.count, 1);
	assert_int_equal(reroutes.sent, sent);
	for (int i = 0; i < 3; i++)
		probe();
	assert_int_equal(reroutes.count, 1);
	end();
}

static void test_probes_answered(void **state)
{
	begin(&rerouting);
	for (int message = 0; message < 3; message++) {
		post();
		for (int i = 1; i < PROBES_REROUTE; i++)
			probe();
		acknowledge(FIRST_PSN + message);
	}
	assert_int_equal(reroutes.count, 0);
	end();
}

/* --- the responder --- */

static void arrive(uint32_t psn)
{
	const struct uroce_packet pkt = {
		.hdr = { .opcode = UROCE_RC | UROCE_WRITE_ONLY,
			 .pkey = 0xffff,
			 .dest_qpn = qp->vqp.qp.qp_num,
			 .psn = psn },
	};

	uroce_lock(&qp->lock);
	uroce_resp_packet(qp, &pkt);
	uroce_unlock(&qp->lock);
}

static void arrive_new(void)
{
	uint32_t psn = qp->resp.psn;

	arrive(psn);
	assert_int_equal(qp->resp.psn, psn + 1);
}

static void test_again(void **state)
{
	begin(&rerouting);
	arrive_new();
	for (int i = 1; i < AGAIN_REROUTE; i++) {
		arrive(FIRST_PSN);
		assert_int_equal(reroutes.count, 0);
	}
	arrive(FIRST_PSN);
	assert_int_equal(reroutes.count, 1);
	for (int i = 0; i < 3; i++)
		arrive(FIRST_PSN);
	assert_int_equal(reroutes.count, 1);
	end();
}

/* A peer that continues has received answers. */
static void test_again_between(void **state)
{
	begin(&rerouting);
	for (int message = 0; message < 5; message++) {
		arrive_new();
		for (int i = 1; i < AGAIN_REROUTE; i++)
			arrive(FIRST_PSN);
	}
	assert_int_equal(reroutes.count, 0);
	arrive(FIRST_PSN);
	assert_int_equal(reroutes.count, 1);
	end();
}

/* A resend of many packets counts once. */
static void test_again_many(void **state)
{
	begin(&rerouting);
	for (int i = 0; i < 10; i++)
		arrive_new();
	for (int time = 1; time <= AGAIN_REROUTE; time++) {
		assert_int_equal(reroutes.count, 0);
		for (int i = 0; i < 10; i++)
			arrive(FIRST_PSN + i);
	}
	assert_int_equal(reroutes.count, 1);
	end();
}

/* A path without an alternative is not notified. */
static void test_nobody_to_tell(void **state)
{
	begin(&trusting);
	post();
	for (int i = 0; i <= PROBES_REROUTE; i++)
		probe();
	arrive_new();
	for (int i = 0; i <= AGAIN_REROUTE; i++)
		arrive(FIRST_PSN);
	assert_int_equal(reroutes.count, 0);
	end();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probes),	   cmocka_unit_test(test_probes_answered),
		cmocka_unit_test(test_again),	   cmocka_unit_test(test_again_between),
		cmocka_unit_test(test_again_many), cmocka_unit_test(test_nobody_to_tell),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
