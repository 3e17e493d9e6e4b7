/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time of day is set back by an hour after each reading. A wait for some milliseconds must
 * not become a wait for an hour. The case waits for a socket for which another thread sleeps
 * already. */
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_rsocket.h"
#include "tests/lib/rt.h"

enum {
	HOUR = 3600,
	PATIENCE = 60, /* s */
	WAIT_MS = 100,
	FALLS_ASLEEP = 300000, /* us */
};

/* Replaces the function for all libraries of this program. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = syscall(SYS_clock_gettime, clock, ret);

	if (!r && clock == CLOCK_REALTIME)
		ret->tv_sec += HOUR;
	return r;
}

static void *sleep_for_byte(void *arg)
{
	int fd = *(int *)arg;
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 1);
	return NULL;
}

static void *accept_one(void *arg)
{
	int *listener = arg, fd = raccept(*listener, NULL, NULL);

	CHECK(fd >= 0);
	CHECK_OK(rclose(*listener));
	*listener = fd;
	return NULL;
}

static void set_back(void)
{
	const struct timeval wait = { .tv_usec = WAIT_MS * 1000 };
	uint16_t port;
	int server = rt_rs_listener(&port), client;
	pthread_t acceptor, sleeper;
	char byte = 1;

	alarm(PATIENCE);
	CHECK_OK(pthread_create(&acceptor, NULL, accept_one, &server));
	client = rt_rs_client(port);
	CHECK_OK(pthread_join(acceptor, NULL));
	CHECK_OK(pthread_create(&sleeper, NULL, sleep_for_byte, &client));
	usleep(FALLS_ASLEEP);
	CHECK_OK(rsetsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)));
	CHECK_INT(rrecv(client, &byte, 1, 0), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(rsend(server, &byte, 1, 0), 1);
	CHECK_OK(pthread_join(sleeper, NULL));
	CHECK_OK(rclose(client));
	CHECK_OK(rclose(server));
}

static const struct rt_case cases[] = {
	{ "set_back", set_back },
};

RT_MAIN(cases)
