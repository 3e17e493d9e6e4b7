/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong with datagrams: a lost message ends the game. */
#include "pingpong.h"

static int ud_connect_qp(struct pp *pp, unsigned int i)
{
	struct pp_qp *qp = &pp->qps[i];
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .sq_psn = qp->local.psn };
	struct ibv_ah_attr ah_attr = pp_remote_ah_attr(pp, i);
	int r = ibv_modify_qp(qp->qp, &rtr, IBV_QP_STATE);

	if (r)
		return pp_fail(r, "Failed to modify QP to RTR");
	r = ibv_modify_qp(qp->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (r)
		return pp_fail(r, "Failed to modify QP to RTS");
	qp->ah = ibv_create_ah(pp->pd, &ah_attr);
	return qp->ah ? 0 : pp_fail(errno, "Failed to create AH");
}

static const struct pp_program program = {
	.letters = "pdisrnlegc",
	.defaults = {
		.tcp_port = 18515,
		.ib_port = 1,
		.size = 1024,
		.num_qp = 1,
		.rx_depth = 500,
		.iters = 1000,
		.gid_index = -1,
	},
	.type = IBV_QPT_UD,
	.plain = 0x7b,
	.grh = PP_UD_GRH,
	.create_qps = pp_qps_create,
	.connect_qp = ud_connect_qp,
	.post_recv = pp_post_recv,
	.post_send = pp_post_send,
};

int main(int argc, char **argv)
{
	return pp_main(&program, argc, argv);
}
