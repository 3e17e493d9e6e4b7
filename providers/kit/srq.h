/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues of XRC, which completions name by their number. */
#ifndef PROVIDERS_KIT_SRQ_H
#define PROVIDERS_KIT_SRQ_H

#include "libibverbs/provider.h"
#include "providers/kit/idtable.h"

/*
 * Enter @object into the table by vsrq->srq_num, so that completions of @cq with the number find
 * it. The caller holds the lock of the table. Return: -EPROTO if another SRQ has the number, or
 * -ENOMEM.
 */
int kit_srq_enter(struct idtable *table, const struct verbs_srq *vsrq, void *object,
		  const void *cq);

#endif
