/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains. */
#include <errno.h>
#include <string.h>

#include "libibverbs/library.h"

VERBS_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_pd *pd;
	int r;

	if (!ops->alloc_pd)
		return ret_null(verbs_unsupported(ctx, "ibv_alloc_pd"));
	pd = verbs_object_alloc(sizeof(*pd), ctx_priv(ctx)->provider->sizes.pd);
	if (!pd)
		return ret_null(-ENOMEM);
	pd->context = ctx;
	r = ops->alloc_pd(pd, NULL);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_pd: %s", strerror(-r));
		free(pd);
		return ret_null(r);
	}
	return pd;
}

VERBS_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct ibv_context *ctx = pd->context;
	int r = verbs_destroy_result(ctx, "ibv_dealloc_pd: pd", pd->handle,
				     ctx_ops(ctx)->dealloc_pd(pd));

	if (!r)
		free(pd);
	return ret_int(r);
}

VERBS_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *ctx, uint32_t pd_handle)
{
	return ret_null(verbs_unsupported(ctx, "ibv_import_pd"));
}

VERBS_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	verbs_unsupported(pd->context, "ibv_unimport_pd");
}
