/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timer wheel on a caller-supplied clock (ns): arming and cancelling are O(1); an idle wheel asks
 * for no wake-up.
 */
#ifndef UROCE_TIMER_H
#define UROCE_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "providers/uroce/base/lock.h"

struct uroce_timer {
	LIST_ENTRY(uroce_timer) entry;
	_Atomic uint64_t deadline; /* ns; 0: not armed. Written under the wheel's lock */
};
LIST_HEAD(uroce_timer_slot, uroce_timer);

enum {
	UROCE_WHEEL_SLOTS = 1024,
};
#define UROCE_WHEEL_TICK 262144u /* ns of a slot: 0.26 ms */

struct uroce_wheel {
	struct uroce_lock lock; /* protects all below; taken last of all */
	struct uroce_timer_slot slot[UROCE_WHEEL_SLOTS];
	uint64_t tick;	/* last one run */
	uint64_t first; /* no timer is due before this time, ns; UINT64_MAX: none armed */
	atomic_uint
		armed; /* read without the lock by who only wants to know whether there is any */
};

/* Whether it will still fire; without the wheel's lock, so it may be firing now. */
static inline bool uroce_timer_armed(const struct uroce_timer *timer)
{
	return atomic_load_explicit(&timer->deadline, memory_order_relaxed);
}

void uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now);
/* Arm or move. The timer's memory stays the caller's; cancel before freeing it. */
void uroce_timer_arm(struct uroce_wheel *wheel, struct uroce_timer *timer, uint64_t deadline);
void uroce_timer_cancel(struct uroce_wheel *wheel, struct uroce_timer *timer);
/* Next timer that is due at @now, taken off the wheel; NULL when none is left. */
struct uroce_timer *uroce_wheel_expire(struct uroce_wheel *wheel, uint64_t now);
/* When the wheel wants to be run next (ns), possibly early; UINT64_MAX: never. */
uint64_t uroce_wheel_next(struct uroce_wheel *wheel);

#endif
