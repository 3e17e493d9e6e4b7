/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/efa/efa.h"

int efa_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct efa_ibv_create_ah_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_ah request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_ah(ibah, &request);

	if (!r)
		to_eah(ibah)->number = resp.efa_address_handle;
	return r;
}
