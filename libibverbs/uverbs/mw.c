/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ib_uverbs_alloc_mw cmd = { .pd_handle = mw->pd->handle, .mw_type = mw->type };
	int r = uverbs_write(mw->context, IB_USER_VERBS_CMD_ALLOC_MW, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), udata);

	if (r < 0)
		return r;
	mw->handle = resp.mw_handle;
	mw->rkey = resp.rkey;
	return 0;
}

int uverbs_dealloc_mw(struct ibv_mw *mw)
{
	struct ib_uverbs_dealloc_mw cmd = { .mw_handle = mw->handle };

	return uverbs_write(mw->context, IB_USER_VERBS_CMD_DEALLOC_MW, &cmd, sizeof(cmd), NULL, 0,
			    NULL);
}
