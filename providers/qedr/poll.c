/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). An entry completes a receive, or all sends up to a number, of which only signaled
 * ones are reported. Most entries are plain: successful, for one request, and of the same queue
 * pair as the entry before. Their loop makes no function call. poll_rest() polls from the first
 * other entry on.
 */
#include "providers/qedr/wqe.h"

static const uint8_t sent_statuses[] = {
	IBV_WC_SUCCESS,		  IBV_WC_BAD_RESP_ERR,	 IBV_WC_LOC_LEN_ERR,
	IBV_WC_LOC_QP_OP_ERR,	  IBV_WC_LOC_PROT_ERR,	 IBV_WC_MW_BIND_ERR,
	IBV_WC_REM_INV_REQ_ERR,	  IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
	IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR,	 IBV_WC_WR_FLUSH_ERR,
};

static const uint8_t received_statuses[] = {
	IBV_WC_SUCCESS,	     IBV_WC_LOC_ACCESS_ERR, IBV_WC_LOC_LEN_ERR,	       IBV_WC_LOC_QP_OP_ERR,
	IBV_WC_LOC_PROT_ERR, IBV_WC_MW_BIND_ERR,    IBV_WC_REM_INV_RD_REQ_ERR, IBV_WC_WR_FLUSH_ERR,
};

static enum ibv_wc_status status_of(const uint8_t *statuses, size_t count, uint32_t status)
{
	return status < count ? (enum ibv_wc_status)statuses[status] : IBV_WC_GENERAL_ERR;
}
#define STATUS_OF(statuses, status) status_of(statuses, ARRAY_SIZE(statuses), status)

/* ---- sends. The caller holds the lock of their completion queue. */

FLAT void wc_send(struct ibv_wc *wc, const struct qedr_qp *qp, const struct qedr_sent *sent)
{
	wc->wr_id = sent->wr_id;
	wc->opcode = (enum ibv_wc_opcode)sent->opcode;
	wc->byte_len = sent->length;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->wc_flags = 0;
}

/*
 * Complete the sends up to number @count, at most @most of them. The last one has @status, and the
 * others were successful, unless all are flushed. Failed sends are always reported. *@ret_done:
 * whether all are complete. Return: how many of @wc are filled in.
 */
static int sends_take(struct qedr_qp *qp, uint16_t count, uint32_t status, struct ibv_wc *wc,
		      int most, bool *ret_done)
{
	struct qedr_sq *sq = &qp->sq;
	/* acquire: pairs with the release of a post, which has written the entries */
	uint16_t head = atomic_load_explicit(&sq->head, memory_order_acquire);
	uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	int found = 0;

	*ret_done = true;
	if ((uint16_t)(count - tail) > (uint16_t)(head - tail))
		return 0;
	while (tail != count && found < most) {
		const struct qedr_sent *sent = &sq->sent[tail++ & sq->mask];
		bool failed = status == SENT_FLUSHED || (status && tail == count);

		if (!failed && !sent->signaled)
			continue;
		wc_send(wc, qp, sent);
		wc->status = failed ? STATUS_OF(sent_statuses, status) : IBV_WC_SUCCESS;
		wc->vendor_err = 0;
		wc++;
		found++;
	}
	*ret_done = tail == count;
	/* release: the entries are read before new requests replace them */
	atomic_store_explicit(&sq->tail, tail, memory_order_release);
	return found;
}

/* ---- receives */

/* Fill in the members of a received message. @flags: of the entry */
FLAT void wc_receive(struct ibv_wc *wc, const char *cqe, uint32_t flags)
{
	wc->opcode = IBV_WC_RECV;
	wc->byte_len = cqe_get_32(cqe, CQE_AT_LENGTH);
	wc->wc_flags = 0;
	if (likely(!(flags & (CQE_IMM | CQE_INV))))
		return;
	if (flags & CQE_IMM) {
		wc->imm_data = htobe32(cqe_get_32(cqe, CQE_AT_IMM));
		wc->wc_flags = IBV_WC_WITH_IMM;
		if (flags & CQE_WRITE)
			wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	} else {
		wc->invalidated_rkey = cqe_get_32(cqe, CQE_AT_IMM);
		wc->wc_flags = IBV_WC_WITH_INV;
	}
}

