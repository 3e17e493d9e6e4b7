/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting receives: each buffer has an entry. The first and the last entry of a receive are marked.
 */
#include "providers/efa/wqe.h"

enum {
	RECV_LENGTH_SHIFT = 16,
	RECV_KEY_SHIFT = 32,
	RECV_LENGTH_MAX = 0xffff, /* limit of the bytes that the device uses of a buffer */
};
#define RECV_FIRST (1ull << 62)
#define RECV_LAST  (1ull << 63)

/*
 * Write an entry of two words. @id_marks: the id, and the marks for the first and the last buffer
 */
FLAT void buffer_write(struct efa_rq *rq, const struct ibv_sge *sge, uint64_t id_marks)
{
	uint64_t *entry = &rq->ring[2 * (rq->counter++ & rq->mask)];
	uint64_t length = min_of(sge->length, (uint32_t)RECV_LENGTH_MAX);

	entry[0] = htole64(sge->addr);
	entry[1] = htole64(id_marks | length << RECV_LENGTH_SHIFT |
			   (uint64_t)(sge->lkey & SGE_KEY_MASK) << RECV_KEY_SHIFT);
}

FLAT uint64_t receive_id(struct efa_rq *rq, const struct ibv_recv_wr *wr)
{
	return wq_take_id(&rq->wq, wr->wr_id) | rq->wq.generation;
}

FLAT void receive_write(struct efa_rq *rq, const struct ibv_recv_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list, *last = sge + wr->num_sge - 1;
	uint64_t id_marks = receive_id(rq, wr) | RECV_FIRST;

	for (; sge < last; sge++) {
		buffer_write(rq, sge, id_marks);
		id_marks = 0;
	}
	buffer_write(rq, sge, id_marks | RECV_LAST);
}

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct efa_qp *qp,
						       const struct ibv_recv_wr *wr)
{
	struct efa_wq *wq = &qp->rq.wq;
	/* A queue for no receives is full for any receive. */
	const struct kit_rq_limits limits = {
		.closed = wq->max_post && !wq->max_sge,
		.max_post = wq->max_post,
		.min_sge = wq->max_post ? 1 : 0,
		.max_sge = wq->max_post ? (uint32_t)wq->max_sge : INT32_MAX,
	};

	return kit_post_recv_refuse(&qp->vqp.qp, &wq->said, wr, &limits);
}

/* Ring the doorbell and release the lock. */
FLAT void recv_end(struct efa_rq *rq)
{
	barrier_to_device();
	if (likely(rq->wq.doorbell))
		mmio_write_32(rq->wq.doorbell, htole32(rq->counter & 0xffff));
	spinlock_unlock(&rq->wq.lock);
}

/* Post receives of any kind. The caller holds the lock, and this function releases it. */
__attribute__((noinline)) static int recv_rest(struct efa_qp *qp, struct ibv_recv_wr *wr,
					       struct ibv_recv_wr **bad_wr)
{
	struct efa_rq *rq = &qp->rq;

	for (; wr; wr = wr->next) {
		/* A receive without a buffer would never complete. */
		if (unlikely((uint32_t)wr->num_sge - 1 >= (uint32_t)rq->wq.max_sge ||
			     rq->wq.used == rq->wq.max_post || !wr->sg_list)) {
			*bad_wr = wr;
			break;
		}
		receive_write(rq, wr);
	}
	recv_end(rq);
	return likely(!wr) ? 0 : recv_refuse(qp, wr);
}

__attribute__((noinline, cold)) static int recv_contended(struct efa_qp *qp, struct ibv_recv_wr *wr,
							  struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.wq.lock);
	return recv_rest(qp, wr, bad_wr);
}

/* Post receives of one buffer without a function call. recv_rest() posts the other receives. */
int efa_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct efa_qp *qp = to_eqp(ibqp);
	struct efa_rq *rq = &qp->rq;

	if (unlikely(!spinlock_try(&rq->wq.lock)))
		return recv_contended(qp, wr, bad_wr);
	for (; wr; wr = wr->next) {
		if (unlikely(wr->num_sge != 1 || !rq->wq.max_sge) ||
		    unlikely(rq->wq.used == rq->wq.max_post || !wr->sg_list))
			return recv_rest(qp, wr, bad_wr);
		buffer_write(rq, wr->sg_list, receive_id(rq, wr) | RECV_FIRST | RECV_LAST);
	}
	recv_end(rq);
	return 0;
}
