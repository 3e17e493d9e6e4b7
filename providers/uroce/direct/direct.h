/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table of functions that the provider gives to its own library, liburoce. libibverbs passes it on
 * without reading it (verbs_provider.direct).
 *
 * Locks: none. Threads: any. Provider and library are built together.
 *
 * Includes: the public headers. Included by: direct/uroce.c, and verbs/counters.c that fills the
 * table.
 */
#ifndef UROCE_DIRECT_H
#define UROCE_DIRECT_H

#include <infiniband/uroce.h>

struct uroce_direct {
	/* Return: the number of counters; -errno. */
	int (*query_counters)(struct ibv_context *ctx, struct ibv_qp *qp,
			      struct uroce_counter *ret_counters, unsigned int count);
	/* Return: 0; -ENOENT if there was no error. */
	int (*query_first_error)(struct ibv_qp *qp, struct uroce_qp_error *ret_error);
};

#endif
