/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Domains of devices whose queues are in memory of the kernel. Each queue has a lock. */
#ifndef PROVIDERS_KIT_DOMAIN_H
#define PROVIDERS_KIT_DOMAIN_H

#include "libibverbs/provider.h"

/* Allocate a thread domain. It has no effect, because each queue keeps its lock. */
int kit_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr);
/* Allocate a parent domain. -EOPNOTSUPP: it has allocators, which is logged. */
int kit_alloc_parent_domain(struct verbs_pd *parent);

#endif
