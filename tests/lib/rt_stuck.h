/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A case that hangs says where before it ends. */
#ifndef TESTS_LIB_RT_STUCK_H
#define TESTS_LIB_RT_STUCK_H

#include "tests/lib/rt.h"

/* From now on this process ends by SIGALRM after @seconds, having printed the stack of each thread.
 */
void rt_stuck_watch(unsigned int seconds);

#endif
