/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of all rooms: CLOCK_MONOTONIC in nanoseconds. */
#ifndef UROCE_CLOCK_H
#define UROCE_CLOCK_H

#include <stdint.h>

/* Return the time, which is never 0. Threads: any. */
uint64_t uroce_now(void);

#endif
