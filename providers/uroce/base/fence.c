/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "providers/uroce/base/fence.h"

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

bool uroce_fence_join(void)
{
	return !membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
	       !membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

bool uroce_fence_own_join(void)
{
	return !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
	       !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void uroce_fence_own(void)
{
	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void uroce_fence_all(void)
{
	membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
