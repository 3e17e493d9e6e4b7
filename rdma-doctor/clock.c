/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <time.h>

#include "rdma-doctor/clock.h"

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

/* Another signal, or a stop of the process, may end sigtimedwait() early. */
void clock_wait(uint64_t ns)
{
	const uint64_t end = clock_now() + ns;
	uint64_t now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	while ((now = clock_now()) < end) {
		struct timespec rest = { (end - now) / CLOCK_SECOND, (end - now) % CLOCK_SECOND };

		if (sigtimedwait(&set, NULL, &rest) == SIGINT)
			return;
	}
}
