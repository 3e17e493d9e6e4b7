/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State transitions, and their effect on the rings. */
#include "providers/mlx4/cqe.h"

/* Empty both rings and remove their completions. */
static void rings_reset(struct mlx4_qp *qp)
{
	mlx4_cqs_clean(qp, false);
	qp->sq.head = qp->rq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	if (qp->rq.record)
		*qp->rq.record = 0;
}

/* Return the opcodes of plain requests. Requests of XRC and of raw frames have more fields in their
 * control segment. */
static uint32_t plain_ops(const struct mlx4_qp *qp)
{
	enum ibv_qp_type type = qp->vqp.qp.qp_type;

	return type == IBV_QPT_XRC_SEND || type == IBV_QPT_RAW_PACKET ? 0
								      : qp->sq.ops & MLX_PLAIN_OPS;
}

/* Set the fields that depend on the port: format of completions, and checksums. */
static int port_set(struct mlx4_qp *qp, uint8_t port_num)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	struct mlx4_port port;
	int r = mlx4_port_ask(ctx, port_num, &port);
	uint8_t link;

	if (r < 0)
		return r;
	link = port.link_layer;
	qp->sl_shift = link == IBV_LINK_LAYER_ETHERNET ? 13 : 12;
	if (qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET)
		qp->checksums = link == IBV_LINK_LAYER_ETHERNET && ctx->raw_checksums;
	else
		qp->checksums = link == IBV_LINK_LAYER_INFINIBAND &&
				qp->vqp.qp.qp_type == IBV_QPT_UD && ctx->ud_checksums;
	qp->sq.ethernet = link == IBV_LINK_LAYER_ETHERNET;
	qp->sq.checksum_flags =
		qp->checksums ? MLX4_WQE_CTRL_IP_HDR_CSUM | MLX4_WQE_CTRL_TCP_UDP_CSUM : 0;
	return 0;
}

/* Modify a queue pair that receives through a table and does not send. */
static int modify_rss(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	if (in->mask & ~(IBV_QP_STATE | IBV_QP_PORT) ||
	    (in->mask & IBV_QP_STATE && in->attr->qp_state > IBV_QPS_RTR)) {
		verbs_err(vqp->qp.context,
			  "qp 0x%x: ibv_modify_qp: one that receives through a table has a port "
			  "and states up to RTR",
			  vqp->qp.qp_num);
		return -EOPNOTSUPP;
	}
	return uverbs_modify_qp(vqp, in);
}

int mlx4_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	bool has_state = in->mask & IBV_QP_STATE;
	struct mlx4_qp *qp = to_mqp(&vqp->qp);
	int r = 0;

	if (qp->rss)
		return modify_rss(vqp, in);
	if (!qp->buf.base) /* XRC: no rings */
		return uverbs_modify_qp(vqp, in);
	if (in->mask & IBV_QP_PORT)
		r = port_set(qp, in->attr->port_num);
	if (r < 0)
		return r;
	/* After this transition the adapter reads the owner bits of the slots. */
	if (has_state && vqp->qp.state == IBV_QPS_RESET && in->attr->qp_state != IBV_QPS_RESET)
		mlx4_sq_init(&qp->sq);
	r = uverbs_modify_qp(vqp, in);
	if (r < 0 || !has_state)
		return r;
	if (in->attr->qp_state == IBV_QPS_RESET)
		rings_reset(qp);
	mlx_post_limits_set(vqp, in->attr->qp_state, &qp->sq.max_sge, &qp->rq);
	qp->sq.plain = qp->sq.max_sge > 0 ? plain_ops(qp) : 0;
	return 0;
}
