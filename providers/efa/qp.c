/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: two rings of the device, the private state beside them, and two doorbells. */
#include <string.h>

#include "providers/efa/wqe.h"
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"

static int refuse(struct ibv_context *ctx, const char *what, unsigned long long value)
{
	verbs_err(ctx, "ibv_create_qp: %s 0x%llx: not supported by this device", what, value);
	return -EOPNOTSUPP;
}

static int dv_check(struct efa_context *ctx, const struct efadv_qp_init_attr *dv)
{
	uint32_t caps = ctx->caps.device_caps;
	uint16_t known = 0;

	if (dv->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD)
		return refuse(&ctx->vctx.context, "driver_qp_type", dv->driver_qp_type);
	if (caps & EFA_QUERY_DEVICE_CAPS_RDMA_WRITE)
		known |= EFADV_QP_FLAGS_INLINE_WRITE;
	if (caps & EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV)
		known |= EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV;
	if (!comp_mask_ok(dv->flags, known))
		return refuse(&ctx->vctx.context, "flags", dv->flags);
	if (!comp_mask_ok(dv->wr_flags, EFADV_WR_EX_WITH_PROCESSING_HINTS))
		return refuse(&ctx->vctx.context, "wr_flags", dv->wr_flags);
	return 0;
}

static int qp_check(struct efa_context *ctx, const struct verbs_create_qp *in)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	struct ibv_context *ibctx = &ctx->vctx.context;
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	/* Attributes of the driver are only in efadv_create_qp_ex(). */
	if (attr->qp_type != IBV_QPT_UD && !(attr->qp_type == IBV_QPT_DRIVER && in->dv))
		return refuse(ibctx, "QP type", attr->qp_type);
	if (!comp_mask_ok(attr->comp_mask, known))
		return refuse(ibctx, "comp_mask", attr->comp_mask & ~known);
	if (!comp_mask_ok(kit_wr_ops(attr), efa_wr_ops(ctx, attr->qp_type)))
		return refuse(ibctx, "send_ops_flags", attr->send_ops_flags);
	if (!attr->send_cq || !attr->recv_cq || attr->srq) {
		verbs_err(ibctx, "ibv_create_qp: two completion queues are needed, and no SRQ");
		return -EINVAL;
	}
	return in->dv ? dv_check(ctx, in->dv) : 0;
}

/* ---- one queue */

/* Allocate the ids and their wr_ids. If the size of the queue is no power of 2, there are more ids
 * than used. */
static int wq_make(struct efa_wq *wq, uint32_t count)
{
	uint32_t size = round_up_pow2(count);

	if (!count)
		return 0;
	wq->ids = calloc(size, sizeof(*wq->ids));
	wq->wr_ids = calloc(size, sizeof(*wq->wr_ids));
	if (!wq->ids || !wq->wr_ids)
		return -ENOMEM;
	wq->max_post = count;
	wq->id_mask = size - 1;
	return 0;
}

static void wq_free(struct efa_wq *wq)
{
	kit_page_unmap(&wq->doorbell_page);
	kit_page_unmap(&wq->ring_page);
	free(wq->wr_ids);
	free(wq->ids);
}

/* Mark all ids as free. Ids of the previous generation are no longer valid. */
static void wq_start(struct efa_wq *wq, uint16_t generation)
{
	for (uint32_t i = 0; wq->ids && i <= wq->id_mask; i++)
		wq->ids[i] = i;
	wq->used = 0;
	wq->generation = generation * ((uint32_t)wq->id_mask + 1);
}

static int wq_doorbell(struct efa_qp *qp, struct efa_wq *wq, uint64_t key, uint32_t offset)
{
	struct ibv_context *ibctx = qp->vqp.qp.context;
	int r = kit_page_map(ibctx, key, to_ectx(ibctx)->page_size, PROT_WRITE, &wq->doorbell_page);

	if (r < 0)
		return r;
	wq->doorbell = kit_page_register(&wq->doorbell_page, offset);
	if (wq->doorbell)
		return 0;
	verbs_err(ibctx, "qp 0x%x: the kernel says a doorbell is at %u of a page",
		  qp->vqp.qp.qp_num, offset);
	return -EPROTO;
}

/* ---- both */

