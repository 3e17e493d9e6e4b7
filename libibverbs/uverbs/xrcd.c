/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_open_xrcd(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in)
{
	bool has_fd = in->attr->comp_mask & IBV_XRCD_INIT_ATTR_FD;
	bool has_oflags = in->attr->comp_mask & IBV_XRCD_INIT_ATTR_OFLAGS;
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ib_uverbs_open_xrcd cmd = {
		.fd = has_fd ? in->attr->fd : -1,
		.oflags = has_oflags ? in->attr->oflags : 0,
	};
	int r = uverbs_write(xrcd->xrcd.context, IB_USER_VERBS_CMD_OPEN_XRCD, &cmd, sizeof(cmd),
			     &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	xrcd->handle = resp.xrcd_handle;
	return 0;
}

int uverbs_close_xrcd(struct verbs_xrcd *xrcd)
{
	struct ib_uverbs_close_xrcd cmd = { .xrcd_handle = xrcd->handle };

	return uverbs_write(xrcd->xrcd.context, IB_USER_VERBS_CMD_CLOSE_XRCD, &cmd, sizeof(cmd),
			    NULL, 0, NULL);
}
