/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, of one message or one receive of a
 * connection, and of the same queue pair as the completion before. plain_poll() calls no function
 * for them.
 *
 * One entry completes all messages up to a number. A poll applies the entry to the queue once. The
 * ring does not advance past the entry until all its completions are polled. Sends complete in
 * order. Local requests (bindings, invalidations and datagrams) have entries of their own: a
 * completed message waits for the local requests before it. After a failure the device completes no
 * further request of a queue. Polls then complete the remaining requests with IBV_WC_WR_FLUSH_ERR:
 * flush().
 */
#include "providers/ionic/wqe.h"

/* Bytes of an ibv_wc from src_qp to the end. */
#define WC_ADDRESS_BYTES (sizeof(struct ibv_wc) - offsetof(struct ibv_wc, src_qp))

static const uint8_t statuses[] = {
	[1] = IBV_WC_LOC_LEN_ERR,    [2] = IBV_WC_LOC_QP_OP_ERR,
	[3] = IBV_WC_LOC_PROT_ERR,   [STATUS_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
	[5] = IBV_WC_MW_BIND_ERR,    [6] = IBV_WC_BAD_RESP_ERR,
	[7] = IBV_WC_LOC_ACCESS_ERR, [8] = IBV_WC_REM_INV_REQ_ERR,
	[9] = IBV_WC_REM_ACCESS_ERR, [10] = IBV_WC_REM_OP_ERR,
	[11] = IBV_WC_RETRY_EXC_ERR, [12] = IBV_WC_RNR_RETRY_EXC_ERR,
};

static enum ibv_wc_status status_of(uint32_t cause)
{
	return cause < ARRAY_SIZE(statuses) && statuses[cause] ? (enum ibv_wc_status)statuses[cause]
							       : IBV_WC_GENERAL_ERR;
}

static uint64_t index_word(const char *at)
{
	return le64toh(*(const uint64_t *)(const void *)at);
}

/* ---- filling in completions. The caller holds the lock of the completion queue. */

FLAT void wc_fill(struct ibv_wc *wc, const struct ionic_qp *qp, enum ibv_wc_status status,
		  enum ibv_wc_opcode opcode, uint32_t length)
{
	wc->status = status;
	wc->opcode = opcode;
	wc->vendor_err = 0;
	wc->byte_len = length;
	wc->imm_data = 0;
	wc->qp_num = qp->vqp.qp.qp_num;
	memset(&wc->src_qp, 0, WC_ADDRESS_BYTES);
}

/* Fill in the completion of a send. */
FLAT void wc_fill_sent(struct ibv_wc *wc, const struct ionic_sent *sent)
{
	_Static_assert(
		offsetof(struct ionic_sent, extent) == offsetof(struct ibv_wc, src_qp) &&
			offsetof(struct ionic_sent, opcode) == offsetof(struct ibv_wc, opcode) &&
			offsetof(struct ionic_sent, length) == offsetof(struct ibv_wc, byte_len) &&
			offsetof(struct ionic_sent, qp_num) == offsetof(struct ibv_wc, qp_num),
		"a send begins as its completion does");
	memcpy(wc, sent, offsetof(struct ionic_sent, extent));
	memset(&wc->src_qp, 0, WC_ADDRESS_BYTES);
}

/* ---- the ends of the queues */

/* Return the oldest send without a completion. NULL: there is none. */
FLAT struct ionic_sent *sent_oldest(const struct ionic_sq *sq)
{
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	/* acquire: pairs with the release of a post in another thread, whose request is read here
	 */
	if (unlikely(atomic_load_explicit(&sq->posted, memory_order_acquire) == tail))
		return NULL;
	return &sq->sent[tail & sq->mask];
}

/* Free the oldest send, whose data was read. */
FLAT void sent_release(struct ionic_sq *sq)
{
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	/* release: pairs with the acquire of a post, which replaces it */
	atomic_store_explicit(&sq->tail, tail + 1, memory_order_release);
}

/* Return whether the device has completed a send. */
FLAT bool is_done(const struct ionic_sq *sq, const struct ionic_sent *sent)
{
	return sent->local ? sent->done : (int32_t)(sq->completed - sent->message) >= 0;
}

/* Take the receive at a position. Return: whether one is posted there. */
FLAT bool received_take(struct ionic_rq *rq, uint32_t position, uint64_t *ret_wr_id)
{
	struct ionic_received *received;

	if (unlikely(position > rq->mask))
		return false;
	received = &rq->received[position];
	/* acquire: pairs with the release of a post */
	if (unlikely(!atomic_load_explicit(&received->posted, memory_order_acquire)))
		return false;
	*ret_wr_id = received->wr_id;
	if (unlikely(position != rq->first))
		rq->unordered = true;
	rq->first = (position + 1) & rq->mask;
	/* release: pairs with the acquire of a post, which replaces it */
	atomic_store_explicit(&received->posted, false, memory_order_release);
	return true;
}

/* ---- flushing */

static int flush_sends(struct ionic_qp *qp, struct ibv_wc *wc, int left)
{
	struct ionic_sent *sent;
	int count = 0;

	for (; count < left && (sent = sent_oldest(&qp->sq)); count++, wc++) {
		wc->wr_id = sent->wr_id;
		wc_fill(wc, qp, IBV_WC_WR_FLUSH_ERR, sent->opcode, 0);
		sent->done = false;
		sent_release(&qp->sq);
		verbs_data_wc(&qp->send_cq->kit.vcq.cq, wc);
	}
	return count;
}

/* Flush the posted receives in the order of their positions, which is the order of posting. */
static int flush_receives(struct ionic_qp *qp, struct ibv_wc *wc, int left)
{
	struct ionic_rq *rq = &qp->rq;
	uint32_t first = rq->first;
	int count = 0;

	for (uint32_t i = 0; count < left && i <= rq->mask; i++) {
		if (!received_take(rq, (first + i) & rq->mask, &wc->wr_id)) {
			if (!rq->unordered)
				break;
			continue;
		}
		wc_fill(wc, qp, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
		verbs_data_wc(&qp->recv_cq->kit.vcq.cq, wc);
		count++;
		wc++;
	}
	return count;
}

/* Return whether @over is set and the ring has no entry that must be polled first. Set *@ret_any if
 * @over is set. */
static bool is_over(const struct ionic_cq *cq, const struct ionic_qp *qp, const atomic_bool *over,
		    bool *ret_any)
{
	uint32_t word;

	/* acquire: pairs with the release of ionic_flush(), after which the device writes no entry
	 */
	if (!atomic_load_explicit(over, memory_order_acquire))
		return false;
	*ret_any = true;
	return !cqe_look(&cq->rings[qp->pipeline], &word);
}

/* Complete the requests of all queues that have ended. Return the number of completions. */
SEPARATE static int flush(struct ionic_cq *cq, struct ibv_wc *wc, int left)
{
	struct ionic_qp *qp;
	bool again = false;
	int count = 0;

	/* acquire: pairs with the release of ionic_flush() */
	atomic_exchange_explicit(&cq->flushes, false, memory_order_acquire);
	LIST_FOREACH(qp, &cq->senders, sender)
		if (is_over(cq, qp, &qp->sq.over, &again))
			count += flush_sends(qp, wc + count, left - count);
	LIST_FOREACH(qp, &cq->receivers, receiver)
		if (is_over(cq, qp, &qp->rq.over, &again))
			count += flush_receives(qp, wc + count, left - count);
	/* Keep the flag, because later posts must be flushed as well. */
	if (again)
		atomic_store_explicit(&cq->flushes, true, memory_order_relaxed);
	return count;
}

/* ---- sends */

/* Complete the sends that the device has completed, in order. Return the number of completions. */
static int sends_deliver(struct ionic_cq *cq, struct ionic_qp *qp, struct ibv_wc *wc, int left)
{
	struct ionic_sq *sq = &qp->sq;
	struct ionic_sent *sent;
	int count = 0;

	while (count < left && (sent = sent_oldest(sq)) && is_done(sq, sent)) {
		sent->done = false;
		cq->time = sent->time;
		if (unlikely(sent->status)) {
			wc_fill_sent(&wc[count], sent);
			verbs_data_wc(&cq->kit.vcq.cq, &wc[count]);
			count++;
			sent->status = IBV_WC_SUCCESS;
			sent->vendor_err = 0;
			ionic_flush(qp, true, false);
		} else if (sent->signaled) {
			wc_fill_sent(&wc[count], sent);
			count++;
		}
		sent_release(sq);
	}
	return count;
}

/* Return the number of sends without a completion. */
static uint32_t sends_left(const struct ionic_sq *sq)
{
	/* acquire: as in sent_oldest() */
	return atomic_load_explicit(&sq->posted, memory_order_acquire) -
	       atomic_load_explicit(&sq->tail, memory_order_relaxed);
}

static struct ionic_sent *sent_at(const struct ionic_sq *sq, uint32_t index)
{
	return &sq->sent[(atomic_load_explicit(&sq->tail, memory_order_relaxed) + index) &
			 sq->mask];
}

/* Complete the messages up to the number in the entry. The last of them has failed if @cause is not
 * 0. Ignore an entry of messages that were already flushed. */
static void messages_apply(struct ionic_sq *sq, const char *cqe, uint32_t cause, uint64_t time)
{
	uint32_t left = sends_left(sq), before = sq->completed;
	uint32_t done = (word_32(cqe + CQE_MESSAGES) - before) & sq->mask;

	if (!left || done > sent_at(sq, left - 1)->message - before)
		return;
	sq->completed = before + done;
	for (uint32_t i = 0; i < left; i++) {
		struct ionic_sent *sent = sent_at(sq, i);

		if (sent->local || (int32_t)(before - sent->message) >= 0)
			continue;
		if ((int32_t)(sent->message - sq->completed) > 0)
			return;
		sent->time = time;
		if (cause && sent->message == sq->completed) {
			sent->status = status_of(cause);
			sent->vendor_err = cause;
		}
	}
}

/* Complete a local request. An entry with STATUS_FLUSHED completes no request: it reports that the
 * queue is in the error state. */
static void local_apply(struct ionic_qp *qp, const char *cqe, uint32_t cause, uint64_t time)
{
	struct ionic_sq *sq = &qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	uint32_t position = index_word(cqe + CQE_SENT_INDEX) & sq->mask;
	uint32_t index = (position - tail) & sq->mask;
	struct ionic_sent *sent = &sq->sent[position];

	if (cause == STATUS_FLUSHED) {
		ionic_flush(qp, true, false);
		return;
	}
	if (index >= sends_left(sq))
		return;
	sent->time = time;
	sent->done = true;
	if (cause) {
		sent->local = true;
		sent->status = status_of(cause);
		sent->vendor_err = cause;
	}
}

static int sends_poll(struct ionic_cq *cq, struct ionic_cq_ring *ring, struct ionic_qp *qp,
		      struct ibv_wc *wc, int left, uint32_t word)
{
	struct ionic_sent *next;
	int count;

	if (!ring->applied) {
		uint32_t cause = word & WORD_ERROR ? word_32(ring->next + CQE_LENGTH) : 0;
		uint64_t time = index_word(ring->next + CQE_SENT_INDEX) >> CQE_TIME_SHIFT;

		if ((word >> WORD_TYPE_SHIFT & WORD_TYPE_MASK) == TYPE_LOCAL)
			local_apply(qp, ring->next, cause, time);
		else
			messages_apply(&qp->sq, ring->next, cause, time);
		ring->applied = true;
	}
	count = sends_deliver(cq, qp, wc, left);
	next = count == left ? sent_oldest(&qp->sq) : NULL;
	if (next && is_done(&qp->sq, next))
		return count;
	ring->applied = false;
	ring_advance(ring);
	return count;
}

/* ---- receives */

/* Fill in the members that depend on the kind of the message. */
static void received_fill(const struct ionic_qp *qp, const char *cqe, struct ibv_wc *wc)
{
	uint32_t source = word_32(cqe + CQE_SOURCE);

	wc->src_qp = source & CQE_SOURCE_MASK;
	switch (source >> CQE_KIND_SHIFT & CQE_KIND_MASK) {
	case RECEIVED_SEND_INV:
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = word_32(cqe + CQE_IMM);
		break;
	case RECEIVED_WRITE_IMM:
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		/* fallthrough */
	case RECEIVED_SEND_IMM:
		wc->wc_flags |= IBV_WC_WITH_IMM;
		memcpy(&wc->imm_data, cqe + CQE_IMM, sizeof(wc->imm_data));
		break;
	default:
		break;
	}
	if (!qp->sq.datagrams)
		return;
	wc->wc_flags |= IBV_WC_GRH;
	wc->sl = word_32(cqe + CQE_INDEX + 16) >> CQE_PRIORITY_SHIFT & 7;
}

static int receive_poll(struct ionic_cq *cq, struct ionic_cq_ring *ring, struct ionic_qp *qp,
			struct ibv_wc *wc, uint32_t word)
{
	const char *cqe = ring->next;
	uint32_t cause = word & WORD_ERROR ? word_32(cqe + CQE_LENGTH) : 0;
	uint64_t index = index_word(cqe + CQE_INDEX);
	bool taken =
		cause != STATUS_FLUSHED && received_take(&qp->rq, index & UINT16_MAX, &wc->wr_id);

	if (taken) {
		wc_fill(wc, qp, cause ? status_of(cause) : IBV_WC_SUCCESS, IBV_WC_RECV,
			cause ? 0 : word_32(cqe + CQE_LENGTH));
		wc->vendor_err = cause;
		if (!cause)
			received_fill(qp, cqe, wc);
		cq->time = index >> CQE_TIME_SHIFT;
		verbs_data_wc(&cq->kit.vcq.cq, wc);
	}
	if (cause)
		ionic_flush(qp, false, true);
	ring_advance(ring);
	return taken;
}

/* ---- entries of any kind */

/* Find the queue pair of an entry among those that complete here. */
static struct ionic_qp *qp_find(struct ionic_cq *cq, uint32_t number)
{
	if (number == cq->last_number && number != IONIC_NO_QP)
		return cq->last;
	cq->last = idtable_find_own(&to_ioctx(cq->kit.vcq.cq.context)->qps, number, cq);
	cq->last_number = cq->last ? number : (uint32_t)IONIC_NO_QP;
	return cq->last;
}

/* Poll the next entry, whose last word is @word. Return the number of completions. */
SEPARATE static int entry_poll(struct ionic_cq *cq, struct ionic_cq_ring *ring, struct ibv_wc *wc,
			       int left, uint32_t word)
{
	struct ionic_qp *qp = qp_find(cq, word >> WORD_NUMBER_SHIFT);

	if (qp && &cq->rings[qp->pipeline] == ring)
		switch (word >> WORD_TYPE_SHIFT & WORD_TYPE_MASK) {
		case TYPE_RECEIVE:
			if (qp->recv_cq == cq)
				return receive_poll(cq, ring, qp, wc, word);
			break;
		case TYPE_MESSAGES:
		case TYPE_LOCAL:
			if (qp->send_cq == cq)
				return sends_poll(cq, ring, qp, wc, left, word);
			break;
		default:
			break;
		}
	ring->applied = false;
	ring_advance(ring);
	return 0;
}

/* ---- polling */

enum {
	WORD_PLAIN = WORD_ERROR | WORD_TYPE_MASK << WORD_TYPE_SHIFT,
};

/* Complete the oldest send if it is signaled, and if the entry completes only this message. Return:
 * whether it was completed. */
FLAT bool plain_send(struct ionic_sq *sq, const char *cqe, struct ibv_wc *wc)
{
	uint32_t message = sq->completed + 1;
	const struct ionic_sent *sent = sent_oldest(sq);

	if (unlikely(!sent) || unlikely((word_32(cqe + CQE_MESSAGES) ^ message) & sq->mask) ||
	    unlikely(sent->message != message) || unlikely(!sent->signaled) ||
	    unlikely(sent->local))
		return false;
	wc_fill_sent(wc, sent);
	sq->completed = message;
	sent_release(sq);
	return true;
}

/* Complete a receive if the message is a plain send on a connection. Return: whether it was
 * completed. */
FLAT bool plain_receive(struct ionic_qp *qp, const char *cqe, struct ibv_wc *wc)
{
	uint32_t source = word_32(cqe + CQE_SOURCE);

	if (unlikely(source >> CQE_KIND_SHIFT & CQE_KIND_MASK) || unlikely(qp->sq.datagrams) ||
	    unlikely(!received_take(&qp->rq, index_word(cqe + CQE_INDEX) & UINT16_MAX, &wc->wr_id)))
		return false;
	wc_fill(wc, qp, IBV_WC_SUCCESS, IBV_WC_RECV, word_32(cqe + CQE_LENGTH));
	wc->src_qp = source & CQE_SOURCE_MASK;
	return true;
}

/* Poll the next entry if it is plain. @word: its last word. Return: whether it was polled. */
FLAT bool plain_poll(struct ionic_cq *cq, struct ionic_cq_ring *ring, struct ibv_wc *wc,
		     uint32_t word)
{
	struct ionic_qp *qp = cq->last;

	if (unlikely(word >> WORD_NUMBER_SHIFT != cq->last_number) ||
	    unlikely(cq->last_number == IONIC_NO_QP) ||
	    unlikely(&cq->rings[qp->pipeline] != ring) || unlikely(ring->applied))
		return false;
	if ((word & WORD_PLAIN) == TYPE_MESSAGES << WORD_TYPE_SHIFT) {
		if (unlikely(qp->send_cq != cq) || !plain_send(&qp->sq, ring->next, wc))
			return false;
	} else if ((word & WORD_PLAIN) == TYPE_RECEIVE << WORD_TYPE_SHIFT) {
		if (unlikely(qp->recv_cq != cq) || !plain_receive(qp, ring->next, wc))
			return false;
	} else {
		return false;
	}
	ring_advance(ring);
	return true;
}

/* Poll a ring. Skip entries without completions, but at most as many as the ring has. Return the
 * place after the last completion. */
FLAT struct ibv_wc *ring_poll(struct ionic_cq *cq, struct ionic_cq_ring *ring, struct ibv_wc *wc,
			      const struct ibv_wc *end)
{
	uint32_t skipped = 0, word;

	while (wc != end && cqe_look(ring, &word)) {
		barrier_from_device();
		if (likely(plain_poll(cq, ring, wc, word))) {
			wc++;
		} else {
			int count = entry_poll(cq, ring, wc, end - wc, word);

			wc += count;
			if (!count && ++skipped > ring->memory.mask)
				break;
		}
	}
	if (unlikely(ring->until_report <= 0))
		ionic_cq_report(cq, ring);
	return wc;
}

/* Poll both rings. Each call begins with the other ring. */
FLAT struct ibv_wc *rings_poll(struct ionic_cq *cq, struct ibv_wc *wc, const struct ibv_wc *end)
{
	uint32_t turn = cq->turn;

	cq->turn = !turn;
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++, turn = !turn)
		if (cq->rings[turn].next)
			wc = ring_poll(cq, &cq->rings[turn], wc, end);
	return wc;
}

/* Poll rings with entries. The caller holds the lock, and this function releases it. */
SEPARATE static int poll_found(struct ionic_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct ibv_wc *end = wc + num_entries, *at = rings_poll(cq, wc, end);

	if (at != end && unlikely(atomic_load_explicit(&cq->flushes, memory_order_relaxed)))
		at += flush(cq, at, end - at);
	spinlock_unlock(&cq->lock);
	return at - wc;
}

/* Use only entry_poll(): plain_poll() does not store the time of a completion. */
bool ionic_poll_one(struct ionic_cq *cq, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++) {
		struct ionic_cq_ring *ring = &cq->rings[(cq->turn + i) % IONIC_PIPELINES];
		uint32_t skipped = 0, word;

		while (ring->next && skipped++ <= ring->memory.mask && cqe_look(ring, &word)) {
			bool found;

			barrier_from_device();
			found = entry_poll(cq, ring, wc, 1, word);
			if (ring->until_report <= 0)
				ionic_cq_report(cq, ring);
			if (found)
				return true;
		}
	}
	cq->turn = !cq->turn;
	return atomic_load_explicit(&cq->flushes, memory_order_relaxed) && flush(cq, wc, 1);
}

FLAT bool ring_has(const struct ionic_cq_ring *ring)
{
	uint32_t word;

	return ring->next && cqe_look(ring, &word);
}

FLAT int poll_locked(struct ionic_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (likely(num_entries > 0) &&
	    (ring_has(&cq->rings[0]) || ring_has(&cq->rings[1]) ||
	     unlikely(atomic_load_explicit(&cq->flushes, memory_order_relaxed))))
		return poll_found(cq, num_entries, wc);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_waited(struct ionic_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int ionic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct ionic_cq *cq = to_iocq(ibcq);

	/* This waiting is a separate function, so that a poll without contention saves no
	 * registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
