/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <time.h>

#include "providers/uroce/base/call.h"
#include "providers/uroce/base/clock.h"

uint64_t uroce_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void uroce_call_sleep(long ns)
{
#ifdef SYS_nanosleep
	const long time[2] = { 0, ns };

	syscall(SYS_nanosleep, time, NULL);
#else
	const long long time[2] = { 0, ns };

	syscall(SYS_clock_nanosleep_time64, 1, 0, time, NULL);
#endif
}
