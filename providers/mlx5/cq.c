/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of completion queues that depend on this kernel driver. The rest is in providers/mlx.
 */
#include "libibverbs/uverbs/cmd.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/cq.h"
#include "providers/mlx5/settings.h"
#include "providers/mlx5/tag.h"
#include <rdma/mlx5_user_ioctl_cmds.h>

enum {
	ARM_SN_ONE = 1 << 28, /* one event in the doorbell's field */
	ARM_SN_MASK = 3 << 28,
	PAGE_ID_MAX = 0xffff, /* largest value of the field in the request */
};

/* Add the attributes of mlx5dv_create_cq(), which has checked them. */
static void dv_apply(const struct mlx5dv_cq_init_attr *dv, struct mlx5_ib_create_cq *cmd)
{
	if (!dv)
		return;
	if (dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE) {
		cmd->cqe_comp_en = 1;
		cmd->cqe_comp_res_format = dv->cqe_comp_res_format;
	}
	if (dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_FLAGS &&
	    dv->flags & MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD)
		cmd->flags |= MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD;
}

bool mlx5_cq_is_real_time(const struct mlx_cq *cq, uint64_t wc_flags)
{
	return to_mctx(cq->vcq.cq.context)->info.comp_mask &
		       MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS &&
	       wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK &&
	       !(wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
}

/* Check that wall-clock times are possible: by a real-time clock or by the kernel's clock page. */
static int wallclock_check(const struct mlx_cq *cq, const struct verbs_create_cq *in)
{
	if (!in->extended ||
	    !(in->attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) ||
	    to_mctx(cq->vcq.cq.context)->clock_info.base ||
	    mlx5_cq_is_real_time(cq, in->attr->wc_flags))
		return 0;
	verbs_err(cq->vcq.cq.context,
		  "ibv_create_cq_ex: the kernel says nothing of the device's clock");
	return -EOPNOTSUPP;
}

static int cq_create(struct mlx_cq *cq, const struct verbs_create_cq *in)
{
	struct mlx5_context *ctx = to_mctx(cq->vcq.cq.context);
	int64_t page_id = ctx->cq_uar_page_id;
	struct uverbs_attr page = uverbs_u32(MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX, page_id);
	bool large = page_id > PAGE_ID_MAX;
	struct mlx5_ib_create_cq_resp resp = {};
	struct mlx5_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.db_addr = (uintptr_t)cq->record,
		.cqe_size = cq->stride,
		.flags = page_id >= 0 && !large ? MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX : 0,
		.uar_page_index = page_id >= 0 && !large ? page_id : 0,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = &resp,
		.out_len = sizeof(resp),
		.attrs = &page,
		.attr_count = large,
	};
	int r;

	dv_apply(in->dv, &cmd);
	if (in->extended && mlx5_cq_is_real_time(cq, in->attr->wc_flags))
		cmd.flags |= MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	r = mlx_cq_ask(cq, in, &udata, &resp.cqn);
	if (!r)
		mlx5_cq_arm_set(cq);
	return r;
}

int mlx5_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mlx5_context *ctx = to_mctx(vcq->cq.context);
	struct mlx_cq *cq = to_mcq(&vcq->cq);
	int r = mlx_cq_check(vcq->cq.context, in, mlx5_cq_ex_wc_flags, ctx->cqe_count_max);
	uint32_t size;

	if (!r)
		r = wallclock_check(cq, in);
	if (r < 0)
		return r;
	r = mlx5_cq_size(vcq->cq.context, in->dv, &size);
	if (r < 0)
		return r;
	cq->uar = ctx->cq_uar;
	r = mlx_cq_make(cq, &ctx->records, &mlx5_cqe_format, size, in->attr->cqe,
			mlx5_memory(MLX5_MEMORY_CQ));
	if (!r)
		r = cq_create(cq, in);
	if (r < 0) {
		mlx_cq_free(cq);
		return r;
	}
	if (in->extended)
		mlx5_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int mlx5_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct mlx_cq *cq = to_mcq(&vcq->cq);
	struct mlx5_ib_resize_cq cmd = { .cqe_size = cq->stride };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };

	return mlx_cq_resize(cq, in, to_mctx(vcq->cq.context)->cqe_count_max, &udata,
			     &cmd.buf_addr);
}

/* ---- events */

void mlx5_cq_arm_set(struct mlx_cq *cq)
{
	cq->arm_record = htobe32(cq->arm_sn & ARM_SN_MASK);
	cq->arm_register = mlx_both(0, htobe32(cq->cqn));
}

void mlx5_cq_event(struct verbs_cq *vcq)
{
	struct mlx_cq *cq = to_mcq(&vcq->cq);

	cq->arm_sn += ARM_SN_ONE;
	mlx5_cq_arm_set(cq);
}

int mlx5_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mlx_cq *cq = to_mcq(ibcq);
	/* The consumer index is the last published one. */
	__be32 word = cq->record[0] | cq->arm_record;

	if (unlikely(solicited_only))
		word |= htobe32(MLX5_CQ_DB_REQ_NOT_SOL);
	cq->record[1] = word;
	/* The adapter reads the record when the register is written. */
	barrier_wc_start();
	mmio_write_64(cq->uar + MLX5_CQ_DOORBELL, mlx_both(word, 0) | cq->arm_register);
	barrier_wc_flush();
	return 0;
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

static bool cqe_take(void *arg, const void *entry)
{
	const struct mlx5_cqe64 *cqe = entry;
	struct mlx5_qp *qp = arg;

	/* A signature error belongs to no queue pair, and this field has another meaning. */
	if (cqe->op_own >> 4 == MLX5_CQE_SIG_ERR ||
	    (be32toh(cqe->srqn_uidx) & IDTABLE_MASK) != qp->uidx)
		return false;
	if (qp->srq && mlx5_cqe_is_responder(cqe->op_own >> 4) &&
	    (!mlx5_is_tagged(qp, cqe) || mlx5_tag_in_srq(cqe)))
		mlx_srq_done(qp->srq, be16toh(cqe->wqe_counter));
	return true;
}

void mlx5_cqs_clean(struct mlx5_qp *qp, bool gone)
{
	mlx_cqs_lock(qp->send_cq, qp->recv_cq);
	mlx_cqs_clean_locked(qp->send_cq, qp->recv_cq, qp, cqe_take);
	/*
	 * Remove the number only now, because no entry has it any more. A new object may get it at
	 * once.
	 */
	if (gone)
		idtable_remove(&to_mctx(qp->vqp.qp.context)->users, qp->uidx);
	mlx_cqs_unlock(qp->send_cq, qp->recv_cq);
}
