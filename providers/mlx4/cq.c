/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of completion queues that depend on this kernel driver. The rest is in providers/mlx.
 */
#include "providers/kit/mmio.h"
#include "providers/mlx4/cqe.h"

enum {
	ARM_SN_MASK = 3,
	ARM_SN_SHIFT = 28, /* position of the event count in the doorbell */
};

/* Fields of a completion that a time stamp overlays. */
#define WC_FLAGS_NO_STAMP (IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL)

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	uint64_t wc_flags = in->attr->wc_flags;
	int r = mlx_cq_check(ctx, in, mlx4_cq_ex_wc_flags, to_mctx(ctx)->cqe_count_max);

	if (r < 0)
		return r;
	if (in->extended && wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP &&
	    wc_flags & WC_FLAGS_NO_STAMP) {
		verbs_err(ctx, "ibv_create_cq_ex: a completion of mlx4 has a time stamp, or SLID "
			       "and SL");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int cq_create(struct mlx_cq *cq, const struct verbs_create_cq *in)
{
	struct mlx4_ib_create_cq_resp resp = {};
	struct mlx4_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.db_addr = (uintptr_t)cq->record,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = mlx_cq_ask(cq, in, &udata, &resp.cqn);

	if (!r)
		mlx4_cq_arm_set(cq);
	return r;
}

int mlx4_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mlx4_context *ctx = to_mctx(vcq->cq.context);
	struct mlx_cq *cq = to_mcq(&vcq->cq);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	cq->uar = ctx->uar;
	cq->arm_sn = 1;
	r = mlx_cq_make(cq, &ctx->records, &mlx4_cqe_format, ctx->cqe_size, in->attr->cqe,
			(struct kit_memory){});
	if (!r)
		r = cq_create(cq, in);
	if (r < 0) {
		mlx_cq_free(cq);
		return r;
	}
	if (in->extended)
		mlx4_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int mlx4_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct mlx4_ib_resize_cq cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };

	return mlx_cq_resize(to_mcq(&vcq->cq), in, to_mctx(vcq->cq.context)->cqe_count_max, &udata,
			     &cmd.buf_addr);
}

/* ---- events */

void mlx4_cq_arm_set(struct mlx_cq *cq)
{
	uint32_t word = (cq->arm_sn & ARM_SN_MASK) << ARM_SN_SHIFT | MLX4_CQ_DB_REQ_NOT;

	cq->arm_record = htobe32(word);
	cq->arm_register = mlx_both(htobe32(word | cq->cqn), 0);
}

void mlx4_cq_event(struct verbs_cq *vcq)
{
	struct mlx_cq *cq = to_mcq(&vcq->cq);

	cq->arm_sn++;
	mlx4_cq_arm_set(cq);
}

int mlx4_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mlx_cq *cq = to_mcq(ibcq);
	/* The consumer index, as last published. */
	__be32 index = cq->record[0], word = cq->arm_record;
	uint64_t reg = cq->arm_register;

	if (unlikely(solicited_only)) {
		const __be32 other = htobe32(MLX4_CQ_DB_REQ_NOT ^ MLX4_CQ_DB_REQ_NOT_SOL);

		word ^= other;
		reg ^= mlx_both(other, 0);
	}
	cq->record[1] = word | index;
	/* The adapter reads the record when the register is written. */
	barrier_to_device();
	mmio_write_64(cq->uar + MLX4_CQ_DOORBELL, reg | mlx_both(0, index));
	return 0;
}

/* ---- XRC: completions of receives carry the number of the SRQ */

static struct mlx4_srq *xrc_srq(struct mlx4_qp *as_qp)
{
	return (struct mlx4_srq *)((char *)as_qp - offsetof(struct mlx4_srq, as_qp));
}

struct mlx4_qp *mlx4_cq_find_xrc(struct mlx_cq *cq, const struct mlx4_cqe *cqe, uint32_t qpn)
{
	struct mlx4_context *ctx = to_mctx(cq->vcq.cq.context);
	uint32_t srqn = be32toh(cqe->g_mlpath_rqpn) & MLX4_CQE_QPN_MASK;
	struct mlx4_qp *as_qp = idtable_find_own(&ctx->xrc_srqs, srqn, cq);

	/* The queue pair may belong to another process. This function is the only writer of the
	 * number, because all completions of the SRQ are in this queue, whose lock is held. */
	if (!as_qp)
		return mlx_cq_find(cq, &ctx->qps, qpn);
	as_qp->vqp.qp.qp_num = qpn;
	return as_qp;
}

static bool xrc_cqe_take(void *arg, const void *entry)
{
	const struct mlx4_srq *srq = xrc_srq(arg);
	const struct mlx4_cqe *cqe = entry;

	return !(cqe->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK) &&
	       be32toh(cqe->vlan_my_qpn) & MLX4_XRC_RECEIVER &&
	       (be32toh(cqe->g_mlpath_rqpn) & MLX4_CQE_QPN_MASK) == srq->srq.srqn;
}

void mlx4_cqs_clean_srq(struct mlx4_srq *srq)
{
	struct mlx4_qp *as_qp = &srq->as_qp;
	struct mlx4_context *ctx = to_mctx(srq->srq.vsrq.srq.context);

	mlx_cqs_lock(as_qp->recv_cq, NULL);
	idtable_take(&ctx->xrc_srqs, srq->srq.srqn, as_qp);
	mlx_cqs_clean_locked(NULL, as_qp->recv_cq, as_qp, xrc_cqe_take);
	mlx_cqs_unlock(as_qp->recv_cq, NULL);
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

static bool cqe_take(void *arg, const void *entry)
{
	const struct mlx4_cqe *cqe = entry;
	struct mlx4_qp *qp = arg;

	if ((be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK) != qp->vqp.qp.qp_num)
		return false;
	if (qp->srq && !(cqe->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK))
		mlx_srq_done(qp->srq, be16toh(cqe->wqe_index));
	return true;
}

void mlx4_cqs_clean(struct mlx4_qp *qp, bool gone)
{
	mlx_cqs_lock(qp->send_cq, qp->recv_cq);
	if (gone)
		idtable_take(&to_mctx(qp->vqp.qp.context)->qps, qp->vqp.qp.qp_num, qp);
	mlx_cqs_clean_locked(qp->send_cq, qp->recv_cq, qp, cqe_take);
	mlx_cqs_unlock(qp->send_cq, qp->recv_cq);
}
