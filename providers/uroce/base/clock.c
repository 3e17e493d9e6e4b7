/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <time.h>

#include "providers/uroce/base/clock.h"

uint64_t uroce_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
