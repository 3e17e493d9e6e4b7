/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compare-and-swap and fetch-and-add. */
#include "tests/lib/rt.h"

static struct rt_dev *open_atomics(void)
{
	struct rt_dev *dev = rt_open();

	if (!rt_has_atomics())
		rt_skip("the device has no atomics");
	return dev;
}

static uint64_t *word(struct rt_side *side, size_t offset)
{
	return (uint64_t *)(side->buf.p + offset);
}

static uint64_t compare_swap(struct rt_pair *pair, uint64_t compare, uint64_t swap)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_CMP_AND_SWP, 1, &sge);

	rt_wr_remote(&wr, &pair->b, 8);
	wr.wr.atomic.compare_add = compare;
	wr.wr.atomic.swap = swap;
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_COMP_SWAP);
	return *word(&pair->a, 0);
}

static void swap(void)
{
	struct rt_dev *dev = open_atomics();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	*word(&pair.b, 8) = 0x1122334455667788;
	CHECK(compare_swap(&pair, 0x1122334455667788, 5) == 0x1122334455667788);
	CHECK(*word(&pair.b, 8) == 5);
	CHECK(compare_swap(&pair, 6, 7) == 5);
	CHECK(*word(&pair.b, 8) == 5);
	CHECK(*word(&pair.b, 0) == 0 && *word(&pair.b, 16) == 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static uint64_t fetch_add(struct rt_side *from, struct rt_side *to, uint64_t add)
{
	struct ibv_sge sge = rt_sge(from, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &sge);

	rt_wr_remote(&wr, to, 8);
	wr.wr.atomic.compare_add = add;
	POST(from, &wr);
	EXPECT(from, 1, IBV_WC_FETCH_ADD);
	return *word(from, 0);
}

static void add(void)
{
	struct rt_dev *dev = open_atomics();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	*word(&pair.b, 8) = UINT64_MAX - 1;
	CHECK(fetch_add(&pair.a, &pair.b, 1) == UINT64_MAX - 1);
	CHECK(fetch_add(&pair.a, &pair.b, 3) == UINT64_MAX);
	CHECK(fetch_add(&pair.a, &pair.b, 0) == 2);
	CHECK(*word(&pair.b, 8) == 2);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Two queue pairs count in one word: no increment is lost, and no value is returned twice. */
static void two_writers(void)
{
	enum {
		ROUNDS = 100
	};
	struct rt_dev *dev = open_atomics();
	struct rt_pair one = rt_pair_open(dev, NULL), two = rt_pair_open(dev, NULL);
	bool seen[2 * ROUNDS] = {};

	for (int i = 0; i < ROUNDS; i++) {
		struct rt_side *sides[] = { &one.a, &two.a };

		for (int k = 0; k < 2; k++) {
			struct ibv_sge sge = rt_sge(sides[k], 0, 8);
			struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &sge);

			rt_wr_remote(&wr, &one.b, 8);
			wr.wr.atomic.compare_add = 1;
			POST(sides[k], &wr);
		}
		for (int k = 0; k < 2; k++) {
			uint64_t value;

			EXPECT(sides[k], 1, IBV_WC_FETCH_ADD);
			value = *word(sides[k], 0);
			CHECK(value < 2 * ROUNDS && !seen[value]);
			seen[value] = true;
		}
	}
	CHECK(*word(&one.b, 8) == 2 * ROUNDS);
	rt_pair_close(&two);
	rt_pair_close(&one);
	rt_close(dev);
}

/* Several in flight, answered in order. */
static void outstanding(void)
{
	struct rt_options options = { .rd_atomic = 4 };
	struct rt_dev *dev = open_atomics();
	struct rt_pair pair;

	if (dev->attr.orig_attr.max_qp_rd_atom < 4)
		options.rd_atomic = 1;
	pair = rt_pair_open(dev, &options);
	for (int i = 0; i < 16; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 8 * i, 8);
		struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, i, &sge);

		rt_wr_remote(&wr, &pair.b, 8);
		wr.wr.atomic.compare_add = 2;
		POST(&pair.a, &wr);
	}
	for (int i = 0; i < 16; i++) {
		EXPECT(&pair.a, i, IBV_WC_FETCH_ADD);
		CHECK(*word(&pair.a, 8 * i) == 2u * i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A misaligned target or too short a result is refused at once or completes in error. */
static void refused(size_t remote_offset, uint32_t length)
{
	struct rt_dev *dev = open_atomics();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &sge), *bad_wr;
	int r;

	rt_wr_remote(&wr, &pair.b, remote_offset);
	wr.wr.atomic.compare_add = 1;
	r = ibv_post_send(pair.a.qp, &wr, &bad_wr);
	if (r) {
		CHECK_INT(r, EINVAL);
		CHECK(bad_wr == &wr);
	} else {
		CHECK(rt_wait(&pair.a).status != IBV_WC_SUCCESS);
	}
	CHECK(*word(&pair.b, 8) == 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void misaligned(void)
{
	refused(12, 8);
}

static void short_result(void)
{
	refused(8, 4);
}

static const struct rt_case cases[] = {
	{ "swap", swap },
	{ "add", add },
	{ "two_writers", two_writers },
	{ "outstanding", outstanding },
	{ "misaligned", misaligned },
	{ "short_result", short_result },
};
RT_MAIN(cases)
