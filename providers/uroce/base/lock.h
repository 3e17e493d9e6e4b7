/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lock of the data path: one word, taken inline. It is held for one packet or post, so a waiter
 * spins. The waiter yields the processor, and then sleeps, if the holder seems to have lost its
 * processor.
 */
#ifndef UROCE_LOCK_H
#define UROCE_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct uroce_lock {
	atomic_int word; /* 0: free, 1: held */
};

/*
 * Locks that belong to no object. While one of them is held, no other lock is taken. A fork waits
 * for them, so that they are free in the child.
 */
enum uroce_leaf {
	UROCE_LEAF_HANDLERS, /* base/copy_signal.c: installation of signal handlers */
	/* path/shm/shm_ptracer.c: the process that may read memory of this one */
	UROCE_LEAF_PTRACER,
	UROCE_LEAF_DEPTH, /* path/shm/shm_trust.c: the descriptor for questions about processes */
	UROCE_LEAF_SERVICES, /* host/gsi_route.c: writers of services on this process's board */
	UROCE_LEAF_FAULTS,   /* verbs/fault_verbs.c: the table of operations with faults */
	UROCE_LEAF_STRICT,   /* strict/record.c: objects and requests in strict mode */
	UROCE_LEAVES,
};
extern pthread_mutex_t uroce_leaf_locks[UROCE_LEAVES];
/* Hold all of these locks around a fork, or release them. */
void uroce_leaf_locks_hold(bool hold);

void uroce_lock_wait(struct uroce_lock *lock);

/*
 * Execute one turn of a loop that waits for another thread. @spins: 0 before the first turn; it
 * determines how long a turn takes.
 */
void uroce_spin(unsigned int *spins);

static inline void uroce_lock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

static inline bool uroce_trylock(struct uroce_lock *lock)
{
	return !atomic_exchange_explicit(&lock->word, 1, memory_order_acquire);
}

/* Pairs with uroce_unlock(). */
static inline void uroce_lock(struct uroce_lock *lock)
{
	if (__builtin_expect(!uroce_trylock(lock), 0))
		uroce_lock_wait(lock);
}

static inline void uroce_unlock(struct uroce_lock *lock)
{
	atomic_store_explicit(&lock->word, 0, memory_order_release);
}

static inline void assert_held(struct uroce_lock *lock)
{
#ifdef RDMA_DEBUG
	assert(atomic_load_explicit(&lock->word, memory_order_relaxed));
#else
	(void)lock;
#endif
}

#endif
