/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives to the ring of a queue pair. Adapters with records need no doorbell, because
 * they read the record. */
#include "providers/mthca/wqe.h"

SEPARATE static int recv_others(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr, uint32_t head)
{
	return mlx_recv_rest(ibqp, &to_mthca_qp(ibqp)->rq, false, wr, bad_wr, head);
}

SEPARATE static int recv_contended(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mthca_qp(ibqp)->rq;

	spinlock_wait(&rq->lock);
	return recv_others(ibqp, wr, bad_wr, rq->head);
}

int mthca_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mthca_qp(ibqp)->rq;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(ibqp, wr, bad_wr);
	return mlx_recv_locked(ibqp, rq, false, wr, bad_wr, recv_others);
}

/* ---- without records */

/* Receives that no doorbell has announced yet. */
struct batch {
	uint32_t count;
	uint32_t word; /* place and size of the first receive */
};

/* Announce the receives, and begin a new batch. */
FLAT struct batch batch_ring(struct mthca_qp *qp, struct batch batch)
{
	qp->rq.head += batch.count;
	barrier_to_device();
	mthca_ring(qp->rq_doorbell, batch.word, qp->sq.number | (batch.count & (RECV_BATCH - 1)));
	return (struct batch){};
}

/* Announce the last receives and release the lock. */
FLAT void recv_end(struct mthca_qp *qp, struct batch batch)
{
	if (likely(batch.count))
		batch_ring(qp, batch);
	spinlock_unlock(&qp->rq.lock);
}

FLAT char *next_receive(const struct mthca_qp *qp)
{
	return qp->rq.ring + ((size_t)qp->rq_slot << qp->rq.shift);
}

/* Write the second and the third word, which are the same in each receive. */
FLAT void words_write(char *wqe)
{
	const uint64_t both = mlx_both(htobe32(EE_DOORBELL), htobe32(FLAG_SIGNALED));

	memcpy(wqe + offsetof(struct mthca_next_seg, ee_nds), &both, sizeof(both));
}

/* Link a receive of @size segments to the one before it. Without records the adapter finds the end
 * of the list by this size. */
FLAT void receive_add(struct mthca_qp *qp, char *wqe, uint64_t wr_id, uint32_t size)
{
	struct mthca_next_seg *last = (void *)qp->rq_last;
	uint32_t slot = qp->rq_slot;

	qp->rq.wr_ids[slot] = wr_id;
	barrier_to_device();
	*(volatile __be32 *)&last->ee_nds = htobe32(EE_DOORBELL | size);
	qp->rq_last = wqe;
	slot++;
	qp->rq_slot = likely(slot != qp->rq.max_post) ? slot : 0;
}

/* Post receives of any kind behind those of @batch. The caller holds the lock, and this function
 * releases it. */
SEPARATE static int tavor_rest(struct mthca_qp *qp, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr, struct batch batch)
{
	struct mlx_rq *rq = &qp->rq;
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1; /* 0 in states that accept no receives */
	uint32_t room = mlx_room(rq->head + batch.count, &rq->tail, rq->max_post);

	for (; wr; wr = wr->next, room--) {
		char *wqe = next_receive(qp);
		struct mlx_data_seg *list = (void *)(wqe + NEXT_BYTES);
		uint32_t size;

		if (unlikely((uint32_t)wr->num_sge >= sge_limit) || unlikely(!room) ||
		    (unlikely(!wr->sg_list) && wr->num_sge)) {
			*bad_wr = wr;
			break;
		}
		words_write(wqe);
		size = 1 + (mthca_scatter_write(list, 0, wr) - list);
		if (!batch.count++)
			batch.word = qp->rq_slot << rq->shift | size;
		receive_add(qp, wqe, wr->wr_id, size);
		if (unlikely(batch.count == RECV_BATCH))
			batch = batch_ring(qp, batch);
	}
	recv_end(qp, batch);
	return likely(!wr) ? 0 : mlx_recv_refuse(&qp->vqp.qp, rq, wr);
}

SEPARATE static int tavor_contended(struct mthca_qp *qp, struct ibv_recv_wr *wr,
				    struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return tavor_rest(qp, wr, bad_wr, (struct batch){});
}

FLAT bool is_plain(const struct ibv_recv_wr *wr)
{
	return likely(wr->num_sge == 1) && likely(wr->sg_list) && likely(wr->sg_list->length);
}

enum {
	PLAIN_SIZE = 2,
};

FLAT void plain_add(struct mthca_qp *qp, const struct ibv_recv_wr *wr)
{
	char *wqe = next_receive(qp);

	words_write(wqe);
	mlx_segment_write_sge(wqe + NEXT_BYTES, wr->sg_list);
	receive_add(qp, wqe, wr->wr_id, PLAIN_SIZE);
}

/* Post receives of one entry, and the rest by tavor_rest(). @room: at most as many as one doorbell
 * announces */
SEPARATE static int tavor_list(struct mthca_qp *qp, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr, uint32_t room)
{
	struct batch batch = { 0, qp->rq_slot << qp->rq.shift | PLAIN_SIZE };

	for (; wr && is_plain(wr) && batch.count != room; wr = wr->next, batch.count++)
		plain_add(qp, wr);
	if (unlikely(wr))
		return tavor_rest(qp, wr, bad_wr, batch);
	recv_end(qp, batch);
	return 0;
}

/* A single receive of one entry makes no function call. */
int mthca_tavor_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mthca_qp *qp = to_mthca_qp(ibqp);
	struct mlx_rq *rq = &qp->rq;
	struct batch batch = {};
	uint32_t room;

	if (unlikely(!spinlock_try(&rq->lock)))
		return tavor_contended(qp, wr, bad_wr);
	room = likely(rq->max_sge > 0) ? mlx_room(rq->head, &rq->tail, rq->max_post) : 0;
	if (unlikely(!wr) || unlikely(!room) || !is_plain(wr))
		return tavor_rest(qp, wr, bad_wr, batch);
	if (wr->next)
		return tavor_list(qp, wr, bad_wr, min_of(room, (uint32_t)RECV_BATCH - 1));
	batch = (struct batch){ 1, qp->rq_slot << rq->shift | PLAIN_SIZE };
	plain_add(qp, wr);
	recv_end(qp, batch);
	return 0;
}
