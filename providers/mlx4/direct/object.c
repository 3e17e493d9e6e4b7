/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of verbs, exposed to programs that access their queues directly. */
#include "providers/mlx4/direct/direct.h"

static void qp_show(struct mlx4_qp *qp, struct mlx4dv_qp *out)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	bool has_rq = qp->rq.max_post;

	out->rdb = qp->rq.record;
	out->sdb = (uint32_t *)(void *)(ctx->uar + MLX4_SEND_DOORBELL);
	out->doorbell_qpn = qp->doorbell;
	out->sq.wqe_cnt = qp->buf.base ? qp->sq.mask + 1 : 0;
	out->sq.wqe_shift = qp->sq.shift;
	out->sq.offset = qp->sq.ring - (char *)qp->buf.base;
	out->rq.wqe_cnt = has_rq ? qp->rq.mask + 1 : 0;
	out->rq.wqe_shift = has_rq ? qp->rq.shift : 0;
	out->rq.offset = has_rq ? qp->rq.ring - (char *)qp->buf.base : 0;
	out->buf.buf = qp->buf.base;
	out->buf.length = qp->buf.size;
	out->comp_mask &= MLX4DV_QP_MASK_UAR_MMAP_OFFSET;
	if (out->comp_mask)
		out->uar_mmap_offset = 0;
}

/* Expose the queue. From now on the program polls it. */
static void cq_show(struct mlx_cq *cq, struct mlx4dv_cq *out)
{
	spinlock_lock(&cq->lock);
	cq->by_program = true;
	spinlock_unlock(&cq->lock);
	out->buf.buf = cq->buf.base;
	out->buf.length = cq->buf.size;
	out->cqe_cnt = cq->mask + 1;
	out->cqn = cq->cqn;
	out->set_ci_db = cq->record;
	out->arm_db = cq->record + 1;
	out->arm_sn = cq->arm_sn;
	out->cqe_size = cq->stride;
	out->comp_mask &= MLX4DV_CQ_MASK_UAR;
	if (out->comp_mask)
		out->cq_uar = to_mctx(cq->vcq.cq.context)->uar;
}

static void srq_show(struct mlx_srq *srq, struct mlx4dv_srq *out)
{
	out->buf.buf = srq->buf.base;
	out->buf.length = srq->buf.size;
	out->wqe_shift = srq->shift;
	out->head = srq->head;
	out->tail = srq->tail;
	out->db = srq->record;
	out->comp_mask = 0;
}

static void rwq_show(const struct mlx4_wq *wq, struct mlx4dv_rwq *out)
{
	const struct mlx4_qp *qp = &wq->as_qp;

	out->rdb = qp->rq.record;
	out->rq.wqe_cnt = qp->rq.mask + 1;
	out->rq.wqe_shift = qp->rq.shift;
	out->rq.offset = qp->rq.ring - (char *)qp->buf.base;
	out->buf.buf = qp->buf.base;
	out->buf.length = qp->buf.size;
	out->comp_mask = 0;
}

static bool is_ours(struct ibv_context *ctx)
{
	return mlx4dv_context(ctx, "mlx4dv_init_obj");
}

/* Check that each object belongs to a device of mlx4. The devices may differ. */
static bool are_ours(const struct mlx4dv_obj *obj, uint64_t type)
{
	return (!(type & MLX4DV_OBJ_QP) || is_ours(obj->qp.in->context)) &&
	       (!(type & MLX4DV_OBJ_CQ) || is_ours(obj->cq.in->context)) &&
	       (!(type & MLX4DV_OBJ_SRQ) || is_ours(obj->srq.in->context)) &&
	       (!(type & MLX4DV_OBJ_RWQ) || is_ours(obj->rwq.in->context));
}

MLX4DV_EXPORT int mlx4dv_init_obj(struct mlx4dv_obj *obj, uint64_t obj_type)
{
	if (!(obj_type & (MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ | MLX4DV_OBJ_RWQ)))
		return EINVAL;
	if (!are_ours(obj, obj_type))
		return EOPNOTSUPP;
	if (obj_type & MLX4DV_OBJ_QP)
		qp_show(to_mqp(obj->qp.in), obj->qp.out);
	if (obj_type & MLX4DV_OBJ_CQ)
		cq_show(to_mcq(obj->cq.in), obj->cq.out);
	if (obj_type & MLX4DV_OBJ_SRQ)
		srq_show(to_msrq(obj->srq.in), obj->srq.out);
	if (obj_type & MLX4DV_OBJ_RWQ)
		rwq_show((struct mlx4_wq *)obj->rwq.in, obj->rwq.out);
	return 0;
}
