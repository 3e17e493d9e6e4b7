/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that are cancelled in a call of a socket. A sleeping thread ends in the call, and the
 * socket is unaffected. Otherwise the call finishes first. */
#include <poll.h>
#include <pthread.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define LONG_MS 60000

static int ends[2]; /* of one connection, or of datagrams */
static int listening, poller;

static void streams_open(void)
{
	uint16_t port;

	listening = rt_rs_listener(&port);
	ends[1] = rt_rs_client(port);
	ends[0] = raccept(listening, NULL, NULL);
	CHECK(ends[0] >= 0);
}

static void datagrams_open(void)
{
	struct sockaddr_storage name = rt_cm_address(0);
	socklen_t size = sizeof(name);

	for (int i = 0; i < 2; i++) {
		ends[i] = rsocket(name.ss_family, SOCK_DGRAM, 0);
		CHECK(ends[i] >= 0);
	}
	CHECK_OK(rbind(ends[0], (struct sockaddr *)&name, rt_rs_size(&name)));
	CHECK_OK(rgetsockname(ends[0], (struct sockaddr *)&name, &size));
	CHECK_OK(rconnect(ends[1], (struct sockaddr *)&name, size));
}

static void both_close(void)
{
	CHECK_OK(rclose(ends[0]));
	CHECK_OK(rclose(ends[1]));
}

static void byte_pass(void)
{
	char byte = 0;

	CHECK_INT(rsend(ends[1], "x", 1, 0), 1);
	CHECK_INT(rrecv(ends[0], &byte, 1, 0), 1);
	CHECK_INT(byte, 'x');
}

/* ---- calls that sleep and do not return in these cases ---- */

static void *receive(void *arg)
{
	char byte;

	rrecv(ends[0], &byte, 1, 0);
	return NULL;
}

static void *send_all(void *arg)
{
	static char bytes[1 << 20];

	for (;;)
		rsend(ends[0], bytes, sizeof(bytes), 0);
	return NULL;
}

static void *accept_one(void *arg)
{
	raccept(listening, NULL, NULL);
	return NULL;
}

static void *poll_few(void *arg)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	rpoll(&p, 1, -1);
	return NULL;
}

static void *poll_many(void *arg)
{
	struct pollfd p[100];

	for (int i = 0; i < RT_COUNT(p); i++)
		p[i] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	rpoll(p, RT_COUNT(p), -1);
	return NULL;
}

static void *select_one(void *arg)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	rselect(ends[0] + 1, &set, NULL, NULL, NULL);
	return NULL;
}

static void *poller_wait(void *arg)
{
	struct epoll_event event;

	repoll_wait(poller, &event, 1, -1);
	return NULL;
}

/* Cancel two threads: one sleeps for the socket, the other for the first thread. */
static void cancel_in(void *(*call)(void *))
{
	pthread_t threads[2];
	void *result;

	for (int i = 0; i < 2; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, call, NULL));
	usleep(20000);
	for (int i = 0; i < 2; i++)
		CHECK_OK(pthread_cancel(threads[i]));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(pthread_join(threads[i], &result));
		CHECK(result == PTHREAD_CANCELED);
	}
}

static void in_receive(void)
{
	streams_open();
	cancel_in(receive);
	byte_pass();
	cancel_in(receive);
	byte_pass();
	both_close();
	CHECK_OK(rclose(listening));
}

static void in_receive_of_datagram(void)
{
	datagrams_open();
	cancel_in(receive);
	for (int i = 0; i < 20; i++)
		byte_pass();
	cancel_in(receive);
	byte_pass();
	both_close();
}

static void in_send(void)
{
	static char bytes[1 << 16];

	streams_open();
	cancel_in(send_all);
	byte_pass();
	/* and the direction that was full continues as soon as there is room */
	while (rsend(ends[0], "x", 1, MSG_DONTWAIT) < 0) {
		CHECK_INT(errno, EAGAIN);
		rrecv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT);
	}
	both_close();
	CHECK_OK(rclose(listening));
}

