/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, and of the same queue pair as the
 * completion before. Their loop makes no function call. poll_rest() polls the first completion
 * that is not plain, and all completions after it.
 */
#include "providers/mthca/wqe.h"

/* Meaning of an opcode in a completion. */
struct cqe_op {
	uint8_t opcode, flags; /* IBV_WC_ */
	bool has_length;
	uint8_t unused; /* makes the size a power of 2, which costs no multiplication */
};

enum {
	OPS = 32,
};

/* Other opcodes of sends count as a send: IBV_WC_SEND is 0. */
static const struct cqe_op send_ops[OPS] = {
	[0x08] = { IBV_WC_RDMA_WRITE, 0, false, 0 },
	[0x09] = { IBV_WC_RDMA_WRITE, IBV_WC_WITH_IMM, false, 0 },
	[0x0b] = { IBV_WC_SEND, IBV_WC_WITH_IMM, false, 0 },
	[0x10] = { IBV_WC_RDMA_READ, 0, true, 0 },
	[0x11] = { IBV_WC_COMP_SWAP, 0, true, 0 },
	[0x12] = { IBV_WC_FETCH_ADD, 0, true, 0 },
	[0x18] = { IBV_WC_BIND_MW, 0, false, 0 },
};

/* Opcodes of received packets: the distance from IBV_WC_RECV. */
static const struct cqe_op recv_ops[OPS] = {
	[0x03] = { 0, IBV_WC_WITH_IMM, true, 0 },
	[0x05] = { 0, IBV_WC_WITH_IMM, true, 0 },
	[0x09] = { IBV_WC_RECV_RDMA_WITH_IMM - IBV_WC_RECV, IBV_WC_WITH_IMM, true, 0 },
	[0x0b] = { IBV_WC_RECV_RDMA_WITH_IMM - IBV_WC_RECV, IBV_WC_WITH_IMM, true, 0 },
};

/* Statuses that later adapters do not report. */
static enum ibv_wc_status status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case 0x03:
		return IBV_WC_LOC_EEC_OP_ERR;
	case 0x20:
		return IBV_WC_LOC_RDD_VIOL_ERR;
	case 0x21:
		return IBV_WC_REM_INV_RD_REQ_ERR;
	case 0x23:
		return IBV_WC_INV_EECN_ERR;
	case 0x24:
		return IBV_WC_INV_EEC_STATE_ERR;
	default:
		return mlx_status(syndrome);
	}
}

/* ---- requests that complete */

/* Retire the request in @slot and all before it. @done: slot of the last completion */
FLAT void retire(atomic_uint *tail, uint32_t *done, uint32_t slot, uint32_t count)
{
	uint32_t n = slot - *done + (slot > *done ? 0 : count);

	*done = slot;
	/* release: its number is read before a new request replaces it */
	atomic_store_explicit(tail, atomic_load_explicit(tail, memory_order_relaxed) + n,
			      memory_order_release);
}

/* Return the slot of a receive. Some firmware reports the last slot as the one before the first. */
static inline uint32_t recv_slot(const struct mthca_qp *qp, uint32_t place)
{
	return likely((int32_t)place >= 0) ? place >> qp->rq.shift : qp->rq.max_post - 1;
}

FLAT bool recv_take(struct mthca_qp *qp, uint32_t place, uint64_t *ret_wr_id)
{
	struct mthca_srq *srq = qp->srq;
	uint32_t slot;

	if (srq) {
		slot = place >> srq->shift;
		if (unlikely(slot >= srq->count))
			return false;
		*ret_wr_id = srq->wr_ids[slot];
		return mthca_srq_give(srq, slot);
	}
	slot = recv_slot(qp, place);
	if (unlikely(slot >= qp->rq.max_post))
		return false;
	*ret_wr_id = qp->rq.wr_ids[slot];
	retire(&qp->rq.tail, &qp->rq_done, slot, qp->rq.max_post);
	return true;
}

