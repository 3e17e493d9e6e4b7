/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, in order, and of the same queue pair as
 * the completion before. Their loop makes no function call. poll_rest() polls the first completion
 * that is not plain, and all completions after it.
 */
#include "providers/cxgb4/wqe.h"

static const uint8_t statuses[CQE_STATUS_MASK + 1] = {
	[0x00] = IBV_WC_SUCCESS,
	[0x01] = IBV_WC_LOC_ACCESS_ERR,
	[0x02] = IBV_WC_LOC_PROT_ERR,
	[0x03] = IBV_WC_LOC_ACCESS_ERR,
	[0x04] = IBV_WC_LOC_ACCESS_ERR,
	[0x05] = IBV_WC_GENERAL_ERR,
	[0x06] = IBV_WC_LOC_LEN_ERR,
	[0x07] = IBV_WC_MW_BIND_ERR,
	[0x08] = IBV_WC_MW_BIND_ERR,
	[0x09 ... 0x0b] = IBV_WC_FATAL_ERR,
	[STATUS_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
	[0x0d ... 0x1f] = IBV_WC_FATAL_ERR,
};

/* The members of a received message by opcode. */
static const struct {
	bool is_plain; /* the opcode completes a receive */
	uint8_t flags;
	uint16_t opcode;
} received[CQE_OPCODE_MASK + 1] = {
	[RI_SEND] = { true, 0, IBV_WC_RECV },
	[RI_SEND_SE] = { true, 0, IBV_WC_RECV },
	[RI_SEND_INV] = { true, IBV_WC_WITH_INV, IBV_WC_RECV },
	[RI_SEND_SE_INV] = { true, IBV_WC_WITH_INV, IBV_WC_RECV },
	[RI_WRITE_IMM] = { true, IBV_WC_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM },
};

FLAT void wc_begin(struct ibv_wc *wc, const struct cx_qp *qp, uint64_t wr_id, uint32_t status)
{
	wc->wr_id = wr_id;
	wc->status = (enum ibv_wc_status)statuses[status];
	wc->vendor_err = status;
	wc->qp_num = qp->vqp.qp.qp_num;
}

FLAT void wc_send(struct ibv_wc *wc, const struct cx_sent *sent)
{
	wc->opcode = (enum ibv_wc_opcode)sent->opcode;
	wc->byte_len = sent->length;
	wc->wc_flags = 0;
}

FLAT void wc_receive(struct ibv_wc *wc, const char *cqe, uint32_t opcode)
{
	wc->opcode = (enum ibv_wc_opcode)received[opcode].opcode;
	wc->wc_flags = received[opcode].flags;
	wc->byte_len = cqe_get(cqe, CQE_AT_LENGTH);
	if (likely(!received[opcode].flags))
		return;
	if (received[opcode].flags == IBV_WC_WITH_INV)
		wc->invalidated_rkey = cqe_get(cqe, CQE_AT_STAG);
	else
		memcpy(&wc->imm_data, cqe + CQE_AT_IMM, sizeof(wc->imm_data));
}

/* ---- sends. The caller holds the lock of their completion queue. */

/* Free the places of requests. The kernel is not told of those that a failure completes. */
FLAT void tail_set(struct cx_sq *sq, uint16_t tail, bool failed)
{
	/* release: the entry is read before a new request replaces it */
	atomic_store_explicit(&sq->tail, tail, memory_order_release);
	if (!failed)
		status_put(sq->ring.status, STATUS_CONSUMED, tail);
}

/*
 * Complete the first request that has a completion, if those before it are complete. A read is
 * complete when its answer is there. Other requests without a completion are complete with the next
 * one. If the queue is flushed, all requests have a completion.
 */
static bool send_next(struct cx_qp *qp, struct ibv_wc *wc)
{
	struct cx_sq *sq = &qp->sq;
	/* acquire: pairs with the release of a post, which has written the entries */
	uint16_t head = atomic_load_explicit(&sq->head, memory_order_acquire);
	uint16_t at = atomic_load_explicit(&sq->tail, memory_order_relaxed), next;

	for (; at != head; at = next) {
		const struct cx_sent *sent = &sq->sent[at];
		bool done = sent->is & SENT_DONE;

		next = index_next(at, sq->size);
		if (!qp->sends.flushing && !done && sent->is & (SENT_SIGNALED | SENT_READ))
			return false;
		sq->early -= done;
		if (!qp->sends.flushing && !(sent->is & SENT_SIGNALED)) {
			if (done)
				tail_set(sq, next, qp->failed || qp->flushed);
			continue;
		}
		wc_begin(wc, qp, sent->wr_id, done ? sent->status : STATUS_FLUSHED);
		wc_send(wc, sent);
		tail_set(sq, next, qp->failed || qp->flushed);
		return true;
	}
	return false;
}

static void sent_mark(struct cx_sq *sq, uint16_t index, uint32_t status)
{
	struct cx_sent *sent = &sq->sent[index];

	if (sent->is & SENT_DONE)
		return;
	sent->is |= SENT_DONE;
	sent->status = status;
	sq->early++;
}

/* A request has failed. Flush the earlier requests that wait for a completion of their own. */
static void sent_fail_before(struct cx_sq *sq, uint16_t index)
{
	uint16_t at = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	for (; at != index; at = index_next(at, sq->size))
		if (sq->sent[at].is & (SENT_SIGNALED | SENT_READ))
			sent_mark(sq, at, STATUS_FLUSHED);
}

/* Fill in @wc if a send is complete, and let later polls find further ones. Return: whether it is.
 */
static bool sends_poll(struct cx_cq *cq, struct cx_qp *qp, struct ibv_wc *wc)
{
	bool found = send_next(qp, wc);

	if (found && qp->sq.early)
		cx_todo_add(cq, &qp->sends, cq->consumed);
	return found;
}

static bool send_take(struct cx_cq *cq, struct cx_qp *qp, uint16_t index, uint32_t status,
		      struct ibv_wc *wc)
{
	struct cx_sq *sq = &qp->sq;
	uint16_t head = atomic_load_explicit(&sq->head, memory_order_acquire);
	uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	if (index >= sq->size ||
	    index_distance(index, tail, sq->size) >= index_distance(head, tail, sq->size))
		return false;
	if (status) {
		qp->failed = 1;
		sent_fail_before(sq, index);
	}
	sq->sent[index].is |= SENT_SIGNALED;
	sent_mark(sq, index, status);
	return sends_poll(cq, qp, wc);
}

/* Complete the oldest read. */
static bool read_take(struct cx_cq *cq, struct cx_qp *qp, uint32_t status, struct ibv_wc *wc)
{
	struct cx_sq *sq = &qp->sq;
	uint16_t index;

	/* acquire: pairs with the release of a post, which has written the index */
	if (atomic_load_explicit(&sq->reads_head, memory_order_acquire) == sq->reads_tail)
		return false;
	index = sq->reads[sq->reads_tail++ % sq->size];
	if (status) {
		qp->failed = 1;
		sent_fail_before(sq, index);
		sq->sent[index].is |= SENT_SIGNALED;
	}
	sent_mark(sq, index, status);
	return sends_poll(cq, qp, wc);
}

/* ---- receives */

FLAT void receive_retire(struct cx_rq *rq, uint16_t tail, bool failed)
{
	tail = index_next(tail, rq->size);
	/* release: the wr_id is read before a new receive replaces it */
	atomic_store_explicit(&rq->tail, tail, memory_order_release);
	if (!failed)
		status_put(rq->ring.status, STATUS_CONSUMED, tail);
}

/* Take the receive that an entry completes. Return: whether there is one. */
static bool request_take(struct cx_qp *qp, const char *cqe, bool failed, uint64_t *ret_wr_id)
{
	struct cx_rq *rq = &qp->rq;
	uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

	if (qp->srq)
		return cx_srq_take(qp->srq, cqe_get(cqe, CQE_AT_SRQ), ret_wr_id);
	if (tail == atomic_load_explicit(&rq->head, memory_order_acquire))
		return false;
	*ret_wr_id = rq->wr_ids[tail];
	receive_retire(rq, tail, failed);
	return true;
}

static bool receive_take(struct cx_qp *qp, const char *cqe, uint32_t head, struct ibv_wc *wc)
{
	uint32_t status = head >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;
	uint32_t opcode = head & CQE_OPCODE_MASK;
	bool had_failed = qp_has_failed(qp);
	uint64_t wr_id;

	if (status)
		qp->failed = 1;
	if (!request_take(qp, cqe, qp->failed, &wr_id)) {
		*qp->error = 1;
		return false;
	}
	if (!status && !had_failed && cqe_get(cqe, CQE_AT_MSN) != qp->msn) {
		*qp->error = 1;
		status = STATUS_MSN;
	}
	qp->msn++;
	wc_receive(wc, cqe, received[opcode].is_plain ? opcode : RI_SEND);
	wc_begin(wc, qp, wr_id, status);
	if (status)
		wc->byte_len = wc->wc_flags = 0;
	else if (!received[opcode].is_plain)
		wc->status = IBV_WC_GENERAL_ERR;
	return true;
}

/* Complete the next receive of a queue pair that has failed. */
static bool receive_next(struct cx_qp *qp, struct ibv_wc *wc)
{
	struct cx_rq *rq = &qp->rq;
	uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint64_t wr_id;

	if (!qp->receives.flushing)
		return false;
	if (qp->srq) {
		uint32_t index = qp->srq_index;

		qp->srq_index = 0;
		if (!index || !cx_srq_take(qp->srq, index, &wr_id))
			return false;
	} else {
		if (!rq->size || tail == atomic_load_explicit(&rq->head, memory_order_acquire))
			return false;
		wr_id = rq->wr_ids[tail];
		receive_retire(rq, tail, true);
	}
	wc_begin(wc, qp, wr_id, STATUS_FLUSHED);
	wc->opcode = IBV_WC_RECV;
	wc->byte_len = wc->wc_flags = 0;
	return true;
}

/* ---- entries of any kind. The caller holds the lock. */

/* Find the queue pair of an entry among the queue pairs that complete here. */
static struct cx_qp *qp_find(struct cx_cq *cq, uint32_t head)
{
	uint32_t number = head >> CQE_NUMBER_SHIFT;
	struct cx_qp *qp = idtable_find_own(&to_cctx(cq->vcq.cq.context)->qps, number, cq);

	cq->last = qp;
	/* The fast path polls no shared receives, and no completions of a queue pair that has
	 * failed. */
	cq->last_head = qp && !qp->srq && !qp->failed && !qp->flushed ? number << CQE_NUMBER_SHIFT
								      : CX_HEAD_NONE;
	return qp;
}

/* Take an entry of any kind. Return: whether @wc has a completion. */
static bool entry_take(struct cx_cq *cq, const char *cqe, uint32_t head, struct ibv_wc *wc)
{
	uint32_t status = head >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;
	uint32_t opcode = head & CQE_OPCODE_MASK;
	struct cx_qp *qp = qp_find(cq, head);

	if (!qp || opcode == RI_TERMINATE)
		return false;
	if (opcode == RI_READ_RESPONSE) {
		/* The answer of this side, or of the set-up of the connection. */
		if (head & CQE_SEND || cqe_get(cqe, CQE_AT_STAG) == STAG_SETUP) {
			if (status)
				*qp->error = 1;
			return false;
		}
		return qp->send_cq == cq && !qp->sends.flushing && read_take(cq, qp, status, wc);
	}
	if (head & CQE_SEND) {
		uint16_t index;

		memcpy(&index, cqe + CQE_AT_INDEX, sizeof(index));
		return qp->send_cq == cq && !qp->sends.flushing &&
		       send_take(cq, qp, index, status, wc);
	}
	return qp->recv_cq == cq && !qp->receives.flushing && receive_take(qp, cqe, head, wc);
}

/* Poll a completion that needs no entry. If there is none, remove @todo from the list, or move it
 * to the entry after which the queue is flushed. */
static bool todo_poll(struct cx_cq *cq, struct cx_todo *todo, struct ibv_wc *wc)
{
	struct cx_qp *qp = todo->qp;
	bool sends = todo == &qp->sends, found;

	if (todo->flush && (int32_t)(cq->consumed - todo->flush_at) >= 0)
		todo->flushing = true;
	found = sends ? send_next(qp, wc) : receive_next(qp, wc);
	if (found)
		return true;
	cx_todo_drop(cq, todo);
	if (todo->flush && !todo->flushing)
		cx_todo_add(cq, todo, todo->flush_at);
	return false;
}

/* Note that an entry was polled, and go to the next one. */
FLAT void entry_leave(struct cx_cq *cq)
{
	cq->stamp = cq->next + cq->stamp_at;
	memcpy(&cq->stamp_value, cq->stamp, sizeof(cq->stamp_value));
	cqe_step(cq, &cq->next, &cq->phase);
	if (unlikely(++cq->consumed - cq->reported >= cq->report_at))
		cx_cq_report(cq);
	cq->index = cq->next == cq->ring ? 0 : cq->index + 1;
	*(volatile uint16_t *)cq->host_index = cq->index;
}

/* The device has written more entries than the ring has: some are lost. */
__attribute__((noinline, cold)) static void overrun_say(struct cx_cq *cq)
{
	if (!cq->overrun)
		verbs_err(cq->vcq.cq.context, "cq %u: overrun: completions are lost",
			  cq->vcq.cq.handle);
	cq->overrun = true;
}

/* Return whether the device has left the last polled entry unchanged. */
FLAT bool stamp_is_same(const struct cx_cq *cq)
{
	return *(const volatile uint64_t *)(const void *)cq->stamp == cq->stamp_value;
}

/* Poll the remaining @left of @num_entries entries. The caller holds the lock, and this function
 * releases it. Skip entries that complete no request, at most as many as the ring has. */
SEPARATE static int poll_rest(struct cx_cq *cq, int num_entries, struct ibv_wc *wc, int left)
{
	uint32_t skips = cq->entries;

	while (left > 0 && skips) {
		struct cx_todo *todo = TAILQ_FIRST(&cq->todos);
		bool found;

		if (todo && (int32_t)(cq->consumed - todo->at) >= 0) {
			found = todo_poll(cq, todo, wc);
		} else if (!cq->overrun && cqe_is_valid(cq, cq->next, cq->phase)) {
			const char *cqe = cq->next;

			barrier_from_device();
			if (unlikely(!stamp_is_same(cq))) {
				overrun_say(cq);
				break;
			}
			found = entry_take(cq, cqe, cqe_get(cqe, 0), wc);
			entry_leave(cq);
			skips--;
		} else {
			break;
		}
		if (!found)
			continue;
		verbs_data_wc(&cq->vcq.cq, wc);
		wc++;
		left--;
	}
	spinlock_unlock(&cq->lock);
	return unlikely(cq->overrun) && left == num_entries ? -EOVERFLOW : num_entries - left;
}

/* Fill in a plain entry of @qp, in the order of its queue. Return: whether the entry is plain. */
FLAT bool plain_take(struct cx_qp *qp, const char *cqe, uint32_t head, struct ibv_wc *wc)
{
	uint32_t opcode = head & CQE_OPCODE_MASK;

	if (head & CQE_SEND) {
		struct cx_sq *sq = &qp->sq;
		uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed), index;

		memcpy(&index, cqe + CQE_AT_INDEX, sizeof(index));
		if (unlikely(index != tail) || unlikely(sq->early) ||
		    unlikely(tail == atomic_load_explicit(&sq->head, memory_order_acquire)) ||
		    unlikely(sq->sent[tail].is != SENT_SIGNALED))
			return false;
		wc_begin(wc, qp, sq->sent[tail].wr_id, 0);
		wc_send(wc, &sq->sent[tail]);
		tail_set(sq, index_next(tail, sq->size), false);
	} else {
		struct cx_rq *rq = &qp->rq;
		uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

		if (unlikely(!received[opcode].is_plain) ||
		    unlikely(cqe_get(cqe, CQE_AT_MSN) != qp->msn) ||
		    unlikely(tail == atomic_load_explicit(&rq->head, memory_order_acquire)))
			return false;
		wc_begin(wc, qp, rq->wr_ids[tail], 0);
		wc_receive(wc, cqe, opcode);
		receive_retire(rq, tail, false);
		qp->msn++;
	}
	return true;
}

