/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page of the kernel's clock, whose writer may be stopped in the middle of an update. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <time.h>

#include "tests/unit/mlx5/fake.h"
#include "providers/mlx5/clock.h"

static struct {
	volatile __u32 *sign;
	unsigned int pauses, ends_at; /* pauses after which the writer continues; 0: never */
} writer;

/* Replace nanosleep(), so that the writer runs while the reader pauses. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	assert_true(time->tv_sec == 0 && time->tv_nsec <= 1000000);
	if (++writer.pauses == writer.ends_at)
		++*writer.sign;
	errno = EINTR;
	return -1;
}

static struct mlx5_ib_clock_info *stopped_page(struct fake *f, uint32_t sign, unsigned int ends_at)
{
	struct mlx5_ib_clock_info *page = (void *)f->srqes;

	*page = (struct mlx5_ib_clock_info){
		.sign = sign, .nsec = 1000, .cycles = 2000, .mult = 3, .shift = 1, .mask = ~0ull
	};
	f->ctx->clock_info.base = page;
	writer.sign = &page->sign;
	writer.pauses = 0;
	writer.ends_at = ends_at;
	return page;
}

static void test_at_once(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx5dv_clock_info info;

	stopped_page(f, 6, 0);
	assert_int_equal(mlx5_clock_info_read(f->ctx, &info), 0);
	assert_int_equal(writer.pauses, 0);
	assert_int_equal(info.nsec, 1000);
	assert_int_equal(info.last_cycles, 2000);
	fake_free(f);
}

static void test_stopped_writer(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx5dv_clock_info info;

	stopped_page(f, 7, 40);
	errno = 0;
	assert_int_equal(mlx5_clock_info_read(f->ctx, &info), 0);
	assert_int_equal(writer.pauses, 40);
	assert_int_equal(info.nsec, 1000);
	assert_int_equal(errno, 0);
	fake_free(f);
}

/* The reader gives up after a time that is longer than a writer usually waits for a processor. */
static void test_dead_writer(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx5dv_clock_info info;

	stopped_page(f, 7, 0);
	assert_int_equal(mlx5_clock_info_read(f->ctx, &info), -EBUSY);
	assert_true(writer.pauses >= 100 && writer.pauses <= 10000);
	fake_free(f);
}

/* Compute the wall-clock time of a completion from the page. */
static void test_wallclock(void **state)
{
	static const uint32_t sent[16] = { [12] = 0, 2010, [14] = 0x0a001234 };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	stopped_page(f, 7, 40);
	mlx5_cq_ex_set_slots(&f->cq, mlx5_cq_ex_wc_flags);
	for (int i = 0; i < 64; i += 4)
		*(__be32 *)(f->cqes + i) = htobe32(sent[i / 4]);
	*(__be32 *)(f->cqes + 32) = htobe32(f->qp.uidx);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_wc_read_completion_wallclock_ns(ex), 1015);
	ibv_end_poll(ex);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_stopped_writer),
		cmocka_unit_test(test_dead_writer),
		cmocka_unit_test(test_wallclock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
