/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, states and destruction. */
#include "providers/kit/qp.h"
#include "providers/ocrdma/wqe.h"

enum {
	QP_TYPES = 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD,
	SEND_ANNOUNCEMENT_SHIFT = 16,
	UD_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
	UC_OPS = UD_OPS | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
	RC_OPS = UC_OPS | 1 << IBV_WR_RDMA_READ,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by ocrdma",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type > 31 || !(QP_TYPES & 1u << attr->qp_type)) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: ocrdma has RC, UC and UD",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	return 0;
}

/* Check that the largest requests fit into an entry of their ring. */
static int sizes_check(const struct oc_qp *qp, const struct ibv_qp_cap *cap)
{
	const struct oc_context *ctx = to_octx(qp->vqp.qp.context);
	uint64_t list = max_of(cap->max_send_sge, 1u) * (uint64_t)ENTRY;
	uint64_t data = qp->sq.is_ud ? 0 : ROUND_UP((uint64_t)cap->max_inline_data, ENTRY);
	uint64_t send = HEADER + UD_BYTES + max_of(list, data);
	uint64_t receive = HEADER + max_of(cap->max_recv_sge, 1u) * (uint64_t)ENTRY;

	_Static_assert((int)UD_BYTES == (int)REMOTE_BYTES, "a request has one of both");
	if (send <= ctx->wqe_bytes && (qp->srq || receive <= ctx->rqe_bytes))
		return 0;
	verbs_err(
		qp->vqp.qp.context,
		"ibv_create_qp: %u and %u entries and %u bytes inline: the kernel grants them, but "
		"requests have %u and %u bytes",
		cap->max_send_sge, cap->max_recv_sge, cap->max_inline_data, ctx->wqe_bytes,
		ctx->rqe_bytes);
	return -EPROTO;
}

static int sends_open(struct oc_qp *qp, const struct ocrdma_create_qp_uresp *resp)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	struct oc_sq *sq = &qp->sq;
	const struct oc_ring_answer answer = {
		.address = resp->sq_page_addr[0],
		.bytes = resp->sq_page_size,
		.pages = resp->num_sq_pages,
		.entries = resp->num_wqe_allocated,
		.stride = to_octx(ctx)->wqe_bytes,
		.name = "ring of sends",
	};
	int r = oc_ring_map(ctx, &answer, &qp->sends);

	if (r < 0)
		return r;
	sq->mask = answer.entries - 1;
	sq->stride = answer.stride;
	sq->ring = qp->sends.base;
	sq->announcement = htole32(resp->sq_dbid | 1u << SEND_ANNOUNCEMENT_SHIFT);
	sq->sent = calloc(answer.entries, sizeof(*sq->sent));
	return sq->sent ? 0 : -ENOMEM;
}

static int receives_open(struct oc_qp *qp, const struct ocrdma_create_qp_uresp *resp)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	struct oc_rq *rq = &qp->rq;
	const struct oc_ring_answer answer = {
		.address = resp->rq_page_addr[0],
		.bytes = resp->rq_page_size,
		.pages = resp->num_rq_pages,
		.entries = resp->num_rqe_allocated,
		.stride = to_octx(ctx)->rqe_bytes,
		.name = "ring of receives",
	};
	int r;

	if (qp->srq)
		return 0;
	r = oc_ring_map(ctx, &answer, &qp->receives);
	if (r < 0)
		return r;
	rq->mask = answer.entries - 1;
	rq->stride = answer.stride;
	rq->ring = qp->receives.base;
	rq->announcement = htole32(resp->rq_dbid | 1u << (resp->db_shift & 31));
	rq->wr_ids = calloc(answer.entries, sizeof(*rq->wr_ids));
	return rq->wr_ids ? 0 : -ENOMEM;
}

/* Map the doorbells, and find the place for copies of requests. */
static int registers_open(struct oc_qp *qp, const struct ocrdma_create_qp_uresp *resp)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	const struct oc_pd *pd = (const struct oc_pd *)verbs_pd_protection(qp->vqp.qp.pd);
	uint64_t window = (uint64_t)resp->dpp_offset * qp->sq.stride;
	int r = kit_page_map(ctx, resp->db_page_addr, resp->db_page_size, PROT_WRITE,
			     &qp->registers);

	if (r < 0)
		return r;
	qp->sq.doorbell = oc_register(ctx, &qp->registers, resp->db_sq_offset);
	qp->rq.doorbell = oc_register(ctx, &qp->registers, resp->db_rq_offset);
	if (!qp->sq.doorbell || !qp->rq.doorbell)
		return -EPROTO;
	if (resp->dpp_credit && pd->window.base && window + qp->sq.stride <= pd->window.length)
		qp->sq.window = (char *)pd->window.base + window;
	return 0;
}

