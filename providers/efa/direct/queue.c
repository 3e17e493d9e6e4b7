/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs and completion queues with attributes of this device. */
#include "providers/efa/direct/direct.h"

static void *fail(int r)
{
	errno = -r;
	return NULL;
}

static struct ibv_qp *qp_create(struct ibv_context *ibctx, const char *verb,
				struct ibv_qp_init_attr_ex *attr,
				const struct efadv_qp_init_attr *dv, bool extended)
{
	const struct verbs_create_qp in = { .attr = attr, .extended = extended, .dv = dv };
	struct ibv_qp *qp;
	int r = verbs_qp_create(ibctx, verb, &in, &qp);

	return r < 0 ? fail(r) : qp;
}

EFADV_EXPORT struct ibv_qp *
efadv_create_driver_qp(struct ibv_pd *ibpd, struct ibv_qp_init_attr *init, uint32_t driver_qp_type)
{
	const struct efadv_qp_init_attr dv = { .driver_qp_type = driver_qp_type };
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibpd,
	};
	struct ibv_qp *qp;

	if (!efadv_context(ibpd->context, __func__))
		return NULL;
	if (init->qp_type != IBV_QPT_DRIVER) {
		verbs_err(ibpd->context, "%s: qp_type has to be IBV_QPT_DRIVER", __func__);
		return fail(-EINVAL);
	}
	qp = qp_create(ibpd->context, __func__, &attr, &dv, false);
	if (qp)
		init->cap = attr.cap;
	return qp;
}

EFADV_EXPORT struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ibctx,
					       struct ibv_qp_init_attr_ex *attr_ex,
					       struct efadv_qp_init_attr *efa_attr, uint32_t inlen)
{
	struct efadv_qp_init_attr dv;

	if (!efadv_context(ibctx, __func__))
		return NULL;
	if (attr_ex->qp_type != IBV_QPT_DRIVER ||
	    !HAS_MEMBER(struct efadv_qp_init_attr, driver_qp_type, inlen) ||
	    !efadv_copy_in(&dv, sizeof(dv), efa_attr, inlen) || dv.comp_mask || dv.reserved)
		return fail(efadv_refuse(ibctx, __func__, inlen));
	return qp_create(ibctx, __func__, attr_ex, &dv, true);
}

EFADV_EXPORT struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *qp_ex)
{
	if (!efadv_context(qp_ex->qp_base.context, __func__))
		return NULL;
	return &to_eqp(&qp_ex->qp_base)->dv;
}

/* Expose a queue that the program accesses directly. */
static void wq_show(const struct efa_wq *wq, void *ring, uint32_t entry_size, uint32_t entries,
		    uint32_t max_batch, struct efadv_wq_attr *out, uint32_t inlen)
{
	memset(out, 0, inlen);
	out->buffer = ring;
	out->entry_size = entry_size;
	out->num_entries = entries;
	out->doorbell = wq->doorbell;
	out->max_batch = max_batch;
}

EFADV_EXPORT int efadv_query_qp_wqs(struct ibv_qp *ibqp, struct efadv_wq_attr *sq_attr,
				    struct efadv_wq_attr *rq_attr, uint32_t inlen)
{
	struct efa_qp *qp = to_eqp(ibqp);
	uint32_t receives;

	if (!efadv_context(ibqp->context, __func__))
		return EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_wq_attr, max_batch, inlen))
		return -efadv_refuse(ibqp->context, __func__, inlen);
	receives = qp->rq.wq.max_post ? qp->rq.mask + 1 : 0;
	wq_show(&qp->sq.wq, qp->sq.ring, 1u << qp->sq.shift, qp->sq.wq.max_post, qp->sq.max_batch,
		sq_attr, inlen);
	wq_show(&qp->rq.wq, qp->rq.ring, EFA_RECEIVE_SIZE, receives, receives, rq_attr, inlen);
	if (HAS_MEMBER(struct efadv_wq_attr, caps, inlen) &&
	    efa_has_wide_ids(to_ectx(ibqp->context)))
		sq_attr->caps = EFADV_WQ_CAPS_64_BIT_REQ_ID;
	return 0;
}

EFADV_EXPORT struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ibctx,
					       struct ibv_cq_init_attr_ex *attr_ex,
					       struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
	struct efadv_cq_init_attr dv;
	const struct verbs_create_cq in = { .attr = attr_ex, .extended = true, .dv = &dv };
	struct verbs_cq *cq;
	int r;

	if (!efadv_context(ibctx, __func__))
		return NULL;
	if (!HAS_MEMBER(struct efadv_cq_init_attr, wc_flags, inlen) ||
	    !efadv_copy_in(&dv, sizeof(dv), efa_attr, inlen) || dv.comp_mask)
		return fail(efadv_refuse(ibctx, __func__, inlen));
	r = verbs_cq_create(ibctx, __func__, &in, &cq);
	return r < 0 ? fail(r) : &cq->cq_ex;
}

EFADV_EXPORT struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq_ex)
{
	if (!efadv_context(cq_ex->context, __func__))
		return NULL;
	return &((struct efa_cq *)cq_ex)->dv;
}

EFADV_EXPORT int efadv_query_cq(struct ibv_cq *ibcq, struct efadv_cq_attr *attr, uint32_t inlen)
{
	struct efa_cq *cq = to_ecq(ibcq);

	if (!efadv_context(ibcq->context, __func__))
		return EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_cq_attr, num_entries, inlen))
		return -efadv_refuse(ibcq->context, __func__, inlen);
	memset(attr, 0, inlen);
	attr->buffer = (uint8_t *)(uintptr_t)cq->ring;
	attr->entry_size = cq->stride;
	attr->num_entries = ibcq->cqe;
	if (HAS_MEMBER(struct efadv_cq_attr, doorbell, inlen) && !cq->deaf)
		attr->doorbell = cq->doorbell;
	return 0;
}
