/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/region.h"

#include "libibverbs/uverbs/uverbs.h"

int kit_region_make(struct kit_region *region, const struct verbs_reg_mr *in,
		    enum kit_region_addresses addresses)
{
	struct verbs_reg_mr request = *in;
	int r = kit_buf_alloc(&region->buf, in->length);

	if (r < 0)
		return r;
	request.addr = region->buf.base;
	request.iova = addresses == KIT_REGION_OF_PROCESS ? (uintptr_t)request.addr : 0;
	region->mr.ibv_mr.context = in->pd->context;
	r = uverbs_reg_mr(&region->mr, &request);
	if (r < 0) {
		kit_buf_free(&region->buf);
		return r;
	}
	region->mr.ibv_mr.pd = in->pd;
	return 0;
}

void kit_region_free(struct kit_region *region)
{
	if (region->mr.ibv_mr.pd)
		uverbs_dereg_mr(&region->mr);
	kit_buf_free(&region->buf);
	*region = (struct kit_region){};
}
