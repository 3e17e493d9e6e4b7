/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/uroce/base/timer.h"

/*
 * Return the slot of a deadline. A slot holds the timers whose tick is congruent to it. Timers of
 * later rounds stay in the slot when it is visited.
 */

static struct uroce_timer_slot *slot_of(struct uroce_wheel *wheel, uint64_t deadline)
{
	return &wheel->slot[deadline / UROCE_WHEEL_TICK % UROCE_WHEEL_SLOTS];
}

static uint64_t timer_get(const struct uroce_timer *timer)
{
	return atomic_load_explicit(&timer->deadline, memory_order_relaxed);
}

static void timer_set(struct uroce_timer *timer, uint64_t deadline)
{
	atomic_store_explicit(&timer->deadline, deadline, memory_order_relaxed);
}

void uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now)
{
	for (unsigned int i = 0; i < UROCE_WHEEL_SLOTS; i++)
		LIST_INIT(&wheel->slot[i]);
	wheel->tick = now / UROCE_WHEEL_TICK;
	wheel->first = UINT64_MAX;
}

static void timer_remove(struct uroce_wheel *wheel, struct uroce_timer *timer)
{
	LIST_REMOVE(timer, entry);
	timer_set(timer, 0);
	if (--wheel->armed == 0)
		wheel->first = UINT64_MAX;
}

void uroce_timer_arm(struct uroce_wheel *wheel, struct uroce_timer *timer, uint64_t deadline)
{
	uroce_lock(&wheel->lock);
	if (uroce_timer_armed(timer))
		timer_remove(wheel, timer);
	/* If the deadline has passed, use the next tick that will be visited. */
	if (deadline / UROCE_WHEEL_TICK <= wheel->tick)
		deadline = (wheel->tick + 1) * UROCE_WHEEL_TICK;
	timer_set(timer, deadline);
	LIST_INSERT_HEAD(slot_of(wheel, deadline), timer, entry);
	wheel->armed++;
	if (deadline < wheel->first)
		wheel->first = deadline;
	uroce_unlock(&wheel->lock);
}

void uroce_timer_cancel(struct uroce_wheel *wheel, struct uroce_timer *timer)
{
	uroce_lock(&wheel->lock);
	if (uroce_timer_armed(timer))
		timer_remove(wheel, timer);
	uroce_unlock(&wheel->lock);
}

static struct uroce_timer *slot_due(struct uroce_timer_slot *slot, uint64_t now)
{
	struct uroce_timer *timer;

	LIST_FOREACH(timer, slot, entry)
		if (timer_get(timer) <= now)
			return timer;
	return NULL;
}

/*
 * Return the earliest deadline. It is exact within one round, otherwise it is one round ahead. The
 * wheel's present tick has not ended yet and may still hold a deadline. Deadlines of the next round
 * share its slot.
 */
static uint64_t wheel_scan(const struct uroce_wheel *wheel)
{
	uint64_t best = UINT64_MAX;
	const struct uroce_timer *timer;

	for (unsigned int i = 0; i < UROCE_WHEEL_SLOTS && best == UINT64_MAX; i++) {
		uint64_t slot_end = (wheel->tick + i + 1) * UROCE_WHEEL_TICK;

		LIST_FOREACH(timer, &wheel->slot[(wheel->tick + i) % UROCE_WHEEL_SLOTS], entry)
			if (timer_get(timer) < slot_end && timer_get(timer) < best)
				best = timer_get(timer);
	}
	return best != UINT64_MAX ? best : (wheel->tick + UROCE_WHEEL_SLOTS) * UROCE_WHEEL_TICK;
}

struct uroce_timer *uroce_wheel_expire(struct uroce_wheel *wheel, uint64_t now)
{
	struct uroce_timer *timer = NULL;

	uroce_lock(&wheel->lock);
	if (wheel->armed && wheel->first <= now) {
		uint64_t last = now / UROCE_WHEEL_TICK;

		if (last - wheel->tick > UROCE_WHEEL_SLOTS)
			wheel->tick = last - UROCE_WHEEL_SLOTS;
		for (;;) {
			timer = slot_due(&wheel->slot[wheel->tick % UROCE_WHEEL_SLOTS], now);
			if (timer || wheel->tick >= last)
				break;
			wheel->tick++;
		}
		if (timer)
			timer_remove(wheel, timer);
		else
			wheel->first = wheel_scan(wheel);
	} else if (!wheel->armed) {
		wheel->tick = now / UROCE_WHEEL_TICK;
	}
	uroce_unlock(&wheel->lock);
	return timer;
}

uint64_t uroce_wheel_next(struct uroce_wheel *wheel)
{
	uint64_t first;

	uroce_lock(&wheel->lock);
	first = wheel->armed ? wheel->first : UINT64_MAX;
	uroce_unlock(&wheel->lock);
	return first;
}
