/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <sys/time.h>

#include "tests/unit/unit.h"

#include "rdma-ndd/hostname.h"
#include "rdma-ndd/watch.h"

static struct watch watch;

static int begin(void **state)
{
	return watch_open(&watch, -1);
}

static int end(void **state)
{
	watch_close(&watch);
	return 0;
}

static void test_nothing(void **state)
{
	assert_int_equal(watch_wait(&watch, 0), 0);
}

static void test_signals(void **state)
{
	kill(getpid(), SIGHUP);
	assert_int_equal(watch_wait(&watch, -1), WATCH_RELOAD);
	kill(getpid(), SIGTERM);
	assert_int_equal(watch_wait(&watch, -1), WATCH_STOP);
	kill(getpid(), SIGINT);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGHUP);
	assert_int_equal(watch_wait(&watch, -1), WATCH_STOP | WATCH_RELOAD);
	assert_int_equal(watch_wait(&watch, 0), 0);
}

static void on_alarm(int number)
{
}

/* A foreign signal interrupts the sleep: that is no event and no error. */
static void test_interrupted(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 10000, .it_interval.tv_usec = 10000 };
	struct itimerval never = {};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(watch_wait(&watch, -1), 0);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void test_hostname(void **state)
{
	char name[HOSTNAME_SIZE], expected[256];
	int fd = hostname_open("/proc/sys/kernel/hostname");

	assert_true(fd >= 0);
	assert_int_equal(hostname_read(fd, name), 0);
	gethostname(expected, sizeof(expected));
	assert_string_equal(name, expected);
	/* Read a second time from the same descriptor. */
	assert_int_equal(hostname_read(fd, name), 0);
	assert_string_equal(name, expected);
	close(fd);
	assert_int_equal(hostname_open("/nonexistent"), -ENOENT);
	fd = open("/", O_RDONLY);
	assert_int_equal(hostname_read(fd, name), -EISDIR);
	assert_string_equal(name, expected);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_signals),
		TEST(test_interrupted),
		TEST(test_hostname),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
