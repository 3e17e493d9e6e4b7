/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/uroce/base/call.h"
#include "providers/uroce/base/lock.h"

enum {
	SPINS_BEFORE_YIELD =
		/*
		 * the holder works for much less than a microsecond, unless it lost its processor
		 */
		100,
	SPINS_BEFORE_SLEEP = 200,
	SLEEP_NS = 50000,
};

pthread_mutex_t uroce_leaf_locks[UROCE_LEAVES] = { [0 ... UROCE_LEAVES - 1] =
							   PTHREAD_MUTEX_INITIALIZER };

void uroce_leaf_locks_hold(bool hold)
{
	for (unsigned int i = 0; i < UROCE_LEAVES; i++)
		if (hold)
			pthread_mutex_lock(&uroce_leaf_locks[i]);
		else
			pthread_mutex_unlock(&uroce_leaf_locks[i]);
}

/*
 * A thread with real-time priority must sleep. If it only yields, no thread of lower priority gets
 * its processor, and the holder may never run.
 */
void uroce_spin(unsigned int *spins)
{
	if (++*spins < SPINS_BEFORE_YIELD)
		uroce_lock_pause();
	else if (*spins < SPINS_BEFORE_SLEEP)
		sched_yield();
	else
		uroce_call_sleep(SLEEP_NS);
}

void uroce_lock_wait(struct uroce_lock *lock)
{
	unsigned int spins = 0;

	do {
		while (atomic_load_explicit(&lock->word, memory_order_relaxed))
			uroce_spin(&spins);
	} while (!uroce_trylock(lock));
}
