/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Domains of devices whose queues are memory of the kernel, with a lock for each. */
#ifndef PROVIDERS_KIT_DOMAIN_H
#define PROVIDERS_KIT_DOMAIN_H

#include "libibverbs/provider.h"

/* A thread domain promises nothing: each queue keeps its lock. */
int kit_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr);
/* -EOPNOTSUPP of one with allocators, which is said in the log. */
int kit_alloc_parent_domain(struct verbs_pd *parent);

#endif
