/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of verbs, exposed to programs that access their queues directly. */
#include "providers/mlx5/ah.h"
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/dm.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/vfio/vfio.h"
#include "providers/mlx5/wq.h"

static void handles_show(const struct mlx5_qp *qp, struct mlx5dv_qp *out)
{
	out->tirn = qp->tirn;
	out->tisn = qp->tisn;
	out->rqn = qp->rqn;
	out->sqn = qp->sqn;
}

static void qp_show(struct mlx5_qp *qp, struct mlx5dv_qp *out)
{
	const struct mlx5_bfreg *bfreg = qp->sq.bfreg;
	uint64_t asked = out->comp_mask;

	out->dbrec = qp->record;
	out->sq.buf = qp->sq.ring;
	out->sq.wqe_cnt = qp->sq.end > qp->sq.ring ? qp->sq.mask + 1 : 0;
	out->sq.stride = MLX5_SEND_WQE_BB;
	out->rq.buf = qp->rq.ring;
	out->rq.wqe_cnt = qp->rq.max_post;
	out->rq.stride = 1u << qp->rq.shift;
	/* A queue pair that receives through a table or an SRQ may have no register. */
	out->bf.reg = bfreg ? bfreg->reg : NULL;
	out->bf.size = bfreg && bfreg->blueflame ? bfreg->size : 0;
	out->comp_mask = asked & (MLX5DV_QP_MASK_RAW_QP_HANDLES | MLX5DV_QP_MASK_RAW_QP_TIR_ADDR |
				  (bfreg ? MLX5DV_QP_MASK_UAR_MMAP_OFFSET : 0));
	if (out->comp_mask & MLX5DV_QP_MASK_UAR_MMAP_OFFSET)
		out->uar_mmap_offset = bfreg->mmap_offset;
	if (out->comp_mask & MLX5DV_QP_MASK_RAW_QP_HANDLES)
		handles_show(qp, out);
	if (out->comp_mask & MLX5DV_QP_MASK_RAW_QP_TIR_ADDR)
		out->tir_icm_addr = qp->tir_icm_addr;
}

static void rwq_show(const struct mlx5_wq *wq, struct mlx5dv_rwq *out)
{
	const struct mlx_rq *rq = &wq->user.qp.rq;

	/* The slot includes the empty first segment of a striding queue. */
	out->buf = wq->user.qp.buf.base;
	out->dbrec = rq->record;
	out->wqe_cnt = rq->max_post;
	out->stride = 1u << rq->shift;
	out->comp_mask = 0;
}

/* Expose the queue. From now on the program polls it. */
static void cq_show(struct mlx_cq *cq, struct mlx5dv_cq *out)
{
	spinlock_lock(&cq->lock);
	cq->by_program = true;
	spinlock_unlock(&cq->lock);
	out->buf = cq->buf.base;
	out->dbrec = cq->record;
	out->cqe_cnt = cq->mask + 1;
	out->cqe_size = cq->stride;
	out->cq_uar = cq->uar;
	out->cqn = cq->cqn;
	out->comp_mask = 0;
}

static void srq_show(struct mlx_srq *srq, struct mlx5dv_srq *out)
{
	out->buf = srq->ring;
	out->dbrec = srq->record;
	out->stride = 1u << srq->shift;
	out->head = srq->head;
	out->tail = srq->tail;
	out->comp_mask &= MLX5DV_SRQ_MASK_SRQN;
	if (out->comp_mask)
		out->srqn = srq->srqn;
}

static void pd_show(struct ibv_pd *pd, struct mlx5dv_pd *out)
{
	out->pdn = ((struct mlx5_pd *)verbs_pd_protection(pd))->pdn;
	out->comp_mask = 0;
}

static void ah_show(struct mlx5_ah *ah, struct mlx5dv_ah *out)
{
	out->av = &ah->av;
	out->comp_mask = 0;
}

static void dm_show(struct mlx5_dm *dm, struct mlx5dv_dm *out)
{
	out->buf = dm->bytes;
	out->length = dm->vdm.length;
	out->comp_mask &= MLX5DV_DM_MASK_REMOTE_VA;
	if (out->comp_mask)
		out->remote_va = dm->remote_va;
}

static const char verb[] = "mlx5dv_init_obj";

static bool is_ours(struct ibv_context *ctx)
{
	return mlx5dv_context(ctx, verb);
}

/* Check that each object belongs to a device of mlx5. The devices may differ. */
static bool are_ours(const struct mlx5dv_obj *obj, uint64_t type)
{
	return (!(type & MLX5DV_OBJ_QP) || is_ours(obj->qp.in->context)) &&
	       (!(type & MLX5DV_OBJ_CQ) || is_ours(obj->cq.in->context)) &&
	       (!(type & MLX5DV_OBJ_SRQ) || is_ours(obj->srq.in->context)) &&
	       (!(type & MLX5DV_OBJ_RWQ) || is_ours(obj->rwq.in->context)) &&
	       (!(type & MLX5DV_OBJ_DM) || is_ours(obj->dm.in->context)) &&
	       (!(type & MLX5DV_OBJ_AH) || is_ours(obj->ah.in->context)) &&
	       (!(type & MLX5DV_OBJ_PD) || mlx5dv_has_firmware(obj->pd.in->context, verb));
}

MLX5DV_EXPORT int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	uint64_t known = MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ | MLX5DV_OBJ_AH |
			 MLX5DV_OBJ_PD | MLX5DV_OBJ_DM | MLX5DV_OBJ_DEVX | MLX5DV_OBJ_RWQ;

	if (!(obj_type & known))
		return EINVAL;
	if (!are_ours(obj, obj_type))
		return EOPNOTSUPP;
	if (obj_type & MLX5DV_OBJ_QP)
		qp_show(to_mqp(obj->qp.in), obj->qp.out);
	if (obj_type & MLX5DV_OBJ_CQ)
		cq_show(to_mcq(obj->cq.in), obj->cq.out);
	if (obj_type & MLX5DV_OBJ_SRQ)
		srq_show(to_msrq(obj->srq.in), obj->srq.out);
	if (obj_type & MLX5DV_OBJ_AH)
		ah_show(to_mah(obj->ah.in), obj->ah.out);
	if (obj_type & MLX5DV_OBJ_PD)
		pd_show(obj->pd.in, obj->pd.out);
	if (obj_type & MLX5DV_OBJ_RWQ)
		rwq_show((struct mlx5_wq *)obj->rwq.in, obj->rwq.out);
	if (obj_type & MLX5DV_OBJ_DM)
		dm_show((struct mlx5_dm *)obj->dm.in, obj->dm.out);
	if (obj_type & MLX5DV_OBJ_DEVX)
		obj->devx.out->handle = obj->devx.in->handle;
	return 0;
}