static void wc_receive_any(struct ibv_wc *wc, const char *cqe, uint64_t wr_id, uint32_t qp_num)
{
	uint32_t status = (uint8_t)cqe[CQE_AT_STATUS];

	wc->wr_id = wr_id;
	wc->qp_num = qp_num;
	wc->vendor_err = 0;
	wc->status = STATUS_OF(received_statuses, status);
	wc_receive(wc, cqe, (uint8_t)cqe[CQE_AT_FLAGS]);
	if (status)
		wc->byte_len = wc->wc_flags = 0;
}

FLAT void receive_retire(struct qedr_rq *rq, uint16_t tail)
{
	/* release: the wr_id is read before a new receive replaces it */
	atomic_store_explicit(&rq->tail, tail, memory_order_release);
}

/* Complete one receive, or flush those up to a number, at most @most of them. *@ret_done and return
 * value: like sends_take(). */
static int receives_take(struct qedr_qp *qp, const char *cqe, struct ibv_wc *wc, int most,
			 bool *ret_done)
{
	struct qedr_rq *rq = &qp->rq;
	uint16_t head = atomic_load_explicit(&rq->head, memory_order_acquire);
	uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint16_t count = tail + 1;
	int found = 0;

	if ((uint8_t)cqe[CQE_AT_STATUS] == RECEIVED_FLUSHED)
		count = cqe_get_32(cqe, CQE_AT_ID);
	*ret_done = true;
	if ((uint16_t)(count - tail) > (uint16_t)(head - tail))
		return 0;
	for (; tail != count && found < most; found++)
		wc_receive_any(wc++, cqe, rq->wr_ids[tail++ & rq->mask], qp->vqp.qp.qp_num);
	*ret_done = tail == count;
	receive_retire(rq, tail);
	return found;
}

static int shared_take(struct qedr_qp *qp, const char *cqe, struct ibv_wc *wc)
{
	if (!qp->srq)
		return 0;
	qedr_srq_take(qp->srq);
	wc_receive_any(wc, cqe, cqe_get_64(cqe, CQE_AT_WR_ID), qp->vqp.qp.qp_num);
	return 1;
}

/* Complete a receive of an XRC SRQ. The queue pair may belong to another process. */
static int xrc_take(struct qedr_cq *cq, const char *cqe, struct ibv_wc *wc)
{
	uint32_t id = cqe_get_32(cqe, CQE_AT_ID) & 0xffff;
	struct qedr_srq *srq = idtable_find_own(&to_qctx(cq->vcq.cq.context)->xrc_srqs, id, cq);

	if (!srq)
		return 0;
	qedr_srq_take(srq);
	wc_receive_any(wc, cqe, cqe_get_64(cqe, CQE_AT_WR_ID), cqe_get_32(cqe, CQE_AT_COOKIE));
	wc->src_qp = id;
	return 1;
}

/* ---- entries of any kind. The caller holds the lock. */

/* Find the queue pair of an entry among the queue pairs that complete here. */
static struct qedr_qp *qp_find(struct qedr_cq *cq, uint64_t cookie)
{
	struct qedr_qp *qp = NULL;

	if (cookie && cookie - 1 <= IDTABLE_MASK)
		qp = idtable_find_own(&to_qctx(cq->vcq.cq.context)->qps, cookie - 1, cq);
	cq->last = qp;
	cq->last_cookie = qp ? cookie : QEDR_COOKIE_NONE;
	return qp;
}

/* Take an entry, or a part of it. *@ret_done and return value: like sends_take(). */
static int entry_take(struct qedr_cq *cq, const char *cqe, struct ibv_wc *wc, int most,
		      bool *ret_done)
{
	uint32_t type = cqe_type(cqe);
	struct qedr_qp *qp;

	*ret_done = true;
	if (type == CQE_XRC)
		return xrc_take(cq, cqe, wc);
	qp = qp_find(cq, cqe_get_64(cqe, CQE_AT_COOKIE));
	if (!qp)
		return 0;
	if (type == CQE_SENT)
		return qp->send_cq == cq
			       ? sends_take(qp, cqe_get_32(cqe, CQE_AT_COUNT),
					    (uint8_t)cqe[CQE_AT_STATUS], wc, most, ret_done)
			       : 0;
	if (qp->recv_cq != cq)
		return 0;
	return type == CQE_SHARED ? shared_take(qp, cqe, wc)
				  : receives_take(qp, cqe, wc, most, ret_done);
}

/* Consume the polled entries, report them to the device, and release the lock. @next: the entry
 * behind them. @count: how many there are */
