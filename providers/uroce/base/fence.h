/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory barrier in every thread of every process that registered for it: membarrier(2), since
 * Linux 4.16. The caller pays for it: a process that is about to sleep. Therefore processes that
 * send to it need no barrier for each packet.
 */
#ifndef UROCE_FENCE_H
#define UROCE_FENCE_H

#include <stdbool.h>

/* This process takes part, and may call uroce_fence_all(). Return: whether the kernel has it. */
bool uroce_fence_join(void);
/* A full barrier here and in all threads of all processes that joined, of any user. */
void uroce_fence_all(void);

/* The same among the threads of this process. */
bool uroce_fence_own_join(void);
void uroce_fence_own(void);

#endif
