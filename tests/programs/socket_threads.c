/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that wait at a socket while others shut it down, close it or cancel them. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_cases.h"

/* A shutdown() by another thread ends the wait of a thread in any call. */
static void case_threads(void)
{
	struct ends e = ends_open();
	pthread_t reader, accepter;
	void *was;

	pthread_create(&reader, NULL, end_wait, &e.a);
	pthread_create(&accepter, NULL, accept_wait, &e.listener);
	usleep(50000);
	CHECK(shutdown(e.a, SHUT_RD) == 0 && shutdown(e.listener, SHUT_RDWR) == 0);
	pthread_join(reader, &was);
	CHECK(was);
	pthread_join(accepter, &was);
	CHECK(was);
	ends_close(&e);
}

static void *read_until_closed(void *arg)
{
	char bytes[64];
	int fd = *(int *)arg;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 100) >= 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) != 0)
		if (errno == EBADF || p.revents & POLLNVAL)
			break;
	return NULL;
}

/* Threads use a socket while another one closes it: they get an error or the end of the stream. */
static void case_close_under(void)
{
	for (int round = 0; round < 20; round++) {
		struct ends e = ends_open();
		pthread_t threads[4];

		for (unsigned int i = 0; i < SIZE(threads); i++)
			pthread_create(&threads[i], NULL, read_until_closed, i % 2 ? &e.a : &e.b);
		for (int i = 0; i < 20; i++)
			say(i % 2 ? e.a : e.b, "some bytes");
		close(e.a);
		usleep(1000);
		close(e.b);
		for (unsigned int i = 0; i < SIZE(threads); i++)
			pthread_join(threads[i], NULL);
		close(e.listener);
	}
}

enum waiting {
	IN_RECV,
	IN_PEEK,
	IN_SEND,
	IN_ACCEPT,
	IN_POLL,
	IN_SELECT,
	IN_EPOLL,
	WAITINGS
};

struct under {
	enum waiting how;
	int fd;
};

/* The call must return, with any result. */
static void *wait_under(void *arg)
{
	const struct under *u = arg;
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	static const char much[65536];
	char byte;
	int epoll;
	fd_set set;

	switch (u->how) {
	case IN_RECV:
		recv(u->fd, &byte, 1, 0);
		break;
	case IN_PEEK:
		recv(u->fd, &byte, 1, MSG_PEEK | MSG_WAITALL);
		break;
	case IN_SEND:
		while (send(u->fd, much, sizeof(much), 0) > 0)
			;
		break;
	case IN_ACCEPT:
		close(accept(u->fd, NULL, NULL));
		break;
	case IN_POLL:
		poll(&p, 1, -1);
		break;
	case IN_SELECT:
		FD_ZERO(&set);
		FD_SET(u->fd, &set);
		select(u->fd + 1, &set, NULL, NULL, NULL);
		break;
	default:
		epoll = epoll_create1(0);
		epoll_ctl(epoll, EPOLL_CTL_ADD, u->fd, &event);
		/* A closed descriptor is no longer in any epoll. */
		epoll_wait(epoll, &event, 1, 1000);
		close(epoll);
	}
	return NULL;
}

static void case_close_under_each(void)
{
	for (int how = 0; how < WAITINGS; how++) {
		struct ends e = ends_open();
		struct under u = { how, how == IN_ACCEPT ? e.listener : e.a };
		int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		pthread_t thread;

		pthread_create(&thread, NULL, wait_under, &u);
		usleep(100000);
		CHECK(close(u.fd) == 0);
		/* The kernel's sockets wake the waiting thread only when the peer acts. */
		if (how == IN_ACCEPT)
			connect(late, (struct sockaddr *)&e.address, sizeof(e.address));
		else
			close(e.b);
		pthread_join(thread, NULL);
		close(late);
		if (how == IN_ACCEPT) {
			CHECK(say(e.a, "x") && expect(e.b, "x"));
			close(e.a);
			close(e.b);
		} else {
			close(e.listener);
		}
	}
}

/* On the one processor of both threads, the close is interrupted as soon as the other thread
 * wakes. */