static void in_accept(void)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);

	streams_open();
	cancel_in(accept_one);
	byte_pass();
	both_close();
	CHECK_OK(rgetsockname(listening, (struct sockaddr *)&name, &size));
	ends[1] = rsocket(name.ss_family, SOCK_STREAM, 0);
	CHECK_OK(rconnect(ends[1], (struct sockaddr *)&name, size));
	ends[0] = raccept(listening, NULL, NULL);
	CHECK(ends[0] >= 0);
	byte_pass();
	both_close();
	CHECK_OK(rclose(listening));
}

static void in_polls(void)
{
	void *(*const calls[])(void *) = { poll_few, poll_many, select_one };
	struct pollfd p = { .events = POLLIN };

	streams_open();
	p.fd = ends[0];
	for (int i = 0; i < RT_COUNT(calls); i++) {
		cancel_in(calls[i]);
		CHECK_INT(rpoll(&p, 1, 1), 0);
		CHECK_INT(rsend(ends[1], "x", 1, 0), 1);
		CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
		CHECK_INT(rrecv(ends[0], &(char){ 0 }, 1, 0), 1);
	}
	both_close();
	CHECK_OK(rclose(listening));
}

static void in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	streams_open();
	poller = repoll_create(EPOLL_CLOEXEC);
	cancel_in(poller_wait);
	CHECK_OK(repoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event));
	cancel_in(poller_wait);
	CHECK_INT(rsend(ends[1], "x", 1, 0), 1);
	CHECK_INT(repoll_wait(poller, &event, 1, LONG_MS), 1);
	both_close();
	CHECK_OK(rclose(poller));
	CHECK_OK(rclose(listening));
}

/* ---- calls that need not sleep: the thread ends after them ---- */

/* Send a byte. A slower device may have no room at this moment. */
static void byte_try(int fd)
{
	if (rsend(fd, "x", 1, MSG_DONTWAIT) < 0)
		CHECK_INT(errno, EAGAIN);
}

static void *everything(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	int value = 1, *done = arg;
	char byte;

	pthread_cancel(pthread_self());
	CHECK_OK(rsetsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)));
	CHECK_OK(rgetsockname(ends[0], (struct sockaddr *)&name, &size));
	poller = repoll_create(EPOLL_CLOEXEC);
	CHECK_OK(repoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event));
	for (int i = 0; i < 200; i++) {
		byte_try(ends[1]);
		CHECK(rpoll(&p, 1, 0) >= 0);
		CHECK(repoll_wait(poller, &event, 1, 0) >= 0);
		rrecv(ends[0], &byte, 1, MSG_DONTWAIT);
	}
	rrecv(ends[0], &byte, 1, MSG_DONTWAIT);
	CHECK_OK(rclose(poller));
	CHECK_OK(rshutdown(ends[1], SHUT_RDWR) && errno != ENOTCONN);
	both_close();
	*done = 1;
	pthread_testcancel();
	return NULL;
}

static void elsewhere(void)
{
	pthread_t thread;
	void *result;
	int done;

	for (int i = 0; i < 2; i++) {
		if (i)
			datagrams_open();
		else
			streams_open();
		done = 0;
		CHECK_OK(pthread_create(&thread, NULL, everything, &done));
		CHECK_OK(pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
		CHECK(done);
	}
	CHECK_OK(rclose(listening));
}

/* Resources that a cancelled thread held are freed. */
static void no_leak(void)
{
	struct rt_use before;

	for (int i = 0; i < 6; i++) {
		in_receive();
		in_receive_of_datagram();
		in_polls();
		in_epoll();
		if (i == 1)
			before = rt_use();
	}
	CHECK_INT(rt_use().descriptors, before.descriptors);
}

#define CASE(name)          \
	{                   \
#name, name \
	}
static const struct rt_case cases[] = {
	CASE(in_receive), CASE(in_receive_of_datagram),
	CASE(in_send),	  CASE(in_accept),
	CASE(in_polls),	  CASE(in_epoll),
	CASE(elsewhere),  CASE(no_leak),
};
RT_MAIN(cases)
