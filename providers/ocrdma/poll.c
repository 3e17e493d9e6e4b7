/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, of one request, and of the same queue
 * pair as the completion before. Their loop makes no function call. poll_rest() polls the first
 * completion that is not plain, and all completions after it.
 */
#include "providers/ocrdma/wqe.h"

static const uint8_t statuses[] = {
	[0x00] = IBV_WC_SUCCESS,	   [0x01] = IBV_WC_LOC_LEN_ERR,
	[0x02] = IBV_WC_LOC_QP_OP_ERR,	   [0x03] = IBV_WC_LOC_EEC_OP_ERR,
	[0x04] = IBV_WC_LOC_PROT_ERR,	   [0x05] = IBV_WC_WR_FLUSH_ERR,
	[0x06] = IBV_WC_GENERAL_ERR,	   [0x07] = IBV_WC_BAD_RESP_ERR,
	[0x08] = IBV_WC_LOC_ACCESS_ERR,	   [0x09] = IBV_WC_REM_INV_REQ_ERR,
	[0x0a] = IBV_WC_REM_ACCESS_ERR,	   [0x0b] = IBV_WC_REM_OP_ERR,
	[0x0c] = IBV_WC_RETRY_EXC_ERR,	   [0x0d] = IBV_WC_RNR_RETRY_EXC_ERR,
	[0x0e] = IBV_WC_LOC_RDD_VIOL_ERR,  [0x0f] = IBV_WC_REM_INV_RD_REQ_ERR,
	[0x10] = IBV_WC_REM_ABORT_ERR,	   [0x11] = IBV_WC_INV_EECN_ERR,
	[0x12] = IBV_WC_INV_EEC_STATE_ERR, [0x13] = IBV_WC_FATAL_ERR,
	[0x14] = IBV_WC_RESP_TIMEOUT_ERR,
};

static enum ibv_wc_status status_of(uint32_t code)
{
	return code < ARRAY_SIZE(statuses) ? (enum ibv_wc_status)statuses[code]
					   : IBV_WC_GENERAL_ERR;
}

/* Free the places of requests up to @tail. */
FLAT void retire(atomic_uint *place, uint32_t tail)
{
	/* release: the entry is read before a new request replaces it */
	atomic_store_explicit(place, tail, memory_order_release);
}

FLAT void wc_send(struct ibv_wc *wc, const struct oc_qp *qp, const struct oc_sent *sent)
{
	wc->wr_id = sent->wr_id;
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = (enum ibv_wc_opcode)sent->opcode;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->wc_flags = 0;
	if (unlikely(sent->opcode == IBV_WC_RDMA_READ))
		wc->byte_len = sent->length;
}

FLAT void wc_receive(struct ibv_wc *wc, const struct oc_qp *qp, const struct oc_cqe *cqe,
		     uint32_t flags)
{
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = IBV_WC_RECV;
	wc->byte_len = le32toh(cqe->length);
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->wc_flags = 0;
	if (flags & (CQE_IMM | CQE_WRITE_IMM)) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = htobe32(le32toh(cqe->index_imm));
		if (flags & CQE_WRITE_IMM)
			wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	}
}

/* Give an entry back to the adapter. */
FLAT void cqe_leave(struct oc_cq *cq, struct oc_cqe *cqe)
{
	cqe->number = 0;
	if (!cq->changes)
		cqe->flags = 0;
	if (likely(++cq->at != cq->count))
		return;
	cq->at = 0;
	if (cq->changes)
		cq->phase ^= CQE_VALID;
}

/* ---- entries of any kind. The caller holds the lock. */

/* Complete the oldest send with the status of an entry. */
static bool send_fail(struct oc_qp *qp, uint32_t tail, uint32_t code, struct ibv_wc *wc)
{
	const struct oc_sent *sent = &qp->sq.sent[tail & qp->sq.mask];

	wc->wr_id = sent->wr_id;
	wc->status = status_of(code);
	wc->opcode = (enum ibv_wc_opcode)sent->opcode;
	wc->byte_len = 0;
	wc->qp_num = qp->vqp.qp.qp_num;
	retire(&qp->sq.tail, tail + 1);
	oc_fail(qp);
	return true;
}

/* Take the next send that an entry completes: the entry stands for all sends up to its index.
 * Return: whether @wc has a completion. *@ret_stays: the entry completes further sends */
