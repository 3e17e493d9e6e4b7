/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* infiniband/uroce.h: functions that only one provider has. */
#include <infiniband/uroce.h>

#include "libibverbs/library.h"

VERBS_EXPORT int uroce_query_counters(struct ibv_context *context, struct ibv_qp *qp,
				      struct uroce_counter *counters, unsigned int count)
{
	const struct verbs_ops *ops = ctx_ops(context);

	if (!ops->query_counters)
		return ret_neg1(verbs_unsupported(context, "uroce_query_counters"));
	if (qp && qp->context != context) {
		verbs_err(context, "uroce_query_counters: qp 0x%x is of another context",
			  qp->qp_num);
		return ret_neg1(-EINVAL);
	}
	return ops->query_counters(context, qp, counters, count);
}

VERBS_EXPORT int uroce_query_first_error(struct ibv_qp *qp, struct uroce_qp_error *error)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);

	if (!ops->query_first_error)
		return ret_int(verbs_unsupported(qp->context, "uroce_query_first_error"));
	return ret_int(ops->query_first_error(qp, error));
}
