/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Resizing a completion queue: the entries of the old ring, the acknowledgement, and failures. */
#include <sched.h>

#include "libibverbs/library.h"
#include "tests/unit/bnxt_re/fake.h"
#include "tests/unit/fake_kernel.h"

enum {
	CUT_OFF = 15 << 1 | 1 << 5, /* with a toggle of 1 */
};

static const struct verbs_provider provider = { .driver_id = DRIVER_ID };
static struct verbs_ex_private priv = { .provider = &provider };

/* Make a queue whose ring can be freed. */
static struct fake *create(void)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);

	f->ctx.vctx.priv = &priv;
	f->ctx.max_cqes = 1000;
	assert_int_equal(kit_buf_alloc(&f->cq.buf, ENTRIES * sizeof(f->cqes[0])), 0);
	f->cq.ring = f->cq.next = f->cq.buf.base;
	f->cq.end = f->cq.ring + ENTRIES;
	kernel_answers(NULL, 0);
	return f;
}

static void destroy(struct fake *f)
{
	kit_buf_free(&f->cq.buf);
	kit_buf_free(&f->cq.after.buf);
	free(f->cq.kept);
	fake_free(f);
}

/* Write an entry into the ring of the queue. */
static void device_writes(struct fake *f, uint32_t place, uint32_t index, uint32_t info)
{
	f->cq.ring[place] = (struct bnxt_re_cqe){
		.a = htole64(index ? fake_handle(f) : 0),
		.b = htole64(index),
		.info = htole32(info),
	};
}

static int resize(struct fake *f, int cqe)
{
	const struct verbs_resize_cq in = { .cqe = cqe };

	return bnxt_re_resize_cq(&f->cq.kit.vcq, &in);
}

static void must_poll(struct fake *f, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(fake_poll(f, &wc, 1), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* Entries that are not polled stay in front of those of the new ring. */
static void test_unread(void **state)
{
	struct fake *f = create();
	struct ibv_wc wc;

	for (int i = 0; i < 4; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	device_writes(f, 0, 1, 1);
	device_writes(f, 1, 2, 1);
	device_writes(f, 2, 0, CUT_OFF | 1);
	assert_int_equal(resize(f, 100), 0);
	/* The new index 0 is below the old one, therefore the next phase begins. The doorbell has
	 * the toggle of the entry. */
	assert_int_equal(fake_doorbell(f), 0x9400000303000000);
	request_of(IB_USER_VERBS_CMD_POLL_CQ, sizeof(struct ib_uverbs_poll_cq));
	must_poll(f, 0);
	bnxt_re_req_notify_cq(&f->cq.kit.vcq.cq, 0);
	assert_int_equal(fake_doorbell(f), 0x6400000301000000);
	device_writes(f, 0, 3, 1);
	device_writes(f, 1, 4 % ENTRIES, 1);
	f->cq.ring[1].a = htole64(fake_handle(f));
	/* Resize again before the entries are polled. */
	device_writes(f, 2, 0, CUT_OFF | 1);
	assert_int_equal(resize(f, 3), -EINVAL);
	assert_int_equal(resize(f, 4), 0);
	assert_int_equal(fake_doorbell(f), 0x9400000302000000);
	for (int i = 1; i < 4; i++)
		must_poll(f, i);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_null(f->cq.kept);
	bnxt_re_req_notify_cq(&f->cq.kit.vcq.cq, 0);
	assert_int_equal(fake_doorbell(f), 0x6400000300000000);
	destroy(f);
}

/* An empty queue, and one in its second phase. */
static void test_empty(void **state)
{
	struct fake *f = create();

	device_writes(f, 0, 0, CUT_OFF | 1);
	assert_int_equal(resize(f, 100), 0);
	assert_int_equal(fake_doorbell(f), 0x9400000302000000);
	assert_null(f->cq.kept);
	assert_int_equal(f->cq.end - f->cq.ring, 256);
	assert_int_equal(fake_post(f, 9, 1), 0);
	device_writes(f, 0, 1, 1);
	must_poll(f, 9);
	destroy(f);
}

/* The completions of a queue pair that is destroyed are removed from both pieces of memory. */
static void test_clean(void **state)
{
	struct fake *f = create();
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	device_writes(f, 0, 1, 1);
	device_writes(f, 1, 0, CUT_OFF | 1);
	assert_int_equal(resize(f, 100), 0);
	device_writes(f, 0, 2, 1);
	bnxt_re_cqs_clean(&f->qp, true);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_null(f->cq.kept);
	destroy(f);
}

/* If the kernel refuses to resize, the queue does not change. */
static void test_refused(void **state)
{
	struct fake *f = create();
	struct bnxt_re_cqe *ring = f->cq.ring;

	assert_int_equal(fake_post(f, 5, 1), 0);
	f->doorbell = 0;
	kernel.error = EOPNOTSUPP;
	assert_int_equal(resize(f, 100), -EOPNOTSUPP);
	assert_int_equal(resize(f, 0), -EINVAL);
	assert_int_equal(resize(f, 1001), -EINVAL);
	assert_ptr_equal(f->cq.ring, ring);
	assert_null(f->cq.after.buf.base);
	assert_int_equal(fake_doorbell(f), 0);
	device_writes(f, 0, 1, 1);
	must_poll(f, 5);
	destroy(f);
}

/* The device ends the ring after the process has stopped waiting. A poll finds the end. */
static void test_late(void **state)
{
	struct fake *f = create();
	struct ibv_wc wc;

	assert_int_equal(fake_post(f, 5, 1), 0);
	assert_int_equal(resize(f, 100), -EIO);
	assert_int_equal(resize(f, 100), -EBUSY);
	device_writes(f, 0, 1, 1);
	device_writes(f, 1, 0, CUT_OFF | 1);
	must_poll(f, 5);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_int_equal(fake_doorbell(f), 0x9400000303000000);
	assert_int_equal(f->cq.end - f->cq.ring, 256);
	destroy(f);
}

static bool has_begun(struct fake *f)
{
	bool begun;

	spinlock_lock(&f->cq.lock);
	begun = f->cq.after.buf.base;
	spinlock_unlock(&f->cq.lock);
	return begun;
}

/* Another thread: poll during the resize, and let the device end the ring only afterwards. */
static void *poller(void *arg)
{
	struct fake *f = arg;
	struct ibv_wc wc;

	while (!has_begun(f))
		sched_yield();
	if (fake_poll(f, &wc, 1) == 1) {
		spinlock_lock(&f->cq.lock);
		device_writes(f, 1, 0, CUT_OFF | 1);
		spinlock_unlock(&f->cq.lock);
	}
	return NULL;
}

/* Polls do not wait for the end of a resize. */
static void test_polled_meanwhile(void **state)
{
	struct fake *f = create();
	pthread_t thread;

	assert_int_equal(fake_post(f, 5, 1), 0);
	device_writes(f, 0, 1, 1);
	assert_int_equal(pthread_create(&thread, NULL, poller, f), 0);
	assert_int_equal(resize(f, 100), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(f->cq.kept);
	assert_int_equal(f->cq.end - f->cq.ring, 256);
	destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unread), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_clean),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_late),   cmocka_unit_test(test_polled_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
