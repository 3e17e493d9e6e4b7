/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of waits. */
#include <time.h>

#include "librdmacm/rsocket/rs.h"

uint64_t rs_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int rs_timeout_left(int timeout_ms, uint64_t start)
{
	uint64_t passed;

	if (timeout_ms < 0)
		return -1;
	passed = (rs_now_ns() - start) / 1000000;
	return passed >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)passed;
}
