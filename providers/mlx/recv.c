/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Refused receives. */
#include "providers/mlx/mlx.h"

int mlx_recv_refuse(struct ibv_qp *qp, struct mlx_rq *rq, const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.none = !rq->max_post,
		.closed = rq->max_sge < 0,
		.max_post = rq->max_post,
		.max_sge = rq->max_sge,
	};

	return kit_post_recv_refuse(qp, &rq->said, wr, &limits);
}
