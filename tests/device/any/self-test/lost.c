/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A mistake that ends as expected and leaks memory: the leak checker must make it fail. */
#include "tests/lib/rt_mistake.h"

/* Leak several: a pointer left in a register or on the stack may hide one. */
static int lost_list(struct rt_dev *dev)
{
	for (int i = 0; i < 4; i++)
		CHECK(ibv_get_device_list(NULL));
	return RT_ERRNO_OF(ibv_open_device(NULL));
}

static const struct rt_mistake mistakes[] = {
	{ "lost_list", lost_list, EINVAL, "NULL" },
};
RT_MISTAKES(mistakes)
