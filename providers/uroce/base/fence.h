/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory barrier in every thread of every process that asked for it, paid by who calls: a process
 * about to sleep, so that those that send to it need none for each packet. membarrier(2), since
 * Linux 4.16.
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
