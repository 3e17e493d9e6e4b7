/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. The kernel writes the number of each into a page that it shares with the
 * process. */
#include "providers/bnxt_re/bnxt_re.h"

enum {
	AH_NUMBER_MASK = 0xfffff,
};

int bnxt_re_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct bnxt_re_context *ctx = to_bctx(ibah->context);
	const volatile uint32_t *number =
		(const volatile uint32_t *)(void *)((char *)ctx->shared.base + BNXT_RE_AVID_OFFT);
	int r;

	/* Serialise the creations, so that the number in the page is that of this handle. */
	pthread_mutex_lock(&ctx->lock);
	r = uverbs_create_ah(ibah, in);
	if (!r)
		((struct bnxt_re_ah *)ibah)->number = *number & AH_NUMBER_MASK;
	pthread_mutex_unlock(&ctx->lock);
	return r;
}
