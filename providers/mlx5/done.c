/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions on the slow path: errors, page faults of shared receives, and data inside an entry.
 * If the kernel allows it, the adapter writes up to 32 bytes of a receive, an RDMA read or an
 * atomic into the entry, or up to 64 into the first half of an entry of 128 bytes.
 *
 * The destination of such data is only in the ring. Therefore the entry must belong to a request
 * that is not completed yet.
 */
#include "providers/mlx5/done.h"
#include "providers/mlx5/wqe.h"

enum {
	VENDOR_PAGE_FAULT = 0x93,
	SYNDROME_ABORTED = 0x22,
};

/* Bytes of an entry that remain to be copied. */
struct inlined {
	const char *from;
	uint32_t left;
};

/* Copy data to the memory of one segment. @nowhere: a key whose data is discarded */
static void piece_fill(const struct mlx5_wqe_data_seg *seg, uint32_t nowhere, struct inlined *data)
{
	uint32_t length = min_of(be32toh(seg->byte_count), data->left);

	if (length && be32toh(seg->lkey) != nowhere)
		memcpy((void *)(uintptr_t)be64toh(seg->addr), data->from, length);
	data->from += length;
	data->left -= length;
}

static uint32_t nowhere_key(const struct mlx_cq *cq)
{
	const struct mlx5_ib_alloc_ucontext_resp *info = &to_mctx(cq->vcq.cq.context)->info;

	return info->comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY
		       ? info->dump_fill_mkey
		       : MLX_INVALID_LKEY;
}

/* Copy data to the segments of a receive. */
static void receive_fill(const struct mlx_cq *cq, const void *seg, uint32_t count,
			 struct inlined *data)
{
	const struct mlx5_wqe_data_seg *piece = seg;

	for (; count && data->left; count--, piece++)
		piece_fill(piece, nowhere_key(cq), data);
}

/*
 * Return the bytes between the control segment and the data segments; 0: the request returns no
 * data.
 */
static uint32_t pieces_offset(const struct mlx5_sq *sq, uint8_t opcode)
{
	uint32_t remote = sizeof(struct mlx5_wqe_ctrl_seg) + sq->address_size +
			  sizeof(struct mlx5_wqe_raddr_seg);

	switch (opcode) {
	case MLX5_OPCODE_RDMA_READ:
		return remote;
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return remote + sizeof(struct mlx5_wqe_atomic_seg);
	default:
		return 0;
	}
}

/* Copy data to the segments of an RDMA read or an atomic, which may wrap round in the ring. */
static void sent_fill(const struct mlx_cq *cq, const struct mlx5_sq *sq, uint32_t slot,
		      struct inlined *data)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (void *)sq_slot(sq, slot);
	uint32_t at = pieces_offset(sq, be32toh(ctrl->opmod_idx_opcode) & 0xff);
	uint32_t end = (be32toh(ctrl->qpn_ds) & 0x3f) * MLX_SEGMENT;

	for (; at && at < end && data->left; at += MLX_SEGMENT) {
		const char *seg = (const char *)ctrl + at;

		piece_fill((const void *)(seg < sq->end ? seg : seg - (sq->end - sq->ring)),
			   nowhere_key(cq), data);
	}
}

/* Copy data out of an entry. Return: whether the entry belongs to an outstanding request. */
static bool inline_take(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last,
			struct mlx5_qp *qp)
{
	bool whole = last & MLX5_INLINE_SCATTER_64;
	struct inlined data = { whole ? (const char *)cqe - sizeof(*cqe) : (const char *)cqe,
				be32toh(cqe->byte_cnt) };
	uint32_t counter = be16toh(cqe->wqe_counter);
	uint32_t tail;

	if (whole && cq->stride < 2 * sizeof(*cqe))
		return false;
	data.left = min_of(data.left, whole ? 64u : 32u);
	if (last >> 4 == MLX5_CQE_REQ) {
		tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
		if (qp->sq.slots[counter & qp->sq.mask].head - tail >= qp->sq.max_post)
			return false;
		sent_fill(cq, &qp->sq, counter, &data);
	} else if (qp->srq) {
		if (counter > qp->srq->mask)
			return false;
		receive_fill(cq,
			     qp->srq->ring + ((size_t)counter << qp->srq->shift) +
				     sizeof(struct mlx_srq_next_seg),
			     qp->srq->max_sge, &data);
	} else {
		tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
		if ((uint16_t)(counter - tail) >= qp->rq.max_post)
			return false;
		receive_fill(cq, qp->rq.ring + ((size_t)(counter & qp->rq.mask) << qp->rq.shift),
			     qp->rq.wqe_sge, &data);
	}
	return true;
}

/* Return whether the entry is a page fault, which is not reported to the program. */
static bool is_page_fault(const struct mlx5_err_cqe *error, const struct mlx5_qp *qp)
{
	return qp->srq && error->syndrome == SYNDROME_ABORTED &&
	       error->vendor_err_synd == VENDOR_PAGE_FAULT;
}

bool mlx5_done_page_fault(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last)
{
	const struct mlx5_err_cqe *error = (const void *)cqe;
	struct mlx5_done done;

	return last >> 4 == MLX5_CQE_RESP_ERR && mlx5_done_find(cq, cqe, &done) &&
	       is_page_fault(error, done.qp) &&
	       mlx_srq_again(done.qp->srq, be16toh(cqe->wqe_counter));
}

static bool error_read(const struct mlx5_cqe64 *cqe, struct mlx5_done *done)
{
	const struct mlx5_err_cqe *error = (const void *)cqe;
	uint32_t counter = be16toh(cqe->wqe_counter);

	done->status = mlx_status(error->syndrome);
	done->vendor_err = error->vendor_err_synd;
	if (done->sent) {
		done_sent(done, counter);
		return true;
	}
	return !is_page_fault(error, done->qp) && done_received(done, cqe, counter);
}

__attribute__((noinline)) bool mlx5_done_read_rare(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe,
						   unsigned int last, struct mlx5_done *done)
{
	unsigned int opcode = last >> 4;

	if (!mlx5_done_find(cq, cqe, done))
		return false;
	done->sent = opcode == MLX5_CQE_REQ_ERR;
	if (done->sent || opcode == MLX5_CQE_RESP_ERR)
		return error_read(cqe, done);
	if (opcode > MLX5_CQE_RESP_SEND_INV || (last & MLX5_KIND_INLINE) == MLX5_KIND_INLINE)
		return false;
	return inline_take(cq, cqe, last, done->qp) &&
	       mlx5_done_read(cq, cqe, opcode == MLX5_CQE_REQ, done);
}
