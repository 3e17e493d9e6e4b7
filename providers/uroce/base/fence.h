/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory barrier in every thread of every process that registered for it: membarrier(2), since
 * Linux 4.16. The caller, a process that is about to sleep, pays for it. Therefore processes that
 * send to the caller need no barrier for each packet.
 */
#ifndef UROCE_FENCE_H
#define UROCE_FENCE_H

#include <stdbool.h>

/*
 * Register this process, which may then call uroce_fence_all(). Return: whether the kernel has the
 * call.
 */
bool uroce_fence_join(void);
/* Execute a full barrier here and in all threads of all registered processes, of any user. */
void uroce_fence_all(void);

/* Register for the same barrier among the threads of this process. */
bool uroce_fence_own_join(void);
void uroce_fence_own(void);

#endif
