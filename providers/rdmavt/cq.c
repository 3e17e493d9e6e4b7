/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: a ring of struct ibv_wc that the kernel fills. */
#include "providers/rdmavt/rdmavt.h"

/* A slot has the kernel's work completion, whose layout equals that of the application. */
_Static_assert(sizeof(struct ibv_wc) == sizeof(struct ib_uverbs_wc), "copied as it is");
_Static_assert(offsetof(struct ibv_wc, imm_data) == offsetof(struct ib_uverbs_wc, ex), "");
_Static_assert(offsetof(struct ibv_wc, wc_flags) == offsetof(struct ib_uverbs_wc, wc_flags), "");
_Static_assert(offsetof(struct ibv_wc, slid) == offsetof(struct ib_uverbs_wc, slid), "");

/*
 * A substitute for the ring of a completion queue without a ring. It is always empty, and no code
 * writes to it.
 */
static const struct rvt_cq_wc no_ring;

static void cq_unmap(struct rvt_cq *cq)
{
	kit_page_unmap(&cq->ring);
	cq->wc = (struct rvt_cq_wc *)&no_ring;
	cq->last = 0;
}

/* Map the ring for the number of entries that the kernel has granted. */
static int cq_map(struct rvt_cq *cq, const struct rvt_ring_resp *resp)
{
	int r = rvt_ring_map(cq->vcq.cq.context, "completion queue", resp, cq->vcq.cq.cqe,
			     sizeof(struct ib_uverbs_wc), &cq->ring);

	if (r < 0)
		return r;
	cq->wc = cq->ring.base;
	cq->last = cq->vcq.cq.cqe;
	return 0;
}

int rvt_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct rvt_cq *cq = to_rcq(&vcq->cq);
	struct rvt_ring_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_cq request = *in;
	int r;

	if (in->extended) {
		verbs_err(vcq->cq.context, "ibv_create_cq_ex: %s has ibv_create_cq() only",
			  to_vdev(vcq->cq.context->device)->provider->name);
		return -EOPNOTSUPP;
	}
	request.udata = &udata;
	r = uverbs_create_cq(vcq, &request);
	if (r < 0)
		return r;
	r = cq_map(cq, &resp);
	if (r < 0)
		uverbs_destroy_cq(vcq);
	return r;
}

/*
 * The kernel moves pending completions to a new ring. Pollers wait until it has done so. If the new
 * ring cannot be mapped, the queue is empty until another call succeeds. Polls do not read the old
 * ring, because its completions are also in the new one and would be returned twice.
 */
int rvt_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct rvt_cq *cq = to_rcq(&vcq->cq);
	struct rvt_ring_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_resize_cq request = { .cqe = in->cqe, .udata = &udata };
	int r;

	spinlock_lock(&cq->lock);
	r = uverbs_resize_cq(vcq, &request);
	if (!r) {
		cq_unmap(cq);
		r = cq_map(cq, &resp);
	}
	spinlock_unlock(&cq->lock);
	return r;
}

int rvt_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_unmap(to_rcq(&vcq->cq));
	return r;
}

/* Copy the completion in slot @tail. Return: the next slot. */
static inline uint32_t cq_take(struct rvt_cq *cq, uint32_t tail, struct ibv_wc *wc)
{
	*wc = *(const struct ibv_wc *)&cq->wc->uqueue[tail];
	verbs_data_wc(&cq->vcq.cq, wc);
	return tail == cq->last ? 0 : tail + 1;
}

/* Call with the lock held. This function releases it. Each index is loaded once for all entries. */
static inline int cq_poll_locked(struct rvt_cq *cq, int num_entries, struct ibv_wc *wc)
{
	/* relaxed: this side's index, which is only written under the same lock */
	uint32_t tail = rvt_index_load(&cq->wc->tail.val, memory_order_relaxed);
	/* acquire: pairs with the kernel's release when it has written an entry */
	uint32_t head = rvt_index_load(&cq->wc->head.val, memory_order_acquire);
	int n = 0;

	if (head != tail) {
		/* limit the index in the same way as the kernel */
		head = min_of(head, cq->last);
		tail = min_of(tail, cq->last);
		for (; n < num_entries && tail != head; n++)
			tail = cq_take(cq, tail, wc++);
		if (likely(n))
			/* release: pairs with the kernel's acquire before it writes to a slot */
			rvt_index_store(&cq->wc->tail.val, tail, memory_order_release);
	}
	spinlock_unlock(&cq->lock);
	return n;
}

/*
 * Poll when another thread holds the lock. This is not part of the fast path, which therefore needs
 * no stack.
 */
__attribute__((noinline, cold)) static int cq_poll_contended(struct rvt_cq *cq, int num_entries,
							     struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return cq_poll_locked(cq, num_entries, wc);
}

int rvt_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct rvt_cq *cq = to_rcq(ibcq);

	if (!spinlock_try(&cq->lock))
		return cq_poll_contended(cq, num_entries, wc);
	return cq_poll_locked(cq, num_entries, wc);
}
