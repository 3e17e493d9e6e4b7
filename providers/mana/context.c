/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening, the doorbell page, and parent domains. */
#include "providers/kit/context.h"
#include "providers/mana/mana.h"

enum {
	DOORBELLS_KEY = 0, /* offset in the device file */
};

int mana_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mana_context *ctx = (struct mana_context *)vctx;
	int r = kit_context_open(vctx, in, NULL);

	if (!r)
		r = kit_page_map(&vctx->context, DOORBELLS_KEY, MANA_PAGE, PROT_WRITE,
				 &ctx->doorbells);
	if (r < 0)
		return r;
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->by_sq);
	idtable_init(&ctx->by_rq);
	return 0;
}

void mana_close_context(struct verbs_context *vctx)
{
	struct mana_context *ctx = (struct mana_context *)vctx;

	idtable_destroy(&ctx->by_rq);
	idtable_destroy(&ctx->by_sq);
	pthread_mutex_destroy(&ctx->qp_lock);
	kit_page_unmap(&ctx->doorbells);
}

/* Do not report operations on keys and windows, because no request of this device has them. */
int mana_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
			       IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	int r = uverbs_query_device(ctx, in, ret_attr);

	if (r < 0)
		return r;
	ret_attr->orig_attr.device_cap_flags &= ~(unsigned int)never;
	ret_attr->device_cap_flags_ex &= ~never;
	kit_context_no_invalidation(ret_attr);
	return 0;
}

/* A parent domain selects the port of its queue pairs. */
int mana_alloc_parent_domain(struct verbs_pd *parent)
{
	if (!parent->alloc && !parent->free)
		return 0;
	verbs_err(
		parent->pd.context,
		"ibv_alloc_parent_domain: allocators: manadv_set_context_attr() takes those of this "
		"device");
	return -EOPNOTSUPP;
}
