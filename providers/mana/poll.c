/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). An entry of the ring completes one receive, or every send up to a packet. If there
 * is no room to report all of these sends, the next poll continues with them. The requests of a
 * failed queue pair are flushed here, after the entries of the ring.
 */
#include "providers/mana/rc.h"

#define FLAT	 static inline __attribute__((always_inline))
#define SEPARATE __attribute__((noinline)) static

/* Bytes of an ibv_wc from pkey_index to the end. */
#define WC_ADDRESS_BYTES (sizeof(struct ibv_wc) - offsetof(struct ibv_wc, pkey_index))

/* Return whether packet @a is packet @b or a later one. */
FLAT bool psn_reaches(uint32_t a, uint32_t b)
{
	return !((a - b) & PSN_SIGN);
}

FLAT void wc_init(const struct mana_rc *qp, uint64_t wr_id, enum ibv_wc_opcode opcode,
		  uint32_t length, struct ibv_wc *wc)
{
	wc->wr_id = wr_id;
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = opcode;
	wc->vendor_err = 0;
	wc->byte_len = length;
	wc->imm_data = 0;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->src_qp = 0;
	wc->wc_flags = 0;
	memset(&wc->pkey_index, 0, WC_ADDRESS_BYTES);
}

static void wc_fail(struct mana_cq *cq, struct ibv_wc *wc, uint32_t cause)
{
	wc->status = mana_status(cause);
	wc->vendor_err = cause;
	verbs_data_wc(&cq->vcq.cq, wc);
}

/* ---- sends */

/* Return the number of sends that wait for their completion. */
FLAT uint32_t sends_left(const struct mana_sq *sq, uint32_t completed)
{
	/* acquire: pairs with the release of publish() in send.c */
	return atomic_load_explicit(&sq->posted, memory_order_acquire) - completed;
}

/* Retire the sends before number @completed. */
FLAT void sends_retire(struct mana_sq *sq, uint32_t completed, uint32_t read_units)
{
	uint32_t tail = atomic_load_explicit(&sq->reads_tail, memory_order_relaxed);

	if (read_units)
		/* release: as below */
		atomic_store_explicit(&sq->reads_tail, tail + read_units, memory_order_release);
	/* release: the send is read before a new request replaces it */
	atomic_store_explicit(&sq->completed, completed, memory_order_release);
}

/*
 * Complete the sends up to packet @psn, until @wc is full. Return the number of completions.
 * @ret_done: whether no such send is left
 */
FLAT int sends_take(struct mana_rc *qp, uint32_t psn, struct ibv_wc *wc, int room, bool *ret_done)
{
	struct mana_sq *sq = &qp->sq;
	uint32_t before = atomic_load_explicit(&sq->completed, memory_order_relaxed);
	uint32_t left = sends_left(sq, before), completed = before, read_units = 0;
	const struct mana_sent *sent = NULL;
	int got = 0;

	*ret_done = true;
	/* A packet that was never sent completes no request. */
	if (unlikely(!left) ||
	    unlikely(!psn_reaches(sq->sent[(before + left - 1) & sq->mask].psn, psn)))
		return 0;
	for (; left; left--, completed++) {
		const struct mana_sent *next = &sq->sent[completed & sq->mask];

		if (!psn_reaches(psn, next->psn))
			break;
		if (next->signaled) {
			if (got == room) {
				*ret_done = false;
				break;
			}
			wc_init(qp, next->wr_id, (enum ibv_wc_opcode)next->opcode, next->length,
				&wc[got++]);
		}
		read_units += next->read_units;
		sent = next;
	}
	if (likely(sent)) {
		atomic_store_explicit(&sq->rollback->left, htole32(sent->end),
				      memory_order_relaxed);
		sends_retire(sq, completed, read_units);
	}
	return got;
}

/* Complete the oldest send with a failure. Return the number of completions. */
static int send_fail(struct mana_rc *qp, uint32_t cause, struct ibv_wc *wc)
{
	struct mana_sq *sq = &qp->sq;
	uint32_t completed = atomic_load_explicit(&sq->completed, memory_order_relaxed);
	const struct mana_sent *sent = &sq->sent[completed & sq->mask];

	if (!sends_left(sq, completed))
		return 0;
	wc_init(qp, sent->wr_id, (enum ibv_wc_opcode)sent->opcode, sent->length, wc);
	wc_fail(qp->send_cq, wc, cause);
	sends_retire(sq, completed + 1, sent->read_units);
	return 1;
}

