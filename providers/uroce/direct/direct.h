/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the plug-in offers to its own library, liburoce, and to nobody else: libibverbs hands the
 * table over without looking into it (verbs_provider.direct).
 *
 * Locks: none. Threads: any. Both sides are built together.
 * Includes: the public headers. Included by: direct/uroce.c, and verbs/ that fills the table.
 */
#ifndef UROCE_DIRECT_H
#define UROCE_DIRECT_H

#include <infiniband/uroce.h>

struct uroce_direct {
	/* Return: how many counters there are; -errno. */
	int (*query_counters)(struct ibv_context *ctx, struct ibv_qp *qp,
			      struct uroce_counter *ret_counters, unsigned int count);
	/* Return: 0; -ENOENT: there was none. */
	int (*query_first_error)(struct ibv_qp *qp, struct uroce_qp_error *ret_error);
};

#endif
