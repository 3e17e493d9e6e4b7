/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queue entries: their queue pair, and the requests that they free. ibv_poll_cq() and
 * the extended poll use them. */
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

enum {
	/* A last byte with one of these bits does not belong to a successful receive. */
	MLX4_CQE_NOT_RECEIVED =
		MLX4_CQE_IS_SEND_MASK | (MLX4_CQE_OPCODE_MASK & ~MLX4_RECV_OPCODE_SEND_INVAL),
};

/* cq.c */
struct mlx4_qp *mlx4_cq_find_xrc(struct mlx_cq *cq, const struct mlx4_cqe *cqe, uint32_t qpn);

/* poll.c */
void mlx4_cqe_say_corrupt(const struct mlx_cq *cq, const void *cqe);

/* Find the queue pair of the entry. NULL: no queue pair of this completion queue. @last: the last
 * byte of the entry */
__attribute__((always_inline)) static inline struct mlx4_qp *
mlx4_cqe_qp(struct mlx_cq *cq, const struct mlx4_cqe *cqe, unsigned int last)
{
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;

	if (likely(cq->last_number == qpn))
		return cq->last;
	if (unlikely(qpn & MLX4_XRC_RECEIVER) && !(last & MLX4_CQE_IS_SEND_MASK))
		return mlx4_cq_find_xrc(cq, cqe, qpn);
	return mlx_cq_find(cq, &to_mctx(cq->vcq.cq.context)->qps, qpn);
}

/* Complete this send request and all before it. Return: its wr_id. */
__attribute__((always_inline)) static inline uint64_t mlx4_done_sent(struct mlx4_qp *qp,
								     const struct mlx4_cqe *cqe)
{
	uint16_t index = be16toh(cqe->wqe_index);
	struct mlx4_sq *sq = &qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	uint64_t wr_id;

	tail += (uint16_t)(index - (uint16_t)tail);
	wr_id = sq->wr_ids[tail & sq->mask];
	/* release: pairs with the acquire in the next post, which writes the slot again */
	atomic_store_explicit(&sq->tail, tail + 1, memory_order_release);
	return wr_id;
}

/* Complete a receive. Return: whether it exists. */
__attribute__((always_inline)) static inline bool
mlx4_done_received(struct mlx4_qp *qp, const struct mlx4_cqe *cqe, uint64_t *ret_wr_id)
{
	struct mlx_rq *rq = &qp->rq;
	uint32_t tail;

	if (unlikely(qp->srq)) {
		uint16_t index = be16toh(cqe->wqe_index);

		if (unlikely(index > qp->srq->mask))
			return false;
		*ret_wr_id = qp->srq->wr_ids[index];
		mlx_srq_done(qp->srq, index);
		return true;
	}
	tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	*ret_wr_id = rq->wr_ids[tail & rq->mask];
	/* release: as above */
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
	return true;
}

static inline bool mlx4_cqe_is_error(unsigned int last)
{
	return (last & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_ERROR;
}

/*
 * Free the requests that the entry completes. @last: its last byte
 * Return: whether the entry is valid.
 */
__attribute__((always_inline)) static inline bool
mlx4_done(struct mlx4_qp *qp, const struct mlx4_cqe *cqe, unsigned int last, uint64_t *ret_wr_id)
{
	if (likely(!(last & MLX4_CQE_NOT_RECEIVED)))
		return mlx4_done_received(qp, cqe, ret_wr_id);
	if ((last & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_RESIZE)
		return false;
	if (last & MLX4_CQE_IS_SEND_MASK) {
		*ret_wr_id = mlx4_done_sent(qp, cqe);
		return true;
	}
	return mlx4_cqe_is_error(last) && mlx4_done_received(qp, cqe, ret_wr_id);
}

/* Return the IBV_WC_ opcode of a send completion. */
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

	/* Other opcodes are IBV_WC_SEND, which is 0. */
	return opcodes[opcode & MLX4_CQE_OPCODE_MASK];
}

/* Return the service level. Its position depends on the link layer. */
static inline uint8_t mlx4_cqe_sl(const struct mlx4_qp *qp, const struct mlx4_cqe *cqe)
{
	return be16toh(cqe->sl_vid) >> qp->sl_shift;
}

/* @g_mlpath_rqpn: field of the entry */
static inline unsigned int mlx4_cqe_recv_flags(const struct mlx4_qp *qp, const struct mlx4_cqe *cqe,
					       uint32_t g_mlpath_rqpn, unsigned int opcode)
{
	unsigned int flags = g_mlpath_rqpn >> 31 ? IBV_WC_GRH : 0;

	if (unlikely(opcode != MLX4_RECV_OPCODE_SEND))
		flags |= opcode == MLX4_RECV_OPCODE_SEND_INVAL ? IBV_WC_WITH_INV : IBV_WC_WITH_IMM;
	if (unlikely(qp->checksums) &&
	    (be32toh(cqe->status) & MLX4_CQE_STATUS_IPV4_CSUM_OK) == MLX4_CQE_STATUS_IPV4_CSUM_OK)
		flags |= IBV_WC_IP_CSUM_OK;
	return flags;
}

#endif
