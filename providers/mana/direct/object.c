/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of verbs, exposed to programs that access their queues directly. */
#include "providers/mana/direct/direct.h"

#define OBJECTS_KNOWN ((uint64_t)(MANADV_OBJ_QP | MANADV_OBJ_CQ | MANADV_OBJ_RWQ))

static void qp_show(const struct mana_qp *qp, struct manadv_qp *out)
{
	*out = (struct manadv_qp){
		.sq_buf = qp->sq.buf.base,
		.sq_count = qp->sq.entries,
		.sq_size = qp->sq.bytes,
		.sq_id = qp->sq.number,
		.tx_vp_offset = qp->tx_vp_offset,
		.db_page = to_mctx(qp->vqp.qp.context)->doorbells.base,
	};
}

static void cq_show(const struct mana_cq *cq, struct manadv_cq *out)
{
	*out = (struct manadv_cq){
		.buf = cq->queue.buf.base,
		.count = cq->queue.entries,
		.cq_id = cq->queue.number,
	};
}

static void rwq_show(const struct mana_wq *wq, struct manadv_rwq *out)
{
	*out = (struct manadv_rwq){
		.buf = wq->queue.buf.base,
		.count = wq->queue.entries,
		.size = wq->queue.bytes,
		.wq_id = wq->queue.number,
		.db_page = to_mctx(wq->vwq.wq.context)->doorbells.base,
	};
}

/* Check that @qp has queues of raw packets. */
static bool is_raw(const struct ibv_qp *qp)
{
	if (qp->qp_type == IBV_QPT_RAW_PACKET)
		return true;
	verbs_err(
		qp->context,
		"qp 0x%x: manadv_init_obj: the library drives its queues, as it is not of raw packets",
		qp->qp_num);
	return false;
}

static bool is_ours(struct ibv_context *ctx)
{
	return manadv_context(ctx, "manadv_init_obj");
}

/* Check that each object belongs to a device of mana. The devices may differ. */
static bool are_ours(const struct manadv_obj *obj, uint64_t type)
{
	return (!(type & MANADV_OBJ_QP) || (is_ours(obj->qp.in->context) && is_raw(obj->qp.in))) &&
	       (!(type & MANADV_OBJ_CQ) || is_ours(obj->cq.in->context)) &&
	       (!(type & MANADV_OBJ_RWQ) || is_ours(obj->rwq.in->context));
}

MANADV_EXPORT int manadv_init_obj(struct manadv_obj *obj, uint64_t obj_type)
{
	if (obj_type & ~OBJECTS_KNOWN) {
		log_err("mana: manadv_init_obj: obj_type 0x%llx: 0x%llx are known",
			(unsigned long long)obj_type, (unsigned long long)OBJECTS_KNOWN);
		return EINVAL;
	}
	if (!are_ours(obj, obj_type))
		return EOPNOTSUPP;
	if (obj_type & MANADV_OBJ_QP)
		qp_show(to_mqp(obj->qp.in), obj->qp.out);
	if (obj_type & MANADV_OBJ_CQ)
		cq_show(to_mcq(obj->cq.in), obj->cq.out);
	if (obj_type & MANADV_OBJ_RWQ)
		rwq_show(to_mwq(obj->rwq.in), obj->rwq.out);
	return 0;
}
