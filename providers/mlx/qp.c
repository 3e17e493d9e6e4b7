/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of queue pairs of both families that do not access a ring. */
#include "providers/mlx/mlx.h"

void mlx_post_limits_set(struct verbs_qp *vqp, enum ibv_qp_state state, int *sq_max_sge,
			 struct mlx_rq *rq)
{
	switch (state) {
	case IBV_QPS_RESET:
		*sq_max_sge = rq->max_sge = -1;
		break;
	case IBV_QPS_INIT:
		rq->max_sge = rq->max_post ? (int)rq->wqe_sge : -1;
		break;
	case IBV_QPS_RTS:
		*sq_max_sge = vqp->cap.max_send_sge;
		break;
	case IBV_QPS_ERR:
		/* Requests posted in this state are flushed. The previous state does not matter. */
		*sq_max_sge = vqp->cap.max_send_sge;
		rq->max_sge = rq->max_post ? (int)rq->wqe_sge : -1;
		break;
	default:
		break;
	}
}
