/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Range and access of a memory region. The library knows them, so no device is queried. */
#include <infiniband/verbs_more.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

/* Return the known attributes. The length of a region of another process comes from the kernel. */
static uint32_t mr_known(enum verbs_mr_type type)
{
	switch (type) {
	case VERBS_MR_PLAIN:
		return IBV_MR_ATTR_ADDR | IBV_MR_ATTR_LENGTH | IBV_MR_ATTR_IOVA |
		       IBV_MR_ATTR_ACCESS;
	case VERBS_MR_DMABUF:
	case VERBS_MR_DM:
		return IBV_MR_ATTR_LENGTH | IBV_MR_ATTR_IOVA | IBV_MR_ATTR_ACCESS;
	case VERBS_MR_NULL:
		return 0;
	default:
		return IBV_MR_ATTR_LENGTH;
	}
}

static uint32_t mr_kind(enum verbs_mr_type type)
{
	static const uint8_t kinds[] = {
		[VERBS_MR_PLAIN] = IBV_MR_KIND_MEMORY,	    [VERBS_MR_NULL] = IBV_MR_KIND_NULL,
		[VERBS_MR_DMABUF] = IBV_MR_KIND_DMABUF,	    [VERBS_MR_DM] = IBV_MR_KIND_DM,
		[VERBS_MR_IMPORTED] = IBV_MR_KIND_IMPORTED,
	};

	return kinds[type];
}

VERBS_EXPORT int _ibv_query_mr(struct ibv_mr *mr, struct ibv_mr_attr *attr, size_t attr_size)
{
	struct ibv_mr_attr full = {};
	struct verbs_mr *vmr;

	if (!mr || !attr)
		return ret_int(explain_null("ibv_query_mr", mr ? "attr" : "mr"));
	vmr = to_vmr(mr);
	full.comp_mask = mr_known(vmr->mr_type);
	full.kind = mr_kind(vmr->mr_type);
	full.pd = mr->pd;
	full.lkey = mr->lkey;
	full.rkey = mr->rkey;
	if (full.comp_mask & IBV_MR_ATTR_ADDR)
		full.addr = mr->addr;
	if (full.comp_mask & IBV_MR_ATTR_LENGTH)
		full.length = mr->length;
	if (full.comp_mask & IBV_MR_ATTR_IOVA)
		full.iova = vmr->iova;
	if (full.comp_mask & IBV_MR_ATTR_ACCESS)
		full.access = vmr->access;
	verbs_struct_copy(attr, attr_size, &full, sizeof(full));
	return 0;
}
