/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions on the slow path: errors, page faults of shared receives, tag matching, and data
 * inside an entry. If the kernel allows it, the adapter writes up to 32 bytes of a receive, an RDMA
 * read or an atomic into the entry, or up to 64 into the first half of an entry of 128 bytes.
 *
 * The entry does not say where such data must go: only the request in the ring does. Therefore the
 * entry must belong to a request that is not completed yet.
 */
#include "providers/mlx5/tag.h"
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

/* Completions that name an SRQ have the number of the queue pair beside it. */
static void qpn_take(struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe)
{
	if (qp->extras & MLX5_EXTRA_SRQ)
		qp->vqp.qp.qp_num = be32toh(cqe->sop_drop_qpn) & 0xffffff;
}

/* Read an entry about tag matching whose message, if there is one, is not in the SRQ. */
static bool tag_read(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last,
		     struct mlx5_done *done)
{
	const char *data = NULL;

	qpn_take(done->qp, cqe);
	/* The adapter puts only larger pieces into such an entry. */
	if (last & MLX5_INLINE_SCATTER_64) {
		if (cq->stride < 2 * sizeof(*cqe))
			return false;
		data = (const char *)cqe - sizeof(*cqe);
	}
	return mlx5_tag_read(done, cqe, data);
}

/* Return whether the entry is for tag_read(). */
static bool is_tag(const struct mlx5_cqe64 *cqe, unsigned int opcode, const struct mlx5_qp *qp)
{
	bool possible = opcode == MLX5_CQE_NO_PACKET ||
			(opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV);

	return possible && mlx5_is_tagged(qp, cqe) && !mlx5_tag_in_srq(cqe);
}

/* Complete a receive. The status is known. */
static bool received(struct mlx5_done *done, const struct mlx5_cqe64 *cqe, uint32_t counter)
{
	struct mlx5_qp *qp = done->qp;

	if (!qp->srq || !qp->extras)
		return done_received(done, counter);
	qpn_take(qp, cqe);
	/* The field has another meaning in an error. */
	if (!done->status && mlx5_is_tagged(qp, cqe))
		mlx5_tag_count(qp, cqe);
	return done_shared(done, qp->srq, counter);
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
	return !is_page_fault(error, done->qp) && received(done, cqe, counter);
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
	if (is_tag(cqe, opcode, done->qp))
		return tag_read(cq, cqe, last, done);
	if (opcode > MLX5_CQE_RESP_SEND_INV || (last & MLX5_KIND_INLINE) == MLX5_KIND_INLINE)
		return false;
	if (last & MLX5_KIND_INLINE && !inline_take(cq, cqe, last, done->qp))
		return false;
	if (opcode == MLX5_CQE_REQ)
		return mlx5_done_read(cq, cqe, true, done);
	done->status = IBV_WC_SUCCESS;
	done->vendor_err = 0;
	return received(done, cqe, be16toh(cqe->wqe_counter));
}
