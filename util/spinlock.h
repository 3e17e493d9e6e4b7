/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock of one word for sections of a few dozen instructions: taking a free one is one exchange,
 * without a call. A waiter spins briefly, then gives its processor away, because the holder may be
 * the one that needs it.
 */
#ifndef UTIL_SPINLOCK_H
#define UTIL_SPINLOCK_H

#include <stdatomic.h>

#include "util/util.h"

/* Zero is free: an object from calloc() needs no initialisation. */
struct spinlock {
	atomic_uint held;
};

/* Wait for the lock and take it; the slow half of spinlock_lock(). */
void spinlock_wait(struct spinlock *lock);

/* Return: whether the lock was free and is now the caller's. */
static inline bool spinlock_try(struct spinlock *lock)
{
	/* acquire: pairs with spinlock_unlock of the last holder */
	return likely(!atomic_exchange_explicit(&lock->held, 1, memory_order_acquire));
}

static inline void spinlock_lock(struct spinlock *lock)
{
	if (!spinlock_try(lock))
		spinlock_wait(lock);
}

static inline void spinlock_unlock(struct spinlock *lock)
{
	/* release: pairs with spinlock_try or spinlock_wait of the next holder */
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Two locks, which may be one, or NULL: in the same order for everybody. */
static inline void spinlock_lock_both(struct spinlock *a, struct spinlock *b)
{
	bool ordered = (uintptr_t)a < (uintptr_t)b;
	struct spinlock *first = ordered ? a : b, *second = ordered ? b : a;

	if (first)
		spinlock_lock(first);
	if (second && second != first)
		spinlock_lock(second);
}

static inline void spinlock_unlock_both(struct spinlock *a, struct spinlock *b)
{
	if (a)
		spinlock_unlock(a);
	if (b && b != a)
		spinlock_unlock(b);
}

#endif
