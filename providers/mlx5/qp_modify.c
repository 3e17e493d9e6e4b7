/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State transitions, and their effect on the rings. */
#include "providers/mlx5/cq.h"
#include "providers/mlx5/cqe.h"
#include "providers/mlx5/dc.h"

enum {
	VENDOR_ID = 0x15b3,
};

/* Empty both rings and remove their completions. */
static void rings_reset(struct mlx5_qp *qp)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_RECV) /* no rings */
		return;
	mlx5_cqs_clean(qp, false);
	qp->sq.head = qp->sq.cur_post = 0;
	qp->sq.fence = 0;
	qp->rq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	qp->record[MLX5_RCV_DBR] = qp->record[MLX5_SND_DBR] = 0;
	if (qp->split) {
		qp->withheld[MLX5_RCV_DBR] = 0;
		qp->rq.record = qp->withheld;
	}
}

/* Announce the receives. Before RTR the adapter would already fill the buffers of a separate ring.
 */
static void receives_tell(struct mlx5_qp *qp)
{
	spinlock_lock(&qp->rq.lock);
	qp->record[MLX5_RCV_DBR] = qp->withheld[MLX5_RCV_DBR];
	qp->rq.record = qp->record;
	spinlock_unlock(&qp->rq.lock);
}

uint32_t mlx5_modify_mask(const struct mlx5_qp *qp, const struct verbs_modify_qp *in)
{
	bool to_init = in->mask & IBV_QP_STATE && in->attr->qp_state == IBV_QPS_INIT;

	return qp->ooo && to_init ? MLX5_IB_MODIFY_QP_OOO_DP : 0;
}

int mlx5_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);
	struct mlx5_ib_modify_qp_resp resp = {};
	struct mlx5_ib_modify_qp cmd = { .comp_mask = mlx5_modify_mask(qp, in),
					 .ece_options = qp->ece_pending ? qp->ece_next : 0 };
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_modify_qp request = *in;
	bool plain;
	int r;

	if (qp->rss)
		return -EOPNOTSUPP;
	if (qp->dct)
		return mlx5_modify_dct(qp, in);
	if (qp->ece_pending || in->mask & IBV_QP_RATE_LIMIT || cmd.comp_mask)
		request.udata = &udata;
	r = uverbs_modify_qp(vqp, &request);
	if (!r && qp->ece_pending) {
		qp->ece = resp.ece_options;
		qp->ece_pending = false;
	}
	if (r < 0 || !(in->mask & IBV_QP_STATE))
		return r;
	if (in->attr->qp_state == IBV_QPS_INIT && qp->copies) {
		r = mlx5_qp_enable_copies(&vqp->qp);
		if (r < 0)
			return r;
	}
	if (in->attr->qp_state == IBV_QPS_INIT && qp->stops_at_sig_errors) {
		r = mlx5_qp_stop_at_sig_errors(&vqp->qp);
		if (r < 0)
			return r;
	}
	if (in->attr->qp_state == IBV_QPS_RESET)
		rings_reset(qp);
	if (in->attr->qp_state == IBV_QPS_RTR && qp->split)
		receives_tell(qp);
	mlx_post_limits_set(vqp, in->attr->qp_state, &qp->sq.max_sge, &qp->rq);
	/* Requests with a special address segment are not plain. If the
	 * program builds requests itself, each other request must clear the mark of such a
	 * request in its slot. Plain requests do not. */
	plain = qp->sq.max_sge > 0 && !qp->sq.raw && !qp->underlay &&
		(qp->vqp.qp.qp_type == IBV_QPT_UD || !qp->sq.address_size);
	qp->sq.plain = plain ? qp->sq.ops & MLX_PLAIN_OPS : 0;
	return 0;
}

static int refuse_burst(struct verbs_qp *vqp, const struct ibv_qp_rate_limit_attr *attr,
			const char *why)
{
	verbs_err(vqp->qp.context,
		  "qp 0x%x: ibv_modify_qp_rate_limit: max_burst_sz %u, typical_pkt_sz %u: %s",
		  vqp->qp.qp_num, attr->max_burst_sz, attr->typical_pkt_sz, why);
	return -EINVAL;
}