static void qp_free(struct oc_qp *qp)
{
	kit_page_unmap(&qp->registers);
	kit_page_unmap(&qp->receives);
	kit_page_unmap(&qp->sends);
	free(qp->sq.sent);
	free(qp->rq.wr_ids);
}

static int qp_open(struct oc_qp *qp, const struct ocrdma_create_qp_uresp *resp,
		   const struct ibv_qp_cap *cap)
{
	int r = sizes_check(qp, cap);

	if (!r)
		r = sends_open(qp, resp);
	if (!r)
		r = receives_open(qp, resp);
	if (!r)
		r = registers_open(qp, resp);
	if (!r)
		r = resp->qp_id ? idtable_put(&to_octx(qp->vqp.qp.context)->qps, resp->qp_id, qp)
				: -EPROTO;
	return r;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct oc_qp *qp, const struct verbs_create_qp *in)
{
	struct ocrdma_create_qp_ureq cmd = {};
	struct ocrdma_create_qp_uresp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	r = qp_open(qp, &resp, &in->attr->cap);
	if (r < 0) {
		uverbs_destroy_qp(&qp->vqp);
		return r;
	}
	qp->id = resp.qp_id;
	idtable_own(&to_octx(qp->vqp.qp.context)->qps, qp->id, qp->send_cq, qp->recv_cq);
	return 0;
}

int oc_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct oc_context *ctx = to_octx(vqp->qp.context);
	struct oc_qp *qp = to_oc_qp(&vqp->qp);
	struct ibv_qp_cap *cap = &in->attr->cap;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	qp->send_cq = to_oc_cq(in->attr->send_cq);
	qp->recv_cq = to_oc_cq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_oc_srq(in->attr->srq) : NULL;
	qp->sq.is_ud = in->attr->qp_type == IBV_QPT_UD;
	qp->sq.ops = qp->sq.is_ud ? UD_OPS : in->attr->qp_type == IBV_QPT_UC ? UC_OPS : RC_OPS;
	pthread_mutex_lock(&ctx->qp_lock);
	r = qp_create_locked(qp, in);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0) {
		qp_free(qp);
		return r;
	}
	/* A datagram has no inline data. */
	if (qp->sq.is_ud)
		cap->max_inline_data = 0;
	qp->sq.always = in->attr->sq_sig_all ? REQUEST_SIGNALED : 0;
	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;
	qp->rq.max_sge = cap->max_recv_sge;
	vqp->cap = *cap;
	return 0;
}

/* ---- states and destruction */

/* Empty both rings, as the kernel does. */
static void qp_reset(struct oc_qp *qp)
{
	oc_cqs_lock(qp);
	oc_recover(qp);
	oc_cqs_clean(qp);
	atomic_store_explicit(&qp->sq.head, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.head, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	oc_cqs_unlock(qp);
}

static void state_follow(struct oc_qp *qp, enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		qp_reset(qp);
		break;
	case IBV_QPS_INIT:
		atomic_store_explicit(&qp->rq.post_state, OC_POST_ANNOUNCED, memory_order_relaxed);
		break;
	case IBV_QPS_RTS:
		atomic_store_explicit(&qp->sq.post_state, OC_POST_ANNOUNCED, memory_order_relaxed);
		break;
	case IBV_QPS_SQE:
		atomic_store_explicit(&qp->sq.post_state, OC_POST_REFUSED, memory_order_relaxed);
		break;
	case IBV_QPS_ERR:
		oc_fail(qp);
		break;
	default:
		break;
	}
}

int oc_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	int r = uverbs_modify_qp(vqp, in);

	if (!r && in->mask & IBV_QP_STATE)
		state_follow(to_oc_qp(&vqp->qp), in->attr->qp_state);
	return r;
}

/* A query may be the first to find a failure. */
int oc_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	if (r < 0)
		return r;
	in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	if (in->ret_attr->qp_state == IBV_QPS_ERR)
		oc_fail(to_oc_qp(&vqp->qp));
	return 0;
}

int oc_destroy_qp(struct verbs_qp *vqp)
{
	struct oc_context *ctx = to_octx(vqp->qp.context);
	struct oc_qp *qp = to_oc_qp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r) {
		oc_cqs_lock(qp);
		oc_recover(qp);
		oc_cqs_clean(qp);
		idtable_take(&ctx->qps, qp->id, qp);
		oc_cqs_unlock(qp);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		qp_free(qp);
	return r;
}
