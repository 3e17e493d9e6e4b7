/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of senders, and of receivers. The bytes of one call stay together, therefore a call
 * keeps its turn while it waits in the middle of a message. Before its first byte it lets other
 * calls go first, for example calls that do not wait.
 */
#include <sched.h>
#include <time.h>

#include "librdmacm/rsocket/rs.h"

#define LOOK_NS 10000000 /* ns between two checks whether the holder sleeps */

void rs_turn_init(struct rs_turn *t)
{
	pthread_mutex_init(&t->lock, NULL);
	atomic_init(&t->asleep, false);
	atomic_init(&t->awaiters, 0);
}

void rs_turn_destroy(struct rs_turn *t)
{
	pthread_mutex_destroy(&t->lock);
}

static bool receiver_is_awake(struct rs_socket *s)
{
	return !atomic_load_explicit(&s->recv_turn.asleep, memory_order_relaxed);
}

static bool sender_is_awake(struct rs_socket *s)
{
	return !atomic_load_explicit(&s->send_turn.asleep, memory_order_relaxed);
}

/* Wait until the holder is awake. Signals and cancellation reach the caller here. */
static int awake_await(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait)
{
	bool receives = t == &s->recv_turn;
	int r;

	atomic_fetch_add(&t->awaiters, 1);
	r = rs_wait(s, receives ? receiver_is_awake : sender_is_awake, wait,
		    receives ? s->recv_timeout_ms : s->send_timeout_ms);
	atomic_fetch_sub(&t->awaiters, 1);
	return r;
}

/*
 * Try to take the lock for LOOK_NS. Do not try longer, because the holder may fall asleep after the
 * caller's check.
 */
static bool lock_for_a_while(pthread_mutex_t *lock)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += LOOK_NS;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	return pthread_mutex_timedlock(lock, &end) == 0;
}

int rs_turn_take(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait)
{
	int r;

	while (pthread_mutex_trylock(&t->lock)) {
		if (rs_call_is_lent(&t->lock))
			/* the call that holds the turn sleeps until this call has returned */
			return 0;
		if (atomic_load_explicit(&t->asleep, memory_order_relaxed)) {
			r = wait == RS_WAIT_NOT ? -EAGAIN : awake_await(s, t, wait);
			if (r < 0)
				return r;
		} else if (wait == RS_WAIT_NOT) {
			sched_yield(); /* the holder is awake and soon done */
		} else if (lock_for_a_while(&t->lock)) {
			break;
		}
	}
	rs_call_hold(s, &t->lock);
	return 0;
}

void rs_turn_give(struct rs_socket *s, struct rs_turn *t)
{
	if (!rs_call_holds(&t->lock))
		return;
	rs_call_hold(s, NULL);
	pthread_mutex_unlock(&t->lock);
}

static int wait_asleep(struct rs_socket *s, struct rs_turn *t, bool (*ready)(struct rs_socket *s),
		       enum rs_wait wait, int timeout_ms)
{
	int r;

	atomic_store_explicit(&t->asleep, true, memory_order_relaxed);
	r = rs_wait(s, ready, wait, timeout_ms);
	atomic_store(&t->asleep, false);
	if (unlikely(atomic_load(&t->awaiters))) {
		pthread_mutex_lock(&s->lock);
		rs_rouse(s);
		pthread_mutex_unlock(&s->lock);
	}
	return r;
}

int rs_turn_wait(struct rs_socket *s, struct rs_turn *t, bool begun,
		 bool (*ready)(struct rs_socket *s), enum rs_wait wait, int timeout_ms)
{
	int r, taken;

	if (wait == RS_WAIT_NOT)
		return rs_wait(s, ready, wait, timeout_ms);
	if (begun)
		return wait_asleep(s, t, ready, wait, timeout_ms);
	rs_turn_give(s, t);
	r = rs_wait(s, ready, wait, timeout_ms);
	taken = rs_turn_take(s, t, wait);
	return taken < 0 ? taken : r;
}
