/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. The first word of an entry is also the doorbell. */
#include "providers/erdma/wqe.h"

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct erdma_qp *qp,
						       const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.none = !qp->vqp.cap.max_recv_wr,
		.closed = qp->rq.max_sge < 0,
		.max_post = qp->rq.ring.mask + 1,
		.max_sge = qp->rq.max_sge,
	};

	return kit_post_recv_refuse(&qp->vqp.qp, &qp->rq.said, wr, &limits);
}

/* Write a receive that the process announces with its first word. */
static inline uint32_t recv_write(const struct erdma_rq_ring *rq, uint32_t head, uint64_t wr_id,
				  const struct ibv_sge *sge)
{
	uint32_t index = head & rq->mask;
	char *entry = rq->slots + ((size_t)index << BLOCK_SHIFT);
	uint64_t word = htole64(rq->qpn | (uint16_t)(head + 1));

	rq->wr_ids[index] = wr_id;
	if (sge)
		sge_write(entry + AT_RECV_DATA, sge);
	else
		write_32(entry + AT_RECV_LENGTH, 0);
	memcpy(entry, &word, sizeof(word));
	erdma_ring(rq->record, rq->doorbell, word);
	return head + 1;
}

static inline int recv_room(const struct erdma_rq *rq)
{
	/* acquire: pairs with the release of received_take() */
	uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_acquire);

	return (int)rq->ring.mask + 1 - (uint16_t)(rq->head - tail);
}

/* Post receives of any kind. The caller holds the lock, and this function releases it. */
__attribute__((noinline)) static int recv_rest(struct erdma_qp *qp, struct ibv_recv_wr *wr,
					       struct ibv_recv_wr **bad_wr)
{
	struct erdma_rq *rq = &qp->rq;
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1; /* 0 in states that accept no receives */
	int room = recv_room(rq);

	for (; wr; wr = wr->next, room--) {
		if ((uint32_t)wr->num_sge >= sge_limit || room <= 0 ||
		    (wr->num_sge && !wr->sg_list))
			break;
		rq->head = recv_write(&rq->ring, rq->head, wr->wr_id,
				      wr->num_sge ? wr->sg_list : NULL);
	}
	spinlock_unlock(&rq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr);
}

__attribute__((noinline)) static int recv_contended(struct erdma_qp *qp, struct ibv_recv_wr *wr,
						    struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return recv_rest(qp, wr, bad_wr);
}

static inline bool is_plain(const struct ibv_recv_wr *wr, int room)
{
	return likely(wr->num_sge == 1) && likely(room > 0) && likely(wr->sg_list);
}

/* Post the receives of a list until one has more or less than one entry. The caller holds the lock,
 * and this function releases it. */
__attribute__((noinline)) static int recv_list(struct erdma_qp *qp, struct ibv_recv_wr *wr,
					       struct ibv_recv_wr **bad_wr, int room)
{
	struct erdma_rq *rq = &qp->rq;
	const struct erdma_rq_ring ring = rq->ring; /* a copy, kept in registers */
	uint32_t head = rq->head;

	for (; wr && is_plain(wr, room); wr = wr->next, room--)
		head = recv_write(&ring, head, wr->wr_id, wr->sg_list);
	rq->head = head;
	if (unlikely(wr))
		return recv_rest(qp, wr, bad_wr);
	spinlock_unlock(&rq->lock);
	return 0;
}

/* A single receive of one entry needs no function call. */
int erdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct erdma_qp *qp = to_eqp(ibqp);
	struct erdma_rq *rq = &qp->rq;
	int room;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(qp, wr, bad_wr);
	room = likely(rq->max_sge > 0) ? recv_room(rq) : 0;
	if (unlikely(!wr) || !is_plain(wr, room))
		return recv_rest(qp, wr, bad_wr);
	if (wr->next)
		return recv_list(qp, wr, bad_wr, room);
	rq->head = recv_write(&rq->ring, rq->head, wr->wr_id, wr->sg_list);
	spinlock_unlock(&rq->lock);
	return 0;
}
