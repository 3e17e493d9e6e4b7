/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening, the doorbell page, which programs write to, and parent domains. */
#include "providers/kit/context.h"
#include "providers/mana/mana.h"

enum {
	DOORBELLS_KEY = 0, /* offset in the device file */
};

int mana_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mana_context *ctx = (struct mana_context *)vctx;
	int r = kit_context_open(vctx, in, NULL);

	if (r < 0)
		return r;
	return kit_page_map(&vctx->context, DOORBELLS_KEY, MANA_PAGE, PROT_WRITE, &ctx->doorbells);
}

void mana_close_context(struct verbs_context *vctx)
{
	kit_page_unmap(&((struct mana_context *)vctx)->doorbells);
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
