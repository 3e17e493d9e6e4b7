/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Extended polling: the part that does not read entries. */
#include "providers/mlx/mlx.h"

void mlx_ex_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct mlx_cq *cq = ex_to_mcq(cq_ex);

	mlx_ex_publish(cq);
	spinlock_unlock(&cq->lock);
}

uint32_t mlx_ex_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	const struct verbs_qp *vqp = ex_to_mcq(cq_ex)->cqe_qp;

	return vqp->qp.qp_num;
}
