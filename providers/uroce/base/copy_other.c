/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processors without leaves. */
#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"

#if !defined(__x86_64__) && !defined(__aarch64__)

int copy_leaves(struct copy_ways *ret_ways)
{
	return -EOPNOTSUPP;
}

bool copy_leaf_recover(void *context)
{
	return false;
}

#endif
