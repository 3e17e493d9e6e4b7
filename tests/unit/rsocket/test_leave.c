/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a process with open streams. The rest of rsocket, the clock and the sleeps are
 * replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "librdmacm/rsocket/rs.h"

enum {
	SOCKETS = 2000,
	LEAVE_MS = 500,
	HELD = 60, /* at 20 ms each that is more; TSan follows 64 locks of a thread */
};

static struct rs_socket *sockets;
static int socket_count;
static uint64_t now_ns;
static unsigned int said, awaited;

uint64_t rs_now_ns(void)
{
	return now_ns;
}

int rs_timeout_left(int timeout_ms, uint64_t start)
{
	uint64_t passed = (now_ns - start) / 1000000;

	return passed >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)passed;
}

int nanosleep(const struct timespec *request, struct timespec *left)
{
	now_ns += request->tv_sec * 1000000000ull + request->tv_nsec;
	return 0;
}

struct rs_socket *rs_table_next(int *fd)
{
	return *fd < socket_count ? &sockets[*fd] : NULL;
}

void rs_file_put(struct rs_file *file)
{
}

bool rs_all_is_there(struct rs_socket *s)
{
	return false;
}

bool rs_is_accepted(struct rs_socket *s)
{
	return false;
}

int rs_post_control(struct rs_socket *s, enum rs_wire_control control)
{
	assert_int_equal(control, RS_WIRE_DISCONNECT);
	said++;
	return 0;
}

/* No peer takes any data. */
int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms)
{
	assert_true(timeout_ms >= 0);
	now_ns += timeout_ms * 1000000ull;
	awaited++;
	return -EAGAIN;
}

static void open_all(int count)
{
	socket_count = count;
	sockets = calloc(count, sizeof(*sockets));
	assert_non_null(sockets);
	now_ns = said = awaited = 0;
	for (int i = 0; i < count; i++) {
		pthread_mutex_init(&sockets[i].lock, NULL);
		sockets[i].state = RS_CONNECTED;
		sockets[i].sq_size = 16;
	}
}

static void close_all(void)
{
	free(sockets);
	socket_count = 0;
}

static void test_all_said(void **state)
{
	open_all(SOCKETS);
	rs_leave();
	assert_int_equal(said, SOCKETS);
	assert_int_equal(awaited, SOCKETS);
	assert_int_equal(now_ns, LEAVE_MS * 1000000ull);
	close_all();
}

/* Threads hold the locks of all sockets but the last, and never release them. */
static void test_locks_held(void **state)
{
	open_all(HELD + 1);
	for (int i = 0; i < HELD; i++)
		pthread_mutex_lock(&sockets[i].lock);
	rs_leave();
	assert_true(now_ns <= (LEAVE_MS + 1) * 1000000ull);
	assert_int_equal(said, 1);
	for (int i = 0; i < HELD; i++)
		pthread_mutex_unlock(&sockets[i].lock);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_said),
		cmocka_unit_test(test_locks_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