static bool send_take(struct oc_qp *qp, const struct oc_cqe *cqe, uint32_t flags, struct ibv_wc *wc,
		      bool *ret_stays)
{
	struct oc_sq *sq = &qp->sq;
	/* acquire: pairs with the release of a post, which has written the entries */
	uint32_t head = atomic_load_explicit(&sq->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	uint32_t code = flags >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;
	uint32_t left = ((le32toh(cqe->index_imm) - tail) & sq->mask) + 1;

	*ret_stays = false;
	if (tail == head)
		return false;
	if (code)
		return send_fail(qp, tail, code, wc);
	if (left > head - tail)
		return false;
	for (; left; left--) {
		const struct oc_sent *sent = &sq->sent[tail++ & sq->mask];

		if (!sent->signaled)
			continue;
		wc_send(wc, qp, sent);
		break;
	}
	retire(&sq->tail, tail);
	*ret_stays = left > 1;
	return left;
}

/* Take the receive that an entry completes. Return: whether there is one. */
static bool request_take(struct oc_qp *qp, uint32_t tag, uint64_t *ret_wr_id)
{
	struct oc_rq *rq = &qp->rq;
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

	if (qp->srq)
		return oc_srq_take(qp->srq, tag, ret_wr_id);
	if (tail == atomic_load_explicit(&rq->head, memory_order_acquire))
		return false;
	*ret_wr_id = rq->wr_ids[tail & rq->mask];
	retire(&rq->tail, tail + 1);
	return true;
}

static bool receive_take(struct oc_qp *qp, const struct oc_cqe *cqe, uint32_t flags,
			 struct ibv_wc *wc)
{
	uint32_t code = qp->sq.is_ud ? flags >> CQE_UD_STATUS_SHIFT & CQE_UD_STATUS_MASK
				     : flags >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;

	if (!request_take(qp, le32toh(cqe->number) >> CQE_TAG_SHIFT, &wc->wr_id))
		return false;
	wc_receive(wc, qp, cqe, code ? 0 : flags);
	if (code) {
		wc->status = status_of(code);
		wc->byte_len = 0;
		oc_fail(qp);
	} else if (qp->sq.is_ud) {
		uint32_t word = wc->byte_len;

		wc->byte_len = word >> CQE_UD_LENGTH_SHIFT;
		wc->pkey_index = word & CQE_UD_PKEY_MASK;
		wc->src_qp = flags & CQE_UD_SOURCE_MASK;
		/* The adapter does not report these. */
		wc->slid = 0;
		wc->sl = wc->dlid_path_bits = 0;
		wc->wc_flags |= IBV_WC_GRH;
	}
	return true;
}

/* Find the queue pair of an entry among the queue pairs that complete here. */
static struct oc_qp *qp_find(struct oc_cq *cq, uint32_t id)
{
	if (id == cq->last_id)
		return cq->last;
	cq->last = id ? idtable_find_own(&to_octx(cq->vcq.cq.context)->qps, id, cq) : NULL;
	cq->last_id = cq->last ? id : OC_NO_ID;
	return cq->last;
}

/* Take an entry of any kind. Return: whether @wc has a completion. *@ret_stays: the entry completes
 * further requests */
static bool entry_take(struct oc_cq *cq, const struct oc_cqe *cqe, uint32_t flags,
		       struct ibv_wc *wc, bool *ret_stays)
{
	struct oc_qp *qp = qp_find(cq, le32toh(cqe->number) & CQE_ID_MASK);

	*ret_stays = false;
	if (!qp)
		return false;
	if (flags & CQE_RECEIVE)
		return qp->recv_cq == cq && receive_take(qp, cqe, flags, wc);
	return qp->send_cq == cq && send_take(qp, cqe, flags, wc, ret_stays);
}

/* ---- polling */

static void popped_report(const struct oc_cq *cq, uint32_t popped)
{
	for (; popped > CQ_POPPED_MOST; popped -= CQ_POPPED_MOST)
		announce(cq->doorbell,
			 htole32(cq->number | (uint32_t)CQ_POPPED_MOST << CQ_POPPED_SHIFT));
	announce(cq->doorbell, htole32(cq->number | popped << CQ_POPPED_SHIFT));
}

/*
 * Poll the remaining @left of @num_entries entries, after @popped were given back. The caller holds
 * the lock, and this function releases it. Skip entries that complete no request, at most as many
 * as the ring has.
 */
SEPARATE static int poll_rest(struct oc_cq *cq, int num_entries, struct ibv_wc *wc, int left,
			      uint32_t popped)
{
	uint32_t most = popped + cq->count;
	int flushed;

	while (left > 0 && popped != most) {
		struct oc_cqe *cqe = &cq->ring[cq->at];
		uint32_t flags = cqe_flags(cqe);
		bool found, stays;

		if (!cqe_is_valid(flags, cq->phase))
			break;
		barrier_from_device();
		found = entry_take(cq, cqe, flags, wc, &stays);
		if (!stays) {
			cqe_leave(cq, cqe);
			popped++;
		}
		if (!found)
			continue;
		verbs_data_wc(&cq->vcq.cq, wc);
		wc++;
		left--;
	}
	if (popped)
		popped_report(cq, popped);
	if (left > 0 && atomic_load_explicit(&cq->failed, memory_order_relaxed)) {
		flushed = oc_flush(cq, left, wc);
		left -= flushed;
	}
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

/* Fill in a plain entry of @qp. Return: whether the entry is plain. The lock of @cq protects only
 * the queues of @qp that complete there. */
FLAT bool plain_take(struct oc_cq *cq, struct oc_qp *qp, const struct oc_cqe *cqe, uint32_t flags,
		     struct ibv_wc *wc)
{
	const uint32_t plain = CQE_VALID | CQE_RECEIVE | CQE_IMM | CQE_WRITE_IMM;
	uint32_t tail;

	if (unlikely(flags & ~plain))
		return false;
	if (!(flags & CQE_RECEIVE)) {
		struct oc_sq *sq = &qp->sq;
		const struct oc_sent *sent;

		tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
		sent = &sq->sent[tail & sq->mask];
		if (unlikely(qp->send_cq != cq) ||
		    unlikely((le32toh(cqe->index_imm) ^ tail) & sq->mask) ||
		    unlikely(tail == atomic_load_explicit(&sq->head, memory_order_acquire)) ||
		    unlikely(!sent->signaled))
			return false;
		wc_send(wc, qp, sent);
		retire(&sq->tail, tail + 1);
	} else {
		struct oc_rq *rq = &qp->rq;

		/* The ring of a queue pair with an SRQ is always empty. */
		tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
		if (unlikely(qp->recv_cq != cq) ||
		    unlikely(tail == atomic_load_explicit(&rq->head, memory_order_acquire)) ||
		    unlikely(qp->sq.is_ud))
			return false;
		wc->wr_id = rq->wr_ids[tail & rq->mask];
		wc_receive(wc, qp, cqe, flags);
		retire(&rq->tail, tail + 1);
	}
	return true;
}

/* Poll a queue that has an entry, or a queue pair that has failed. The caller holds the lock, and
 * this function releases it. It is not inline, so that a poll of an empty queue saves no registers.
 */
SEPARATE static int poll_found(struct oc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct oc_cqe *cqe = &cq->ring[cq->at];
	uint32_t flags = cqe_flags(cqe);
	int left = num_entries;

	if (!cqe_is_valid(flags, cq->phase))
		return poll_rest(cq, num_entries, wc, left, 0);
	do {
		barrier_from_device();
		if (unlikely((le32toh(cqe->number) & CQE_ID_MASK) != cq->last_id) ||
		    unlikely(!plain_take(cq, cq->last, cqe, flags, wc)))
			return poll_rest(cq, num_entries, wc, left, num_entries - left);
		cqe_leave(cq, cqe);
		wc++;
		cqe = &cq->ring[cq->at];
		flags = cqe_flags(cqe);
	} while (--left && cqe_is_valid(flags, cq->phase));
	if (unlikely(num_entries - left > CQ_POPPED_MOST) ||
	    unlikely(left && atomic_load_explicit(&cq->failed, memory_order_relaxed)))
		return poll_rest(cq, num_entries, wc, left, num_entries - left);
	announce(cq->doorbell,
		 htole32(cq->number | (uint32_t)(num_entries - left) << CQ_POPPED_SHIFT));
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

FLAT int poll_locked(struct oc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (cqe_is_valid(cqe_flags(&cq->ring[cq->at]), cq->phase) ||
	    unlikely(atomic_load_explicit(&cq->failed, memory_order_relaxed)))
		return poll_found(cq, num_entries, wc);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_waited(struct oc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (num_entries <= 0)
		return 0;
	spinlock_lock(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int oc_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct oc_cq *cq = to_oc_cq(ibcq);

	/* The wait is in another function, so that a poll without contention saves no registers. */
	if (unlikely(num_entries <= 0) || unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
