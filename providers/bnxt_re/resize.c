/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Resizing a completion queue. The device ends the old ring with an entry, and waits until the
 * process acknowledges that. Entries that are not polled yet are kept in another piece of memory,
 * and are polled before the new ring.
 */
#include <time.h>

#include "providers/bnxt_re/wqe.h"

enum {
	PAUSE_NS = 1000 * 1000,
	PAUSES = 2000,
};

/* An entry that is not polled yet. */
struct cursor {
	struct bnxt_re_cqe *cqe;
	uint32_t phase, epoch; /* of the next entry */
	bool kept;	       /* the entry is in the memory of kept entries */
};

static struct cursor cursor_start(const struct bnxt_re_cq *cq)
{
	return (struct cursor){ cq->next, cq->phase, cq->epoch, cq->kept };
}

static uint32_t cursor_look(const struct cursor *at)
{
	return le32toh(((volatile struct bnxt_re_cqe *)at->cqe)->info);
}

static bool is_cut_off(uint32_t info)
{
	return (info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK) == CQE_CUT_OFF;
}

/* Go to the next entry that the device has written. Return whether there is one. The entry that
 * ends the kept ones leads to the ring. */
static bool cursor_find(const struct bnxt_re_cq *cq, struct cursor *at, uint32_t *ret_info)
{
	*ret_info = cursor_look(at);
	if (at->kept && is_cut_off(*ret_info)) {
		at->kept = false;
		at->cqe = cq->ring;
		*ret_info = cursor_look(at);
	}
	if ((*ret_info & CQE_PHASE) != at->phase)
		return false;
	barrier_from_device();
	return true;
}

static void cursor_pass(const struct bnxt_re_cq *cq, struct cursor *at)
{
	if (++at->cqe != cq->end)
		return;
	at->cqe = cq->ring;
	at->phase ^= CQE_PHASE;
	at->epoch ^= BNXT_RE_DB_EPOCH;
}

/* Count the entries that are not polled yet, up to @most. */
static uint32_t entries_waiting(const struct bnxt_re_cq *cq, uint32_t most)
{
	struct cursor at = cursor_start(cq);
	uint32_t info, count = 0;

	for (; count < most && cursor_find(cq, &at, &info); count++)
		cursor_pass(cq, &at);
	return count;
}

/* Copy the unpolled entries to @to, which has room for @most. @at is then the end of the ring.
 * Return the number of entries; -EAGAIN: the device has not ended the ring yet; -EIO: there is no
 * end. */
static int entries_keep(const struct bnxt_re_cq *cq, struct bnxt_re_cqe *to, uint32_t most,
			struct cursor *at, uint32_t *ret_info)
{
	for (uint32_t count = 0; count < most; count++) {
		if (!cursor_find(cq, at, ret_info))
			return -EAGAIN;
		if (!at->kept && is_cut_off(*ret_info)) {
			/* The first entries of the new ring have this phase as well. */
			to[count] = (struct bnxt_re_cqe){
				.info = htole32(CQE_CUT_OFF << CQE_TYPE_SHIFT | CQE_PHASE),
			};
			return count;
		}
		to[count] = *at->cqe;
		to[count].info |= htole32(CQE_PHASE);
		cursor_pass(cq, at);
	}
	return -EIO;
}

/* Poll the new ring from now on. @at: the entry that ends the old ring, whose word is @info */
static void ring_switch(struct bnxt_re_cq *cq, const struct cursor *at, uint32_t info)
{
	uint32_t epoch = at->epoch;

	/* The device orders doorbells by their epoch and index, and the index begins again. */
	if (at->cqe != cq->ring)
		epoch ^= BNXT_RE_DB_EPOCH;
	/* The kernel driver ends its part when it polls. Without that part it keeps the old ring.
	 */
	uverbs_poll_cq(&cq->kit.vcq);
	kit_buf_free(&cq->buf);
	cq->buf = cq->after.buf;
	cq->ring = cq->next = cq->buf.base;
	cq->end = cq->ring + cq->after.depth;
	cq->report = cq->until_report = cq->after.report;
	cq->after = (struct bnxt_re_ring){};
	cq->phase = CQE_PHASE;
	cq->epoch = epoch;
	cq->acknowledge = CQE_PHASE | (info & CQE_TOGGLE_MASK);
	cq->doorbell = NULL;
	bnxt_re_cq_open(cq);
}

