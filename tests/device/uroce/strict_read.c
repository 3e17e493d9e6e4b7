/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a receive, read before and after its completion was polled. Without valgrind the
 * difference is not visible.
 */
#include "tests/device/uroce/strict.h"

static char memory[SIZE];

/* Post a receive into memory that no peer may write. */
static void receive_post(struct rt_pair *pair, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(memory, 1, SMALL);
	CHECK_OK(ibv_post_recv(pair->b.qp, &wr, &bad));
}

static void message_receive(struct rt_pair *pair)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL / 2);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	memset(pair->a.buf.p, 2, SMALL);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	EXPECT(&pair->b, 3, IBV_WC_RECV);
}

static void read_at(bool early)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);

	CHECK(mr);
	receive_post(&pair, mr);
	if (early)
		CHECK_INT(memory[0], 1);
	message_receive(&pair);
	CHECK_INT(memory[0], 2);
	CHECK_INT(memory[SMALL - 1], 1); /* a byte behind the message */
	receive_post(&pair, mr);
	rt_pair_close(&pair);
	CHECK_INT(memory[0], 1); /* the request has ended with its queue */
	CHECK_OK(ibv_dereg_mr(mr));
	rt_close(dev);
	expect_clean();
}

static void before(void)
{
	read_at(true);
}

static void after(void)
{
	read_at(false);
}

static const struct rt_case cases[] = { { "before", before }, { "after", after } };
RT_MAIN(cases)
