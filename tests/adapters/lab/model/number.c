/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Give objects of the backend numbers that the device can name. The linker's --wrap calls these
 * functions.
 */
#include "tests/adapters/lab/model/number.h"

#include "providers/uroce/host/host.h"

int __real_uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq);
int __wrap_uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq);
int __wrap_uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq)
{
	int r;

	if (model_has_short_numbers())
		host->next_srqn %= MODEL_SHORT_SRQS;
	r = __real_uroce_srqn_alloc(host, srq);
	if (!r && model_has_short_numbers())
		srq->vsrq.srq_num = MODEL_SHORT_SRQ | uroce_srqn_index(srq->vsrq.srq_num);
	return r;
}

/* A device that takes multiples only: the numbers of most strands are not multiples of four. */
int __real_uroce_qpn_alloc(struct uroce_qp *qp);
int __wrap_uroce_qpn_alloc(struct uroce_qp *qp);
int __wrap_uroce_qpn_alloc(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	uint32_t step = model_number_step();

	if (step) {
		host->next_qpn = (host->next_qpn + step - 1) / step * step;
		qp->recv_cq->strand_given = true;
	}
	return __real_uroce_qpn_alloc(qp);
}

/*
 * The numbers of a process that has ended do not rest. Otherwise the next process could take
 * numbers with bit 23, which mlx4 removes from those of XRC queue pairs.
 */
bool __wrap_uroce_shm_part_rests(uint16_t slot, unsigned int part);
bool __wrap_uroce_shm_part_rests(uint16_t slot, unsigned int part)
{
	(void)slot;
	(void)part;
	return false;
}
