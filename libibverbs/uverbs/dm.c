/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_alloc_dm(struct verbs_dm *dm, const struct verbs_alloc_dm *in)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_ALLOC_DM_HANDLE, &dm->dm.handle),
		uverbs_u64(UVERBS_ATTR_ALLOC_DM_LENGTH, in->attr->length),
		uverbs_u32(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, in->attr->log_align_req),
	};

	return uverbs_ioctl(dm->dm.context, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, a,
			    ARRAY_SIZE(a), in->udata);
}

int uverbs_free_dm(struct verbs_dm *dm)
{
	const struct uverbs_attr a[] = { uverbs_idr(UVERBS_ATTR_FREE_DM_HANDLE, dm->dm.handle) };

	return uverbs_ioctl(dm->dm.context, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, a,
			    ARRAY_SIZE(a), NULL);
}
