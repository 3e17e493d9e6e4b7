/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timer wheel on a clock that the caller supplies (ns). Arming and cancelling are O(1). An idle
 * wheel requests no wake-up.
 */
#ifndef UROCE_TIMER_H
#define UROCE_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "providers/uroce/base/lock.h"

struct uroce_timer {
	LIST_ENTRY(uroce_timer) entry;
	_Atomic uint64_t deadline; /* ns; 0: not armed. Written under the lock of the wheel. */
};
LIST_HEAD(uroce_timer_slot, uroce_timer);

enum {
	UROCE_WHEEL_SLOTS = 1024,
};
#define UROCE_WHEEL_TICK 262144u /* ns of a slot: 0.26 ms */

struct uroce_wheel {
	struct uroce_lock lock; /* protects all members below; taken last of all locks */
	struct uroce_timer_slot slot[UROCE_WHEEL_SLOTS];
	uint64_t tick;	/* last one run */
	uint64_t first; /* ns: no timer is due before this time; UINT64_MAX: none is armed */
	atomic_uint
		/* number of armed timers; read without the lock to check whether there are any */
		armed;
};

/* Return whether the timer is armed. Takes no lock, so the timer may be firing at this moment. */
static inline bool uroce_timer_armed(const struct uroce_timer *timer)
{
	return atomic_load_explicit(&timer->deadline, memory_order_relaxed);
}

void uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now);
/*
 * Arm the timer, or move its deadline. Its memory belongs to the caller, who cancels the timer
 * before freeing it.
 */
void uroce_timer_arm(struct uroce_wheel *wheel, struct uroce_timer *timer, uint64_t deadline);
void uroce_timer_cancel(struct uroce_wheel *wheel, struct uroce_timer *timer);
/* Remove and return the next timer that is due at @now. NULL: no timer is due. */
struct uroce_timer *uroce_wheel_expire(struct uroce_wheel *wheel, uint64_t now);
/* Return the next time (ns) at which the wheel must run, possibly too early. UINT64_MAX: never. */
uint64_t uroce_wheel_next(struct uroce_wheel *wheel);

#endif
