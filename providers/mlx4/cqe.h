/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of a completion queue: whose they are, and what a completion changes. Shared by both ways
 * of polling. */
#ifndef MLX4_CQE_H
#define MLX4_CQE_H

#include "providers/mlx4/mlx4.h"

static const struct mlx_cqe_format mlx4_cqe_format = {
	.size = sizeof(struct mlx4_cqe),
	.owner = MLX4_CQE_OWNER_MASK,
	.unwritten = UINT8_MAX + 1,
	.opcode_mask = MLX4_CQE_OPCODE_MASK,
	.resize = MLX4_CQE_OPCODE_RESIZE,
};

/*
 * @status: 0, or that of a failed request
 */
struct mlx4_done {
	struct mlx4_qp *qp;
	uint64_t wr_id;
	enum ibv_wc_status status;
	uint8_t vendor_err;
};

/* poll.c */
void mlx4_cqe_say_corrupt(const struct mlx_cq *cq, const void *cqe);

/* Of what was sent: this request and all before it are done. */
__attribute__((always_inline)) static inline void mlx4_done_sent(struct mlx4_done *done,
								 uint16_t index)
{
	struct mlx4_sq *sq = &done->qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	tail += (uint16_t)(index - (uint16_t)tail);
	done->wr_id = sq->wr_ids[tail & sq->mask];
	/* release: pairs with the acquire in the next post, which writes the slot again */
	atomic_store_explicit(&sq->tail, tail + 1, memory_order_release);
}

__attribute__((always_inline)) static inline bool mlx4_done_received(struct mlx4_done *done,
								     uint32_t index)
{
	struct mlx4_qp *qp = done->qp;
	struct mlx_rq *rq = &qp->rq;
	uint32_t tail;

	if (qp->srq) {
		if (unlikely(index > qp->srq->mask))
			return false;
		done->wr_id = qp->srq->wr_ids[index];
		mlx_srq_done(qp->srq, index);
		return true;
	}
	tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	done->wr_id = rq->wr_ids[tail & rq->mask];
	/* release: as above */
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
	return true;
}

/*
 * @last: the entry's last byte
 * Return: whether the entry can be believed.
 */
__attribute__((always_inline)) static inline bool mlx4_done_read(struct mlx_cq *cq,
								 const struct mlx4_cqe *cqe,
								 unsigned int last,
								 struct mlx4_done *done)
{
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
	uint16_t index = be16toh(cqe->wqe_index);
	unsigned int opcode = last & MLX4_CQE_OPCODE_MASK;

	done->qp = cq->last;
	if (unlikely(!done->qp || cq->last_number != qpn)) {
		done->qp = mlx_cq_find(cq, &to_mctx(cq->vcq.cq.context)->qps, qpn);
		if (unlikely(!done->qp))
			return false;
	}
	done->status = IBV_WC_SUCCESS;
	done->vendor_err = 0;
	if (unlikely(opcode == MLX4_CQE_OPCODE_ERROR)) {
		done->status = mlx_status(((const struct mlx4_err_cqe *)cqe)->syndrome);
		done->vendor_err = ((const struct mlx4_err_cqe *)cqe)->vendor_err;
	} else if (unlikely(opcode == MLX4_CQE_OPCODE_RESIZE)) {
		return false;
	}
	if (last & MLX4_CQE_IS_SEND_MASK) {
		mlx4_done_sent(done, index);
		return true;
	}
	return mlx4_done_received(done, index);
}

/* Of a completion of what was sent. */
static inline enum ibv_wc_opcode mlx4_sent_opcode(unsigned int opcode)
{
	static const uint8_t opcodes[MLX4_CQE_OPCODE_MASK + 1] = {
		[MLX4_OPCODE_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[MLX4_OPCODE_RDMA_WRITE_IMM] = IBV_WC_RDMA_WRITE,
		[MLX4_OPCODE_RDMA_READ] = IBV_WC_RDMA_READ,
		[MLX4_OPCODE_ATOMIC_CS] = IBV_WC_COMP_SWAP,
		[MLX4_OPCODE_ATOMIC_FA] = IBV_WC_FETCH_ADD,
		[MLX4_OPCODE_LOCAL_INVAL] = IBV_WC_LOCAL_INV,
		[MLX4_OPCODE_BIND_MW] = IBV_WC_BIND_MW,
	};

	/* What is not there is IBV_WC_SEND, which is 0. */
	return opcodes[opcode & MLX4_CQE_OPCODE_MASK];
}

/* The service level, which lies where the link has it. */
static inline uint8_t mlx4_cqe_sl(const struct mlx4_qp *qp, const struct mlx4_cqe *cqe)
{
	return be16toh(cqe->sl_vid) >> (qp->ethernet ? 13 : 12);
}

static inline unsigned int mlx4_cqe_recv_flags(const struct mlx4_qp *qp, const struct mlx4_cqe *cqe,
					       unsigned int opcode)
{
	unsigned int flags = be32toh(cqe->g_mlpath_rqpn) >> 31 ? IBV_WC_GRH : 0;

	if (opcode == MLX4_RECV_OPCODE_RDMA_WRITE_IMM || opcode == MLX4_RECV_OPCODE_SEND_IMM)
		flags |= IBV_WC_WITH_IMM;
	else if (opcode == MLX4_RECV_OPCODE_SEND_INVAL)
		flags |= IBV_WC_WITH_INV;
	if (unlikely(qp->checksums) &&
	    (be32toh(cqe->status) & MLX4_CQE_STATUS_IPV4_CSUM_OK) == MLX4_CQE_STATUS_IPV4_CSUM_OK)
		flags |= IBV_WC_IP_CSUM_OK;
	return flags;
}

#endif
