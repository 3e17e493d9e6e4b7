/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. Each of them has its own doorbell, as the adapter expects. */
#include <limits.h>

#include "providers/qedr/wqe.h"

enum {
	FLAGS_RECEIVE = 2, /* the value of the second register with iWARP */
};

/* Write an entry of a receive. @key: with the number of entries. Return the next element. */
FLAT char *entry_put(const struct qedr_rq *rq, char *at, uint64_t addr, uint32_t length,
		     uint32_t key)
{
	uint64_t *to = (uint64_t *)(void *)at;

	to[0] = htole64(addr);
	to[1] = htole64(length | (uint64_t)key << 32);
	at += ELEMENT;
	return likely(at != rq->end) ? at : rq->ring;
}

/* Write a receive of other than one entry. Without a list it has an entry of zeros. */
SEPARATE static char *list_put(const struct qedr_rq *rq, char *at, const struct ibv_recv_wr *wr)
{
	uint32_t count = wr->num_sge, flags = (count ? count : 1) << RECV_COUNT_SHIFT;

	if (!count)
		return entry_put(rq, at, 0, 0, flags);
	for (uint32_t i = 0; i < count; i++, flags = 0)
		at = entry_put(rq, at, wr->sg_list[i].addr, wr->sg_list[i].length,
			       (wr->sg_list[i].lkey & RECV_KEY_MASK) | flags);
	return at;
}

/* The second register that iWARP has. */
SEPARATE static void flags_write(const struct qedr_rq *rq)
{
	mmio_write_32(rq->flags, htole32(rq->icid | FLAGS_RECEIVE << 16));
	barrier_wc_flush();
}

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct qedr_qp *qp,
						       const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.none = !qp->recv_cq || qp->srq,
		.closed = !qp->rq.max_post,
		.max_post = qp->rq.max_post,
		.max_sge = qp->rq.max_sge,
	};

	return kit_post_recv_refuse(&qp->vqp.qp, &qp->rq.said, wr, &limits);
}

/* Return how many receives can be posted. */
FLAT int room_of(const struct qedr_rq *rq, uint16_t head)
{
	/* acquire: pairs with the release of a poll, which has read the wr_id */
	return (int)rq->max_post -
	       (uint16_t)(head - atomic_load_explicit(&rq->tail, memory_order_acquire));
}

/* Return the number of entries of a plain receive, or a number that no receive has. */
FLAT int plain_sge(const struct qedr_rq *rq)
{
	return likely(rq->max_sge) ? 1 : INT_MAX;
}

/* Post a receive of one entry. Return the next element. */
FLAT char *plain_post(struct qedr_rq *rq, char *at, uint16_t head, const struct ibv_recv_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list;

	rq->wr_ids[head & rq->mask] = wr->wr_id;
	return entry_put(rq, at, sge->addr, sge->length,
			 (sge->lkey & RECV_KEY_MASK) | 1u << RECV_COUNT_SHIFT);
}

/* Announce receive number @head. */
FLAT void announce(struct qedr_rq *rq, uint16_t head)
{
	/* release: pairs with the acquire of a poll, which reads the wr_id */
	atomic_store_explicit(&rq->head, head, memory_order_release);
	doorbell_ring(&rq->doorbell, rq->icid, head);
	if (unlikely(rq->flags))
		flags_write(rq);
}

/* Post receives of any kind. The caller holds the lock, and this function releases it. */
SEPARATE static int recv_rest(struct qedr_qp *qp, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr)
{
	struct qedr_rq *rq = &qp->rq;
	uint16_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);
	int room = room_of(rq, head), plain = plain_sge(rq);
	char *at = rq->at;

	for (; wr && likely(room > 0); wr = wr->next, room--) {
		if (likely(wr->num_sge == plain) && likely(wr->sg_list)) {
			at = plain_post(rq, at, head, wr);
		} else {
			if ((uint32_t)wr->num_sge > (uint32_t)rq->max_sge ||
			    (wr->num_sge && !wr->sg_list))
				break;
			rq->wr_ids[head & rq->mask] = wr->wr_id;
			at = list_put(rq, at, wr);
		}
		announce(rq, ++head);
	}
	rq->at = at;
	spinlock_unlock(&rq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr);
}

SEPARATE static int recv_contended(struct qedr_qp *qp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return recv_rest(qp, wr, bad_wr);
}

/* A single receive of one entry needs no function call. */
int qedr_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct qedr_qp *qp = to_qqp(ibqp);
	struct qedr_rq *rq = &qp->rq;
	uint16_t head;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&rq->head, memory_order_relaxed);
	if (unlikely(!wr) || wr->next || unlikely(wr->num_sge != plain_sge(rq)) ||
	    unlikely(!wr->sg_list) || unlikely(room_of(rq, head) <= 0))
		return recv_rest(qp, wr, bad_wr);
	rq->at = plain_post(rq, rq->at, head, wr);
	announce(rq, head + 1);
	spinlock_unlock(&rq->lock);
	return 0;
}