/* Ask for a completion of the next send that needs one, or else of the next packet. */
FLAT void rearm(struct mana_rc *qp, uint32_t psn)
{
	struct mana_sq *sq = &qp->sq;
	uint32_t completed = atomic_load_explicit(&sq->completed, memory_order_relaxed);
	uint32_t posted = completed + sends_left(sq, completed), at = sq->armed;

	if (at - completed > posted - completed)
		at = completed;
	for (; at != posted; at++) {
		if (sq->sent[at & sq->mask].signaled) {
			sq->armed = at + 1;
			mana_rc_arm(qp, sq->sent[at & sq->mask].psn);
			return;
		}
	}
	sq->armed = at;
	mana_rc_arm(qp, (psn + 1) & PSN_MASK);
}

static void rest_keep(struct mana_cq *cq, struct mana_rest rest)
{
	cq->rest = rest;
	atomic_store(&cq->flushes, true);
}

/*
 * Complete sends up to packet @psn. If all of them are reported, ask for the next completion.
 * Otherwise remember the rest.
 */
FLAT int acknowledged(struct mana_cq *cq, struct mana_rc *qp, uint32_t psn, struct ibv_wc *wc,
		      int room)
{
	bool done;
	int got = sends_take(qp, psn, wc, room, &done);

	if (likely(done))
		rearm(qp, psn);
	else
		rest_keep(cq, (struct mana_rest){ .qp = qp, .psn = psn });
	return got;
}

/* Complete the sends before packet @psn + 1, and then fail the next one. */
static int sends_fail(struct mana_cq *cq, struct mana_rc *qp, uint32_t psn, uint32_t cause,
		      struct ibv_wc *wc, int room)
{
	bool done;
	int got = sends_take(qp, psn, wc, room, &done);

	if (!done || got == room) {
		rest_keep(cq, (struct mana_rest){
				      .qp = qp, .psn = psn, .error = cause, .failed = true });
		return got;
	}
	got += send_fail(qp, cause, &wc[got]);
	mana_rc_fail(qp);
	return got;
}

/* Continue with the sends that the last poll had no room to report. */
static int rest_take(struct mana_cq *cq, struct ibv_wc *wc, int room)
{
	const struct mana_rest rest = cq->rest;

	cq->rest.qp = NULL;
	return rest.failed ? sends_fail(cq, rest.qp, rest.psn, rest.error, wc, room)
			   : acknowledged(cq, rest.qp, rest.psn, wc, room);
}

/* ---- receives */

FLAT uint32_t receives_left(const struct mana_rq *rq, uint32_t completed)
{
	/* acquire: pairs with the release of one_post() in recv.c */
	return atomic_load_explicit(&rq->posted, memory_order_acquire) - completed;
}

/* Return the oldest receive, and retire it. NULL: there is none. */
FLAT const struct mana_received *receive_take(struct mana_rq *rq, uint32_t *ret_completed)
{
	*ret_completed = atomic_load_explicit(&rq->completed, memory_order_relaxed);
	return likely(receives_left(rq, *ret_completed)) ? &rq->received[*ret_completed & rq->mask]
							 : NULL;
}

FLAT void receive_retire(struct mana_rq *rq, uint32_t completed)
{
	/* release: the receive is read before a new one replaces it */
	atomic_store_explicit(&rq->completed, completed + 1, memory_order_release);
}

FLAT int received(struct mana_rc *qp, const struct mana_cqe *cqe, uint32_t type, struct ibv_wc *wc)
{
	uint32_t completed, offset = le32toh(cqe->offset);
	const struct mana_received *recv = receive_take(&qp->rq, &completed);

	if (unlikely(!recv) || unlikely(offset >> UNIT_SHIFT != recv->start))
		return 0;
	wc_init(qp, recv->wr_id,
		unlikely(type == CQE_RC_WRITE_IMM) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		le32toh(cqe->length), wc);
	if (type == CQE_RC_SEND_INV) {
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = le32toh(cqe->imm);
	} else if (type != CQE_RC_SEND) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = htobe32(le32toh(cqe->imm));
	}
	receive_retire(&qp->rq, completed);
	return 1;
}

