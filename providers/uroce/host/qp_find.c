/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QPs by number. */
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/qpn.h"

enum {
	QP_INDEX_MASK = (1 << UROCE_QP_INDEX_BITS) - 1,
	BLOCK = 1 << UROCE_QPN_BLOCK_BITS,
};

struct uroce_qp *uroce_qp_next(struct uroce_host *host, uint32_t *index)
{
	for (; *index <= QP_INDEX_MASK; ++*index) {
		struct uroce_qp *qp;

		while (*index <= QP_INDEX_MASK && !uroce_qpn_block(host, *index))
			*index = ROUND_UP(*index + 1, BLOCK);
		if (*index > QP_INDEX_MASK)
			break;
		qp = atomic_load_explicit(&host->qps[*index], memory_order_acquire);
		if (qp)
			return qp;
	}
	return NULL;
}

/*
 * Find a QP with any strand locked. Destroying a QP empties its slot and then takes the locks of
 * all strands, so the QP found here stays valid.
 */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn)
{
	struct uroce_qp *qp;

	path_assert_inside(&host->paths);
	qp = atomic_load_explicit(&host->qps[uroce_qpn_index(qpn)], memory_order_acquire);
	return qp && qp->vqp.qp.qp_num == qpn ? qp : NULL;
}
