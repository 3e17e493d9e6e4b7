/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

static int mw_alloc(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw **ret_mw)
{
	struct ibv_context *ctx = pd->context;
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_mw *mw;
	int r;

	if (!ops->alloc_mw)
		return verbs_unsupported(ctx, "ibv_alloc_mw");
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		verbs_err(ctx, "ibv_alloc_mw: type %d: neither IBV_MW_TYPE_1 nor IBV_MW_TYPE_2",
			  type);
		return -EINVAL;
	}
	mw = verbs_object_alloc(sizeof(*mw), ctx_priv(ctx)->provider->sizes.mw);
	if (!mw)
		return -ENOMEM;
	mw->context = ctx;
	mw->pd = pd;
	mw->type = type;
	r = ops->alloc_mw(mw, NULL);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_mw: type %d: %s%s", type, strerror(-r),
			  r == -EOPNOTSUPP ? "; the device's driver has no memory windows" : "");
		free(mw);
		return r;
	}
	*ret_mw = mw;
	return 0;
}

struct ibv_mw *verbs_slot_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = NULL;
	int r = mw_alloc(pd, type, &mw);

	return r < 0 ? ret_null(r) : mw;
}

int verbs_slot_dealloc_mw(struct ibv_mw *mw)
{
	struct ibv_context *ctx = mw->context;
	int r = verbs_destroy_result(ctx, "ibv_dealloc_mw: mw", mw->handle,
				     ctx_ops(ctx)->dealloc_mw(mw));

	if (!r)
		free(mw);
	return ret_int(r);
}
