/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Send the end of each open stream when the process exits, as the kernel does for TCP. Data that
 * was sent before arrives before the end, if the peer takes it soon. A process that is killed sends
 * no end, and its peers get a connection reset.
 */
#include "librdmacm/rsocket/rs.h"

#define LEAVE_MS   500 /* ms: limit for all streams together */
#define LOCK_TRIES 20

/*
 * Try to take the lock. Other threads still run, and a signal handler that exits may itself hold
 * the lock. @start: time at which rs_leave() began. All waits for locks together take no longer
 * than LEAVE_MS.
 */
static bool lock_at_exit(struct rs_socket *s, uint64_t start)
{
	static const struct timespec between = { .tv_nsec = 1000000 };

	for (int tries = 0; pthread_mutex_trylock(&s->lock); tries++) {
		if (tries == LOCK_TRIES || !rs_timeout_left(LEAVE_MS, start))
			return false;
		nanosleep(&between, NULL);
	}
	return true;
}

static void end_say(struct rs_socket *s, uint64_t start)
{
	if (s->ds || !lock_at_exit(s, start))
		return;
	if (s->state == RS_CONNECTED && !s->no_send && !s->broken && s->controls < RS_CONTROL_MAX &&
	    rs_slots_free(s))
		rs_post_control(s, RS_WIRE_DISCONNECT);
	pthread_mutex_unlock(&s->lock);
}

static void end_await(struct rs_socket *s, uint64_t start)
{
	if (s->ds || !lock_at_exit(s, start))
		return;
	pthread_mutex_unlock(&s->lock);
	rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, rs_timeout_left(LEAVE_MS, start));
}

/* Wait until the handshake of an accepted socket ends, because the peer already has the connection.
 */
static void accepted_await(struct rs_socket *s, uint64_t start)
{
	bool accepting;

	if (s->ds || !lock_at_exit(s, start))
		return;
	accepting = s->state == RS_ACCEPTING && s->is_programs;
	pthread_mutex_unlock(&s->lock);
	if (accepting)
		rs_wait(s, rs_is_accepted, RS_WAIT_ALWAYS, rs_timeout_left(LEAVE_MS, start));
}

void rs_leave(void)
{
	uint64_t start = rs_now_ns();
	struct rs_socket *s;

	for (int fd = 0; (s = rs_table_next(&fd)); fd++) {
		accepted_await(s, start);
		rs_socket_put(s);
	}
	for (int fd = 0; (s = rs_table_next(&fd)); fd++) {
		end_say(s, start);
		rs_socket_put(s);
	}
	for (int fd = 0; (s = rs_table_next(&fd)); fd++) {
		end_await(s, start);
		rs_socket_put(s);
	}
}
