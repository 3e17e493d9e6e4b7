/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which functions an extended completion queue gets. */
#ifndef PROVIDERS_KIT_CQ_EX_H
#define PROVIDERS_KIT_CQ_EX_H

#include <infiniband/verbs.h>

#include "libibverbs/provider.h"

/* Whether a queue can have the fields that @in asks for: those of @wc_flags. Return: 0 or
 * -EOPNOTSUPP. */
int kit_cq_ex_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags);

/*
 * Those that each queue has, and the readers of the fields that were asked for.
 * @from: a provider's functions, as the slots are called; nothing else of it is looked at
 * @wc_flags: IBV_WC_EX_, as the program asked
 */
void kit_cq_ex_set_slots(struct ibv_cq_ex *ex, const struct ibv_cq_ex *from, uint64_t wc_flags);

#endif
