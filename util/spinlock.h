/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock of one word for sections of a few dozen instructions. Taking a free lock is one exchange,
 * without a call. A waiter spins for a short time, then yields its processor, because the holder
 * may need it.
 */
#ifndef UTIL_SPINLOCK_H
#define UTIL_SPINLOCK_H

#include <stdatomic.h>

#include "util/util.h"

/* 0: free. Therefore an object from calloc() needs no initialisation. */
struct spinlock {
	atomic_uint held;
};

/* Wait for the lock and take it: the slow part of spinlock_lock(). */
void spinlock_wait(struct spinlock *lock);

/* Try to take the lock. Return: whether it was free, so that the caller now holds it. */
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

/* Take two locks, which may be the same lock or NULL. All callers take them in the same order. */
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
