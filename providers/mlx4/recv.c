/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives to a QP's own ring. The doorbell is only a record in memory. */
#include "providers/mlx4/mlx4.h"

__attribute__((noinline)) static int recv_others(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
						 struct ibv_recv_wr **bad_wr, uint32_t head)
{
	return mlx_recv_rest(ibqp, &to_mqp(ibqp)->rq, true, wr, bad_wr, head);
}

__attribute__((noinline, cold)) static int
recv_contended(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mqp(ibqp)->rq;

	spinlock_wait(&rq->lock);
	return mlx_recv_rest(ibqp, rq, true, wr, bad_wr, rq->head);
}

/* The common case makes no function call. */
int mlx4_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mqp(ibqp)->rq;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(ibqp, wr, bad_wr);
	return mlx_recv_locked(ibqp, rq, true, wr, bad_wr, recv_others);
}

int mlx4_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_qp *qp = &((struct mlx4_wq *)ibwq)->as_qp;

	spinlock_lock(&qp->rq.lock);
	return mlx_recv_rest(&qp->vqp.qp, &qp->rq, true, wr, bad_wr, qp->rq.head);
}
