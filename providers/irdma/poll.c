/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, of a send or a receive of a connection,
 * and of the same queue pair as the completion before. Their loop makes no function call.
 *
 * Before the third generation, one entry stands for all requests of a queue that are posted by the
 * time it is polled after a failure. The entry stays the next one until no request is left.
 */
#include "providers/irdma/wqe.h"

/* Bytes of an ibv_wc from src_qp to the end. */
#define WC_ADDRESS_BYTES (sizeof(struct ibv_wc) - offsetof(struct ibv_wc, src_qp))

/* Completions with one of these bits are not plain. */
#define CQE_RARE (CQE_ERROR | CQE_STAG | CQE_OF_SRQ | CQE_EXTENDED)

/* The causes of a failure. */
enum {
	CODE_GENERAL = 1,
	CODE_PROTECTION = 2,
	CODE_REMOTE_ACCESS = 3,
	CODE_LOCAL_OPERATION = 4,
	CODE_REMOTE_OPERATION = 5,
	CODE_LOCAL_LENGTH = 6,
	CODE_FATAL = 7,
	CODE_RETRIES = 8,
	CODE_BIND = 9,
	CODE_REMOTE_REQUEST = 10,
	CODE_RECEIVER_RETRIES = 11,
};

static const uint8_t statuses[] = {
	[CODE_GENERAL] = IBV_WC_WR_FLUSH_ERR,
	[CODE_PROTECTION] = IBV_WC_LOC_PROT_ERR,
	[CODE_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
	[CODE_LOCAL_OPERATION] = IBV_WC_LOC_QP_OP_ERR,
	[CODE_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
	[CODE_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
	[CODE_FATAL] = IBV_WC_FATAL_ERR,
	[CODE_RETRIES] = IBV_WC_RETRY_EXC_ERR,
	[CODE_BIND] = IBV_WC_MW_BIND_ERR,
	[CODE_REMOTE_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
	[CODE_RECEIVER_RETRIES] = IBV_WC_RNR_RETRY_EXC_ERR,
};

/* Events of the device that end a shared receive, and their causes. */
static const struct {
	uint16_t first, last;
	uint8_t code;
} events[] = {
	{ 0x0102, 0x010a, CODE_PROTECTION },
	{ 0x011c, 0x011c, CODE_PROTECTION },
	{ 0x0133, 0x0133, CODE_LOCAL_OPERATION },
	{ 0x020a, 0x020a, CODE_LOCAL_OPERATION },
	{ 0x0132, 0x0132, CODE_LOCAL_LENGTH },
	{ 0x0134, 0x0135, CODE_LOCAL_LENGTH },
	{ 0x0303, 0x0303, CODE_LOCAL_LENGTH },
	{ 0x0305, 0x0305, CODE_LOCAL_LENGTH },
	{ 0x0112, 0x0112, CODE_REMOTE_ACCESS },
	{ 0x020d, 0x020d, CODE_REMOTE_ACCESS },
	{ 0x0114, 0x0114, CODE_BIND },
	{ 0x0118, 0x0119, CODE_BIND },
	{ 0x011b, 0x011b, CODE_BIND },
	{ 0x050a, 0x050a, CODE_RETRIES },
	{ 0x0208, 0x0208, CODE_REMOTE_REQUEST },
	{ 0x0505, 0x0505, CODE_REMOTE_OPERATION },
	{ 0x0507, 0x0507, CODE_REMOTE_OPERATION },
	{ 0x0316, 0x0316, CODE_REMOTE_OPERATION },
	{ 0x020e, 0x020e, CODE_REMOTE_OPERATION },
	{ 0x050f, 0x050f, CODE_RECEIVER_RETRIES },
	{ 0x0700, 0x0700, CODE_FATAL },
	{ 0x0703, 0x0705, CODE_FATAL },
};

static uint32_t event_code(uint32_t event)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (event >= events[i].first && event <= events[i].last)
			return events[i].code;
	return CODE_GENERAL;
}

/* An entry of the ring. */
struct entry {
	char *at;
	uint64_t head;	    /* word 3 */
	uint64_t extension; /* word 7, if there is an extension */
	char *extension_at;
};

/* What an entry with an error means. */
struct failure {
	enum ibv_wc_status status;
	uint32_t vendor_err;
	/* the error belongs to the oldest request, not to the request that the entry names */
	bool flushes;
};

static struct failure failure_read(const struct irdma_qp *qp, uint64_t head)
{
	uint32_t major = head >> 16 & 0xffff, minor = head & 0xffff;
	struct failure failure = { .status = IBV_WC_GENERAL_ERR };

	if (!(head & CQE_ERROR))
		return (struct failure){ .status = IBV_WC_SUCCESS };
	if (major == CQE_SRQ_FLUSHED)
		minor = event_code(minor);
	failure.vendor_err = major << 16 | minor;
	if (major == CQE_FLUSHED || major == CQE_SRQ_FLUSHED) {
		failure.flushes = true;
		failure.status = minor && minor < ARRAY_SIZE(statuses)
					 ? (enum ibv_wc_status)statuses[minor]
					 : IBV_WC_FATAL_ERR;
	} else if (head & CQE_SEND && qp->sq.datagrams && major >> 12 == CQE_NO_ERROR) {
		failure.status = IBV_WC_SUCCESS;
	}
	return failure;
}

/* ---- the ring. The caller holds the lock. */

/* Whether the device has written the next entry; *@ret_head is its word 3. */
FLAT bool entry_look(const struct irdma_ring *ring, const char *at, uint64_t *ret_head)
{
	*ret_head = word_read(at + AT_HEADER);
	return !((*ret_head ^ ring->phase) & IRDMA_VALID);
}

FLAT void ring_step(const struct irdma_cq *cq, struct irdma_ring *ring)
{
	ring->next += cq->stride;
	if (unlikely(ring->next == ring->end)) {
		ring->next = ring->base;
		ring->phase ^= IRDMA_VALID;
	}
}

/* Tell the device how far the ring was polled. */
FLAT void ring_report(const struct irdma_cq *cq, const struct irdma_ring *ring)
{
	uint32_t index = (uint32_t)(ring->next - ring->base) /
			 (cq->stride == IRDMA_QUANTUM ? IRDMA_QUANTUM : 2 * IRDMA_QUANTUM);

	/* release: the device may replace entries that were read */
	atomic_store_explicit((_Atomic uint32_t *)(void *)cq->shadow, htole32(index),
			      memory_order_release);
}

/* Read the next entry with its extension. Return: whether the device has written both. */
static bool entry_read(const struct irdma_cq *cq, const struct irdma_ring *ring,
		       struct entry *ret_entry)
{
	bool wraps;

	ret_entry->at = ring->next;
	ret_entry->extension = 0;
	if (!entry_look(ring, ring->next, &ret_entry->head))
		return false;
	barrier_from_device();
	ret_entry->extension_at = extension_of(cq, ring, ring->next);
	if (!(ret_entry->head & CQE_EXTENDED))
		return true;
	wraps = ret_entry->extension_at == ring->base;
	ret_entry->extension = word_read(ret_entry->extension_at + AT_HEADER);
	if ((ret_entry->extension ^ ring->phase ^ (wraps ? IRDMA_VALID : 0)) & IRDMA_VALID)
		return false;
	barrier_from_device();
	return true;
}

static void entry_consume(const struct irdma_cq *cq, struct irdma_ring *ring, uint64_t head)
{
	ring_step(cq, ring);
	if (head & CQE_EXTENDED && cq->stride == IRDMA_QUANTUM)
		ring_step(cq, ring);
}

/* Find the queue pair of an entry among those that complete here. */
static struct irdma_qp *qp_find(struct irdma_cq *cq, uint64_t handle)
{
	uint64_t id = (handle >> IRDMA_HANDLE_SHIFT) - 1;

	if (handle && handle == cq->last_handle)
		return cq->last;
	cq->last = id <= IDTABLE_MASK && handle == irdma_handle(id)
			   ? idtable_find_own(&to_ictx(cq->kit.vcq.cq.context)->qps, id, cq)
			   : NULL;
	cq->last_handle = cq->last ? handle : 0;
	return cq->last;
}

/* ---- completions */

FLAT void wc_fill(struct ibv_wc *wc, const struct irdma_qp *qp, enum ibv_wc_opcode opcode,
		  uint32_t length)
{
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = opcode;
	wc->vendor_err = 0;
	wc->byte_len = length;
	wc->imm_data = 0;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->src_qp = wc->qp_num;
	memset((char *)&wc->src_qp + sizeof(wc->src_qp), 0, WC_ADDRESS_BYTES - sizeof(wc->src_qp));
}

/* Fill in the completion of a successful send. */
FLAT void wc_fill_sent(struct ibv_wc *wc, const struct irdma_sent *sent)
{
	_Static_assert(
		offsetof(struct irdma_sent, quanta) == offsetof(struct ibv_wc, src_qp) &&
			offsetof(struct irdma_sent, opcode) == offsetof(struct ibv_wc, opcode) &&
			offsetof(struct irdma_sent, length) == offsetof(struct ibv_wc, byte_len) &&
			offsetof(struct irdma_sent, qp_num) == offsetof(struct ibv_wc, qp_num),
		"a send begins as its completion does");
	memcpy(wc, sent, offsetof(struct irdma_sent, quanta));
	wc->src_qp = sent->qp_num;
	memset((char *)&wc->src_qp + sizeof(wc->src_qp), 0, WC_ADDRESS_BYTES - sizeof(wc->src_qp));
}

/* Complete the send that begins at this quantum of the ring, and retire the sends before it.
 * Return: whether it waits for its completion. */
FLAT bool sent_take(struct irdma_sq *sq, uint32_t index, struct ibv_wc *wc)
{
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	/* acquire: pairs with the release of a post, whose request another thread reads here */
	uint32_t waiting = atomic_load_explicit(&sq->posted, memory_order_acquire) - tail;
	uint32_t ahead = (index - tail) & (sq->size - 1);
	const struct irdma_sent *sent = &sq->sent[index & (sq->size - 1)];

	if (unlikely(ahead >= waiting) || unlikely(sent->quanta > waiting - ahead))
		return false;
	wc_fill_sent(wc, sent);
	/* release: pairs with the acquire of a post, which replaces @sent */
	atomic_store_explicit(&sq->tail, tail + ahead + sent->quanta, memory_order_release);
	return true;
}

/* Complete the receive at this place of the ring. Return: whether it waits for its completion. */
FLAT bool received_take(struct irdma_rq *rq, uint32_t index, uint64_t *ret_wr_id)
{
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	/* acquire: as in sent_take() */
	uint32_t waiting = atomic_load_explicit(&rq->posted, memory_order_acquire) - tail;
	uint32_t ahead = (index - tail) & (rq->size - 1);

	if (unlikely(ahead >= waiting))
		return false;
	*ret_wr_id = rq->wr_ids[index & (rq->size - 1)];
	/* release: as in sent_take() */
	atomic_store_explicit(&rq->tail, tail + ahead + 1, memory_order_release);
	return true;
}

/* ---- flushing. A post holds the same lock when it decides whether its requests wait for the entry
 * that is polled here. */

/* Complete the oldest send. Return: whether there is one; *@ret_more: whether there is another. */
static bool sent_flush(struct irdma_sq *sq, struct ibv_wc *wc, uint32_t *ret_index, bool *ret_more)
{
	const struct irdma_sent *sent;
	uint32_t tail, posted;
	bool any = false;

	spinlock_lock(&sq->lock);
	atomic_store_explicit(&sq->over, true, memory_order_relaxed);
	tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	posted = atomic_load_explicit(&sq->posted, memory_order_acquire);
	while (tail != posted && !any) {
		sent = &sq->sent[tail & (sq->size - 1)];
		any = !sent->silent;
		if (any)
			wc_fill_sent(wc, sent);
		tail += min_of(max_of(sent->quanta, 1u), posted - tail);
	}
	atomic_store_explicit(&sq->tail, tail, memory_order_release);
	*ret_more = tail != posted;
	*ret_index = tail & (sq->size - 1);
	spinlock_unlock(&sq->lock);
	return any;
}

static bool received_flush(struct irdma_rq *rq, uint64_t *ret_wr_id, uint32_t *ret_index,
			   bool *ret_more)
{
	uint32_t tail, posted;
	bool any;

	spinlock_lock(&rq->lock);
	atomic_store_explicit(&rq->over, true, memory_order_relaxed);
	tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	posted = atomic_load_explicit(&rq->posted, memory_order_acquire);
	any = tail != posted;
	if (any) {
		*ret_wr_id = rq->wr_ids[tail & (rq->size - 1)];
		atomic_store_explicit(&rq->tail, ++tail, memory_order_release);
	}
	*ret_more = tail != posted;
	*ret_index = tail & (rq->size - 1);
	spinlock_unlock(&rq->lock);
	return any;
}

/* Keep an entry for the next request, which begins at quantum @index. */
static void entry_keep(const struct entry *entry, uint32_t index, bool more)
{
	uint64_t head = (entry->head & ~0xffffull) | CODE_GENERAL;

	if (more)
		head = (head & ~CQE_INDEX_MASK) | (uint64_t)index << CQE_INDEX_SHIFT;
	word_write(entry->at + AT_HEADER, head);
}

/* ---- entries of any kind */

/* Complete a failed or successful send. *@ret_stays: the next poll reads the entry again. */
static bool send_poll(struct irdma_cq *cq, struct irdma_qp *qp, const struct entry *entry,
		      const struct failure *failure, struct ibv_wc *wc, bool *ret_stays)
{
	uint32_t index;
	bool any;

	if (!failure->flushes) {
		any = sent_take(&qp->sq, entry->head >> CQE_INDEX_SHIFT & 0x7fff, wc);
	} else {
		any = sent_flush(&qp->sq, wc, &index, ret_stays);
		*ret_stays = *ret_stays && cq->generation < 3;
		if (cq->generation < 3)
			entry_keep(entry, index, *ret_stays);
	}
	if (any && qp->sq.datagrams) {
		wc->wc_flags = IBV_WC_GRH;
		wc->src_qp = 0;
	}
	if (any && failure->status)
		wc->byte_len = 0;
	return any;
}

/* Return whether an RDMA write caused the receive. The number of the operation is that of a packet,
 * except on iWARP and from the third generation on. */
static bool is_written(const struct irdma_cq *cq, const struct irdma_qp *qp, uint64_t head)
{
	unsigned int op = head >> CQE_OP_SHIFT & CQE_OP_MASK;

	if (cq->generation > 2)
		return op == OP_WRITE || op == OP_WRITE_SOLICITED;
	return !(qp->sq.caps & IRDMA_CAP_SEND_IMM) || op == OP_RECV_WRITE_LAST_IMM ||
	       op == OP_RECV_WRITE_ONLY_IMM;
}

/* Fill in the members that only some receives have. */
static void received_fill(const struct irdma_cq *cq, const struct irdma_qp *qp,
			  const struct entry *entry, struct ibv_wc *wc)
{
	uint32_t third = word_read(entry->at + AT_THIRD);

	if (entry->head & CQE_EXTENDED && entry->extension & CQE_IMM) {
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = htobe32((uint32_t)word_read(entry->extension_at));
	}
	if (is_written(cq, qp, entry->head) && (cq->generation > 2 || wc->wc_flags))
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (qp->sq.datagrams) {
		wc->wc_flags |= IBV_WC_GRH;
		wc->src_qp = third;
	} else if (entry->head & CQE_STAG) {
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = third;
	}
}

/* Complete a receive of a shared queue, whose completions have the number of the request. */
static bool shared_take(struct irdma_srq *srq, const struct entry *entry, uint64_t *ret_wr_id)
{
	*ret_wr_id = word_read(entry->at + AT_SECOND);
	/* release: pairs with the acquire of irdma_post_srq_recv() */
	atomic_fetch_add_explicit(&srq->tail, 1, memory_order_release);
	return true;
}

static bool receive_poll(struct irdma_cq *cq, struct irdma_qp *qp, const struct entry *entry,
			 const struct failure *failure, struct ibv_wc *wc, bool *ret_stays)
{
	uint32_t length = word_read(entry->at), index;
	bool any;

	if (entry->head & CQE_OF_SRQ) {
		any = qp->srq && shared_take(qp->srq, entry, &wc->wr_id);
	} else if (qp->srq) {
		any = false;
	} else if (!failure->status) {
		index = (entry->head >> CQE_INDEX_SHIFT & 0x7fff) >> qp->rq.shift;
		any = received_take(&qp->rq, index, &wc->wr_id);
	} else {
		any = received_flush(&qp->rq, &wc->wr_id, &index, ret_stays);
		*ret_stays = *ret_stays && failure->flushes && cq->generation < 3;
		if (failure->flushes && cq->generation < 3)
			entry_keep(entry, index, *ret_stays);
	}
	if (!any)
		return false;
	wc_fill(wc, qp, IBV_WC_RECV, failure->status ? 0 : length);
	if (!failure->status)
		received_fill(cq, qp, entry, wc);
	else if (qp->sq.datagrams)
		wc->wc_flags = IBV_WC_GRH;
	return true;
}

/* Poll the next entry of any kind. Return: whether it completes a request. */
SEPARATE static bool entry_poll(struct irdma_cq *cq, struct irdma_ring *ring,
				const struct entry *entry, struct ibv_wc *wc)
{
	bool shared = entry->head & CQE_OF_SRQ;
	struct irdma_qp *qp =
		qp_find(cq, word_read((shared ? entry->extension_at : entry->at) + AT_SECOND));
	struct failure failure;
	bool any, stays = false;

	if (!qp) {
		entry_consume(cq, ring, entry->head);
		return false;
	}
	failure = failure_read(qp, entry->head);
	any = entry->head & CQE_SEND ? send_poll(cq, qp, entry, &failure, wc, &stays)
				     : receive_poll(cq, qp, entry, &failure, wc, &stays);
	if (any) {
		wc->status = failure.status;
		wc->vendor_err = failure.status ? failure.vendor_err : 0;
		cq->timestamp = word_read(entry->at) >> 32;
		verbs_data_wc(&cq->kit.vcq.cq, wc);
	}
	if (!stays)
		entry_consume(cq, ring, entry->head);
	return any;
}

/* ---- polling */

/* Poll plain entries of the last queue pair; the first has the word *@head. Return the place of the
 * next completion. */
FLAT struct ibv_wc *plain_poll(struct irdma_cq *cq, struct irdma_ring *ring, struct ibv_wc *wc,
			       const struct ibv_wc *end, uint64_t head)
{
	const uint64_t handle = cq->last_handle;
	struct irdma_qp *qp = cq->last;

	if (unlikely(!handle) || unlikely(!qp->sq.plain))
		return wc;
	do {
		barrier_from_device();
		if (unlikely(head & CQE_RARE) ||
		    unlikely(word_read(ring->next + AT_SECOND) != handle))
			break;
		if (head & CQE_SEND) {
			if (unlikely(!sent_take(&qp->sq, head >> CQE_INDEX_SHIFT & 0x7fff, wc)))
				break;
		} else {
			if (unlikely(!received_take(
				    &qp->rq, (head >> CQE_INDEX_SHIFT & 0x7fff) >> qp->rq.shift,
				    &wc->wr_id)))
				break;
			wc_fill(wc, qp, IBV_WC_RECV, (uint32_t)word_read(ring->next));
		}
		ring_step(cq, ring);
	} while (++wc != end && entry_look(ring, ring->next, &head));
	return wc;
}

/* Poll a ring whose next entry has the word @head. Skip entries without completions, but at most as
 * many as the ring has. Return the place after the last completion. */
FLAT struct ibv_wc *entries_poll(struct irdma_cq *cq, struct irdma_ring *ring, struct ibv_wc *wc,
				 const struct ibv_wc *end, uint64_t head)
{
	size_t skips = (ring->end - ring->base) / IRDMA_QUANTUM;
	struct entry entry;

	for (;;) {
		wc = plain_poll(cq, ring, wc, end, head);
		if (likely(wc == end) || likely(!entry_look(ring, ring->next, &head)))
			return wc;
		if (!entry_read(cq, ring, &entry))
			return wc;
		if (entry_poll(cq, ring, &entry, wc))
			wc++;
		else if (!--skips)
			return wc;
		if (wc == end || !entry_look(ring, ring->next, &head))
			return wc;
	}
}

/* Poll the rings of earlier resizes, and then the present ring. */
SEPARATE static struct ibv_wc *rings_poll(struct irdma_cq *cq, struct ibv_wc *wc,
					  const struct ibv_wc *end)
{
	struct irdma_ring *ring = cq->old, *later;
	uint64_t head;

	for (; wc != end; ring = later) {
		const char *before;

		if (!ring)
			ring = &cq->ring;
		later = ring->later;
		before = ring->next;
		if (entry_look(ring, before, &head))
			wc = entries_poll(cq, ring, wc, end, head);
		if (ring->next != before) {
			ring_report(cq, ring);
			irdma_cq_pass_rings(cq, ring);
		}
		if (ring == &cq->ring)
			break;
	}
	return wc;
}

/* Poll a ring with entries. The caller holds the lock, and this function releases it. */
SEPARATE static int poll_found(struct irdma_cq *cq, int num_entries, struct ibv_wc *wc,
			       uint64_t head)
{
	struct ibv_wc *last = entries_poll(cq, &cq->ring, wc, wc + num_entries, head);

	ring_report(cq, &cq->ring);
	spinlock_unlock(&cq->lock);
	return last - wc;
}

bool irdma_poll_one(struct irdma_cq *cq, struct ibv_wc *wc)
{
	struct ibv_wc *last = wc;
	struct entry entry;

	if (unlikely(cq->old))
		return rings_poll(cq, wc, wc + 1) != wc;
	/* Only the slow path reads the time stamp of a completion. */
	for (size_t i = 0; last == wc && i < (size_t)(cq->ring.end - cq->ring.base); i++) {
		if (!entry_read(cq, &cq->ring, &entry))
			break;
		last += entry_poll(cq, &cq->ring, &entry, wc);
		ring_report(cq, &cq->ring);
	}
	return last != wc;
}

SEPARATE static int poll_old(struct irdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct ibv_wc *last = rings_poll(cq, wc, wc + num_entries);

	spinlock_unlock(&cq->lock);
	return last - wc;
}

FLAT int poll_locked(struct irdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint64_t head;

	if (likely(num_entries > 0)) {
		if (unlikely(cq->old))
			return poll_old(cq, num_entries, wc);
		if (entry_look(&cq->ring, cq->ring.next, &head))
			return poll_found(cq, num_entries, wc, head);
	}
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_waited(struct irdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int irdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct irdma_cq *cq = to_icq(ibcq);

	/* This waiting is a separate function, so that a poll without contention saves no
	 * registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
