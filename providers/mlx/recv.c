/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Refused receives. */
#include "providers/mlx/mlx.h"

int mlx_recv_refuse(struct ibv_qp *qp, struct mlx_rq *rq, const struct ibv_recv_wr *wr)
{
	enum kit_fault fault = KIT_FAULT_FULL;
	uint64_t value = 0;
	uint32_t limit = rq->max_post;

	if (!rq->max_post) {
		fault = KIT_FAULT_NO_QUEUE;
	} else if (rq->max_sge < 0) {
		fault = KIT_FAULT_STATE;
	} else if (wr->num_sge > rq->max_sge || wr->num_sge < 0) {
		fault = KIT_FAULT_NUM_SGE;
		value = (uint32_t)wr->num_sge;
		limit = rq->max_sge;
	} else if (wr->num_sge && !wr->sg_list) {
		fault = KIT_FAULT_SG_LIST;
	}
	return kit_recv_refuse(qp, &rq->said, fault, value, limit);
}
