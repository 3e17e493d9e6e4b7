/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/mlx4/cqe.h"

__attribute__((noinline, cold)) void mlx4_cqe_say_corrupt(const struct mlx_cq *cq,
							  const void *entry)
{
	const struct mlx4_cqe *cqe = entry;

	verbs_err(cq->vcq.cq.context,
		  "cq 0x%x: an entry that makes no sense: opcode 0x%x, qp 0x%x, request %u",
		  cq->cqn, cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK,
		  be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK, be16toh(cqe->wqe_index));
}

__attribute__((always_inline)) static inline void
wc_sent(struct ibv_wc *wc, const struct mlx4_cqe *cqe, unsigned int opcode)
{
	wc->opcode = mlx4_sent_opcode(opcode);
	wc->wc_flags = 0;
	switch (opcode) {
	case MLX4_OPCODE_RDMA_WRITE_IMM:
	case MLX4_OPCODE_SEND_IMM:
		wc->wc_flags = IBV_WC_WITH_IMM;
		break;
	case MLX4_OPCODE_RDMA_READ:
		wc->byte_len = be32toh(cqe->byte_cnt);
		break;
	case MLX4_OPCODE_ATOMIC_CS:
	case MLX4_OPCODE_ATOMIC_FA:
		wc->byte_len = 8;
		break;
	}
}

__attribute__((always_inline)) static inline void wc_received(struct ibv_wc *wc,
							      const struct mlx4_cqe *cqe,
							      unsigned int opcode,
							      const struct mlx4_qp *qp)
{
	uint32_t g_mlpath_rqpn = be32toh(cqe->g_mlpath_rqpn);
	uint32_t word = be32toh(cqe->immed_rss_invalid);

	wc->opcode = IBV_WC_RECV;
	wc->wc_flags = mlx4_cqe_recv_flags(qp, cqe, g_mlpath_rqpn, opcode);
	if (unlikely(opcode != MLX4_RECV_OPCODE_SEND)) {
		if (opcode == MLX4_RECV_OPCODE_RDMA_WRITE_IMM)
			wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		if (opcode == MLX4_RECV_OPCODE_SEND_INVAL)
			wc->invalidated_rkey = word;
		else
			wc->imm_data = cqe->immed_rss_invalid;
	}
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->slid = be16toh(cqe->rlid);
	wc->sl = mlx4_cqe_sl(qp, cqe);
	wc->src_qp = g_mlpath_rqpn & 0xffffff;
	wc->dlid_path_bits = g_mlpath_rqpn >> 24 & 0x7f;
	wc->pkey_index = word & 0x7f;
}

static inline void wc_failed(struct ibv_wc *wc, const struct mlx4_err_cqe *cqe, bool sent)
{
	wc->status = mlx_status(cqe->syndrome);
	wc->vendor_err = cqe->vendor_err;
	wc->opcode = sent ? IBV_WC_SEND : IBV_WC_RECV;
	wc->wc_flags = 0;
}

/* Return: whether the entry is valid. */
__attribute__((always_inline)) static inline bool wc_read(struct mlx_cq *cq, const void *entry,
							  unsigned int last, struct ibv_wc *wc)
{
	unsigned int opcode = last & MLX4_CQE_OPCODE_MASK;
	struct mlx4_qp *qp = mlx4_cqe_qp(cq, entry, last);

	if (unlikely(!qp) || unlikely(!mlx4_done(qp, entry, last, &wc->wr_id)))
		return false;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->status = IBV_WC_SUCCESS;
	wc->vendor_err = 0;
	if (likely(!(last & MLX4_CQE_NOT_RECEIVED)))
		wc_received(wc, entry, opcode, qp);
	else if (unlikely(mlx4_cqe_is_error(last)))
		wc_failed(wc, entry, last & MLX4_CQE_IS_SEND_MASK);
	else
		wc_sent(wc, entry, opcode);
	return true;
}

static const struct mlx_poller poller = {
	.format = &mlx4_cqe_format,
	.read = wc_read,
	.say_corrupt = mlx4_cqe_say_corrupt,
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

int mlx4_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mlx_cq *cq = to_mcq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_contended(cq, num_entries, wc);
	return mlx_poll_locked(cq, &poller, poll_found, num_entries, wc);
}