/* Poll a queue that has an entry or a todo. The caller holds the lock, and this function releases
 * it. It is not inline, so that a poll of an empty queue saves no registers. */
SEPARATE static int poll_found(struct cx_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int left = num_entries;

	if (unlikely(TAILQ_FIRST(&cq->todos)) || unlikely(!stamp_is_same(cq)))
		return poll_rest(cq, num_entries, wc, left);
	do {
		uint32_t head;

		barrier_from_device();
		head = cqe_get(cq->next, 0);
		if (unlikely((head & ~(uint32_t)CQE_KIND_MASK) != cq->last_head) ||
		    unlikely(!plain_take(cq->last, cq->next, head, wc)))
			return poll_rest(cq, num_entries, wc, left);
		entry_leave(cq);
		wc++;
	} while (--left && cqe_is_valid(cq, cq->next, cq->phase));
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

FLAT int poll_locked(struct cx_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (unlikely(cqe_is_valid(cq, cq->next, cq->phase)) || unlikely(TAILQ_FIRST(&cq->todos)))
		return poll_found(cq, num_entries, wc);
	spinlock_unlock(&cq->lock);
	return 0;
}

/* Poll if another thread holds the lock, or after a queue pair has failed. */
SEPARATE static int poll_slowly(struct cx_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (*cq->flag)
		cx_flush_all(cq);
	spinlock_lock(&cq->lock);
	return poll_rest(cq, num_entries, wc, num_entries);
}

int cx_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct cx_cq *cq = to_ccq(ibcq);

	if (unlikely(*cq->flag) || unlikely(num_entries <= 0) || unlikely(!spinlock_try(&cq->lock)))
		return poll_slowly(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
