/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The extended completion queue: ibv_start_poll() and its readers. */
#include <endian.h>

#include "tests/lib/rt.h"

#define FLAGS                                                                   \
	(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | \
	 IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |      \
	 IBV_WC_EX_WITH_DLID_PATH_BITS)

static const struct rt_options ex = { .cq_ex = true, .wc_flags = FLAGS };

static struct ibv_cq_ex *cq_ex(struct rt_side *side)
{
	return (struct ibv_cq_ex *)side->cq;
}

/* Wait until the queue is not empty; the first entry is then the current one. */
static void start(struct rt_side *side)
{
	struct ibv_poll_cq_attr attr = {};
	int r;

	while ((r = ibv_start_poll(cq_ex(side), &attr)) == ENOENT)
		usleep(100);
	CHECK_INT(r, 0);
}

/* iWARP has no immediate data: send without it there. */
static void send_imm(struct rt_side *from, struct rt_side *to, uint32_t i)
{
	struct ibv_sge sge = rt_sge(from, 0, 10 + i);
	struct ibv_send_wr wr =
		rt_wr(rt_is_iwarp(from->dev) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, i, &sge);

	wr.imm_data = htobe32(i);
	rt_recv(to, 100 + i, 0, 1000);
	POST(from, &wr);
}

static void expect_recv(struct rt_side *side, uint32_t i)
{
	struct ibv_cq_ex *cq = cq_ex(side);

	CHECK_INT(cq->status, IBV_WC_SUCCESS);
	CHECK_INT(cq->wr_id, 100 + i);
	CHECK_INT(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	CHECK_INT(ibv_wc_read_byte_len(cq), 10 + i);
	if (rt_is_iwarp(side->dev)) {
		CHECK_INT(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, 0);
	} else {
		CHECK_INT(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
		CHECK_INT(be32toh(ibv_wc_read_imm_data(cq)), i);
	}
	CHECK_INT(ibv_wc_read_qp_num(cq), side->qp->qp_num);
}

static void empty(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ex);
	struct ibv_poll_cq_attr attr = {};

	CHECK_INT(ibv_start_poll(cq_ex(&pair.a), &attr), ENOENT);
	CHECK_INT(ibv_start_poll(cq_ex(&pair.a), &attr), ENOENT);
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Poll one by one, and check that the other readers do not crash. */
static void one(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ex);

	for (uint32_t i = 0; i < 200; i++) {
		send_imm(&pair.a, &pair.b, i);
		start(&pair.a);
		CHECK_INT(cq_ex(&pair.a)->status, IBV_WC_SUCCESS);
		CHECK_INT(cq_ex(&pair.a)->wr_id, i);
		CHECK_INT(ibv_wc_read_opcode(cq_ex(&pair.a)), IBV_WC_SEND);
		ibv_end_poll(cq_ex(&pair.a));
		start(&pair.b);
		expect_recv(&pair.b, i);
		ibv_wc_read_vendor_err(cq_ex(&pair.b));
		ibv_wc_read_src_qp(cq_ex(&pair.b));
		ibv_wc_read_slid(cq_ex(&pair.b));
		ibv_wc_read_sl(cq_ex(&pair.b));
		ibv_wc_read_dlid_path_bits(cq_ex(&pair.b));
		ibv_end_poll(cq_ex(&pair.b));
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Several completions in one session; the last one is still readable after the end of the queue. */
static void batch(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ex);

	for (int round = 0; round < 20; round++) {
		struct ibv_poll_cq_attr attr = {};

		for (uint32_t i = 0; i < 5; i++)
			send_imm(&pair.a, &pair.b, i);
		for (uint32_t i = 0; i < 5; i++)
			EXPECT(&pair.a, i, IBV_WC_SEND);
		start(&pair.b);
		expect_recv(&pair.b, 0);
		for (uint32_t i = 1; i < 5; i++) {
			while (ibv_next_poll(cq_ex(&pair.b)) == ENOENT)
				expect_recv(&pair.b, i - 1);
			expect_recv(&pair.b, i);
		}
		CHECK_INT(ibv_next_poll(cq_ex(&pair.b)), ENOENT);
		expect_recv(&pair.b, 4);
		ibv_end_poll(cq_ex(&pair.b));
		CHECK_INT(ibv_start_poll(cq_ex(&pair.b), &attr), ENOENT);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The plain poll works on the same queue, between sessions. */
static void mixed(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ex);

	for (uint32_t i = 0; i < 10; i++)
		send_imm(&pair.a, &pair.b, i);
	for (uint32_t i = 0; i < 10; i += 2) {
		start(&pair.b);
		expect_recv(&pair.b, i);
		ibv_end_poll(cq_ex(&pair.b));
		EXPECT(&pair.b, 100 + i + 1, IBV_WC_RECV);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void error_status(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ex);

	rt_recv(&pair.b, 1, 0, 10);
	rt_recv(&pair.b, 2, 0, 10);
	rt_qp_state(pair.b.qp, IBV_QPS_ERR);
	for (int i = 1; i <= 2; i++) {
		start(&pair.b);
		CHECK_INT(cq_ex(&pair.b)->wr_id, i);
		CHECK_INT(cq_ex(&pair.b)->status, IBV_WC_WR_FLUSH_ERR);
		ibv_end_poll(cq_ex(&pair.b));
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A field the device cannot give is refused at creation, not read as garbage. */
static void unsupported(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_cq_init_attr_ex attr = { .cqe = 10, .wc_flags = 1ULL << 40 };

	CHECK(!ibv_create_cq_ex(dev->ctx, &attr));
	CHECK(errno == EOPNOTSUPP || errno == EINVAL);
	attr.wc_flags = 0;
	attr.comp_mask = 1u << 31;
	CHECK(!ibv_create_cq_ex(dev->ctx, &attr));
	CHECK(errno == EOPNOTSUPP || errno == EINVAL);
	rt_close(dev);
}

/* The device judges *flags*: uroce knows two. */
static void flags(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_cq_init_attr_ex attr = { .cqe = 10, .flags = 1u << 31 };
	struct ibv_cq_ex *cq;

	if (rt_is_kernel(dev))
		rt_skip("what other devices take is theirs to say");
	/* Without its bit in the mask the member is ignored. */
	cq = ibv_create_cq_ex(dev->ctx, &attr);
	CHECK(cq);
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	CHECK(!ibv_create_cq_ex(dev->ctx, &attr));
	CHECK_INT(errno, EOPNOTSUPP);
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq = ibv_create_cq_ex(dev->ctx, &attr);
	CHECK(cq);
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "empty", empty },
	{ "one", one },
	{ "batch", batch },
	{ "mixed", mixed },
	{ "error_status", error_status },
	{ "unsupported", unsupported },
	{ "flags", flags },
};
RT_MAIN(cases)
