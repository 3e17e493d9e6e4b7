/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sched.h>

#include "util/spinlock.h"

#define SPINS 100 /* polls of the lock before a sched_yield() */

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void spinlock_wait(struct spinlock *lock)
{
	do {
		unsigned int spins = 0;

		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
			if (++spins < SPINS)
				cpu_relax();
			else
				sched_yield();
		}
		/* acquire: pairs with spinlock_unlock of the last holder */
	} while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire));
}
