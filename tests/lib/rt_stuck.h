/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A case that hangs prints its stacks before it ends. */
#ifndef TESTS_LIB_RT_STUCK_H
#define TESTS_LIB_RT_STUCK_H

#include "tests/lib/rt.h"

/* From now on end this process by SIGALRM after @seconds, after the stack of each thread is
 * printed. */
void rt_stuck_watch(unsigned int seconds);

#endif
