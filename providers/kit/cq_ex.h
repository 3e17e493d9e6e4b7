/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of an extended completion queue. */
#ifndef PROVIDERS_KIT_CQ_EX_H
#define PROVIDERS_KIT_CQ_EX_H

#include <infiniband/verbs.h>

#include "libibverbs/provider.h"

/* Check that @wc_flags, which the provider supports, include the fields that @in requests. Return:
 * 0 or -EOPNOTSUPP. */
int kit_cq_ex_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags);

/*
 * Set the functions that each queue has, and the functions that read the requested fields.
 * @from: functions of a provider; its other members are ignored
 * @wc_flags: IBV_WC_EX_ flags that the program requested
 */
void kit_cq_ex_set_slots(struct ibv_cq_ex *ex, const struct ibv_cq_ex *from, uint64_t wc_flags);

#endif
