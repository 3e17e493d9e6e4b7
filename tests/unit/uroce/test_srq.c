/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receive queues, shared and not: posting, taking, the limit, resizing, flushing. */
#include "tests/unit/uroce/fixture.h"

static int post_srq(struct uroce_srq *srq, uint64_t wr_id, int num_sge)
{
	struct ibv_sge sge[] = { sge_at(0, 10), sge_at(100, 20), sge_at(200, 30) };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge }, *bad = NULL;
	int r = uroce_post_srq_recv(&srq->vsrq.srq, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

static int post_qp(struct uroce_qp *qp, uint64_t wr_id, int num_sge)
{
	struct ibv_sge sge[] = { sge_at(0, 10), sge_at(100, 20), sge_at(200, 30) };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge }, *bad = NULL;
	int r = uroce_post_recv(&qp->vqp.qp, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

static int modify(struct uroce_srq *srq, int mask, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };
	const struct verbs_modify_srq in = { .attr = &attr, .mask = mask };

	return uroce_modify_srq(&srq->vsrq, &in);
}

static void expect(struct uroce_qp *qp, uint64_t wr_id)
{
	assert_true(uroce_rwqe_take(qp));
	assert_int_equal(qp->resp.rwqe->wr_id, wr_id);
}

static void test_own_queue(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);

	assert_false(uroce_rwqe_take(qp));
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 4; i++)
			assert_int_equal(post_qp(qp, i, 2), 0);
		assert_int_equal(post_qp(qp, 4, 1), ENOMEM);
		for (uint64_t i = 0; i < 4; i++)
			expect(qp, i);
		assert_false(uroce_rwqe_take(qp));
	}
	assert_int_equal(post_qp(qp, 9, 2), 0);
	expect(qp, 9);
	assert_int_equal(qp->resp.rwqe->num_sge, 2);
	assert_int_equal(qp->resp.rwqe->length, 30);
	assert_int_equal(qp->resp.rwqe->sge[1].length, 20);
	assert_int_equal(post_qp(qp, 1, qp->rq.max_sge + 1), EINVAL);
	assert_int_equal(post_qp(qp, 1, -1), EINVAL);
	assert_int_equal(post_qp(qp, 2, 0), 0);
	expect(qp, 2);
	assert_int_equal(qp->resp.rwqe->length, 0);
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* The first refused request of a list is returned; those before it are posted. */
static void test_list(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_recv_wr wr[6] = {}, *bad = NULL;

	for (int i = 0; i < 6; i++)
		wr[i] = (struct ibv_recv_wr){
			.wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1
		};
	assert_int_equal(uroce_post_recv(&qp->vqp.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	for (uint64_t i = 0; i < 4; i++)
		expect(qp, i);
	assert_false(uroce_rwqe_take(qp));
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

static void test_states(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	struct ibv_wc wc;

	qp->state = IBV_QPS_RESET;
	assert_int_equal(post_qp(qp, 1, 1), EINVAL);
	qp->state = IBV_QPS_INIT;
	assert_int_equal(post_qp(qp, 2, 1), 0);
	qp->state = IBV_QPS_ERR;
	assert_int_equal(fixture_poll(cq, &wc), 0);
	assert_int_equal(post_qp(qp, 3, 1), 0); /* comes back at once, with what was there before */
	for (uint64_t i = 2; i <= 3; i++) {
		assert_int_equal(fixture_poll(cq, &wc), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.qp_num, qp->vqp.qp.qp_num);
		assert_true(wc.opcode & IBV_WC_RECV);
	}
	assert_int_equal(fixture_poll(cq, &wc), 0);
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

static void test_shared(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_srq *srq = fixture_srq(4, 3);
	struct uroce_qp *a = fixture_qp(IBV_QPT_RC, cq, srq, 0),
			*b = fixture_qp(IBV_QPT_UD, cq, srq, 0);

	assert_int_equal(post_qp(a, 1, 1), EINVAL); /* it has no queue of its own */
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_srq(srq, i, 3), 0);
	assert_int_equal(post_srq(srq, 4, 1), ENOMEM);
	assert_int_equal(post_srq(srq, 4, 4), ENOMEM);
	expect(a, 0);
	expect(b, 1);
	expect(a, 2);
	assert_int_equal(a->resp.rwqe->num_sge, 3);
	assert_int_equal(a->resp.rwqe->length, 60);
	assert_int_equal(post_srq(srq, 5, srq->rq.max_sge + 1), EINVAL);
	expect(b, 3);
	assert_false(uroce_rwqe_take(a));
	assert_int_equal(uroce_destroy_srq(&srq->vsrq), -EBUSY);
	fixture_qp_free(a);
	fixture_qp_free(b);
	fixture_srq_free(srq);
	fixture_cq_free(cq);
}

static uint32_t limit_of(struct uroce_srq *srq)
{
	struct ibv_srq_attr attr;

	assert_int_equal(uroce_query_srq(&srq->vsrq, &attr), 0);
	return attr.srq_limit;
}

static void test_limit(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_srq *srq = fixture_srq(8, 1);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_RC, cq, srq, 0);

	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(post_srq(srq, i, 1), 0);
	assert_int_equal(limit_of(srq), 0);
	assert_int_equal(modify(srq, IBV_SRQ_LIMIT, 0, 9), -EINVAL);
	assert_int_equal(modify(srq, IBV_SRQ_LIMIT, 0, 6), 0);
	assert_int_equal(limit_of(srq), 6);
	expect(qp, 0);
	expect(qp, 1);
	assert_int_equal(fixture_event(), -1); /* 6 are left, not fewer */
	expect(qp, 2);
	assert_int_equal(fixture_event(), IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(limit_of(srq), 0);
	expect(qp, 3);
	assert_int_equal(fixture_event(), -1); /* once */
	assert_int_equal(modify(srq, IBV_SRQ_LIMIT, 0, 4), 0);
	expect(qp, 4);
	assert_int_equal(fixture_event(), IBV_EVENT_SRQ_LIMIT_REACHED);
	srq->vsrq.srq.events_completed = 2;
	/* an unread event goes with the queue */
	assert_int_equal(modify(srq, IBV_SRQ_LIMIT, 0, 4), 0);
	expect(qp, 5);
	fixture_qp_free(qp);
	fixture_srq_free(srq);
	assert_int_equal(fixture_event(), -1);
	fixture_cq_free(cq);
}

static void test_resize(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_srq *srq = fixture_srq(8, 2);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_RC, cq, srq, 0);
	struct ibv_srq_attr attr;

	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(post_srq(srq, 0, 1), 0);
		expect(qp, 0);
	}
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(post_srq(srq, i, 2), 0);
	assert_int_equal(modify(srq, IBV_SRQ_MAX_WR, 7, 0), -EINVAL);
	assert_int_equal(modify(srq, IBV_SRQ_MAX_WR, UROCE_MAX_WR + 1, 0), -EINVAL);
	assert_int_equal(modify(srq, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 30, 20), 0);
	assert_int_equal(uroce_query_srq(&srq->vsrq, &attr), 0);
	assert_true(attr.max_wr >= 30);
	assert_int_equal(attr.max_sge, 2);
	assert_int_equal(attr.srq_limit, 20);
	for (uint64_t i = 8; i < 30; i++)
		assert_int_equal(post_srq(srq, i, 1), 0);
	assert_int_equal(modify(srq, IBV_SRQ_LIMIT, 0, 0), 0);
	for (uint64_t i = 0; i < 30; i++) {
		expect(qp, i);
		assert_int_equal(qp->resp.rwqe->length, i < 8 ? 30 : 10);
	}
	assert_false(uroce_rwqe_take(qp));
	fixture_qp_free(qp);
	fixture_srq_free(srq);
	fixture_cq_free(cq);
}

static void test_refused(void **state)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = UROCE_MAX_WR + 1, .max_sge = 1 } };
	const struct verbs_create_srq in = { .attr = &attr };
	struct uroce_srq srq = { .vsrq.srq = { .context = &fx.ctx.vctx.context, .pd = &fx.pd.pd } };

	assert_int_equal(uroce_create_srq(&srq.vsrq, &in), -EINVAL);
	attr.attr = (struct ibv_srq_attr){ .max_wr = 1, .max_sge = UROCE_MAX_SGE + 1 };
	assert_int_equal(uroce_create_srq(&srq.vsrq, &in), -EINVAL);
	attr = (struct ibv_srq_init_attr_ex){ .attr = { .max_wr = 1, .max_sge = 1 } };
	srq.vsrq.srq_type = IBV_SRQT_TM;
	assert_int_equal(uroce_create_srq(&srq.vsrq, &in), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_queue), cmocka_unit_test(test_list),
		cmocka_unit_test(test_states),	  cmocka_unit_test(test_shared),
		cmocka_unit_test(test_limit),	  cmocka_unit_test(test_resize),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
