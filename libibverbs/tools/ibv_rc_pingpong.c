/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong over a reliable connection. */
#include "pingpong.h"

static int rc_create_qp(struct pp *pp)
{
	struct ibv_qp_init_attr plain = pp_qp_init_attr(pp);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = plain.send_cq,
		.recv_cq = plain.recv_cq,
		.cap = plain.cap,
		.qp_type = plain.qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pp->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	if (!pp->opt.new_send)
		return pp_qps_create(pp);
	pp->qps[0].qp = ibv_create_qp_ex(pp->context, &attr);
	return pp->qps[0].qp ? 0 : pp_fail(errno, "Couldn't create QP");
}

static int rc_post_send(struct pp *pp, unsigned int i, struct ibv_sge *sge)
{
	struct ibv_qp_ex *qp;

	if (!pp->opt.new_send)
		return pp_post_send(pp, i, sge);
	qp = ibv_qp_to_qp_ex(pp->qps[i].qp);
	ibv_wr_start(qp);
	qp->wr_id = PP_SEND;
	qp->wr_flags = pp->send_flags;
	ibv_wr_send(qp);
	if (pp->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)sge->addr, sge->length);
	else
		ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
	return ibv_wr_complete(qp);
}

static const struct pp_program program = {
	.letters = "pdismrnlegoOPtcjNU",
	.defaults = {
		.tcp_port = 18515,
		.ib_port = 1,
		.size = 4096,
		.mtu = IBV_MTU_1024,
		.num_qp = 1,
		.rx_depth = 500,
		.iters = 1000,
		.gid_index = -1,
	},
	.type = IBV_QPT_RC,
	.plain = 0x7b,
	.odp_needs = "RC send and receive",
	.odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV,
	.create_qps = rc_create_qp,
	.connect_qp = pp_qp_connect,
	.post_recv = pp_post_recv,
	.post_send = rc_post_send,
};

int main(int argc, char **argv)
{
	return pp_main(&program, argc, argv);
}
