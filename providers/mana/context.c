/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening, and the page of doorbells, which programs store into; parent domains. */
#include <string.h>

#include "providers/mana/mana.h"

enum {
	DOORBELLS_KEY = 0, /* of the device's file */
};

int mana_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mana_context *ctx = (struct mana_context *)vctx;
	int r;

	if (in->imported) {
		verbs_err(&vctx->context, "importing a context is not supported by mana");
		return -EOPNOTSUPP;
	}
	r = uverbs_open_context(vctx, in);
	if (r < 0) {
		verbs_err(&vctx->context, "the kernel makes no context: %s", strerror(-r));
		return r;
	}
	return kit_page_map(&vctx->context, DOORBELLS_KEY, MANA_PAGE, PROT_WRITE, &ctx->doorbells);
}

void mana_close_context(struct verbs_context *vctx)
{
	kit_page_unmap(&((struct mana_context *)vctx)->doorbells);
}

/* One names the port of queue pairs that are made in it. */
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