/* Find the request that completes, and retire it. Return: whether there is one. */
FLAT bool request_take(struct mthca_qp *qp, uint32_t place, bool is_send, uint64_t *ret_wr_id)
{
	struct mthca_sq *sq = &qp->sq;
	uint32_t slot = (place - sq->offset) >> sq->shift;

	if (!is_send)
		return recv_take(qp, place, ret_wr_id);
	if (unlikely(slot >= sq->max_post))
		return false;
	*ret_wr_id = sq->wr_ids[slot];
	retire(&sq->tail, &sq->done, slot, sq->max_post);
	return true;
}

/* ---- entries */

FLAT void wc_fill_recv(const struct mthca_cqe *cqe, struct ibv_wc *wc)
{
	const struct cqe_op *op = &recv_ops[cqe->opcode & (OPS - 1)];
	uint32_t path = be16toh(cqe->sl_path);

	wc->opcode = (enum ibv_wc_opcode)(IBV_WC_RECV + op->opcode);
	wc->wc_flags = op->flags | (path & 0x80 ? IBV_WC_GRH : 0);
	wc->imm_data = cqe->imm;
	wc->byte_len = be32toh(cqe->byte_count);
	wc->slid = be16toh(cqe->rlid);
	wc->sl = path >> 12;
	wc->dlid_path_bits = path & 0x7f;
	wc->src_qp = be32toh(cqe->rqpn) & MTHCA_NUMBER_MASK;
	wc->pkey_index = be16toh(cqe->pkey_index);
}

/* Fill in @wc from the entry of a success. Return: whether it completes a request. */
FLAT bool wc_read(struct mthca_qp *qp, const struct mthca_cqe *cqe, struct ibv_wc *wc)
{
	bool is_send = cqe->is_send & CQE_SEND;
	const struct cqe_op *op = &send_ops[cqe->opcode & (OPS - 1)];

	if (unlikely(!request_take(qp, be32toh(cqe->wqe), is_send, &wc->wr_id)))
		return false;
	wc->status = IBV_WC_SUCCESS;
	wc->qp_num = qp->vqp.qp.qp_num;
	if (!is_send) {
		wc_fill_recv(cqe, wc);
		return true;
	}
	wc->opcode = (enum ibv_wc_opcode)op->opcode;
	wc->wc_flags = op->flags;
	if (op->has_length)
		wc->byte_len = be32toh(cqe->byte_count);
	return true;
}

/* Give an entry back to the adapter. */
FLAT void cqe_free(struct mthca_cqe *cqe)
{
	*(volatile uint8_t *)&cqe->owner = CQE_HARDWARE;
}

static bool qp_find(struct mthca_cq *cq, __be32 qpn)
{
	uint32_t number = be32toh(qpn);

	cq->last = number <= MTHCA_NUMBER_MASK
			   ? idtable_find_own(&to_mctx(cq->vcq.cq.context)->qps, number, cq)
			   : NULL;
	cq->last_qpn = cq->last ? qpn : MTHCA_NO_QPN;
	return cq->last;
}

/*
 * Without records one entry can stand for a failed request and for the requests behind it, up to
 * the last one that a doorbell announced. Let the entry describe the next request. Return: whether
 * there is one.
 */
static bool chain_follow(const struct mthca_qp *qp, struct mthca_cqe *cqe, bool is_send)
{
	uint32_t place = be32toh(cqe->wqe), doorbells = be16toh(cqe->error.doorbells), word;
	const struct mthca_next_seg *next;

	if (qp->sq.record.words || (qp->srq && !is_send))
		return false;
	if (!is_send)
		place = recv_slot(qp, place) << qp->rq.shift;
	next = (const void *)((const char *)qp->memory.buf.base + (place & ~EE_SIZE_MASK));
	word = be32toh(next->ee_nds);
	if (!(word & EE_SIZE_MASK) || (!doorbells && word & EE_DOORBELL))
		return false;
	if (word & EE_DOORBELL)
		doorbells--;
	cqe->error.doorbells = htobe16(doorbells);
	cqe->error.syndrome = 0x05; /* flushed */
	cqe->wqe = htobe32((be32toh(next->nda_op) & ~EE_SIZE_MASK) | (word & EE_SIZE_MASK));
	return true;
}

