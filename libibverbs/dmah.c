/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DMA handles. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define DMAH_KNOWN                                                                \
	((uint32_t)(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH | \
		    IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE))

static int dmah_alloc(struct ibv_context *ctx, const struct ibv_dmah_init_attr *attr,
		      struct verbs_dmah **ret_dmah)
{
	static const char verb[] = "ibv_alloc_dmah";
	const struct verbs_alloc_dmah in = { .attr = attr };
	struct verbs_dmah *dmah;
	int r;

	if (!ctx_ops(ctx)->alloc_dmah)
		return verbs_unsupported(ctx, verb);
	if (!attr)
		return explain_null(verb, "attr");
	if (!comp_mask_ok(attr->comp_mask, DMAH_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  DMAH_KNOWN);
		return -EOPNOTSUPP;
	}
	dmah = verbs_object_alloc(sizeof(*dmah), ctx_priv(ctx)->provider->sizes.dmah);
	if (!dmah)
		return -ENOMEM;
	dmah->dmah.context = ctx;
	r = ctx_ops(ctx)->alloc_dmah(dmah, &in);
	if (r < 0) {
		verbs_err(ctx, "%s: %s", verb, strerror(-r));
		free(dmah);
		return r;
	}
	*ret_dmah = dmah;
	return 0;
}

VERBS_EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *ctx,
					     struct ibv_dmah_init_attr *attr)
{
	struct verbs_dmah *dmah = NULL;
	int r = dmah_alloc(ctx, attr, &dmah);

	return r < 0 ? ret_null(r) : &dmah->dmah;
}

VERBS_EXPORT int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	struct ibv_context *ctx = dmah->context;
	int r = verbs_destroy_result(ctx, "ibv_dealloc_dmah: dmah", to_vdmah(dmah)->handle,
				     ctx_ops(ctx)->dealloc_dmah(to_vdmah(dmah)));

	if (!r)
		free(to_vdmah(dmah));
	return ret_int(r);
}