/* Complete the oldest receive with a failure. Return the number of completions. */
static int receive_fail(struct mana_rc *qp, uint32_t cause, struct ibv_wc *wc)
{
	uint32_t completed;
	const struct mana_received *recv = receive_take(&qp->rq, &completed);

	if (!recv)
		return 0;
	wc_init(qp, recv->wr_id, IBV_WC_RECV, 0, wc);
	wc_fail(qp->recv_cq, wc, cause);
	receive_retire(&qp->rq, completed);
	return 1;
}

/* ---- entries of the ring */

SEPARATE bool qp_find(struct mana_cq *cq, uint32_t word)
{
	struct mana_context *ctx = to_mctx(cq->vcq.cq.context);
	uint32_t number = word & CQE_QUEUE_MASK & ~(uint32_t)QUEUE_TYPE_MASK;

	cq->last = idtable_find_own(word & CQE_IS_SEND ? &ctx->by_sq : &ctx->by_rq, number, cq);
	cq->last_word = cq->last ? word : MANA_NUMBER_NONE;
	return cq->last;
}

/* Return whether an error concerns a send. The type in the number of the queue says which of the
 * four queues it is. */
static bool error_is_send(uint32_t word)
{
	bool passive = (word & QUEUE_TYPE_MASK) == QUEUE_TYPE_PASSIVE;

	return word & CQE_IS_SEND ? !passive : passive;
}

SEPARATE int failed(struct mana_cq *cq, struct mana_rc *qp, const struct mana_cqe *cqe,
		    uint32_t word, struct ibv_wc *wc, int room)
{
	uint32_t cause = le32toh(cqe->head) >> CQE_CAUSE_SHIFT & CQE_CAUSE_MASK;
	int got;

	if (error_is_send(word))
		return cq == qp->send_cq ? sends_fail(cq, qp, (le32toh(cqe->psn) - 1) & PSN_MASK,
						      cause, wc, room)
					 : 0;
	if (cq != qp->recv_cq)
		return 0;
	got = receive_fail(qp, cause, wc);
	mana_rc_fail(qp);
	return got;
}

/* Read an entry. Return the number of completions; 0: it completes no request. */
FLAT int take(struct mana_cq *cq, const struct mana_cqe *cqe, uint32_t word, struct ibv_wc *wc,
	      int room)
{
	uint32_t type = le32toh(((const volatile struct mana_cqe *)cqe)->head) & CQE_TYPE_MASK;

	word &= CQE_QUEUE_MASK | CQE_IS_SEND;
	if (unlikely(word != cq->last_word) && !qp_find(cq, word))
		return 0;
	if (type == CQE_ACKNOWLEDGED) {
		if (unlikely(le32toh(cqe->length) >> CQE_SYNDROME_SHIFT) ||
		    unlikely(cq != cq->last->send_cq))
			return 0;
		return acknowledged(cq, cq->last, le32toh(cqe->psn) & PSN_MASK, wc, room);
	}
	if (likely(type >= CQE_RC_SEND) && likely(type <= CQE_RC_WRITE_IMM))
		return likely(cq == cq->last->recv_cq) ? received(cq->last, cqe, type, wc) : 0;
	return type == CQE_ERROR ? failed(cq, cq->last, cqe, word, wc, room) : 0;
}

/* ---- requests of failed queue pairs */

static int sends_flush(struct mana_rc *qp, struct ibv_wc *wc, int room)
{
	int got = 0;

	while (got < room && send_fail(qp, CAUSE_FLUSHED, &wc[got]))
		got++;
	return got;
}

static int receives_flush(struct mana_rc *qp, struct ibv_wc *wc, int room)
{
	int got = 0;

	while (got < room && receive_fail(qp, CAUSE_FLUSHED, &wc[got]))
		got++;
	return got;
}

static bool is_failed(const struct mana_rc *qp)
{
	/*
	 * acquire: pairs with the release of state_set(), so that every posted request is found
	 */
	return atomic_load_explicit(&qp->state, memory_order_acquire) == IBV_QPS_ERR;
}

