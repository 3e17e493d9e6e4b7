/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of ibv_wr_*() of a queue pair. */
#ifndef PROVIDERS_KIT_WR_H
#define PROVIDERS_KIT_WR_H

#include <infiniband/verbs.h>

#include "libibverbs/provider.h"

/* Return the operations for which @attr requests builders: IBV_QP_EX_WITH_ flags. */
static inline uint64_t kit_wr_ops(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? attr->send_ops_flags : 0;
}

/* Check that @known, which this type of queue pair supports, includes the requested @ops. Return: 0
 * or -EOPNOTSUPP. */
int kit_wr_check(struct ibv_context *ctx, uint64_t ops, uint64_t known);

/*
 * Set the functions that each queue pair has, and the builders of the requested operations.
 * @from: functions of a provider; its other members are ignored
 * @ops: IBV_QP_EX_WITH_ flags
 */
void kit_wr_set_slots(struct ibv_qp_ex *ex, const struct ibv_qp_ex *from, uint64_t ops);

#endif
