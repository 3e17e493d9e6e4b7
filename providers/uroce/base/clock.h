/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of everything here: CLOCK_MONOTONIC in nanoseconds. */
#ifndef UROCE_CLOCK_H
#define UROCE_CLOCK_H

#include <stdint.h>

/* Threads: any. Never 0. */
uint64_t uroce_now(void);

#endif