void efa_qp_start(struct efa_qp *qp)
{
	uint16_t generation = to_ectx(qp->vqp.qp.context)->generations[qp->vqp.qp.qp_num]++;
	struct efa_sq *sq = &qp->sq;

	spinlock_lock(&sq->wq.lock);
	wq_start(&sq->wq, generation);
	sq->counter = 0;
	sq->control = WQE_EACH | sq->wq.generation | (sq->control & WQE_PHASE);
	spinlock_unlock(&sq->wq.lock);
	spinlock_lock(&qp->rq.wq.lock);
	wq_start(&qp->rq.wq, generation);
	qp->rq.counter = 0;
	spinlock_unlock(&qp->rq.wq.lock);
}

static int queues_make(struct efa_qp *qp, const struct efa_qp_size *size)
{
	struct efa_sq *sq = &qp->sq;
	int r = wq_make(&sq->wq, size->sq_count);

	if (!r)
		r = wq_make(&qp->rq.wq, size->rq_count);
	if (r < 0)
		return r;
	sq->shift = size->sq_shift;
	sq->plain = sq->shift == EFA_WQE_SMALL_SHIFT && sq->max_sge;
	sq->mask = size->sq_count ? size->sq_count - 1 : 0;
	sq->max_batch = size->max_batch;
	sq->max_inline = size->max_inline;
	qp->rq.mask = size->rq_buffers ? size->rq_buffers - 1 : 0;
	qp->rq.wqe_sge = size->rq_sge;
	return 0;
}

/* The batch of ibv_wr_*() is built in memory of this process. */
static int batch_make(struct efa_qp *qp, const struct efa_qp_size *size)
{
	if (!size->sq_count)
		return 0;
	qp->sq.built = calloc(size->sq_count, (size_t)1 << size->sq_shift);
	return qp->sq.built ? 0 : -ENOMEM;
}

static void queues_free(struct efa_qp *qp)
{
	wq_free(&qp->sq.wq);
	wq_free(&qp->rq.wq);
	free(qp->sq.built);
}

static int refuse_answer(const struct efa_qp *qp, const char *what, unsigned long long value)
{
	verbs_err(qp->vqp.qp.context, "qp 0x%x: the kernel says %s 0x%llx", qp->vqp.qp.qp_num, what,
		  value);
	return -EPROTO;
}

static int rq_map(struct efa_qp *qp, const struct efa_qp_size *size,
		  const struct efa_ibv_create_qp_resp *resp)
{
	struct efa_rq *rq = &qp->rq;
	int r;

	if (!size->rq_count)
		return 0;
	if (resp->rq_mmap_size < (uint64_t)size->rq_buffers * EFA_RECEIVE_SIZE ||
	    resp->rq_mmap_size > SIZE_MAX)
		return refuse_answer(qp, "the receive queue has a size of", resp->rq_mmap_size);
	r = wq_doorbell(qp, &rq->wq, resp->rq_db_mmap_key, resp->rq_db_offset);
	if (!r)
		r = kit_page_map(qp->vqp.qp.context, resp->rq_mmap_key, resp->rq_mmap_size,
				 PROT_WRITE, &rq->wq.ring_page);
	rq->ring = rq->wq.ring_page.base;
	return r;
}

static int sq_map(struct efa_qp *qp, const struct efa_qp_size *size,
		  const struct efa_ibv_create_qp_resp *resp)
{
	uint32_t page = to_ectx(qp->vqp.qp.context)->page_size, offset = resp->llq_desc_offset;
	struct efa_sq *sq = &qp->sq;
	size_t length;
	int r;

	if (!size->sq_count)
		return 0;
	if (offset >= page || offset % sizeof(uint64_t))
		return refuse_answer(qp, "the send queue is at", offset);
	length = ROUND_UP(((size_t)size->sq_count << size->sq_shift) + offset, page);
	r = wq_doorbell(qp, &sq->wq, resp->sq_db_mmap_key, resp->sq_db_offset);
	if (!r)
		r = kit_page_map(qp->vqp.qp.context, resp->llq_desc_mmap_key, length, PROT_WRITE,
				 &sq->wq.ring_page);
	if (!r)
		sq->ring = (char *)sq->wq.ring_page.base + offset;
	return r;
}

/* Return the flags of the request to the kernel. */
static uint16_t create_flags(const struct efa_context *ctx, const struct efadv_qp_init_attr *dv)
{
	uint16_t flags = efa_has_wide_ids(ctx) ? EFA_CREATE_QP_WITH_SQ_64_BIT_REQ_ID : 0;

	if (dv && dv->flags & EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV)
		flags |= EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV;
	return flags;
}

