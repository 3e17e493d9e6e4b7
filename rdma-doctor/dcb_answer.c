/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/dcbnl.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "rdma-doctor/dcb.h"
#include "util/util.h"

static void pfc_read(const struct nlattr *attr, struct dcb *dcb)
{
	struct ieee_pfc pfc;

	if (nla_len(attr) < (int)sizeof(pfc))
		return;
	memcpy(&pfc, nla_data(attr), sizeof(pfc));
	dcb->pfc_known = true;
	dcb->pfc = pfc.pfc_en;
}

/* An entry with a DSCP. The highest priority holds if there are several. */
static void app_read(const struct nlattr *attr, struct dcb *dcb)
{
	struct dcb_app app;

	if (nla_len(attr) < (int)sizeof(app))
		return;
	memcpy(&app, nla_data(attr), sizeof(app));
	if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP || app.protocol >= DCB_DSCPS ||
	    app.priority >= DCB_PRIORITIES)
		return;
	dcb->dscps |= UINT64_C(1) << app.protocol;
	dcb->priority[app.protocol] = max_of(dcb->priority[app.protocol], app.priority);
}

int dcb_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *ieee, *attr, *app;
	struct dcb *dcb = arg;
	int rest, inner;

	ieee = nlmsg_find_attr(hdr, sizeof(struct dcbmsg), DCB_ATTR_IEEE);
	if (!ieee)
		return 0;
	nla_for_each_nested(attr, ieee, rest)
	{
		if (nla_type(attr) == DCB_ATTR_IEEE_PFC)
			pfc_read(attr, dcb);
		if (nla_type(attr) != DCB_ATTR_IEEE_APP_TABLE)
			continue;
		nla_for_each_nested(app, attr, inner)
		{
			if (nla_type(app) == DCB_ATTR_IEEE_APP)
				app_read(app, dcb);
		}
	}
	return 0;
}
