/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose turn it is to send, and to receive. What one call sends or receives stays together, so a
 * call keeps its turn while it waits in the middle of something; before that it lets others go
 * ahead, who may be those that do not want to wait.
 */
#include <sched.h>

#include "librdmacm/rsocket/rs.h"

void rs_turn_init(struct rs_turn *t)
{
	pthread_mutex_init(&t->lock, NULL);
	atomic_init(&t->asleep, false);
}

void rs_turn_destroy(struct rs_turn *t)
{
	pthread_mutex_destroy(&t->lock);
}

int rs_turn_take(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait)
{
	while (wait == RS_WAIT_NOT && pthread_mutex_trylock(&t->lock)) {
		if (atomic_load_explicit(&t->asleep, memory_order_relaxed))
			return -EAGAIN;
		sched_yield(); /* it does not take long */
	}
	if (wait != RS_WAIT_NOT)
		pthread_mutex_lock(&t->lock);
	rs_call_hold(s, &t->lock);
	return 0;
}

void rs_turn_give(struct rs_socket *s, struct rs_turn *t)
{
	rs_call_hold(s, NULL);
	pthread_mutex_unlock(&t->lock);
}

int rs_turn_wait(struct rs_socket *s, struct rs_turn *t, bool begun,
		 bool (*ready)(struct rs_socket *s), enum rs_wait wait, int timeout_ms)
{
	int r;

	if (wait == RS_WAIT_NOT)
		return rs_wait(s, ready, wait, timeout_ms);
	if (begun) {
		atomic_store_explicit(&t->asleep, true, memory_order_relaxed);
		r = rs_wait(s, ready, wait, timeout_ms);
		atomic_store_explicit(&t->asleep, false, memory_order_relaxed);
		return r;
	}
	rs_turn_give(s, t);
	r = rs_wait(s, ready, wait, timeout_ms);
	pthread_mutex_lock(&t->lock);
	rs_call_hold(s, &t->lock);
	return r;
}
