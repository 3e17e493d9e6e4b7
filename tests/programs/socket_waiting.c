/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* poll(), select() and epoll. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "socket_cases.h"

static void case_poll(void)
{
	struct ends e = ends_open();
	int copy = dup(e.a);
	struct pollfd p[] = {
		{ .fd = -1, .events = POLLIN, .revents = 77 },
		{ .fd = e.a, .events = POLLIN },
		{ .fd = -e.b, .events = POLLIN, .revents = 77 },
		{ .fd = copy, .events = POLLIN | POLLOUT },
		{ .fd = 999, .events = POLLIN },
	};
	const struct timespec none = {};

	CHECK(poll(p, 4, 0) == 1);
	CHECK(!p[0].revents && !p[1].revents && !p[2].revents && p[3].revents == POLLOUT);
	CHECK(poll(p, 5, -1) == 2 && p[4].revents == POLLNVAL);
	CHECK(say(e.b, "x"));
	CHECK(becomes(e.a, POLLIN));
	CHECK(ppoll(p, 4, &none, NULL) == 2);
	CHECK(p[1].revents == POLLIN && p[3].revents == (POLLIN | POLLOUT));
	CHECK(poll(NULL, 0, 1) == 0);
	close(e.b);
	CHECK(expect(e.a, "x"));
	p[1].events = POLLIN | POLLRDHUP;
	CHECK(becomes(e.a, POLLIN | POLLRDHUP));
	close(copy);
	close(e.a);
	close(e.listener);
}

/* POSIX has other names for the same events. */
static void case_poll_normal(void)
{
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLRDNORM | POLLWRNORM };
	struct epoll_event event = { .events = EPOLLRDNORM | EPOLLWRNORM };
	int epoll = epoll_create1(0), a = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLWRNORM);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(events_of(epoll, 0) == EPOLLWRNORM);
	CHECK(say(e.b, "x") && becomes(e.a, POLLRDNORM));
	CHECK(events_of(epoll, 0) == (EPOLLRDNORM | EPOLLWRNORM));
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLRDNORM));
	close(a);
	close(epoll);
	ends_close(&e);
}

/* Invalid times: no call waits for ever. */
static void case_wrong_times(void)
{
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLIN };
	const struct timespec before = { .tv_sec = -1 }, wide = { .tv_nsec = 1000000000 };
	struct timeval past = { .tv_sec = -1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(e.a, &set);
	CHECK_ERRNO(ppoll(&p, 1, &before, NULL), EINVAL);
	CHECK_ERRNO(ppoll(&p, 1, &wide, NULL), EINVAL);
	CHECK_ERRNO(pselect(e.a + 1, &set, NULL, NULL, &before, NULL), EINVAL);
	CHECK_ERRNO(pselect(e.a + 1, &set, NULL, NULL, &wide, NULL), EINVAL);
	CHECK_ERRNO(select(e.a + 1, &set, NULL, NULL, &past), EINVAL);
	ends_close(&e);
}

/* Sets may be larger than fd_set. */
static void case_select(void)
{
	struct ends e = ends_open();
	enum {
		HIGH = 2000
	};
	unsigned long in[HIGH / 64 + 2] = {}, out[HIGH / 64 + 2] = {};
	struct timeval time = { .tv_sec = 10 };
	fd_set set;
	int high;

	FD_ZERO(&set);
	FD_SET(e.a, &set);
	CHECK(select(e.a + 1, &set, NULL, NULL, &(struct timeval){}) == 0 && !FD_ISSET(e.a, &set));
	CHECK(say(e.b, "x"));
	FD_SET(e.a, &set);
	CHECK(select(e.a + 1, &set, NULL, NULL, &time) == 1 && FD_ISSET(e.a, &set));
	high = fcntl(e.a, F_DUPFD, HIGH);
	CHECK(high >= HIGH);
	in[high / 64] |= 1ul << (high % 64);
	out[high / 64] |= 1ul << (high % 64);
	CHECK(pselect(high + 1, (fd_set *)in, (fd_set *)out, NULL, NULL, NULL) == 2);
	close(high);
	FD_SET(high % 64, &set);
	CHECK_ERRNO(select(-1, &set, NULL, NULL, &time), EINVAL);
	ends_close(&e);
}

static void case_epoll(void)
{
	struct ends e = ends_open();
	int epoll = epoll_create1(0), outer = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK_ERRNO(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event), EEXIST);
	CHECK(events_of(epoll, 0) == 0);
	CHECK(say(e.b, "x"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && events_of(epoll, 0) == EPOLLIN);
	/* An epoll of an epoll. */
	CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event) == 0);
	CHECK(events_of(outer, 10000) == EPOLLIN);
	CHECK(becomes(epoll, POLLIN));
	CHECK(expect(e.a, "x"));
	CHECK(events_of(epoll, 0) == 0);
	CHECK(events_of(outer, 0) == 0);
	/* A second byte wakes the outer epoll again. */
	CHECK(say(e.b, "y"));
	CHECK(events_of(outer, 10000) == EPOLLIN);
	CHECK(events_of(epoll, 0) == EPOLLIN);
	CHECK(expect(e.a, "y"));
	/* The other order. */
	close(epoll);
	epoll = epoll_create1(0);
	CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(events_of(outer, 0) == 0);
	CHECK(say(e.b, "z"));
	CHECK(events_of(outer, 10000) == EPOLLIN && expect(e.a, "z"));
	/* Edges. */
	event.events = EPOLLIN | EPOLLET;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, e.a, &event) == 0 && events_of(epoll, 0) == 0);
	CHECK(say(e.b, "12"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && events_of(epoll, 0) == 0);
	CHECK(expect(e.a, "1") && events_of(epoll, 0) == 0);
	CHECK(say(e.b, "3"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && expect(e.a, "23"));
	/* Once. */
	event.events = EPOLLOUT | EPOLLONESHOT;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, e.a, &event) == 0);
	CHECK(events_of(epoll, 10000) == EPOLLOUT && events_of(epoll, 0) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, e.a, NULL) == 0);
	CHECK_ERRNO(epoll_ctl(epoll, EPOLL_CTL_DEL, e.a, NULL), ENOENT);
	CHECK_ERRNO(epoll_ctl(e.b, EPOLL_CTL_ADD, e.a, &event), EINVAL);
	close(outer);
	close(epoll);
	ends_close(&e);
}

static void *epoll_await(void *epoll)
{
	return (void *)(intptr_t)events_of(*(int *)epoll, PATIENCE_MS);
}

/* Threads wait in an epoll before it has its first socket. */
static void case_epoll_before_socket(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLOUT };
	int epoll = epoll_create1(0);
	pthread_t threads[2];
	void *events;

	for (unsigned int i = 0; i < SIZE(threads); i++)
		CHECK(pthread_create(&threads[i], NULL, epoll_await, &epoll) == 0);
	usleep(100000); /* most likely they sleep by now */
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	for (unsigned int i = 0; i < SIZE(threads); i++) {
		pthread_join(threads[i], &events);
		CHECK((intptr_t)events == EPOLLOUT);
	}
	close(epoll);
	ends_close(&e);
}

const struct case_row waiting_cases[] = {
	{ "poll", case_poll },
	{ "select", case_select },
	{ "wrong_times", case_wrong_times },
	{ "poll_normal", case_poll_normal },
	{ "epoll", case_epoll },
	{ "epoll_before_socket", case_epoll_before_socket },
	{},
};
