/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions: their queue pair, and the requests that they free. ibv_poll_cq() and the extended
 * poll use them. */
#ifndef MLX5_DONE_H
#define MLX5_DONE_H

#include "providers/mlx5/cqe.h"
#include "providers/mlx5/qp.h"

/*
 * @slot: first basic block of a send request
 * @status: 0, or the status of a failed request
 */
struct mlx5_done {
	struct mlx5_qp *qp;
	uint64_t wr_id;
	uint32_t slot;
	enum ibv_wc_status status;
	uint8_t vendor_err;
	bool sent;
};

/* poll.c. Handle an entry that belongs to no request: a page fault or a signature error. @last: its
 * last byte. Return: whether it was such an entry. */
bool mlx5_cqe_swallow(struct mlx_cq *cq, const void *entry, unsigned int last);
void mlx5_cqe_say_corrupt(const struct mlx_cq *cq, const void *cqe);

/* Complete this send request and all before it. */
__attribute__((always_inline)) static inline void done_sent(struct mlx5_done *done,
							    uint32_t counter)
{
	struct mlx5_sq *sq = &done->qp->sq;

	done->slot = counter & sq->mask;
	done->wr_id = sq->slots[done->slot].wr_id;
	/* release: pairs with the acquire in the next post, which writes the slots again */
	atomic_store_explicit(&sq->tail, sq->slots[done->slot].head + 1, memory_order_release);
}

__attribute__((always_inline)) static inline bool done_shared(struct mlx5_done *done,
							      struct mlx_srq *srq, uint32_t counter)
{
	if (unlikely(counter > srq->mask))
		return false;
	done->wr_id = srq->wr_ids[counter];
	mlx_srq_done(srq, counter);
	return true;
}

__attribute__((always_inline)) static inline bool done_received(struct mlx5_done *done,
								uint32_t counter)
{
	struct mlx5_qp *qp = done->qp;
	struct mlx_srq *srq = qp->srq;
	struct mlx_rq *rq = &qp->rq;

	/* mlx5_done_read_rare() reads those with extras. */
	if (srq)
		return likely(!qp->extras) && done_shared(done, srq, counter);
	done->wr_id = rq->wr_ids[counter & rq->mask];
	/* release: as above */
	atomic_store_explicit(&rq->tail, atomic_load_explicit(&rq->tail, memory_order_relaxed) + 1,
			      memory_order_release);
	return true;
}

/* Find the queue pair of the entry. Return: whether it exists and uses this completion queue. */
__attribute__((always_inline)) static inline bool
mlx5_done_find(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, struct mlx5_done *done)
{
	uint32_t uidx = be32toh(cqe->srqn_uidx) & IDTABLE_MASK;

	done->qp = cq->last;
	if (likely(cq->last_number == uidx))
		return true;
	done->qp = mlx_cq_find(cq, &to_mctx(cq->vcq.cq.context)->users, uidx);
	return done->qp;
}

/*
 * Read the entry of a successful request. @sent: it is a send request
 * Return: whether the entry is valid and no case for mlx5_done_read_rare().
 */
__attribute__((always_inline)) static inline bool
mlx5_done_read(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, bool sent, struct mlx5_done *done)
{
	uint32_t counter = be16toh(cqe->wqe_counter);

	if (unlikely(!mlx5_done_find(cq, cqe, done)))
		return false;
	done->status = IBV_WC_SUCCESS;
	done->vendor_err = 0;
	done->sent = sent;
	if (!sent)
		return done_received(done, counter);
	done_sent(done, counter);
	return true;
}

/* Return IBV_WC_IP_CSUM_OK for an IPv4 packet with correct checksums, else 0. */
static inline unsigned int mlx5_cqe_csum(const struct mlx5_cqe64 *cqe)
{
	const uint8_t both = MLX5_CQE_L3_OK | MLX5_CQE_L4_OK;

	return (cqe->hds_ip_ext & both) == both &&
			       (cqe->l4_hdr_type_etc >> 2 & 3) == MLX5_CQE_L3_HDR_TYPE_IPV4
		       ? IBV_WC_IP_CSUM_OK
		       : 0;
}

/* done.c. Read any other entry: of a failed request, with data, or of a queue pair with extras.
 * @last: its last byte */
bool mlx5_done_read_rare(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last,
			 struct mlx5_done *done);
/*
 * If the entry reports a page fault, post its request again. Return: whether the entry was a page
 * fault.
 */
bool mlx5_done_page_fault(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last);

/* Return the IBV_WC_ opcode for an opcode of the adapter; -1: the opcode is ambiguous. */
static inline int mlx5_wc_opcode(uint32_t hw)
{
	static const uint8_t opcodes[] = {
		[MLX5_OPCODE_SEND_INVAL] = 1 + IBV_WC_SEND,
		[MLX5_OPCODE_RDMA_WRITE] = 1 + IBV_WC_RDMA_WRITE,
		[MLX5_OPCODE_RDMA_WRITE_IMM] = 1 + IBV_WC_RDMA_WRITE,
		[MLX5_OPCODE_SEND] = 1 + IBV_WC_SEND,
		[MLX5_OPCODE_SEND_IMM] = 1 + IBV_WC_SEND,
		[MLX5_OPCODE_TSO] = 1 + IBV_WC_TSO,
		[MLX5_OPCODE_RDMA_READ] = 1 + IBV_WC_RDMA_READ,
		[MLX5_OPCODE_ATOMIC_CS] = 1 + IBV_WC_COMP_SWAP,
		[MLX5_OPCODE_ATOMIC_FA] = 1 + IBV_WC_FETCH_ADD,
	};

	return hw < ARRAY_SIZE(opcodes) ? opcodes[hw] - 1 : -1;
}

/* Return the IBV_WC_ opcode of a send completion; -1: no request has this opcode. */
static inline int mlx5_sent_opcode(const struct mlx5_done *done, uint32_t opcode_qpn)
{
	uint32_t hw = opcode_qpn >> 24;
	int known = mlx5_wc_opcode(hw);

	/* Only the program knows the operation of a request that it built itself. */
	if (unlikely(done->qp->sq.raw) &&
	    done->qp->sq.slots[done->slot].opcode == MLX5DV_WC_RAW_WQE)
		return MLX5DV_WC_RAW_WQE;
	if (known >= 0)
		return known;
	if (hw == MLX5_OPCODE_UMR || hw == MLX5_OPCODE_SET_PSV || hw == MLX5_OPCODE_NOP ||
	    hw == MLX5_OPCODE_MMO)
		return done->qp->sq.slots[done->slot].opcode;
	return -1;
}

#endif
