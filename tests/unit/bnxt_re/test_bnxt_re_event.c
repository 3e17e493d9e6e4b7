/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events of a queue pair. */
#include "libibverbs/library.h"
#include "tests/unit/bnxt_re/fake.h"
#include "tests/unit/fake_kernel.h"

/* Return the number of completions after the event, if the kernel has the queue pair in @state. */
static int after_event(enum ibv_event_type type, enum ibv_qp_state state, int error)
{
	const struct ib_uverbs_query_qp_resp answer = { .qp_state = state };
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_async_event event = { .element.qp = &f->qp.vqp.qp, .event_type = type };
	const struct verbs_provider provider = { .driver_id = DRIVER_ID };
	struct verbs_ex_private priv = { .provider = &provider };
	struct ibv_wc wc[4];
	int count;

	f->ctx.vctx.priv = &priv;
	kernel_answers(&answer, sizeof(answer));
	kernel.error = error;
	assert_int_equal(fake_post(f, 0, 1), 0);
	bnxt_re_async_event(&f->ctx.vctx.context, &event);
	count = fake_poll(f, wc, 4);
	if (count)
		assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	fake_free(f);
	return count;
}

static void test_fatal(void **state)
{
	assert_int_equal(after_event(IBV_EVENT_QP_FATAL, IBV_QPS_ERR, 0), 1);
	assert_int_equal(after_event(IBV_EVENT_QP_REQ_ERR, IBV_QPS_SQE, 0), 1);
	assert_int_equal(after_event(IBV_EVENT_QP_ACCESS_ERR, IBV_QPS_ERR, 0), 1);
	/* A removed device does not answer. */
	assert_int_equal(after_event(IBV_EVENT_QP_FATAL, IBV_QPS_RTS, EIO), 1);
	assert_int_equal(after_event(IBV_EVENT_COMM_EST, IBV_QPS_ERR, 0), 0);
}

/* The program reads an event after it has reset the queue pair. */
static void test_late(void **state)
{
	assert_int_equal(after_event(IBV_EVENT_QP_FATAL, IBV_QPS_RESET, 0), 0);
	assert_int_equal(after_event(IBV_EVENT_QP_FATAL, IBV_QPS_RTS, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fatal),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