/*
 * Log why the driver refused the rate, by the limits of the device. This library does not check
 * rates, types and states first, because newer drivers support more.
 */
static __attribute__((noinline, cold)) void explain_rate(struct verbs_qp *vqp, uint32_t rate)
{
	const struct mlx5_packet_pacing_caps *caps =
		&to_mctx(vqp->qp.context)->caps.packet_pacing_caps;
	uint32_t least = caps->qp_rate_limit_min, most = caps->qp_rate_limit_max;
	struct ibv_qp *qp = &vqp->qp;

	if (!most)
		verbs_err(qp->context, "qp 0x%x: rate %u kbit/s: the device paces no packets",
			  qp->qp_num, rate);
	else if (qp->qp_type >= 32 || !(caps->supported_qpts & 1u << qp->qp_type))
		verbs_err(
			qp->context,
			"qp 0x%x: rate %u kbit/s: the device paces types 0x%x, this one is bit %u",
			qp->qp_num, rate, caps->supported_qpts, qp->qp_type);
	else if (qp->state != IBV_QPS_RTS)
		verbs_err(qp->context,
			  "qp 0x%x: rate %u kbit/s: it is in state %d, a rate is set in RTS (%d)",
			  qp->qp_num, rate, qp->state, IBV_QPS_RTS);
	else if (rate && (rate < least || rate > most))
		verbs_err(qp->context, "qp 0x%x: rate %u kbit/s: the device has %u to %u",
			  qp->qp_num, rate, least, most);
}

int mlx5_modify_qp_rate_limit(struct verbs_qp *vqp, const struct ibv_qp_rate_limit_attr *attr)
{
	const struct mlx5_context *ctx = to_mctx(vqp->qp.context);
	struct mlx5_ib_modify_qp cmd = { .burst_info = {
						 .max_burst_sz = attr->max_burst_sz,
						 .typical_pkt_sz = attr->typical_pkt_sz,
					 } };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct ibv_qp_attr rate = { .rate_limit = attr->rate_limit };
	const struct verbs_modify_qp request = { .attr = &rate,
						 .mask = IBV_QP_RATE_LIMIT,
						 .udata = &udata };
	int r;

	if (attr->max_burst_sz || attr->typical_pkt_sz) {
		if (!attr->rate_limit)
			return refuse_burst(vqp, attr, "rate_limit is 0, and a burst needs a rate");
		if (!(ctx->caps.packet_pacing_caps.cap_flags & MLX5_IB_PP_SUPPORT_BURST))
			return refuse_burst(vqp, attr, "the device has no bursts, both must be 0");
	}
	r = uverbs_modify_qp(vqp, &request);
	if (r == -EINVAL || r == -EOPNOTSUPP)
		explain_rate(vqp, attr->rate_limit);
	return r;
}

int mlx5_query_ece(struct verbs_qp *vqp, struct ibv_ece *ret_ece)
{
	*ret_ece = (struct ibv_ece){ .vendor_id = VENDOR_ID, .options = to_mqp(&vqp->qp)->ece };
	return 0;
}

int mlx5_set_ece(struct verbs_qp *vqp, const struct ibv_ece *ece)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);

	if (!(to_mctx(vqp->qp.context)->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE))
		return -EOPNOTSUPP;
	if (ece->comp_mask || ece->vendor_id != VENDOR_ID) {
		verbs_err(vqp->qp.context, "qp 0x%x: ibv_set_ece: vendor 0x%x is not 0x%x",
			  vqp->qp.qp_num, ece->vendor_id, VENDOR_ID);
		return -EINVAL;
	}
	qp->ece_next = ece->options;
	qp->ece_pending = true;
	/* Discard the options that the kernel granted before. */
	qp->ece = 0;
	return 0;
}
