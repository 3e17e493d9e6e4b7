/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of queue pairs, attributes of direct verbs, and the state after a reset. */
#include "providers/hns/direct/infiniband/hnsdv.h"
#include "tests/unit/hns/fake.h"

static int size(const struct hns_context *ctx, enum ibv_qp_type type, struct ibv_qp_cap *cap,
		struct hns_qp_size *ret)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = type, .cap = *cap };
	int r = hns_qp_size(ctx, &attr, ret);

	*cap = attr.cap;
	return r;
}

static struct hns_context context(bool old, bool long_lists)
{
	static struct ibv_device device = { .name = "hns_0" };

	return (struct hns_context){
		.vctx.context.device = &device,
		.old = old,
		.long_lists = long_lists,
		.max_inline = 1024,
		.max_wr = 32768,
		.max_sge = 64,
	};
}

/* Sizes on a kernel that includes inline data in its calculation. */
static void test_long_lists(void **state)
{
	struct hns_context ctx = context(false, true);
	struct ibv_qp_cap cap = { 100, 100, 4, 1, 0 };
	struct hns_qp_size s;

	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
	assert_int_equal(s.sq_count, 128);
	assert_int_equal(s.segments, 256);
	assert_int_equal(s.rq_count, 128);
	assert_int_equal(s.rq_sge, 1);
	assert_int_equal(s.max_inline, 32);
	cap = (struct ibv_qp_cap){ 100, 100, 5, 1, 0 };
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
	assert_int_equal(s.max_inline, 64);
	ctx.old = true;
	cap = (struct ibv_qp_cap){ 10, 10, 1, 1, 100 };
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
	assert_int_equal(s.sq_count, 64);
	assert_int_equal(s.segments, 512);
	assert_int_equal(s.rq_sge, 2);
	assert_int_equal(s.max_inline, 128);
	assert_int_equal(cap.max_inline_data, 128);
	assert_int_equal(cap.max_send_sge, 1);
	ctx.old = false;
	cap = (struct ibv_qp_cap){ 100, 100, 1, 1, 0 };
	assert_int_equal(size(&ctx, IBV_QPT_UD, &cap, &s), 0);
	assert_int_equal(s.segments, 256);
	cap.max_inline_data = 1025;
	assert_int_equal(size(&ctx, IBV_QPT_UD, &cap, &s), -EINVAL);
}

/* The library asks other kernels for more entries. The program gets the requested number. */
static void test_short_lists(void **state)
{
	struct hns_context ctx = context(false, false);
	struct ibv_qp_cap cap = { 128, 0, 1, 0, 200 };
	struct hns_qp_size s;

	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
	assert_int_equal(cap.max_send_sge, 15);
	assert_int_equal(s.max_send_sge, 1);
	assert_int_equal(s.segments, 2048);
	assert_int_equal(s.max_inline, 13 * 16);
	assert_int_equal(s.rq_count, 0);
	cap = (struct ibv_qp_cap){ 64, 3, 3, 3, 32 };
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
	assert_int_equal(cap.max_send_sge, 3);
	assert_int_equal(s.segments, 256);
	assert_int_equal(cap.max_recv_wr, 64);
	assert_int_equal(cap.max_recv_sge, 4);
	cap.max_inline_data = 62 * 16 + 1;
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), -EINVAL);
	cap = (struct ibv_qp_cap){ 1, 1, 65, 1, 0 };
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), -EINVAL);
	cap = (struct ibv_qp_cap){ 1, 32769, 1, 1, 0 };
	assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), -EINVAL);
	cap = (struct ibv_qp_cap){ 0, 0, 0, 0, 0 };
	assert_int_equal(size(&ctx, IBV_QPT_XRC_RECV, &cap, &s), 0);
	assert_int_equal(s.sq_count, 64);
	assert_int_equal(s.segments, 0);
}

/* Requests of all places of a ring have segments of their own. */
static void test_room(void **state)
{
	for (int list = 0; list < 2; list++) {
		struct hns_context ctx = context(false, list);

		for (uint32_t sges = 1; sges <= 64; sges++)
			for (uint32_t bytes = 0; bytes <= 992; bytes += 31) {
				struct ibv_qp_cap cap = { 300, 1, sges, 1, bytes };
				struct hns_qp_size s;

				assert_int_equal(size(&ctx, IBV_QPT_RC, &cap, &s), 0);
				assert_true(s.max_inline >= bytes);
				assert_true(s.segments >= s.sq_count * (sges > 2 ? sges - 2 : 0));
				assert_true(s.max_inline <= 32 ||
					    s.segments >= s.sq_count * (s.max_inline / 16));
			}
	}
}

static void test_direct_verbs(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_context *ctx = &f->ctx.vctx.context;
	struct ibv_qp_init_attr_ex attr = {};
	struct hnsdv_qp_init_attr hns = {};
	struct hnsdv_context out;

	assert_false(hnsdv_is_supported(NULL));
	assert_int_equal(hnsdv_query_device(NULL, &out), EINVAL);
	assert_int_equal(hnsdv_query_device(ctx, NULL), EINVAL);
	assert_null(hnsdv_create_qp(NULL, &attr, &hns));
	assert_int_equal(errno, EINVAL);
	assert_null(hnsdv_create_qp(ctx, &attr, NULL));
	assert_int_equal(errno, EINVAL);
	fake_free(f);
}

/* A transition that fails in the kernel does not change the queues. */
static void test_transitions(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct verbs_modify_qp in = { .attr = &attr, .mask = IBV_QP_STATE };

	assert_true(hns_modify_qp(&f->qp.vqp, &in) < 0);
	assert_int_equal(f->qp.state, IBV_QPS_RTS);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	attr.qp_state = IBV_QPS_RESET;
	assert_true(hns_modify_qp(&f->qp.vqp, &in) < 0);
	assert_int_equal(f->qp.state, IBV_QPS_RTS);
	assert_int_equal(f->sq_record, 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_lists),  cmocka_unit_test(test_short_lists),
		cmocka_unit_test(test_room),	    cmocka_unit_test(test_direct_verbs),
		cmocka_unit_test(test_transitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