void bnxt_re_cut_off(struct bnxt_re_cq *cq, uint32_t info)
{
	struct cursor at = cursor_start(cq);

	if (cq->kept) {
		free(cq->kept);
		cq->kept = NULL;
		cq->next = cq->ring;
		cq->until_report = cq->report;
		bnxt_re_cq_open(cq);
	} else if (cq->after.buf.base) {
		ring_switch(cq, &at, info);
	} else {
		cq->next = bnxt_re_cqe_behind(cq, cq->next);
		cq->until_report--;
	}
}

/* Finish a resize that the kernel has begun, if the device has ended the ring, or if another thread
 * has polled up to its end. @kept: memory for @most entries, which is used or freed unless this
 * returns -EAGAIN */
static int resize_end(struct bnxt_re_cq *cq, struct bnxt_re_cqe *kept, uint32_t most)
{
	struct cursor at = cursor_start(cq);
	uint32_t info = 0;
	int count = cq->after.buf.base ? entries_keep(cq, kept, most, &at, &info) : 0;

	if (count == -EAGAIN)
		return count;
	if (count <= 0)
		free(kept);
	if (count < 0 || !cq->after.buf.base)
		return count;
	free(cq->kept);
	cq->kept = count ? kept : NULL;
	ring_switch(cq, &at, info);
	if (count)
		cq->next = cq->kept;
	return 0;
}

/* Wait until the device has ended the ring. The caller holds the lock. It is released during each
 * pause, because other threads poll meanwhile. */
static int resize_wait(struct bnxt_re_cq *cq, struct bnxt_re_cqe *kept, uint32_t most)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int r = resize_end(cq, kept, most);

	for (uint32_t pauses = 0; r == -EAGAIN && pauses < PAUSES; pauses++) {
		spinlock_unlock(&cq->lock);
		nanosleep(&pause, NULL);
		spinlock_lock(&cq->lock);
		r = resize_end(cq, kept, most);
	}
	if (r == -EAGAIN)
		free(kept);
	if (r >= 0)
		return 0;
	verbs_err(cq->kit.vcq.cq.context,
		  "cq 0x%x: ibv_resize_cq: the adapter does not end the old ring", cq->number);
	return -EIO;
}

static int resize_begin(struct bnxt_re_cq *cq, uint32_t entries)
{
	struct bnxt_re_resize_cq_req cmd = { .cq_va = (uintptr_t)cq->after.buf.base };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	const struct verbs_resize_cq request = { .cqe = entries, .udata = &udata };
	int r = uverbs_resize_cq(&cq->kit.vcq, &request);

	if (r < 0)
		kit_buf_free(&cq->after.buf);
	return r;
}

static int resize_locked(struct bnxt_re_cq *cq, uint32_t cqe)
{
	uint32_t ring = cq->end - cq->ring, entries, waiting, most;
	struct bnxt_re_cqe *kept;
	int r;

	if (cq->after.buf.base)
		return -EBUSY;
	/* Kept entries may precede the ring of the device. */
	waiting = entries_waiting(cq, UINT32_MAX / 2);
	if (waiting > cqe) {
		verbs_err(cq->kit.vcq.cq.context,
			  "cq 0x%x: ibv_resize_cq: %u entries, %u completions are waiting",
			  cq->number, cqe, waiting);
		return -EINVAL;
	}
	entries = bnxt_re_ring_size(to_bctx(cq->kit.vcq.cq.context), cqe, &cq->after);
	if (cq->after.depth == ring)
		return 0;
	most = waiting + ring + 1;
	kept = calloc(most, sizeof(*kept));
	r = kept ? kit_buf_alloc(&cq->after.buf, (size_t)cq->after.depth * CQE_SIZE) : -ENOMEM;
	if (!r)
		r = resize_begin(cq, entries);
	if (r < 0) {
		free(kept);
		return r;
	}
	return resize_wait(cq, kept, most);
}

int bnxt_re_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct bnxt_re_cq *cq = to_bcq(&vcq->cq);
	int r = bnxt_re_cq_check(vcq->cq.context, "ibv_resize_cq", in->cqe);

	if (r < 0)
		return r;
	spinlock_lock(&cq->lock);
	r = resize_locked(cq, in->cqe);
	spinlock_unlock(&cq->lock);
	return r;
}
