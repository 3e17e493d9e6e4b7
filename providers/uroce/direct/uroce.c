/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* infiniband/uroce.h: functions for devices of this provider. */
#include <errno.h>

#include "libibverbs/provider.h"
#include "providers/uroce/direct/direct.h"

static const struct uroce_direct *direct_of(struct ibv_context *ctx, const char *function)
{
	const struct uroce_direct *direct = verbs_provider_direct(ctx, "uroce");

	if (!direct)
		verbs_err(ctx, "%s: this is no device of uroce", function);
	return direct;
}

__attribute__((visibility("default"))) int uroce_query_counters(struct ibv_context *context,
								struct ibv_qp *qp,
								struct uroce_counter *counters,
								unsigned int count)
{
	const struct uroce_direct *direct = direct_of(context, "uroce_query_counters");

	if (!direct) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (qp && qp->context != context) {
		verbs_err(context, "uroce_query_counters: qp 0x%x is of another context",
			  qp->qp_num);
		errno = EINVAL;
		return -1;
	}
	return direct->query_counters(context, qp, counters, count);
}

__attribute__((visibility("default"))) int uroce_query_first_error(struct ibv_qp *qp,
								   struct uroce_qp_error *error)
{
	const struct uroce_direct *direct = direct_of(qp->context, "uroce_query_first_error");

	return direct ? -direct->query_first_error(qp, error) : EOPNOTSUPP;
}
