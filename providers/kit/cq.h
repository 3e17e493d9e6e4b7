/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues with data for the kernel driver, and with rings that this library allocates. */
#ifndef PROVIDERS_KIT_CQ_H
#define PROVIDERS_KIT_CQ_H

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"

/* Call uverbs_create_cq() with @udata of the provider and with @entries instead of the requested
 * number. */
static inline int kit_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in,
				uint32_t entries, struct verbs_udata *udata)
{
	struct ibv_cq_init_attr_ex attr = *in->attr;
	struct verbs_create_cq request = *in;

	attr.cqe = entries;
	request.attr = &attr;
	request.udata = udata;
	return uverbs_create_cq(vcq, &request);
}

#endif
