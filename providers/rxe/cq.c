/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: a ring of struct ibv_wc that the kernel fills. */
#include "providers/rxe/rxe.h"

/* A slot has the kernel's work completion, which begins like the application's. */
_Static_assert(sizeof(struct ibv_wc) == sizeof(struct ib_uverbs_wc), "copied as it is");
_Static_assert(offsetof(struct ibv_wc, imm_data) == offsetof(struct ib_uverbs_wc, ex), "");
_Static_assert(offsetof(struct ibv_wc, qp_num) == offsetof(struct ib_uverbs_wc, qp_num), "");
_Static_assert(offsetof(struct ibv_wc, wc_flags) == offsetof(struct ib_uverbs_wc, wc_flags), "");
_Static_assert(offsetof(struct ibv_wc, slid) == offsetof(struct ib_uverbs_wc, slid), "");
_Static_assert(offsetof(struct ibv_wc, dlid_path_bits) ==
		       offsetof(struct ib_uverbs_wc, dlid_path_bits),
	       "");

int rxe_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct rxe_cq *cq = to_rcq(&vcq->cq);
	struct rxe_create_cq_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_cq request = *in;
	int r = kit_cq_ex_check(vcq->cq.context, in, rxe_cq_ex_wc_flags);

	if (r < 0)
		return r;
	request.udata = &udata;
	r = uverbs_create_cq(vcq, &request);
	if (r < 0)
		return r;
	r = rxe_queue_map(vcq->cq.context, "completion queue", &resp.mi,
			  sizeof(struct ib_uverbs_wc), &cq->queue);
	if (r < 0) {
		uverbs_destroy_cq(vcq);
		return r;
	}
	if (in->extended)
		rxe_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

/*
 * Resize the ring. The kernel moves pending completions to the new ring, and pollers wait. If the
 * new ring cannot be mapped, the old mapping stays, so that pollers find an empty queue.
 */
int rxe_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct rxe_cq *cq = to_rcq(&vcq->cq);
	struct rxe_resize_cq_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_resize_cq request = { .cqe = in->cqe, .udata = &udata };
	struct rxe_queue queue;
	int r;

	spinlock_lock(&cq->lock);
	r = uverbs_resize_cq(vcq, &request);
	if (!r)
		r = rxe_queue_map(vcq->cq.context, "completion queue", &resp.mi,
				  sizeof(struct ib_uverbs_wc), &queue);
	if (!r) {
		rxe_queue_unmap(&cq->queue);
		cq->queue = queue;
	}
	spinlock_unlock(&cq->lock);
	return r;
}

int rxe_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		rxe_queue_unmap(&to_rcq(&vcq->cq)->queue);
	return r;
}

/* Copy the completion in slot @consumer. Return: the next slot. */
static inline uint32_t cq_take(struct rxe_cq *cq, const struct rxe_queue *queue, uint32_t consumer,
			       struct ibv_wc *wc)
{
	*wc = *(const struct ibv_wc *)rxe_queue_slot(queue, consumer);
	if (unlikely(wc->wc_flags & RXE_WC_WITH_INVALIDATE))
		wc->wc_flags = rxe_wc_flags(wc->wc_flags);
	verbs_data_wc(&cq->vcq.cq, wc);
	return rxe_queue_next(queue, consumer);
}

/*
 * Poll with the lock held, and release the lock. Indices are read and written once for all
 * completions. Values are read as late as possible: an empty queue needs the fewest, then a single
 * completion.
 */
static inline int cq_poll_locked(struct rxe_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct rxe_queue queue = { .buf = cq->queue.buf, .mask = cq->queue.mask };
	uint32_t consumer = rxe_queue_consumer(&queue);
	int n = rxe_queue_filled(&queue, consumer);

	if (n && likely(num_entries > 0)) {
		queue.shift = cq->queue.shift;
		n = min_of(n, num_entries);
		consumer = cq_take(cq, &queue, consumer, wc);
		for (int i = 1; unlikely(i < n); i++)
			consumer = cq_take(cq, &queue, consumer, ++wc);
		rxe_queue_release(&queue, consumer);
		spinlock_unlock(&cq->lock);
		return n;
	}
	spinlock_unlock(&cq->lock);
	return 0;
}

/*
 * Poll when another thread holds the lock. This is not part of the fast path, which therefore calls
 * no function and needs no stack.
 */
__attribute__((noinline, cold)) static int cq_poll_contended(struct rxe_cq *cq, int num_entries,
							     struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return cq_poll_locked(cq, num_entries, wc);
}

int rxe_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct rxe_cq *cq = to_rcq(ibcq);

	if (!spinlock_try(&cq->lock))
		return cq_poll_contended(cq, num_entries, wc);
	return cq_poll_locked(cq, num_entries, wc);
}
