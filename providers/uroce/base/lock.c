/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <time.h>

#include "providers/uroce/base/lock.h"

enum {
	SPINS_BEFORE_YIELD =
		100, /* the holder works for well under a microsecond unless it was descheduled */
	SPINS_BEFORE_SLEEP = 200,
	SLEEP_NS = 50000,
};

/*
 * A thread of real-time priority that yields gives its processor to nobody of a lower one, so the
 * holder that it waits for may never run: only sleep lets it.
 */
void uroce_spin(unsigned int *spins)
{
	const struct timespec sleep = { .tv_nsec = SLEEP_NS };

	if (++*spins < SPINS_BEFORE_YIELD)
		uroce_lock_pause();
	else if (*spins < SPINS_BEFORE_SLEEP)
		sched_yield();
	else
		nanosleep(&sleep, NULL);
}

void uroce_lock_wait(struct uroce_lock *lock)
{
	unsigned int spins = 0;

	do {
		while (atomic_load_explicit(&lock->word, memory_order_relaxed))
			uroce_spin(&spins);
	} while (!uroce_trylock(lock));
}
