/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs that were connected by mistake with different first PSNs, or with different path
 * MTUs. On each path, operations between them fail as on a network. */
#include "tests/lib/rt.h"

enum {
	BIG = 3000,   /* more bytes than the smaller MTU has */
	MIDDLE = 800, /* fits in 1024 bytes, but not in 256 */
	SMALL = 200,  /* one packet of any MTU */
	SIZE = 1 << 16,
	HUGE_LENGTH = 40000, /* sent by reference */
};

static const struct rt_options options = { .timeout = 10, .retry_cnt = 1, .size = SIZE };

static void side_connect(struct rt_side *side, const struct rt_side *peer, enum ibv_mtu mtu,
			 uint32_t rq_psn, uint32_t sq_psn)
{
	struct rt_address address = rt_side_address(peer);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = address.qpn,
		.rq_psn = rq_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = rt_ah_attr(side->dev, &address),
	};

	rt_side_init(side);
	CHECK_OK(ibv_modify_qp(side->qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
	side->psn = sq_psn;
	rt_side_rts(side);
}

struct mistake {
	enum ibv_mtu mtu_a, mtu_b;
	uint32_t sq_psn; /* of side a; side b expects 5000 */
};

/* Post one operation between two new queue pairs; return the status of its completion. */
static enum ibv_wc_status attempt(struct rt_dev *dev, const struct mistake *mistake,
				  enum ibv_wr_opcode opcode, uint32_t length)
{
	struct rt_side a = rt_side_open(dev, &options, NULL), b = rt_side_open(dev, &options, NULL);
	struct ibv_sge sge = rt_sge(&a, 0, length);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);
	struct ibv_wc wc;

	side_connect(&b, &a, mistake->mtu_b, 5000, 1);
	side_connect(&a, &b, mistake->mtu_a, 1, mistake->sq_psn);
	rt_recv(&b, 2, 0, SIZE);
	rt_wr_remote(&wr, &b, 0);
	POST(&a, &wr);
	wc = rt_wait(&a);
	rt_side_close(&a);
	rt_side_close(&b);
	return wc.status;
}

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
};

static void psns(void)
{
	static const struct mistake mistakes[] = {
		{ IBV_MTU_1024, IBV_MTU_1024, 100 },
		{ IBV_MTU_1024, IBV_MTU_1024, 5001 },
		{ IBV_MTU_1024, IBV_MTU_1024, 4000 },
	};
	struct rt_dev *dev = rt_open();

	for (int m = 0; m < RT_COUNT(mistakes); m++)
		for (int i = 1; i < RT_COUNT(opcodes); i++)
			CHECK(attempt(dev, &mistakes[m], opcodes[i], SMALL));
	rt_close(dev);
}

static void mtus(void)
{
	static const struct {
		struct mistake mistake;
		uint32_t length;
		bool works;
	} cases[] = {
		{ { IBV_MTU_4096, IBV_MTU_1024, 5000 }, BIG, false },
		{ { IBV_MTU_4096, IBV_MTU_1024, 5000 }, HUGE_LENGTH, false },
		{ { IBV_MTU_4096, IBV_MTU_1024, 5000 }, MIDDLE, true },
		{ { IBV_MTU_256, IBV_MTU_1024, 5000 }, BIG, false },
		{ { IBV_MTU_256, IBV_MTU_1024, 5000 }, MIDDLE, false },
		{ { IBV_MTU_256, IBV_MTU_1024, 5000 }, SMALL, true },
		{ { IBV_MTU_256, IBV_MTU_256, 5000 }, BIG, true },
		{ { IBV_MTU_4096, IBV_MTU_4096, 5000 }, HUGE_LENGTH, true },
	};
	struct rt_dev *dev = rt_open();

	for (int c = 0; c < RT_COUNT(cases); c++) {
		for (int i = 0; i < RT_COUNT(opcodes); i++) {
			enum ibv_wc_status expected = opcodes[i] == IBV_WR_RDMA_READ
							      ? IBV_WC_BAD_RESP_ERR
							      : IBV_WC_REM_INV_REQ_ERR;
			enum ibv_wc_status status =
				attempt(dev, &cases[c].mistake, opcodes[i], cases[c].length);

			if (status != (cases[c].works ? IBV_WC_SUCCESS : expected))
				FAIL("MTU %d to %d, opcode %d, %u bytes: %s",
				     cases[c].mistake.mtu_a, cases[c].mistake.mtu_b, opcodes[i],
				     cases[c].length, ibv_wc_status_str(status));
		}
	}
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "first PSNs", psns },
	{ "path MTUs", mtus },
};
RT_MAIN(cases)