FLAT int poll_end(struct qedr_cq *cq, uintptr_t next, uint32_t count, int found)
{
	if (likely(count)) {
		atomic_store_explicit(&cq->next, next, memory_order_relaxed);
		cq->consumed += count;
		cq_doorbell_ring(cq);
	}
	spinlock_unlock(&cq->lock);
	return found;
}

/* Poll the remaining @left of @num_entries completions, behind @count entries. The caller holds the
 * lock, and this function releases it. Skip entries that complete no request, at most as many as
 * the ring has. */
SEPARATE static int poll_rest(struct qedr_cq *cq, int num_entries, struct ibv_wc *wc, int left,
			      uintptr_t next, uint32_t count)
{
	uint32_t skips = (cq->end - cq->ring) / CQE;

	while (left > 0 && skips && cqe_is_valid(next)) {
		int found;
		bool done;

		barrier_from_device();
		found = entry_take(cq, cqe_of(next), wc, left, &done);
		if (done) {
			next = cqe_step(cq, next);
			count++;
		}
		skips -= !found;
		left -= found;
		for (; found; found--)
			verbs_data_wc(&cq->vcq.cq, wc++);
	}
	return poll_end(cq, next, count, num_entries - left);
}

/* ---- plain entries */

/* Fill in a plain entry of @qp. Return: whether the entry is plain. */
FLAT bool plain_take(struct qedr_cq *cq, struct qedr_qp *qp, const char *cqe, struct ibv_wc *wc)
{
	uint32_t last = cqe_get_32(cqe, CQE_AT_ID), flags = last >> 16 & 0xff;
	uint32_t type = flags >> CQE_TYPE_SHIFT;
	uint16_t tail;

	if (unlikely(last >> 24) || unlikely(!qp)) /* the status; an entry of no queue pair */
		return false;
	if (type == CQE_SENT) {
		struct qedr_sq *sq = &qp->sq;
		const struct qedr_sent *sent;

		tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
		sent = &sq->sent[tail & sq->mask];
		if (unlikely((uint16_t)cqe_get_32(cqe, CQE_AT_COUNT) != (uint16_t)(tail + 1)) ||
		    unlikely(tail == atomic_load_explicit(&sq->head, memory_order_acquire)) ||
		    unlikely(qp->send_cq != cq) || unlikely(!sent->signaled))
			return false;
		wc_send(wc, qp, sent);
		atomic_store_explicit(&sq->tail, tail + 1, memory_order_release);
	} else {
		struct qedr_rq *rq = &qp->rq;

		tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
		if (unlikely((type & CQE_TYPE_MASK) != CQE_RECEIVED) ||
		    unlikely(tail == atomic_load_explicit(&rq->head, memory_order_acquire)) ||
		    unlikely(qp->recv_cq != cq))
			return false;
		wc->wr_id = rq->wr_ids[tail & rq->mask];
		wc->qp_num = qp->vqp.qp.qp_num;
		wc_receive(wc, cqe, flags);
		receive_retire(rq, tail + 1);
	}
	wc->status = IBV_WC_SUCCESS;
	return true;
}

/* Poll a queue that has an entry. The caller holds the lock, and this function releases it. It is
 * not inline, so that a poll of an empty queue saves no registers. */
SEPARATE static int poll_found(struct qedr_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uintptr_t next = atomic_load_explicit(&cq->next, memory_order_relaxed);
	int left = num_entries;

	while (likely(left) && cqe_is_valid(next)) {
		const char *cqe = cqe_of(next);

		barrier_from_device();
		if (unlikely(cqe_get_64(cqe, CQE_AT_COOKIE) != cq->last_cookie) ||
		    unlikely(!plain_take(cq, cq->last, cqe, wc)))
			return poll_rest(cq, num_entries, wc, left, next, num_entries - left);
		next = cqe_step(cq, next);
		wc++;
		left--;
	}
	return poll_end(cq, next, num_entries - left, num_entries - left);
}

/* The common case of an empty queue takes no lock. */
int qedr_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct qedr_cq *cq = to_qcq(ibcq);

	if (likely(!cqe_is_valid(atomic_load_explicit(&cq->next, memory_order_relaxed))) ||
	    unlikely(num_entries <= 0))
		return 0;
	spinlock_lock(&cq->lock);
	return poll_found(cq, num_entries, wc);
}