/* Read an entry of any kind, and give it back unless it describes another request. Return: whether
 * it completes a request. */
static bool take(struct mthca_cq *cq, struct mthca_cqe *cqe, struct ibv_wc *wc)
{
	__be32 qpn = ((const volatile struct mthca_cqe *)cqe)->qpn;
	bool found = qpn == cq->last_qpn || qp_find(cq, qpn), stays = false;
	bool is_send = mthca_cqe_is_send(cqe);

	if (!found) {
		/* It completes no request. */
	} else if (cqe->opcode < CQE_ERROR) {
		found = wc_read(cq->last, cqe, wc);
	} else {
		found = request_take(cq->last, be32toh(cqe->wqe), is_send, &wc->wr_id);
		wc->status = status_of(cqe->error.syndrome);
		wc->vendor_err = cqe->error.vendor;
		wc->qp_num = cq->last->vqp.qp.qp_num;
		stays = found && chain_follow(cq->last, cqe, is_send);
	}
	if (!stays) {
		cqe_free(cqe);
		cq->consumer++;
	}
	return found;
}

/* ---- polling */

/* Report the freed entries and release the lock. @before: consumer at the begin of the poll */
FLAT int poll_end(struct mthca_cq *cq, uint32_t before, int polled)
{
	if (likely(cq->consumer != before))
		mthca_cq_publish(cq, cq->consumer - before);
	spinlock_unlock(&cq->lock);
	return polled;
}

/*
 * Poll the remaining @left of @num_entries entries. The caller holds the lock, and this function
 * releases it. Skip entries that complete no request, at most as many as the ring has.
 */
SEPARATE static int poll_rest(struct mthca_cq *cq, int num_entries, struct ibv_wc *wc, int left,
			      uint32_t before)
{
	uint32_t skips = cq->mask + 1;

	while (left && skips) {
		struct mthca_cqe *cqe = mthca_cqe_at(cq, cq->consumer);

		if (!mthca_cqe_is_valid(cqe))
			break;
		barrier_from_device();
		if (unlikely(!take(cq, cqe, wc))) {
			skips--;
			continue;
		}
		verbs_data_wc(&cq->vcq.cq, wc);
		wc++;
		left--;
	}
	return poll_end(cq, before, num_entries - left);
}

/* Poll a ring that has an entry. The caller holds the lock, and this function releases it. It is
 * not inline, so that a poll of an empty ring saves no registers. */
SEPARATE static int poll_found(struct mthca_cq *cq, int num_entries, struct ibv_wc *wc,
			       struct mthca_cqe *cqe)
{
	uint32_t before = cq->consumer, consumer = before;
	int left = num_entries;

	do {
		barrier_from_device();
		if (unlikely(cqe->qpn != cq->last_qpn) || unlikely(cqe->opcode >= CQE_ERROR) ||
		    unlikely(!wc_read(cq->last, cqe, wc))) {
			cq->consumer = consumer;
			return poll_rest(cq, num_entries, wc, left, before);
		}
		cqe_free(cqe);
		wc++;
		cqe = mthca_cqe_at(cq, ++consumer);
	} while (--left && mthca_cqe_is_valid(cqe));
	cq->consumer = consumer;
	return poll_end(cq, before, num_entries - left);
}

FLAT int poll_locked(struct mthca_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct mthca_cqe *cqe = mthca_cqe_at(cq, cq->consumer);

	if (mthca_cqe_is_valid(cqe) && likely(num_entries > 0))
		return poll_found(cq, num_entries, wc, cqe);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_waited(struct mthca_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int mthca_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mthca_cq *cq = to_mthca_cq(ibcq);

	/* The wait is in another function, so that a poll without contention saves no registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
