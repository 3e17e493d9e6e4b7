/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/domain.h"

int kit_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr)
{
	return 0;
}

int kit_alloc_parent_domain(struct verbs_pd *parent)
{
	if (!parent->alloc)
		return 0;
	verbs_err(
		parent->pd.context,
		"ibv_alloc_parent_domain: allocators: the kernel allocates the queues of this device");
	return -EOPNOTSUPP;
}
