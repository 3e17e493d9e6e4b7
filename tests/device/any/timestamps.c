/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time of a completion, by the device's clock and by wall-clock time, and the present value
 * of the device's clock. */
#include <time.h>

#include "tests/lib/rt.h"

#define APART_MS 20

static const struct rt_options stamped = {
	.cq_ex = true, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
};
static const struct rt_options wall = { .cq_ex = true,
					.wc_flags = IBV_WC_STANDARD_FLAGS |
						    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK };

static bool has_clock(const struct rt_dev *dev)
{
	return dev->attr.completion_timestamp_mask;
}

static struct rt_dev *stamps_open(void)
{
	struct rt_dev *dev = rt_open();

	if (has_clock(dev))
		return dev;
	rt_close(dev);
	rt_skip("the device has no clock");
}

/* Send a message from @a to @b; return the time of its receive. */
static uint64_t message_time(struct rt_pair *pair, uint64_t (*read)(struct ibv_cq_ex *cq))
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)pair->b.cq;
	struct ibv_sge sge = rt_sge(&pair->a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_poll_cq_attr attr = {};
	uint64_t time;
	int r;

	rt_recv(&pair->b, 2, 0, 64);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	while ((r = ibv_start_poll(cq, &attr)) == ENOENT)
		usleep(100);
	CHECK_INT(r, 0);
	CHECK_INT(cq->status, IBV_WC_SUCCESS);
	time = read(cq);
	ibv_end_poll(cq);
	return time;
}

/* Times grow, at least as fast as the reported frequency of the clock. */
static void grow(void)
{
	struct rt_dev *dev = stamps_open();
	struct rt_pair pair = rt_pair_open(dev, &stamped);
	uint64_t mask = dev->attr.completion_timestamp_mask, before, after, last;
	uint64_t ticks = dev->attr.hca_core_clock * APART_MS; /* of a clock in kHz */

	before = message_time(&pair, ibv_wc_read_completion_ts);
	usleep(APART_MS * 1000);
	after = message_time(&pair, ibv_wc_read_completion_ts);
	CHECK(((after - before) & mask) >= ticks);
	for (int i = 0; i < 100; i++) {
		last = after;
		after = message_time(&pair, ibv_wc_read_completion_ts);
		CHECK(((after - last) & mask) <= mask / 2);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static uint64_t nanoseconds(const struct timespec *t)
{
	return t->tv_sec * 1000000000ull + t->tv_nsec;
}

/* The time of a completion lies between two readings of the device's clock. */
static void device_clock(void)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct rt_dev *dev = stamps_open();
	struct rt_pair pair = rt_pair_open(dev, &stamped);
	uint64_t time, mask = dev->attr.completion_timestamp_mask;

	CHECK_OK(ibv_query_rt_values_ex(dev->ctx, &before));
	CHECK_INT(before.comp_mask & IBV_VALUES_MASK_RAW_CLOCK, IBV_VALUES_MASK_RAW_CLOCK);
	time = message_time(&pair, ibv_wc_read_completion_ts);
	CHECK_OK(ibv_query_rt_values_ex(dev->ctx, &after));
	CHECK(((time - nanoseconds(&before.raw_clock)) & mask) <= mask / 2);
	CHECK(((nanoseconds(&after.raw_clock) - time) & mask) <= mask / 2);
	rt_pair_close(&pair);
	rt_close(dev);
}

static uint64_t wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return nanoseconds(&t);
}

static void wall_clock(void)
{
	struct rt_dev *dev = stamps_open();
	struct rt_pair pair = rt_pair_open(dev, &wall);
	uint64_t before = wall_now(), time;

	time = message_time(&pair, ibv_wc_read_completion_wallclock_ns);
	CHECK(time >= before);
	CHECK(time <= wall_now());
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A device without a clock reports that, and refuses a queue with timestamps. */
static void no_clock(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 10,
					    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct rt_dev *dev = rt_open();

	if (has_clock(dev))
		rt_skip("the device has a clock");
	CHECK(!ibv_create_cq_ex(dev->ctx, &attr));
	CHECK_INT(errno, EOPNOTSUPP);
	CHECK_INT(ibv_query_rt_values_ex(dev->ctx, &values), EOPNOTSUPP);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "grow", grow },
	{ "device_clock", device_clock },
	{ "wall_clock", wall_clock },
	{ "no_clock", no_clock },
};
RT_MAIN(cases)