/* Flush the requests of all failed queue pairs that complete here. */
SEPARATE int flush(struct mana_cq *cq, struct ibv_wc *wc, int room)
{
	struct mana_rc *qp;
	int got = 0;

	/* A queue pair that fails meanwhile sets it again. */
	atomic_store(&cq->flushes, false);
	LIST_FOREACH(qp, &cq->senders, sender)
		if (is_failed(qp))
			got += sends_flush(qp, wc + got, room - got);
	LIST_FOREACH(qp, &cq->receivers, receiver)
		if (is_failed(qp))
			got += receives_flush(qp, wc + got, room - got);
	if (got == room)
		atomic_store(&cq->flushes, true); /* there may be more */
	return got;
}

/* ---- the ring */

SEPARATE int overrun(struct mana_cq *cq)
{
	if (!cq->overrun)
		verbs_err(cq->vcq.cq.context,
			  "cq %u: the device wrote over entries that were not polled: its "
			  "completions are lost, create it with more entries",
			  cq->vcq.cq.handle);
	cq->overrun = true;
	return -EOVERFLOW;
}

/* Return the last word of the next entry. */
FLAT uint32_t entry_look(const struct mana_cq *cq)
{
	return le32toh(((const volatile struct mana_cqe *)cq->next)->queue);
}

/* Return whether the device has not written the next entry. */
FLAT bool entry_is_old(const struct mana_cq *cq, uint32_t word)
{
	return word >> CQE_PHASE_SHIFT == cq->old_phase;
}

FLAT bool entry_is_new(const struct mana_cq *cq, uint32_t word)
{
	return word >> CQE_PHASE_SHIFT == (cq->old_phase + 1) % CQE_PHASES;
}

FLAT void entry_step(struct mana_cq *cq)
{
	cq->next++;
	if (unlikely(!(++cq->head & cq->mask))) {
		cq->next = cq->ring;
		cq->old_phase = (cq->old_phase + 1) % CQE_PHASES;
	}
	if (unlikely(cq->head == cq->credit_end))
		mana_cq_announce(cq, false);
}

/* Poll a ring with a new entry, or with a rest, or with requests to flush. */
FLAT int poll_some(struct mana_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t word, skips = cq->mask + 1;
	int got = 0;

	while (got < num_entries && skips) {
		int more;

		if (unlikely(cq->rest.qp)) {
			got += rest_take(cq, wc + got, num_entries - got);
			continue;
		}
		word = entry_look(cq);
		if (unlikely(!entry_is_new(cq, word))) {
			if (unlikely(!entry_is_old(cq, word)) && !got)
				return overrun(cq);
			break;
		}
		barrier_from_device();
		more = take(cq, cq->next, word, wc + got, num_entries - got);
		entry_step(cq);
		got += more;
		/* Skip entries that complete no request, at most as many as the ring has. */
		skips -= !more;
	}
	if (unlikely(atomic_load(&cq->flushes)) && got < num_entries)
		got += flush(cq, wc + got, num_entries - got);
	return got;
}

/* The same, and release the lock. */
SEPARATE int poll_found(struct mana_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int got = poll_some(cq, num_entries, wc);

	spinlock_unlock(&cq->lock);
	return got;
}

/* The program polls the queue itself. */
SEPARATE int not_ours(struct mana_cq *cq)
{
	verbs_err(cq->vcq.cq.context,
		  "cq %u: ibv_poll_cq: the program polls a queue in its own memory by itself",
		  cq->vcq.cq.handle);
	return -EOPNOTSUPP;
}

/* Poll a queue whose lock is held, and release it. */
FLAT int poll_locked(struct mana_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (likely(entry_is_old(cq, entry_look(cq))) &&
	    likely(!atomic_load_explicit(&cq->flushes, memory_order_relaxed))) {
		spinlock_unlock(&cq->lock);
		return 0;
	}
	return poll_found(cq, num_entries, wc);
}

SEPARATE int poll_waited(struct mana_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int mana_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mana_cq *cq = to_mcq(ibcq);

	if (unlikely(!cq->ring))
		return not_ours(cq);
	/* The other functions are separate, so that a poll of an empty ring saves no registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
