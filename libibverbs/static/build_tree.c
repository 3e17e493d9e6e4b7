/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/discovery/discovery.h"

/* The library is part of a program. Files beside the program do not belong to the library. */
int disc_build_tree(const void *symbol, struct disc_paths *ret_paths)
{
	return -ENOENT;
}
