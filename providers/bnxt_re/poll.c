/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, of a send or a receive of a connection,
 * and of the same queue pair as the completion before. poll_found() calls no function for them.
 *
 * One entry completes all sends up to an index. Polls stay at this entry until they have returned
 * all of these sends. After a failure the device completes nothing more of a queue, and polls
 * report what is left in it: flush().
 */
#include "providers/bnxt_re/wqe.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

/* Bytes of an ibv_wc from src_qp to the end. */
#define WC_ADDRESS_BYTES (sizeof(struct ibv_wc) - offsetof(struct ibv_wc, src_qp))

/* Causes of a failed send and of a failed receive; other numbers are general errors. */
static const uint8_t send_statuses[] = {
	[1] = IBV_WC_BAD_RESP_ERR,   [2] = IBV_WC_LOC_LEN_ERR,	 [3] = IBV_WC_LOC_QP_OP_ERR,
	[4] = IBV_WC_LOC_PROT_ERR,   [5] = IBV_WC_MW_BIND_ERR,	 [6] = IBV_WC_REM_INV_REQ_ERR,
	[7] = IBV_WC_REM_ACCESS_ERR, [8] = IBV_WC_REM_OP_ERR,	 [9] = IBV_WC_RNR_RETRY_EXC_ERR,
	[10] = IBV_WC_RETRY_EXC_ERR, [11] = IBV_WC_WR_FLUSH_ERR,
};
static const uint8_t recv_statuses[] = {
	[1] = IBV_WC_LOC_ACCESS_ERR, [2] = IBV_WC_LOC_LEN_ERR, [3] = IBV_WC_LOC_PROT_ERR,
	[4] = IBV_WC_LOC_QP_OP_ERR,  [5] = IBV_WC_MW_BIND_ERR, [6] = IBV_WC_REM_INV_REQ_ERR,
	[7] = IBV_WC_WR_FLUSH_ERR,
};
enum {
	RECV_ALL_FLUSHED = 8, /* the entry belongs to no single receive */
};

static enum ibv_wc_status status_of(const uint8_t *statuses, size_t count, uint32_t status)
{
	return status < count && statuses[status] ? (enum ibv_wc_status)statuses[status]
						  : IBV_WC_GENERAL_ERR;
}

/* ---- the ends of the queues. The caller holds the lock of the completion queue. */

/* Remove and return the oldest send without a completion. NULL: there is none. */
FLAT const struct bnxt_re_sent *sent_take(struct bnxt_re_sq *sq)
{
	uint32_t released = atomic_load_explicit(&sq->released, memory_order_relaxed);
	const struct bnxt_re_sent *sent = &sq->sent[sq->first];

	/* acquire: pairs with the release of a post, whose request another thread reads here */
	if (unlikely(atomic_load_explicit(&sq->posted, memory_order_acquire) == released))
		return NULL;
	if (unlikely(++sq->first == sq->count))
		sq->first = 0;
	return sent;
}

/* Free the slots of a send whose data was read. */
FLAT void sent_release(struct bnxt_re_sq *sq, const struct bnxt_re_sent *sent)
{
	uint32_t released = atomic_load_explicit(&sq->released, memory_order_relaxed);

	/* release: pairs with the acquire of a post, which replaces @sent */
	atomic_store_explicit(&sq->released, released + sent->slots, memory_order_release);
}

/* Remove the oldest receive without a completion. Return: whether there is one. */
FLAT bool received_take(struct bnxt_re_rq *rq, uint64_t *ret_wr_id)
{
	uint32_t released = atomic_load_explicit(&rq->released, memory_order_relaxed);

	/* acquire: as in sent_take() */
	if (unlikely(atomic_load_explicit(&rq->posted, memory_order_acquire) == released))
		return false;
	*ret_wr_id = rq->wr_ids[rq->first];
	if (unlikely(++rq->first == rq->count))
		rq->first = 0;
	/* release: as in sent_release() */
	atomic_store_explicit(&rq->released, released + 1, memory_order_release);
	return true;
}

