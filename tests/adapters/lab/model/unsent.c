/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/unsent.h"

#include "providers/uroce/engine/qp.h"

bool model_unsent(struct ibv_qp *qp)
{
	const struct uroce_sq *sq = &to_uqp(qp)->sq;

	return __atomic_load_n(&sq->head, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&sq->tail, __ATOMIC_RELAXED);
}
