/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair that is connected to itself: its operations work, and a refused request completes
 * with the status of the refusal, like a request of another queue pair. */
#include "tests/lib/rt.h"

enum {
	SIZE = 1 << 18,
	HALF = SIZE / 2,
	LONG = 1 << 16, /* sent by reference */
	SHORT = 64,
};

struct attempt {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t length;
	uint32_t receive; /* bytes of the posted receive; 0: none is posted */
	bool wrong_key;	  /* of the target, or of the receive */
	enum ibv_wc_status sent, received;
};

static struct rt_side itself_open(struct rt_dev *dev)
{
	static const struct rt_options options = { .size = SIZE };
	struct rt_side side = rt_side_open(dev, &options, NULL);
	struct rt_address self = rt_side_address(&side);

	rt_side_connect(&side, &self);
	return side;
}

static void receive_post(struct rt_side *side, const struct attempt *attempt)
{
	struct ibv_sge sge = rt_sge(side, HALF, attempt->receive);
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (!attempt->receive)
		return;
	sge.lkey ^= attempt->wrong_key;
	CHECK_OK(ibv_post_recv(side->qp, &wr, &bad));
}

/* Check all completions of one request and its receive, in either order. */
static void completions_check(struct rt_side *side, const struct attempt *attempt)
{
	for (int left = 1 + !!attempt->receive; left; left--) {
		struct ibv_wc wc = rt_wait(side);
		enum ibv_wc_status right = wc.wr_id == 1 ? attempt->sent : attempt->received;

		if (wc.status != right)
			FAIL("%s: the %s has status \"%s\", expected \"%s\"", attempt->name,
			     wc.wr_id == 1 ? "request" : "receive", ibv_wc_status_str(wc.status),
			     ibv_wc_status_str(right));
	}
}

static void attempt_run(struct rt_dev *dev, const struct attempt *attempt)
{
	struct rt_side side = itself_open(dev);
	struct ibv_sge sge = rt_sge(&side, 0, attempt->length);
	struct ibv_send_wr wr = rt_wr(attempt->opcode, 1, &sge);

	rt_wr_remote(&wr, &side, HALF);
	wr.wr.rdma.rkey ^= attempt->wrong_key;
	receive_post(&side, attempt);
	rt_fill(side.buf.p, HALF, 1);
	rt_fill(side.buf.p + HALF, HALF, attempt->opcode == IBV_WR_RDMA_READ ? 1 : 2);
	POST(&side, &wr);
	completions_check(&side, attempt);
	if (!attempt->sent)
		VERIFY(side.buf.p + HALF, attempt->length, 1);
	rt_side_close(&side);
}

static void operations(void)
{
	static const struct attempt attempts[] = {
		{ "send", IBV_WR_SEND, SHORT, SHORT }, { "long send", IBV_WR_SEND, LONG, LONG },
		{ "write", IBV_WR_RDMA_WRITE, SHORT }, { "long write", IBV_WR_RDMA_WRITE, LONG },
		{ "read", IBV_WR_RDMA_READ, SHORT },   { "long read", IBV_WR_RDMA_READ, LONG },
	};
	struct rt_dev *dev = rt_open();

	for (int i = 0; i < RT_COUNT(attempts); i++)
		attempt_run(dev, &attempts[i]);
	rt_close(dev);
}

static void refusals(void)
{
	static const struct attempt attempts[] = {
		{ "write", IBV_WR_RDMA_WRITE, SHORT, 0, true, IBV_WC_REM_ACCESS_ERR },
		{ "long write", IBV_WR_RDMA_WRITE, LONG, 0, true, IBV_WC_REM_ACCESS_ERR },
		{ "read", IBV_WR_RDMA_READ, SHORT, 0, true, IBV_WC_REM_ACCESS_ERR },
		{ "send", IBV_WR_SEND, SHORT, SHORT / 2, false, IBV_WC_REM_INV_REQ_ERR,
		  IBV_WC_LOC_LEN_ERR },
		{ "long send", IBV_WR_SEND, LONG, SHORT, false, IBV_WC_REM_INV_REQ_ERR,
		  IBV_WC_LOC_LEN_ERR },
		{ "receive", IBV_WR_SEND, SHORT, SHORT, true, IBV_WC_REM_OP_ERR,
		  IBV_WC_LOC_PROT_ERR },
		{ "long receive", IBV_WR_SEND, LONG, LONG, true, IBV_WC_REM_OP_ERR,
		  IBV_WC_LOC_PROT_ERR },
	};
	struct rt_dev *dev = rt_open();

	for (int i = 0; i < RT_COUNT(attempts); i++)
		attempt_run(dev, &attempts[i]);
	rt_close(dev);
}

/* Requests before the refused one succeed, and those behind it are flushed. */
static void refused_between(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = itself_open(dev);
	struct ibv_sge sge = rt_sge(&side, 0, SHORT);
	struct ibv_send_wr wr[3];

	for (int i = 0; i < RT_COUNT(wr); i++) {
		wr[i] = rt_wr(IBV_WR_RDMA_WRITE, 1 + i, &sge);
		rt_wr_remote(&wr[i], &side, HALF);
		wr[i].next = i + 1 < RT_COUNT(wr) ? &wr[i + 1] : NULL;
	}
	wr[1].wr.rdma.rkey ^= 1;
	POST(&side, wr);
	EXPECT(&side, 1, IBV_WC_RDMA_WRITE);
	EXPECT_STATUS(&side, 2, IBV_WC_REM_ACCESS_ERR);
	EXPECT_STATUS(&side, 3, IBV_WC_WR_FLUSH_ERR);
	rt_side_close(&side);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "operations", operations },
	{ "refusals", refusals },
	{ "refused_between", refused_between },
};
RT_MAIN(cases)
