/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion counters in memory of the program. */
#include "providers/efa/direct/direct.h"

EFADV_EXPORT struct ibv_comp_cntr *
efadv_create_comp_cntr(struct ibv_context *ibctx, struct ibv_comp_cntr_init_attr *attr,
		       struct efadv_comp_cntr_init_attr *efa_attr, uint32_t inlen)
{
	struct efadv_comp_cntr_init_attr dv;
	const struct verbs_create_comp_cntr in = { .attr = attr, .dv = &dv };
	struct ibv_comp_cntr *cntr = NULL;
	int r;

	if (!efadv_context(ibctx, __func__))
		return NULL;
	if (!HAS_MEMBER(struct efadv_comp_cntr_init_attr, err_cntr_ext_mem, inlen) ||
	    !efadv_copy_in(&dv, sizeof(dv), efa_attr, inlen))
		r = efadv_refuse(ibctx, __func__, inlen);
	else
		r = verbs_comp_cntr_create(ibctx, __func__, &in, &cntr);
	if (r < 0)
		errno = -r;
	return cntr;
}