static void *close_politely(void *arg)
{
	setpriority(PRIO_PROCESS, gettid(), 19);
	usleep(1000);
	CHECK(close(((struct under *)arg)->fd) == 0);
	return NULL;
}

/* The waiting thread may wake up in the middle of the close. */
static void case_close_under_accept(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int round = 0; round < 400; round++) {
		struct sockaddr_in address;
		struct under u = { IN_ACCEPT, listener_open(&address) };
		int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		pthread_t waits, closes;

		pthread_create(&waits, NULL, wait_under, &u);
		pthread_create(&closes, NULL, close_politely, &u);
		pthread_join(closes, NULL);
		if (!is_over_rdma()) /* as above */
			connect(late, (struct sockaddr *)&address, sizeof(address));
		pthread_join(waits, NULL);
		close(late);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/* AddressSanitizer fails if a thread is cancelled in a system call. ThreadSanitizer does not see
 * a lock that such a thread takes in its handler, and reports the data that the lock protects: a
 * thread in epoll_wait() whose handler takes a mutex is enough. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CANCELS_ARE_THEIRS true
#else
#define CANCELS_ARE_THEIRS false
#endif

static void under_close(void *arg)
{
	CHECK(close(((struct under *)arg)->fd) == 0);
}

static void *wait_cancelled(void *arg)
{
	pthread_cleanup_push(under_close, arg);
	wait_under(arg);
	pthread_cleanup_pop(0);
	return NULL;
}

/* The cleanup handler of a cancelled thread closes the socket, and the peer gets the end of the
 * stream. */
static void case_cancelled_each(void)
{
	if (CANCELS_ARE_THEIRS) {
		case_skipped = "a sanitizer does not bear threads that are cancelled";
		return;
	}
	for (int how = 0; how < WAITINGS; how++) {
		struct ends e = ends_open();
		struct under u = { how, how == IN_ACCEPT ? e.listener : e.a };
		struct timeval time = { .tv_sec = 10 };
		static char much[65536];
		pthread_t thread;
		ssize_t n;
		void *was;

		pthread_create(&thread, NULL, wait_cancelled, &u);
		usleep(100000);
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &was) == 0 && was == PTHREAD_CANCELED);
		CHECK_ERRNO(fcntl(u.fd, F_GETFD), EBADF);
		if (how == IN_ACCEPT) {
			CHECK(say(e.a, "x") && expect(e.b, "x") && close(e.a) == 0);
		} else {
			close(e.listener);
		}
		CHECK(setsockopt(e.b, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
		while ((n = recv(e.b, much, sizeof(much), 0)) > 0)
			;
		CHECK(n == 0);
		close(e.b);
	}
}

struct beside {
	atomic_int fd; /* -1: the thread ends */
	atomic_bool polled;
};

/* The peer is silent: the descriptor is open and not ready, or it is closed. */
static void *poll_beside(void *arg)
{
	struct beside *b = arg;
	int fd;

	while ((fd = atomic_load(&b->fd)) >= 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int r = poll(&p, 1, 0);
		ssize_t n;
		char byte;

		CHECK(r == 0 || (r == 1 && p.revents == POLLNVAL));
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		/* A call that began before the close may find the end of the stream. */
		CHECK(n == 0 || (n == -1 && (errno == EAGAIN || errno == EBADF)));
		atomic_store(&b->polled, true);
	}
	return NULL;
}

/* A thread that polls while another one closes sees an open descriptor or none. */
static void case_close_beside_poll(void)
{
	for (int round = 0; round < 50 && !case_failed; round++) {
		struct ends e = ends_open();
		struct beside b = { .fd = e.a };
		pthread_t thread;

		pthread_create(&thread, NULL, poll_beside, &b);
		while (!atomic_load(&b.polled))
			sched_yield();
		CHECK(close(e.a) == 0);
		atomic_store(&b.fd, -1);
		pthread_join(thread, NULL);
		close(e.b);
		close(e.listener);
	}
}

const struct case_row thread_cases[] = {
	{ "threads", case_threads },
	{ "close_under", case_close_under },
	{ "close_under_each", case_close_under_each },
	{ "close_under_accept", case_close_under_accept },
	{ "close_beside_poll", case_close_beside_poll },
	{ "cancelled_each", case_cancelled_each },
	{},
};
