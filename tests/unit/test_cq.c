/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "tests/unit/fake_device.h"

static void test_life(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, &channel, channel, 1);

	assert_non_null(cq);
	assert_ptr_equal(cq->context, ctx);
	assert_ptr_equal(cq->channel, channel);
	assert_ptr_equal(cq->cq_context, &channel);
	assert_int_equal(cq->cqe, 11);
	assert_int_equal(fake_of(ctx)->cq_attr.comp_vector, 1);
	assert_false(fake_of(ctx)->create_cq.extended);
	assert_int_equal(channel->refcnt, 1);
	assert_int_equal(ibv_resize_cq(cq, 20), 0);
	assert_int_equal(cq->cqe, 20);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(channel->refcnt, 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	assert_log_empty();
}

static void test_extended(void **state)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10,
		.wc_flags = IBV_WC_EX_WITH_IMM,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(*state, &attr);

	assert_non_null(cq);
	assert_true(fake_of(*state)->create_cq.extended);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void create_refused(struct ibv_context *ctx, int cqe, int vector, const char *words)
{
	errno = 0;
	assert_null(ibv_create_cq(ctx, cqe, NULL, NULL, vector));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake_of(ctx)->calls[FAKE_CREATE_CQ], 0);
	assert_logged(words);
}

static void test_mistakes(void **state)
{
	create_refused(*state, 0, 0, "cqe 0: a completion queue holds at least 1");
	create_refused(*state, -1, 0, "cqe -1: a completion queue holds at least 1");
	create_refused(*state, 1, 2, "comp_vector 2: the device has 2, numbered from 0");
	create_refused(*state, 1, -1, "comp_vector -1: the device has 2");
	assert_null(ibv_create_cq(NULL, 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_cq: context is NULL");
}

static void extended_refused(struct ibv_context *ctx, const struct ibv_cq_init_attr_ex *bad,
			     const char *words)
{
	struct ibv_cq_init_attr_ex attr = *bad;

	errno = 0;
	assert_null(ibv_create_cq_ex(ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(fake_of(ctx)->calls[FAKE_CREATE_CQ], 0);
	assert_logged(words);
}

static void test_extended_mistakes(void **state)
{
	extended_refused(*state, &(struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = 1 << 9 },
			 "comp_mask: bits 0x200 are not known");
	extended_refused(*state, &(struct ibv_cq_init_attr_ex){ .cqe = 1, .wc_flags = 1ULL << 40 },
			 "wc_flags: bits 0x10000000000 are not known");
	assert_null(verbs_slot_create_cq_ex(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("cq_attr is NULL");
}

/* The device judges limits and flags, and is not asked for its limits in advance. */
static void test_left_to_device(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = 1 << 5 };
	struct ibv_cq *cq = ibv_create_cq(*state, 5000, NULL, NULL, 0);
	struct ibv_cq_ex *cq_ex;

	assert_non_null(cq);
	assert_int_equal(ibv_resize_cq(cq, 6000), 0);
	cq_ex = ibv_create_cq_ex(*state, &attr);
	assert_non_null(cq_ex);
	assert_int_equal(fake_of(*state)->calls[FAKE_QUERY_DEVICE], 0);
	assert_log_empty();
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A CQ that was refused does not hold the channel. */
static void test_refused_by_device(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);

	fake_of(ctx)->result[FAKE_CREATE_CQ] = -EINVAL;
	assert_null(ibv_create_cq(ctx, 5000, NULL, channel, 0));
	assert_int_equal(errno, EINVAL);
	assert_logged("fake0 ibv_create_cq: cqe 5000, comp_vector 0, wc_flags 0x7f: Invalid "
		      "argument; cqe 5000 is above the device's max_cqe 4000");
	fake_of(ctx)->result[FAKE_CREATE_CQ] = -ENOMEM;
	assert_null(ibv_create_cq(ctx, 5, NULL, channel, 0));
	assert_logged("; the device has room for 10 completion queues");
	assert_int_equal(channel->refcnt, 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void test_resize_mistakes(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);

	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	assert_logged("ibv_resize_cq: cqe 0: ");
	fake_of(ctx)->result[FAKE_RESIZE_CQ] = -EINVAL;
	assert_int_equal(ibv_resize_cq(cq, 4001), EINVAL);
	assert_logged("from 11 to 4001: Invalid argument; cqe 4001 is above");
	assert_int_equal(ibv_resize_cq(cq, 1), EINVAL);
	assert_logged("are more completions waiting in it");
	assert_int_equal(cq->cqe, 11);
	fake_of(ctx)->ops.resize_cq = NULL;
	assert_int_equal(ibv_resize_cq(cq, 20), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void test_modify(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE };

	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
	attr.attr_mask |= 1 << 4;
	assert_int_equal(ibv_modify_cq(cq, &attr), EINVAL);
	assert_logged("only IBV_CQ_ATTR_MODERATE is known");
	fake_of(ctx)->ops.modify_cq = NULL;
	assert_int_equal(ibv_modify_cq(cq, &attr), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void test_destroy_busy(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);

	fake_of(ctx)->result[FAKE_DESTROY_CQ] = -EBUSY;
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_logged("other objects still use it");
	fake_of(ctx)->result[FAKE_DESTROY_CQ] = 0;
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

#define cq_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cq_test(test_life),
		cq_test(test_extended),
		cq_test(test_mistakes),
		cq_test(test_extended_mistakes),
		cq_test(test_left_to_device),
		cq_test(test_refused_by_device),
		cq_test(test_resize_mistakes),
		cq_test(test_modify),
		cq_test(test_destroy_busy),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
