/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes in work requests. */
#include "tests/lib/rt_mistake.h"

static uint8_t memory[8192] __attribute__((aligned(4096)));

static int post(struct rt_dev *dev, const struct rt_options *options, bool connect,
		struct ibv_send_wr wr)
{
	_cleanup_pair_ struct rt_pair pair = {
		.a = rt_side_open(dev, options, NULL),
		.b = rt_side_open(dev, options, NULL),
	};
	struct ibv_send_wr *bad_wr = NULL;
	int r;

	if (connect)
		rt_pair_connect(&pair);
	r = ibv_post_send(pair.a.qp, &wr, &bad_wr);
	CHECK(bad_wr == &wr);
	return r;
}

static int send_in_reset(struct rt_dev *dev)
{
	rt_skip_iwarp(dev, "what a queue pair lacks is a connection, not a state");
	return post(dev, NULL, false, rt_wr(IBV_WR_SEND, 1, NULL));
}

static int send_inline(struct rt_dev *dev)
{
	struct rt_options options = { .inline_data = 16 };
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = sizeof(memory) };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	wr.send_flags |= IBV_SEND_INLINE;
	return post(dev, &options, true, wr);
}

static int send_sges(struct rt_dev *dev)
{
	static struct ibv_sge list[1000];
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, list);

	wr.num_sge = 1000;
	return post(dev, NULL, true, wr);
}

static int send_null_list(struct rt_dev *dev)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, NULL);

	wr.num_sge = 1;
	return post(dev, NULL, true, wr);
}

static int send_opcode(struct rt_dev *dev)
{
	struct rt_options uc = { .type = IBV_QPT_UC };

	return post(dev, &uc, true, rt_wr(IBV_WR_RDMA_READ, 1, NULL));
}

static int send_unknown_opcode(struct rt_dev *dev)
{
	return post(dev, NULL, true, rt_wr(200, 1, NULL));
}

static int send_flush(struct rt_dev *dev)
{
	return post(dev, NULL, true, rt_wr(IBV_WR_FLUSH, 1, NULL));
}

static int send_atomic_address(struct rt_dev *dev)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = 8 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &sge);

	if (!rt_has_atomics())
		rt_skip("the device has no atomics");
	wr.wr.atomic.remote_addr = 0x1001;
	return post(dev, NULL, true, wr);
}

static int send_no_ah(struct rt_dev *dev)
{
	struct rt_options ud = { .type = IBV_QPT_UD };

	return post(dev, &ud, true, rt_wr(IBV_WR_SEND, 1, NULL));
}

/* There is no receive, so that no request leaves the queue. */
static int send_full(struct rt_dev *dev)
{
	_cleanup_pair_ struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, NULL), *bad_wr;
	int r = 0;

	rt_skip_iwarp(dev, "a message that nobody receives ends the connection");
	for (int i = 0; i < 10000 && !r; i++)
		r = ibv_post_send(pair.a.qp, &wr, &bad_wr);
	return r;
}

static int recv_in_reset(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_recv_wr wr = {}, *bad_wr;

	rt_skip_iwarp(dev, "the connection manager moves the queue pair, if anybody");
	return ibv_post_recv(side.qp, &wr, &bad_wr);
}

static int recv_with_srq(struct rt_dev *dev)
{
	struct rt_options options = { .srq = true };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &options, NULL);
	struct ibv_recv_wr wr = {}, *bad_wr;

	rt_side_init(&side);
	return ibv_post_recv(side.qp, &wr, &bad_wr);
}

static int recv_full(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_recv_wr wr = {}, *bad_wr;
	int r = 0;

	rt_side_init(&side);
	for (int i = 0; i < 10000 && !r; i++)
		r = ibv_post_recv(side.qp, &wr, &bad_wr);
	return r;
}

static int recv_sges(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_sge list[1000] = {};
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 1000 }, *bad_wr;

	rt_side_init(&side);
	return ibv_post_recv(side.qp, &wr, &bad_wr);
}

static int wr_setter_first(struct rt_dev *dev)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND };
	_cleanup_pair_ struct rt_pair pair = rt_pair_open(dev, &options);

	ibv_wr_start(pair.a.qpx);
	ibv_wr_set_sge(pair.a.qpx, 0, 0, 1);
	return ibv_wr_complete(pair.a.qpx);
}

static int wr_inline(struct rt_dev *dev)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND, .inline_data = 16 };
	_cleanup_pair_ struct rt_pair pair = rt_pair_open(dev, &options);

	ibv_wr_start(pair.a.qpx);
	ibv_wr_send(pair.a.qpx);
	ibv_wr_set_inline_data(pair.a.qpx, memory, sizeof(memory));
	return ibv_wr_complete(pair.a.qpx);
}

static const struct rt_mistake mistakes[] = {
	{ "send_in_reset", send_in_reset, EINVAL, "the QP is in state RESET, sending needs RTS" },
	{ "send_inline", send_inline, EINVAL, "8192 bytes inline, the QP's max_inline_data is" },
	{ "send_sges", send_sges, EINVAL, "1000 scatter/gather entries, the QP's max_send_sge is" },
	{ "send_null_list", send_null_list, EINVAL, "sg_list is NULL" },
	{ "send_opcode", send_opcode, EINVAL, "opcode 4 (RDMA_READ) is no operation of a UC QP" },
	{ "send_unknown_opcode", send_unknown_opcode, EINVAL, "opcode 200 (unknown)" },
	{ "send_flush", send_flush, EINVAL, "use the ibv_wr_*() functions" },
	{ "send_atomic_address", send_atomic_address, EINVAL, "0x1001 is not a multiple of 8" },
	{ "send_no_ah", send_no_ah, EINVAL, "wr.ud.ah is NULL" },
	{ "send_full", send_full, ENOMEM, "send queue full" },
	{ "recv_in_reset", recv_in_reset, EINVAL, "the QP is in state RESET" },
	{ "recv_with_srq", recv_with_srq, EINVAL, "use ibv_post_srq_recv()" },
	{ "recv_full", recv_full, ENOMEM, "receive queue full" },
	{ "recv_sges", recv_sges, EINVAL, "1000 scatter/gather entries" },
	{ "wr_setter_first", wr_setter_first, EINVAL, "before any operation" },
	{ "wr_inline", wr_inline, ENOSPC, "8192 bytes inline" },
};
RT_MISTAKES(mistakes)
