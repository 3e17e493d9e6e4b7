/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "tests/unit/fake_device.h"

static struct ibv_srq *create(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .srq_context = pd,
					  .attr = { .max_wr = 5, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	assert_non_null(srq);
	assert_int_equal(init.attr.max_wr, 8);
	return srq;
}

static void test_life(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq *srq = create(pd);
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	uint32_t number;

	assert_ptr_equal(srq->context, *state);
	assert_ptr_equal(srq->pd, pd);
	assert_ptr_equal(srq->srq_context, pd);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 8);
	assert_log_empty();
	assert_int_equal(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
	assert_logged("ibv_get_srq_num: a basic one has no number");
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ibv_dealloc_pd(pd);
}

static void test_mistakes(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq_init_attr init = {};

	assert_null(ibv_create_srq(NULL, &init));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_srq: pd is NULL");
	assert_null(ibv_create_srq(pd, NULL));
	assert_logged("ibv_create_srq: srq_init_attr is NULL");
	ibv_dealloc_pd(pd);
}

/* The device judges limits and bits of the mask. */
static void test_left_to_device(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 600, .max_sge = 5 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr = { .max_wr = 700 };

	assert_non_null(srq);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | 4), 0);
	assert_int_equal(fake_of(*state)->calls[FAKE_QUERY_DEVICE], 0);
	assert_log_empty();
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ibv_dealloc_pd(pd);
}

static void extended_refused(struct ibv_context *ctx, struct ibv_srq_init_attr_ex init, int error,
			     const char *words)
{
	errno = 0;
	assert_null(verbs_slot_create_srq_ex(ctx, &init));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_extended(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 5 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.pd = pd,
	};
	struct ibv_srq *srq = verbs_slot_create_srq_ex(*state, &init);

	assert_non_null(srq);
	assert_int_equal(init.attr.max_wr, 8);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init.srq_type = IBV_SRQT_XRC;
	extended_refused(*state, init, EINVAL, "XRC: comp_mask 0x3: it needs");
	init.srq_type = IBV_SRQT_TM;
	extended_refused(*state, init, EINVAL, "tag matching: comp_mask 0x3: it needs");
	init.srq_type = 17;
	extended_refused(*state, init, EOPNOTSUPP, "srq_type 17: not known");
	init.srq_type = IBV_SRQT_BASIC;
	init.comp_mask |= 1 << 20;
	extended_refused(*state, init, EOPNOTSUPP, "comp_mask 0x100003");
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	extended_refused(*state, init, EINVAL, "no protection domain");
	ibv_dealloc_pd(pd);
}

static void test_xrc(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_context *other = fake_open(fake_of(*state));
	struct ibv_xrcd xrcd = { .context = *state }, foreign = { .context = other };
	struct ibv_cq *cq = ibv_create_cq(*state, 10, NULL, NULL, 0);
	const struct ibv_srq_init_attr_ex good = {
		.attr = { .max_wr = 5 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.pd = pd,
		.srq_type = IBV_SRQT_XRC,
		.xrcd = &xrcd,
		.cq = cq,
	};
	struct ibv_srq_init_attr_ex init = good;
	struct ibv_srq *srq = ibv_create_srq_ex(*state, &init);
	uint32_t number = 0;

	assert_non_null(srq);
	assert_ptr_equal(to_vsrq(srq)->xrcd, &xrcd);
	assert_ptr_equal(to_vsrq(srq)->cq, cq);
	assert_int_equal(fake_of(*state)->srq_attr.srq_type, IBV_SRQT_XRC);
	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	assert_int_equal(number, 0x51);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init = good;
	init.comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	extended_refused(*state, init, EINVAL, "XRC: comp_mask 0x7: it needs");
	init = good;
	init.cq = NULL;
	extended_refused(*state, init, EINVAL, "it needs IBV_SRQ_INIT_ATTR_XRCD");
	init = good;
	init.xrcd = NULL;
	extended_refused(*state, init, EINVAL, "IBV_SRQ_INIT_ATTR_XRCD and IBV_SRQ_INIT_ATTR_CQ");
	init = good;
	init.xrcd = &foreign;
	extended_refused(*state, init, EINVAL, "must all be of this context");
	/* An imported context may be the same context of the kernel. */
	ctx_priv(other)->imported = true;
	srq = ibv_create_srq_ex(*state, &init);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	fake_close(other);
	/* Attributes that the type does not use are ignored. */
	init.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(*state, &init);
	assert_non_null(srq);
	assert_null(to_vsrq(srq)->xrcd);
	assert_null(to_vsrq(srq)->cq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
}

static void test_refused_by_device(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 600, .max_sge = 5 } };
	struct ibv_srq_attr attr = { .max_wr = 10, .srq_limit = 700 };
	struct ibv_srq *srq = create(pd);

	fake_of(*state)->result[FAKE_CREATE_SRQ] = -EINVAL;
	assert_null(ibv_create_srq(pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(init.attr.max_wr, 600);
	assert_logged(
		"max_wr 600 is above the device's max_srq_wr 500; max_sge 5 is above the device's "
		"max_srq_sge 4");
	fake_of(*state)->srq.max_wr = 8;
	fake_of(*state)->result[FAKE_MODIFY_SRQ] = -EINVAL;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_logged("srq_limit 700 is above the queue's max_wr 8");
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	assert_logged("the device cannot resize a shared receive queue");
	fake_of(*state)->result[FAKE_QUERY_SRQ] = -EIO;
	assert_int_equal(ibv_query_srq(srq, &attr), EIO);
	fake_of(*state)->result[FAKE_DESTROY_SRQ] = -EBUSY;
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	fake_of(*state)->result[FAKE_DESTROY_SRQ] = 0;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ibv_dealloc_pd(pd);
}

static void test_unsupported(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_srq_init_attr init = {};

	fake_of(*state)->ops.create_srq = NULL;
	assert_null(ibv_create_srq(pd, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

#define srq_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		srq_test(test_life),
		srq_test(test_mistakes),
		srq_test(test_extended),
		srq_test(test_refused_by_device),
		srq_test(test_left_to_device),
		srq_test(test_unsupported),
		srq_test(test_xrc),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
