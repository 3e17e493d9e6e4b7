/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

static struct ib_uverbs_ah_attr ah_attr_to_kern(const struct ibv_ah_attr *attr)
{
	struct ib_uverbs_ah_attr kern = {
		.grh.flow_label = attr->grh.flow_label,
		.grh.sgid_index = attr->grh.sgid_index,
		.grh.hop_limit = attr->grh.hop_limit,
		.grh.traffic_class = attr->grh.traffic_class,
		.dlid = attr->dlid,
		.sl = attr->sl,
		.src_path_bits = attr->src_path_bits,
		.static_rate = attr->static_rate,
		.is_global = attr->is_global,
		.port_num = attr->port_num,
	};

	memcpy(kern.grh.dgid, attr->grh.dgid.raw, sizeof(kern.grh.dgid));
	return kern;
}

int uverbs_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	struct ib_uverbs_create_ah cmd = {
		.pd_handle = ah->pd->handle,
		.attr = ah_attr_to_kern(in->attr),
	};
	struct ib_uverbs_create_ah_resp resp = {};
	int r = uverbs_write(ah->context, IB_USER_VERBS_CMD_CREATE_AH, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), in->udata);

	if (r < 0)
		return r;
	ah->handle = resp.ah_handle;
	return 0;
}

int uverbs_destroy_ah(struct ibv_ah *ah)
{
	struct ib_uverbs_destroy_ah cmd = { .ah_handle = ah->handle };

	return uverbs_write(ah->context, IB_USER_VERBS_CMD_DESTROY_AH, &cmd, sizeof(cmd), NULL, 0,
			    NULL);
}