FLAT void wc_fill(struct ibv_wc *wc, const struct bnxt_re_qp *qp, enum ibv_wc_status status,
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

/* Fill in the completion of a successful send. */
FLAT void wc_fill_sent(struct ibv_wc *wc, const struct bnxt_re_sent *sent)
{
	_Static_assert(
		offsetof(struct bnxt_re_sent, slots) == offsetof(struct ibv_wc, src_qp) &&
			offsetof(struct bnxt_re_sent, opcode) == offsetof(struct ibv_wc, opcode) &&
			offsetof(struct bnxt_re_sent, length) ==
				offsetof(struct ibv_wc, byte_len) &&
			offsetof(struct bnxt_re_sent, qp_num) == offsetof(struct ibv_wc, qp_num),
		"a send begins as its completion does");
	memcpy(wc, sent, offsetof(struct bnxt_re_sent, slots));
	memset(&wc->src_qp, 0, WC_ADDRESS_BYTES);
}

/* ---- flushing */

static int flush_sends(struct bnxt_re_qp *qp, struct ibv_wc *wc, int left)
{
	const struct bnxt_re_sent *sent;
	int count = 0;

	for (; count < left && (sent = sent_take(&qp->sq)); count++, wc++) {
		wc->wr_id = sent->wr_id;
		wc_fill(wc, qp, IBV_WC_WR_FLUSH_ERR, sent->opcode, 0);
		sent_release(&qp->sq, sent);
		verbs_data_wc(&qp->send_cq->kit.vcq.cq, wc);
	}
	return count;
}

static int flush_receives(struct bnxt_re_qp *qp, struct ibv_wc *wc, int left)
{
	int count = 0;

	for (; count < left && received_take(&qp->rq, &wc->wr_id); count++, wc++) {
		wc_fill(wc, qp, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
		verbs_data_wc(&qp->recv_cq->kit.vcq.cq, wc);
	}
	return count;
}

/* Return whether @over is set, and the device has written no entry that must be polled first. */
static bool is_over(const struct bnxt_re_cq *cq, const atomic_bool *over, bool *ret_any)
{
	uint32_t info;

	/* acquire: pairs with the release of bnxt_re_flush(), after which the device writes no
	 * entry */
	if (!atomic_load_explicit(over, memory_order_acquire))
		return false;
	*ret_any = true;
	return !bnxt_re_cqe_look(cq, cq->next, &info);
}

/* Complete the requests of all queues that have ended. Return the number of completions. */
SEPARATE static int flush(struct bnxt_re_cq *cq, struct ibv_wc *wc, int left)
{
	struct bnxt_re_qp *qp;
	bool again = false;
	int count = 0;

	/* acquire: pairs with the release of bnxt_re_flush() */
	atomic_exchange_explicit(&cq->flushes, false, memory_order_acquire);
	LIST_FOREACH(qp, &cq->senders, sender)
		if (is_over(cq, &qp->sends_over, &again))
			count += flush_sends(qp, wc + count, left - count);
	LIST_FOREACH(qp, &cq->receivers, receiver)
		if (is_over(cq, &qp->receives_over, &again))
			count += flush_receives(qp, wc + count, left - count);
	/* Requests that are posted from now on are flushed as well. */
	if (again)
		atomic_store_explicit(&cq->flushes, true, memory_order_relaxed);
	return count;
}

/* ---- entries of any kind */

/* Find the queue pair of an entry among those that complete here. */
static struct bnxt_re_qp *qp_find(struct bnxt_re_cq *cq, uint64_t handle)
{
	uint64_t id = le64toh(handle) - 1;

	if (handle && handle == cq->last_handle)
		return cq->last;
	cq->last = id <= IDTABLE_MASK
			   ? idtable_find_own(&to_bctx(cq->kit.vcq.cq.context)->qps, id, cq)
			   : NULL;
	cq->last_handle = cq->last ? handle : 0;
	return cq->last;
}

/* Consume the next entry, whose handle is at @handle. */
FLAT void consume(struct bnxt_re_cq *cq, __le64 *handle)
{
	*handle = 0;
	cq->until_report--;
	cq->next = bnxt_re_cqe_behind(cq, cq->next);
}

/* Complete the sends before number @target. Return the number of completions. */
FLAT int sends_complete(struct bnxt_re_qp *qp, struct ibv_wc *wc, int left, uint32_t target)
{
	struct bnxt_re_sq *sq = &qp->sq;
	const struct bnxt_re_sent *sent;
	int count = 0;

	while (count < left && sq->first != target && (sent = sent_take(sq))) {
		if (sent->signaled) {
			wc_fill_sent(&wc[count], sent);
			count++;
		}
		sent_release(sq, sent);
	}
	return count;
}

/* Return the number in an entry, which is one more than that of the last send it completes. */
FLAT uint32_t target_of(const struct bnxt_re_sq *sq, const struct bnxt_re_cqe *cqe)
{
	uint32_t target = le64toh(cqe->b) & 0xffff;

	return unlikely(target >= sq->count) ? target % sq->count : target;
}

/* Complete the sends before an index. Consume the entry when all of them are complete. Return the
 * number of completions. */
FLAT int sends_poll(struct bnxt_re_cq *cq, struct bnxt_re_qp *qp, struct ibv_wc *wc, int left)
{
	uint32_t target = target_of(&qp->sq, cq->next);
	int count = sends_complete(qp, wc, left, target);

	if (unlikely(count == left) && qp->sq.first != target)
		return count;
	consume(cq, &cq->next->a);
	return count;
}

static int send_fail(struct bnxt_re_cq *cq, struct bnxt_re_qp *qp, struct ibv_wc *wc, int left,
		     uint32_t status)
{
	struct bnxt_re_sq *sq = &qp->sq;
	const struct bnxt_re_sent *sent;
	int count = 0;

	/* The entry belongs to the send before its number. The earlier sends have succeeded, and
	 * have no entries of their own. With requests of variable size the number means something
	 * else. */
	if (sq->step)
		count = sends_complete(qp, wc, left, (target_of(sq, cq->next) ?: sq->count) - 1);
	if (count)
		return count; /* the entry is still the next one */
	sent = sent_take(sq);
	consume(cq, &cq->next->a);
	bnxt_re_flush(qp, true, false);
	if (!sent)
		return 0;
	wc->wr_id = sent->wr_id;
	wc_fill(wc, qp, status_of(send_statuses, ARRAY_SIZE(send_statuses), status), sent->opcode,
		0);
	wc->vendor_err = status;
	sent_release(&qp->sq, sent);
	verbs_data_wc(&cq->kit.vcq.cq, wc);
	return 1;
}

static bool wr_id_take(struct bnxt_re_qp *qp, const struct bnxt_re_cqe *cqe, uint32_t info,
		       uint64_t *ret_wr_id)
{
	if (!(info & CQE_FLAG_SRQ))
		return received_take(&qp->rq, ret_wr_id);
	return qp->srq && bnxt_re_srq_take(qp->srq, le32toh(cqe->tag) & CQE_TAG_MASK, ret_wr_id);
}

/* Fill in the members that only some receives have. */
FLAT void received_fill(const struct bnxt_re_cqe *cqe, uint32_t info, struct ibv_wc *wc)
{
	if (!(info & (CQE_FLAG_IMM | CQE_FLAG_WRITE_IMM)))
		return;
	wc->wc_flags |= IBV_WC_WITH_IMM;
	wc->imm_data = htobe32(le64toh(cqe->a) >> 32);
	if (info & CQE_FLAG_WRITE_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
}

static void datagram_fill(const struct bnxt_re_cqe *cqe, uint32_t info, struct ibv_wc *wc)
{
	wc->byte_len &= CQE_UD_LENGTH_MASK;
	if ((info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK) != CQE_RECV_UD)
		return;
	wc->wc_flags |= IBV_WC_GRH;
	wc->src_qp = le64toh(cqe->c) >> 48 | (le32toh(cqe->tag) >> 24) << 16;
}

static int receive_poll(struct bnxt_re_cq *cq, struct bnxt_re_qp *qp, struct ibv_wc *wc,
			uint32_t info)
{
	uint32_t status = info >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;
	struct bnxt_re_cqe *cqe = cq->next;
	bool over = status == RECV_ALL_FLUSHED && !(info & CQE_FLAG_SRQ);
	bool taken = !over && wr_id_take(qp, cqe, info, &wc->wr_id);

	if (taken && status != RECV_ALL_FLUSHED) {
		wc_fill(wc, qp,
			status ? status_of(recv_statuses, ARRAY_SIZE(recv_statuses), status)
			       : IBV_WC_SUCCESS,
			IBV_WC_RECV, status ? 0 : (uint32_t)le64toh(cqe->a));
		wc->vendor_err = status;
		received_fill(cqe, status ? 0 : info, wc);
		if ((info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK) != CQE_RECV_RC)
			datagram_fill(cqe, info, wc);
		verbs_data_wc(&cq->kit.vcq.cq, wc);
	}
	consume(cq, &cqe->b);
	if (status)
		bnxt_re_flush(qp, false, true);
	return taken && status != RECV_ALL_FLUSHED;
}

/* Poll the next entry, whose word is @info. Return the number of completions. */
SEPARATE static int entry_poll(struct bnxt_re_cq *cq, struct ibv_wc *wc, int left, uint32_t info)
{
	uint32_t type = info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK;
	uint32_t status = info >> CQE_STATUS_SHIFT & CQE_STATUS_MASK;
	__le64 *handle = type == CQE_SEND || type == CQE_TERM ? &cq->next->a : &cq->next->b;
	struct bnxt_re_qp *qp;

	if (type == CQE_CUT_OFF) {
		bnxt_re_cut_off(cq, info);
		return 0;
	}
	qp = qp_find(cq, *handle);
	if (!qp || (type > CQE_RECV_RAW && type != CQE_TERM)) {
		consume(cq, handle);
		return 0;
	}
	if (type == CQE_TERM) {
		consume(cq, handle);
		bnxt_re_flush(qp, true, true);
		return 0;
	}
	if (type != CQE_SEND)
		return receive_poll(cq, qp, wc, info);
	return status ? send_fail(cq, qp, wc, left, status) : sends_poll(cq, qp, wc, left);
}

/* ---- polling */

/* Report how far the queue was polled, and release the lock. @wc: after the last completion. Return
 * the number of completions from @first on. */
FLAT int poll_end(struct bnxt_re_cq *cq, const struct ibv_wc *first, struct ibv_wc *wc,
		  const struct ibv_wc *end)
{
	bnxt_re_cq_report(cq);
	if (wc != end && unlikely(atomic_load_explicit(&cq->flushes, memory_order_relaxed)))
		wc += flush(cq, wc, end - wc);
	spinlock_unlock(&cq->lock);
	return wc - first;
}

/* Complete the oldest send, if the entry completes no other. Return: whether it does, and the
 * program wants its completion. */
FLAT bool plain_send(struct bnxt_re_sq *sq, const struct bnxt_re_cqe *cqe, struct ibv_wc *wc)
{
	uint32_t released = atomic_load_explicit(&sq->released, memory_order_relaxed);
	uint32_t first = sq->first, next = first + 1;
	const struct bnxt_re_sent *sent = &sq->sent[first];

	next = unlikely(next == sq->count) ? 0 : next;
	/* acquire: as in sent_take() */
	if (unlikely((le64toh(cqe->b) & 0xffff) != next) ||
	    unlikely(atomic_load_explicit(&sq->posted, memory_order_acquire) == released) ||
	    unlikely(!sent->signaled))
		return false;
	wc_fill_sent(wc, sent);
	sq->first = next;
	/* release: as in sent_release() */
	atomic_store_explicit(&sq->released, released + sent->slots, memory_order_release);
	return true;
}

/* Complete a receive of a connection. Return: whether one is posted. */
FLAT bool plain_receive(struct bnxt_re_qp *qp, const struct bnxt_re_cqe *cqe, uint32_t info,
			struct ibv_wc *wc)
{
	if (unlikely(!received_take(&qp->rq, &wc->wr_id)))
		return false;
	wc_fill(wc, qp, IBV_WC_SUCCESS, IBV_WC_RECV, (uint32_t)le64toh(cqe->a));
	if (unlikely(info & (CQE_FLAG_IMM | CQE_FLAG_WRITE_IMM)))
		received_fill(cqe, info, wc);
	return true;
}

/* Poll plain entries of the last queue pair; the first has the word *@info. Return the place of the
 * next completion. *@info is then the word of the next entry, if *@ret_more. */
FLAT struct ibv_wc *plain_poll(struct bnxt_re_cq *cq, struct ibv_wc *wc, const struct ibv_wc *end,
			       uint32_t *info, bool *ret_more)
{
	const uint64_t handle = cq->last_handle;
	struct bnxt_re_qp *qp = cq->last;
	struct bnxt_re_cqe *cqe = cq->next;

	*ret_more = true;
	if (unlikely(!handle))
		return wc;
	do {
		if (!(*info & CQE_PLAIN_MASK)) {
			if (unlikely(cqe->a != handle) || unlikely(!plain_send(&qp->sq, cqe, wc)))
				break;
			cqe->a = 0;
		} else {
			if (unlikely((*info & (CQE_PLAIN_MASK | CQE_FLAG_SRQ)) !=
				     CQE_RECV_RC << CQE_TYPE_SHIFT) ||
			    unlikely(cqe->b != handle) ||
			    unlikely(!plain_receive(qp, cqe, *info, wc)))
				break;
			cqe->b = 0;
		}
		cq->until_report--;
		wc++;
		cqe = bnxt_re_cqe_behind(cq, cqe);
		if (wc == end)
			break;
		*ret_more = bnxt_re_cqe_look(cq, cqe, info);
		barrier_from_device();
	} while (*ret_more);
	cq->next = cqe;
	return wc;
}

/* Poll a ring whose next entry has the word @info. Skip entries without completions, but at most as
 * many as the ring has. Return the place after the last completion. */
FLAT struct ibv_wc *entries_poll(struct bnxt_re_cq *cq, struct ibv_wc *wc, const struct ibv_wc *end,
				 uint32_t info)
{
	uint32_t skipped = 0;
	struct ibv_wc *at;
	bool more;

	barrier_from_device();
	for (;;) {
		at = plain_poll(cq, wc, end, &info, &more);
		if (unlikely(at == wc)) {
			at += entry_poll(cq, wc, end - wc, info);
			if (at == wc && ++skipped == cq->end - cq->ring)
				return at;
			more = bnxt_re_cqe_look(cq, cq->next, &info);
			barrier_from_device();
		}
		wc = at;
		if (wc == end || likely(!more))
			return wc;
	}
}

/* Poll a ring with entries. The caller holds the lock, and this function releases it. */
SEPARATE static int poll_found(struct bnxt_re_cq *cq, int num_entries, struct ibv_wc *wc,
			       uint32_t info)
{
	struct ibv_wc *end = wc + num_entries;

	return poll_end(cq, wc, entries_poll(cq, wc, end, info), end);
}

bool bnxt_re_poll_one(struct bnxt_re_cq *cq, struct ibv_wc *wc)
{
	uint32_t info;

	if (bnxt_re_cqe_look(cq, cq->next, &info) && entries_poll(cq, wc, wc + 1, info) != wc)
		return true;
	return atomic_load_explicit(&cq->flushes, memory_order_relaxed) && flush(cq, wc, 1);
}

FLAT int poll_locked(struct bnxt_re_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t info;

	if (unlikely(num_entries <= 0)) {
		spinlock_unlock(&cq->lock);
		return 0;
	}
	if (bnxt_re_cqe_look(cq, cq->next, &info))
		return poll_found(cq, num_entries, wc, info);
	if (unlikely(atomic_load_explicit(&cq->flushes, memory_order_relaxed)))
		return poll_end(cq, wc, wc, wc + num_entries);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_waited(struct bnxt_re_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int bnxt_re_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct bnxt_re_cq *cq = to_bcq(ibcq);

	/* This waiting is a separate function, so that a poll without contention saves no
	 * registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
