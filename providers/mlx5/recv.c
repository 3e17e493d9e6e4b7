/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives to a QP's own ring. The doorbell is only a record in memory. */
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/wr.h"

__attribute__((noinline)) static int recv_others(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
						 struct ibv_recv_wr **bad_wr, uint32_t head)
{
	return mlx_recv_rest(ibqp, &to_mqp(ibqp)->rq, false, wr, bad_wr, head);
}

__attribute__((noinline, cold)) static int
recv_contended(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mqp(ibqp)->rq;

	spinlock_wait(&rq->lock);
	return mlx_recv_rest(ibqp, rq, false, wr, bad_wr, rq->head);
}

/* The common case makes no function call. */
int mlx5_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_rq *rq = &to_mqp(ibqp)->rq;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(ibqp, wr, bad_wr);
	return mlx_recv_locked(ibqp, rq, false, wr, bad_wr, recv_others);
}
