/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ib_uverbs_alloc_pd cmd = {};
	int r = uverbs_write(pd->context, IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), udata);

	if (r < 0)
		return r;
	pd->handle = resp.pd_handle;
	return 0;
}

int uverbs_dealloc_pd(struct ibv_pd *pd)
{
	struct ib_uverbs_dealloc_pd cmd = { .pd_handle = pd->handle };

	return uverbs_write(pd->context, IB_USER_VERBS_CMD_DEALLOC_PD, &cmd, sizeof(cmd), NULL, 0,
			    NULL);
}

/* Import a domain without a command, because the kernel has no query for domains. A wrong handle
 * fails at its first use. */
int uverbs_import_pd(struct ibv_pd *pd, uint32_t handle)
{
	pd->handle = handle;
	return 0;
}
