/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process that exits with streams open says their ends: the kernel does that for TCP's. What was
 * sent arrives first, if the peer takes it soon. A process that is killed says nothing, and its
 * peers hear that the connection was reset.
 */
#include "librdmacm/rsocket/rs.h"

#define LEAVE_MS   500 /* for all of them together */
#define LOCK_TRIES 20

/* Other threads go on, and a signal's handler that exits may itself have the lock. */
static bool lock_at_exit(struct rs_socket *s)
{
	static const struct timespec between = { .tv_nsec = 1000000 };

	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (!pthread_mutex_trylock(&s->lock))
			return true;
		nanosleep(&between, NULL);
	}
	return false;
}

static void end_say(struct rs_socket *s)
{
	if (s->ds || !lock_at_exit(s))
		return;
	if (s->state == RS_CONNECTED && !s->no_send && !s->broken && s->controls < RS_CONTROL_MAX &&
	    rs_slots_free(s))
		rs_post_control(s, RS_WIRE_DISCONNECT);
	pthread_mutex_unlock(&s->lock);
}

static void end_await(struct rs_socket *s, int timeout_ms)
{
	if (s->ds || !lock_at_exit(s))
		return;
	pthread_mutex_unlock(&s->lock);
	rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, timeout_ms);
}

static void __attribute__((destructor)) all_leave(void)
{
	uint64_t start = rs_now_ns();
	struct rs_socket *s;

	for (int fd = 0; (s = rs_table_next(&fd)); fd++) {
		end_say(s);
		rs_socket_put(s);
	}
	for (int fd = 0; (s = rs_table_next(&fd)); fd++) {
		end_await(s, rs_timeout_left(LEAVE_MS, start));
		rs_socket_put(s);
	}
}