static int qp_create(struct efa_qp *qp, const struct verbs_create_qp *in,
		     const struct efa_qp_size *size, struct efa_ibv_create_qp_resp *ret_resp)
{
	const struct efadv_qp_init_attr *dv = in->dv;
	struct efa_ibv_create_qp cmd = {
		.rq_ring_size = size->rq_buffers * EFA_RECEIVE_SIZE,
		.sq_ring_size = size->sq_count << size->sq_shift,
		.driver_qp_type = dv ? dv->driver_qp_type : 0,
		.flags = create_flags(to_ectx(qp->vqp.qp.context), dv),
		.sl = dv ? dv->sl : 0,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = ret_resp,
		.out_len = sizeof(*ret_resp),
	};

	return kit_create_qp(&qp->vqp, in, &udata);
}

/* The kernel's queue pair exists: map its rings and enter its number. On failure the caller
 * releases the mappings. */
static int qp_bring_up(struct efa_qp *qp, const struct efa_qp_size *size,
		       const struct efa_ibv_create_qp_resp *resp)
{
	struct efa_context *ctx = to_ectx(qp->vqp.qp.context);
	uint32_t qpn = qp->vqp.qp.qp_num;
	int r;

	if (qpn >= EFA_QPNS)
		return refuse_answer(qp, "the number is", qpn);
	r = rq_map(qp, size, resp);
	if (!r)
		r = sq_map(qp, size, resp);
	if (r < 0)
		return r;
	efa_qp_start(qp);
	r = idtable_put(&ctx->qps, qpn, qp);
	if (r == -EPROTO)
		return refuse_answer(qp, "another one has the number", qpn);
	if (r < 0)
		return r;
	idtable_own(&ctx->qps, qpn, qp->send_cq, qp->recv_cq);
	return 0;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct efa_qp *qp, const struct verbs_create_qp *in,
			    const struct efa_qp_size *size)
{
	struct efa_ibv_create_qp_resp resp = {};
	int r = qp_create(qp, in, size, &resp);

	if (r < 0)
		return r;
	r = qp_bring_up(qp, size, &resp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

static void qp_link(struct efa_qp *qp, const struct verbs_create_qp *in)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	const struct efadv_qp_init_attr *dv = in->dv;

	qp->send_cq = to_ecq(attr->send_cq);
	qp->recv_cq = to_ecq(attr->recv_cq);
	qp->sq.flags = EFA_SQ_CLOSED | (attr->sq_sig_all ? IBV_SEND_SIGNALED : 0);
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->sq.inline_write = dv && dv->flags & EFADV_QP_FLAGS_INLINE_WRITE;
}

int efa_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct efa_context *ctx = to_ectx(vqp->qp.context);
	const struct efadv_qp_init_attr *dv = in->dv;
	struct efa_qp *qp = to_eqp(&vqp->qp);
	struct efa_qp_size size;
	int r = qp_check(ctx, in);

	if (r < 0)
		return r;
	qp_link(qp, in);
	r = efa_qp_size(ctx, &in->attr->cap, qp->sq.inline_write, &size);
	if (r < 0)
		return r;
	/* Pass the granted values to the kernel. */
	in->attr->cap.max_send_wr = size.sq_count;
	in->attr->cap.max_recv_wr = size.rq_count;
	r = queues_make(qp, &size);
	if (!r && in->extended)
		r = batch_make(qp, &size);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = qp_create_locked(qp, in, &size);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	if (r < 0) {
		queues_free(qp);
		return r;
	}
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		efa_wr_set_slots(qp, kit_wr_ops(in->attr), dv ? dv->wr_flags : 0);
	}
	return 0;
}

/* Remove the queue pair from the table, so that polling no longer finds it. */
static void qp_forget(struct efa_qp *qp)
{
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
	idtable_take(&to_ectx(qp->vqp.qp.context)->qps, qp->vqp.qp.qp_num, qp);
	qp->send_cq->last_qpn = qp->recv_cq->last_qpn = EFA_QPNS;
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

int efa_destroy_qp(struct verbs_qp *vqp)
{
	struct efa_context *ctx = to_ectx(vqp->qp.context);
	struct efa_qp *qp = to_eqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r)
		qp_forget(qp);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		queues_free(qp);
	return r;
}
