/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/mlx5/cq.h"
#include "providers/mlx5/sig_error.h"
#include "providers/mlx5/tag.h"

__attribute__((noinline, cold)) void mlx5_cqe_say_corrupt(const struct mlx_cq *cq,
							  const void *entry)
{
	const struct mlx5_cqe64 *cqe = entry;

	verbs_err(cq->vcq.cq.context,
		  "cq 0x%x: an entry that makes no sense: opcode %u, user 0x%x, request %u",
		  cq->cqn, cqe->op_own >> 4, be32toh(cqe->srqn_uidx) & IDTABLE_MASK,
		  be16toh(cqe->wqe_counter));
}

/* Handle an entry that belongs to no request. The key of a signature error may be destroyed
 * already. */
__attribute__((noinline, cold)) bool mlx5_cqe_swallow(struct mlx_cq *cq, const void *entry,
						      unsigned int last)
{
	if (mlx5_done_page_fault(cq, entry, last))
		return true;
	if (last >> 4 != MLX5_CQE_SIG_ERR)
		return false;
	if (!mlx5_sig_error_take(to_mctx(cq->vcq.cq.context), entry))
		verbs_err(cq->vcq.cq.context, "cq 0x%x: a signature's error of no key", cq->cqn);
	return true;
}

__attribute__((always_inline)) static inline bool
wc_sent(struct ibv_wc *wc, const struct mlx5_cqe64 *cqe, const struct mlx5_done *done)
{
	uint32_t opcode_qpn = be32toh(cqe->sop_drop_qpn);
	int opcode = mlx5_sent_opcode(done, opcode_qpn);

	wc->opcode = opcode;
	wc->wc_flags = 0;
	switch (opcode_qpn >> 24) {
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_SEND_IMM:
		wc->wc_flags = IBV_WC_WITH_IMM;
		break;
	case MLX5_OPCODE_RDMA_READ:
		wc->byte_len = be32toh(cqe->byte_cnt);
		break;
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		wc->byte_len = 8;
		break;
	}
	return likely(opcode >= 0);
}

/* Fill in the fields of a receive that is not a plain send. Return: flags */
__attribute__((always_inline)) static inline unsigned int
wc_received_with(struct ibv_wc *wc, const struct mlx5_cqe64 *cqe, unsigned int kind)
{
	if (kind == MLX5_KIND_SEND_INV) {
		wc->invalidated_rkey = be32toh(cqe->imm_inval_pkey);
		return IBV_WC_WITH_INV;
	}
	if (kind == MLX5_KIND_WRITE_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	wc->imm_data = cqe->imm_inval_pkey;
	return IBV_WC_WITH_IMM;
}

/* Fill in the fields of a receive of a queue pair with extras. */
__attribute__((noinline)) static void
wc_received_extra(struct ibv_wc *wc, const struct mlx5_cqe64 *cqe, const struct mlx5_qp *qp)
{
	if (qp->extras & MLX5_EXTRA_CSUM)
		wc->wc_flags |= mlx5_cqe_csum(cqe);
	if (!mlx5_is_tagged(qp, cqe))
		return;
	if (cqe->op_own >> 4 == MLX5_CQE_NO_PACKET)
		wc->wc_flags = 0;
	wc->wc_flags |= mlx5_tag_wc_flags(qp, cqe);
	wc->opcode = mlx5_tag_opcode(cqe);
}

__attribute__((always_inline)) static inline void wc_received(struct ibv_wc *wc,
							      const struct mlx5_cqe64 *cqe,
							      unsigned int kind,
							      const struct mlx5_qp *qp)
{
	uint32_t flags_rqpn = be32toh(cqe->flags_rqpn);

	wc->opcode = IBV_WC_RECV;
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->wc_flags = flags_rqpn >> 28 & 3 ? IBV_WC_GRH : 0;
	if (kind != MLX5_KIND_SEND)
		wc->wc_flags |= wc_received_with(wc, cqe, kind);
	if (unlikely(qp->extras))
		wc_received_extra(wc, cqe, qp);
	wc->slid = be16toh(cqe->slid);
	wc->sl = flags_rqpn >> 24 & 15;
	wc->src_qp = flags_rqpn & 0xffffff;
	wc->dlid_path_bits = cqe->ml_path & 0x7f;
	wc->pkey_index = be32toh(cqe->imm_inval_pkey) & 0xffff;
}

__attribute__((always_inline)) static inline bool wc_fill(struct ibv_wc *wc,
							  const struct mlx5_cqe64 *cqe,
							  unsigned int kind,
							  const struct mlx5_done *done)
{
	wc->wr_id = done->wr_id;
	wc->status = done->status;
	wc->vendor_err = done->vendor_err;
	wc->qp_num = done->qp->vqp.qp.qp_num;
	if (unlikely(done->status)) {
		wc->opcode = done->sent ? IBV_WC_SEND : IBV_WC_RECV;
		wc->wc_flags = 0;
		return true;
	}
	if (done->sent)
		return wc_sent(wc, cqe, done);
	wc_received(wc, cqe, kind, done->qp);
	return true;
}

__attribute__((noinline)) static bool wc_read_rare(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe,
						   unsigned int last, struct ibv_wc *wc)
{
	struct mlx5_done done;

	return mlx5_done_read_rare(cq, cqe, last, &done) && wc_fill(wc, cqe, last & 0xf0, &done);
}

/* Return: whether the entry is valid. */
__attribute__((always_inline)) static inline bool wc_read(struct mlx_cq *cq, const void *entry,
							  unsigned int last, struct ibv_wc *wc)
{
	const struct mlx5_cqe64 *cqe = entry;
	unsigned int kind = last & MLX5_KIND_MASK;
	struct mlx5_done done;

	if (kind == MLX5_KIND_SENT)
		return likely(mlx5_done_read(cq, cqe, true, &done)) &&
		       wc_fill(wc, cqe, kind, &done);
	if (unlikely(!mlx5_kind_is_received(kind)) ||
	    unlikely(!mlx5_done_read(cq, cqe, false, &done)))
		return wc_read_rare(cq, cqe, last, wc);
	return wc_fill(wc, cqe, kind, &done);
}

static const struct mlx_poller poller = {
	.format = &mlx5_cqe_format,
	.read = wc_read,
	.swallow = mlx5_cqe_swallow,
	.say_corrupt = mlx5_cqe_say_corrupt,
};

__attribute__((noinline)) static int poll_found(struct mlx_cq *cq, int num_entries,
						struct ibv_wc *wc, const void *cqe, int last)
{
	return mlx_poll_found(cq, &poller, num_entries, wc, cqe, last);
}

__attribute__((noinline, cold)) static int poll_contended(struct mlx_cq *cq, int num_entries,
							  struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return mlx_poll_locked(cq, &poller, poll_found, num_entries, wc);
}

int mlx5_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mlx_cq *cq = to_mcq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_contended(cq, num_entries, wc);
	return mlx_poll_locked(cq, &poller, poll_found, num_entries, wc);
}
