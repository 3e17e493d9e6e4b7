/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports the activity of a case that failed or did not end, because a step takes too long or
 * because the other side has gone, which a thread that waits for a completion does not notice.
 * Each side reports its own step, the state of its queue pair, and its counters. Threads: the
 * program's, and a watching one. */
#ifndef TESTS_INTEROP_REPORT_H
#define TESTS_INTEROP_REPORT_H

#include "tests/lib/rt.h"

/* Watch the connection to the other side from here on. */
void report_begin(int socket);
void report_close(void);
/* Set the limit of each step of @name from now on, in seconds. */
void report_case(const char *name, unsigned int seconds);
/* End the current case. */
void report_end(void);
/* Set the side of the case, or NULL before it is destroyed. */
void report_side(const struct rt_side *side);
/* Set the current step: the @n-th of @what, a constant. */
void report_step(const char *what, unsigned int n);
/* Set whether the case waits for the other side's word. */
void report_waits(bool waits);

#endif
