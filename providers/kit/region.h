/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of a queue that the device knows as a memory region. */
#ifndef PROVIDERS_KIT_REGION_H
#define PROVIDERS_KIT_REGION_H

#include "libibverbs/provider.h"
#include "providers/kit/buf.h"

struct kit_region {
	struct kit_buf buf;
	struct verbs_mr mr; /* pd: NULL if nothing is registered */
};

enum kit_region_addresses {
	KIT_REGION_FROM_ZERO,
	KIT_REGION_OF_PROCESS,
};

/*
 * Allocate in->length bytes and register them in in->pd. Addresses of the device begin at 0, or are
 * those of the process: in->addr and in->iova are ignored. Return: 0 or a negative errno.
 */
int kit_region_make(struct kit_region *region, const struct verbs_reg_mr *in,
		    enum kit_region_addresses addresses);
/* Free a region, which may be empty. */
void kit_region_free(struct kit_region *region);

#endif
