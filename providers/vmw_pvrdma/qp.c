/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the buffers for sends and receives, creation, states and destruction. */
#include "providers/kit/qp.h"
#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	SEND_HEADER = sizeof(struct pvrdma_sq_wqe_hdr),
	RECV_HEADER = sizeof(struct pvrdma_rq_wqe_hdr),
	SGE_SIZE = sizeof(struct pvrdma_sge),
	/* Limits of the buffer size in a command. The device checks its own limits. */
	WR_MAX = 1 << 18,
	SGE_MAX = 1 << 8,
};
_Static_assert(SEND_HEADER == 80 && RECV_HEADER == 16 && SGE_SIZE == 16, "as the device reads it");

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by vmw_pvrdma",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UD) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: vmw_pvrdma has RC and UD",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	if (max_of(cap->max_send_wr, cap->max_recv_wr) > WR_MAX ||
	    max_of(cap->max_send_sge, cap->max_recv_sge) > SGE_MAX) {
		verbs_err(ctx,
			  "ibv_create_qp: %u and %u requests of %u and %u entries are too much (at "
			  "most %u of %u)",
			  cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
			  WR_MAX, SGE_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Round the requested capabilities up to the granted ones. The sizes of rings are powers of 2, and
 * there are no inline data. */
static void cap_normalise(struct ibv_qp_cap *cap, bool srq)
{
	cap->max_send_wr = round_up_pow2(cap->max_send_wr);
	cap->max_send_sge = max_of(cap->max_send_sge, 1u);
	cap->max_recv_wr = srq ? 0 : round_up_pow2(cap->max_recv_wr);
	cap->max_recv_sge = srq ? 0 : max_of(cap->max_recv_sge, 1u);
}

static void rings_free(struct pvrdma_qp *qp)
{
	kit_buf_free(&qp->sq_buf);
	kit_buf_free(&qp->rq_buf);
}

static int rings_make(struct pvrdma_qp *qp, const struct ibv_qp_cap *cap)
{
	uint32_t send = round_up_pow2(SEND_HEADER + SGE_SIZE * cap->max_send_sge);
	uint32_t recv = round_up_pow2(RECV_HEADER + SGE_SIZE * cap->max_recv_sge);
	struct pvrdma_context *ctx = to_pctx(qp->vqp.qp.context);
	int r = pvrdma_buf_alloc(qp->vqp.qp.context, &qp->sq_buf,
				 (uint64_t)cap->max_send_wr * send);

	if (!r)
		r = kit_buf_alloc(&qp->rq_buf, (uint64_t)cap->max_recv_wr * recv);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	qp->sq.ring = pvrdma_ring_make(qp->sq_buf.base, (char *)qp->sq_buf.base + ctx->page_size,
				       cap->max_send_wr, __builtin_ctz(send));
	/* The words of this ring follow those of the send queue. */
	qp->rq.ring = pvrdma_ring_make(qp->sq.ring.words + 1, qp->rq_buf.base, cap->max_recv_wr,
				       __builtin_ctz(recv));
	qp->sq.reg = qp->rq.reg = (char *)ctx->uar.base + PVRDMA_UAR_QP_OFFSET;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	return 0;
}

/* Store the handle of the device. Kernels that do not report a handle use the number. */
static int handle_take(struct pvrdma_qp *qp, uint32_t handle)
{
	struct pvrdma_context *ctx = to_pctx(qp->vqp.qp.context);
	uint32_t qpn = qp->vqp.qp.qp_num, other;

	qp->handle = (handle ? handle : qpn) & PVRDMA_UAR_HANDLE_MASK;
	qp->sq.doorbell = qp->handle | PVRDMA_UAR_QP_SEND;
	qp->rq.doorbell = qp->handle | PVRDMA_DOORBELL_RECV;
	if (pvrdma_qpn_find(ctx, qp->handle, &other)) {
		verbs_err(
			qp->vqp.qp.context,
			"ibv_create_qp: completions of handle 0x%x would be taken for those of qp "
			"0x%x",
			qp->handle, other);
		return -EPROTO;
	}
	return idtable_put(&ctx->qpns, qp->handle & PVRDMA_HANDLE_MASK, pvrdma_qpn_entry(qpn));
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct pvrdma_qp *qp, const struct verbs_create_qp *in)
{
	struct pvrdma_create_qp_resp resp = {};
	struct pvrdma_create_qp cmd = {
		.rbuf_addr = (uintptr_t)qp->rq_buf.base,
		.rbuf_size = qp->rq_buf.size,
		.sbuf_addr = (uintptr_t)qp->sq_buf.base,
		.sbuf_size = qp->sq_buf.size,
		.qp_addr = (uintptr_t)qp,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r;

	r = kit_create_qp(&qp->vqp, in, &udata);
	if (r < 0)
		return r;
	qp->vqp.qp.qp_num &= PVRDMA_UAR_HANDLE_MASK;
	r = handle_take(qp, resp.qp_handle);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

int pvrdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct pvrdma_context *ctx = to_pctx(vqp->qp.context);
	struct pvrdma_qp *qp = to_pqp(&vqp->qp);
	struct ibv_qp_cap cap;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	cap_normalise(&in->attr->cap, in->attr->srq);
	cap = in->attr->cap;
	qp->send_cq = to_pcq(in->attr->send_cq);
	qp->recv_cq = to_pcq(in->attr->recv_cq);
	qp->sq.ops = pvrdma_send_ops(in->attr->qp_type);
	r = rings_make(qp, &cap);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ctx->qp_lock);
	r = qp_create_locked(qp, in);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	/* Return the capabilities of the rings, not those in the answer of the kernel. */
	cap.max_inline_data = 0;
	in->attr->cap = cap;
	return 0;
}

int pvrdma_destroy_qp(struct verbs_qp *vqp)
{
	struct pvrdma_context *ctx = to_pctx(vqp->qp.context);
	struct pvrdma_qp *qp = to_pqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r)
		pvrdma_cqs_clean(qp, true);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		rings_free(qp);
	return r;
}

/* ---- states */

/* Empty both rings and remove their completions. */
static void rings_reset(struct pvrdma_qp *qp)
{
	pvrdma_cqs_clean(qp, false);
	pvrdma_ring_reset(&qp->sq.ring);
	pvrdma_ring_reset(&qp->rq.ring);
}

int pvrdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	enum ibv_qp_state state = in->attr->qp_state;
	struct pvrdma_qp *qp = to_pqp(&vqp->qp);
	int r;

	if (!in->mask)
		return 0;
	r = uverbs_modify_qp(vqp, in);
	if (r < 0 || !(in->mask & IBV_QP_STATE))
		return r;
	if (state == IBV_QPS_RESET)
		rings_reset(qp);
	/* In the error state the device flushes posted requests. */
	qp->sq.max_sge = state >= IBV_QPS_RTS ? (int)vqp->cap.max_send_sge : -1;
	qp->rq.max_sge =
		state >= IBV_QPS_INIT && qp->rq.ring.entries ? (int)vqp->cap.max_recv_sge : -1;
	return 0;
}
