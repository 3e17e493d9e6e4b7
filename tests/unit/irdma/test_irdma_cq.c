/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arming, and rings of earlier sizes. */
#include "tests/unit/irdma/fake.h"

static uint32_t arm_word(const struct fake *f)
{
	return fake_word(f->shadow, 4);
}

/* A request for an event of solicited completions does not weaken a request for all completions.
 * The event ends both requests. */
static void test_arm(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_cq *cq = &f->cq.kit.vcq.cq;

	assert_int_equal(irdma_req_notify_cq(cq, 1), 0);
	assert_int_equal(arm_word(f), 0x18000);
	assert_int_equal(le32toh(f->doorbells[16]), CQN);
	assert_int_equal(irdma_req_notify_cq(cq, 0), 0);
	assert_int_equal(arm_word(f), 0x2c000);
	assert_int_equal(irdma_req_notify_cq(cq, 1), 0);
	assert_int_equal(arm_word(f), 0x3c000);
	irdma_cq_event(&f->cq.kit.vcq);
	assert_int_equal(irdma_req_notify_cq(cq, 1), 0);
	assert_int_equal(arm_word(f), 0x08000);
	fake_free(f);
}

/* Completions of an earlier ring come first. The earlier ring is finished when a later ring has a
 * completion. */
static void test_rings(void **state)
{
	static char old_cqes[2 * IRDMA_QUANTUM];
	struct irdma_ring *old = calloc(1, sizeof(*old));
	struct fake *f = fake_create(2);
	struct ibv_wc wc[4];

	*old = (struct irdma_ring){
		.base = old_cqes,
		.next = old_cqes,
		.end = old_cqes + sizeof(old_cqes),
		.phase = IRDMA_VALID,
	};
	f->cq.old = old;
	for (int i = 0; i < 2; i++)
		assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	fake_entry(f, 0, 0, CQE_SEND);
	memcpy(old_cqes, f->cqes, IRDMA_QUANTUM);
	word_write(f->cqes + AT_HEADER, 0);
	assert_int_equal(fake_poll(f, wc, 4), 1);
	assert_ptr_equal(f->cq.old, old);
	assert_int_equal(arm_word(f), 0);
	assert_int_equal(fake_poll(f, wc, 4), 0);
	fake_entry(f, 0, 1, CQE_SEND);
	assert_int_equal(fake_poll(f, wc, 4), 1);
	assert_null(f->cq.old);
	assert_ptr_equal(f->cq.done, old);
	assert_int_equal(arm_word(f), 1);
	free(old);
	fake_free(f);
}

/* The size of a resize is checked, also for adapters that can resize. */
static void test_sizes(void **state)
{
	struct fake *f = fake_create(2);
	struct verbs_resize_cq in = { .cqe = 10 };

	assert_int_equal(irdma_resize_cq(&f->cq.kit.vcq, &in), -EOPNOTSUPP);
	f->ctx.features = IRDMA_FEATURE_RESIZE;
	in.cqe = 0;
	assert_int_equal(irdma_resize_cq(&f->cq.kit.vcq, &in), -EINVAL);
	in.cqe = 1024;
	assert_int_equal(irdma_resize_cq(&f->cq.kit.vcq, &in), -EINVAL);
	/* The present size. */
	in.cqe = 3;
	assert_int_equal(irdma_resize_cq(&f->cq.kit.vcq, &in), 0);
	assert_int_equal(f->cq.kit.vcq.cq.cqe, 3);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
