/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a case was doing that failed, or did not come to its end: either because a step takes too
 * long, or because the other side is gone, which nobody notices who waits for a completion. Each
 * side tells of itself: the step, the state of its queue pair, its counters. Threads: the
 * program's, and one of its own that watches.
 */
#ifndef TESTS_INTEROP_REPORT_H
#define TESTS_INTEROP_REPORT_H

#include "tests/lib/rt.h"

/* Watch the connection to the other side from here on. */
void report_begin(int socket);
void report_close(void);
/* Each step of @name has so many seconds from now on. */
void report_case(const char *name, unsigned int seconds);
/* There is no case any more. */
void report_end(void);
/* Its side, or NULL before that is destroyed. */
void report_side(const struct rt_side *side);
/* Where it is: the @n-th of @what, a constant. */
void report_step(const char *what, unsigned int n);
/* Whether it waits for the other side's word. */
void report_waits(bool waits);

#endif
