/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/library.h"
#include "libibverbs/uverbs/uverbs.h"

static const struct {
	const char *what;
	const char *since;
} features[UVERBS_FEATURE_COUNT] = {
	[UVERBS_FEATURE_QUERY_GID_TABLE] = { "GID table query", "5.10" },
};

bool uverbs_has(struct ibv_context *ctx, enum uverbs_feature feature)
{
	return !(atomic_load_explicit(&ctx_priv(ctx)->missing, memory_order_relaxed) &
		 (1UL << feature));
}

int uverbs_learn(struct ibv_context *ctx, enum uverbs_feature feature, int r)
{
	if (r != -EPROTONOSUPPORT)
		return r;
	atomic_fetch_or_explicit(&ctx_priv(ctx)->missing, 1UL << feature, memory_order_relaxed);
	verbs_debug(ctx, "the kernel has no %s (Linux %s): using the older form",
		    features[feature].what, features[feature].since);
	return r;
}
