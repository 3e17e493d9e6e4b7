/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/uroce/base/lock.h"

enum {
	SPINS_BEFORE_YIELD =
		100, /* the holder works for well under a microsecond unless it was descheduled */
};

void uroce_lock_wait(struct uroce_lock *lock)
{
	unsigned int spins = 0;

	do {
		while (atomic_load_explicit(&lock->word, memory_order_relaxed)) {
			if (++spins < SPINS_BEFORE_YIELD)
				uroce_lock_pause();
			else
				sched_yield();
		}
	} while (!uroce_trylock(lock));
}
