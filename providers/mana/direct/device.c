/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detection of mana devices, and settings of a context. */
#include "providers/mana/direct/direct.h"

struct mana_context *manadv_context(struct ibv_context *ctx, const char *function)
{
	if (verbs_device_is(ctx->device, "mana"))
		return to_mctx(ctx);
	verbs_err(ctx, "%s: this is no device of mana", function);
	errno = EOPNOTSUPP;
	return NULL;
}

static int allocators_set(struct mana_context *ctx, const struct manadv_ctx_allocators *from)
{
	if (!from->alloc != !from->free) {
		verbs_err(&ctx->vctx.context,
			  "manadv_set_context_attr: alloc and free are given together, or neither");
		return EINVAL;
	}
	ctx->allocator = (struct kit_allocator){ from->alloc, from->free, from->data };
	return 0;
}

MANADV_EXPORT int manadv_set_context_attr(struct ibv_context *ibv_ctx,
					  enum manadv_set_ctx_attr_type type, void *attr)
{
	struct mana_context *ctx = manadv_context(ibv_ctx, __func__);

	if (!ctx)
		return EOPNOTSUPP;
	if (type == MANADV_CTX_ATTR_BUF_ALLOCATORS)
		return allocators_set(ctx, attr);
	verbs_err(ibv_ctx, "%s: attribute %d is not supported", __func__, type);
	return EOPNOTSUPP;
}
