/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals that arrive while a thread waits. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket_cases.h"

static atomic_int signals;

static void signal_count(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void *signal_soon(void *arg)
{
	pthread_t thread = *(pthread_t *)arg;

	for (int i = 0; i < 100 && !atomic_load(&signals); i++) {
		usleep(20000);
		pthread_kill(thread, SIGUSR1);
	}
	return NULL;
}

#define INTERRUPTED(call)                                                    \
	do {                                                                 \
		pthread_t own = pthread_self(), other;                       \
		atomic_store(&signals, 0);                                   \
		CHECK(pthread_create(&other, NULL, signal_soon, &own) == 0); \
		CHECK_ERRNO(call, EINTR);                                    \
		pthread_join(other, NULL);                                   \
	} while (0)

static void case_signals(void)
{
	struct sigaction action = { .sa_handler = signal_count };
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLIN };
	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	sigaction(SIGUSR1, &action, NULL);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	INTERRUPTED(read(e.a, &byte, 1));
	INTERRUPTED(recv(e.a, &byte, 1, MSG_PEEK));
	INTERRUPTED(accept(e.listener, NULL, NULL));
	INTERRUPTED(poll(&p, 1, -1));
	INTERRUPTED(epoll_wait(epoll, &event, 1, -1));
	CHECK(say(e.b, "x") && expect(e.a, "x"));
	close(epoll);
	ends_close(&e);
}

static void handler_set(int flags)
{
	struct sigaction action = { .sa_handler = signal_count, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
}

/* Send as much as possible, to the last byte, because the kernel moves data on and then takes
 * more. */
static void fill_peer(const struct ends *e)
{
	static const char much[65536];
	int small = 16384;

	/* The buffers of the kernel must not grow. */
	setsockopt(e->a, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(e->b, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	do {
		while (send(e->a, much, sizeof(much), MSG_DONTWAIT) > 0)
			;
		while (send(e->a, much, 1, MSG_DONTWAIT) > 0)
			;
		CHECK(errno == EAGAIN);
		usleep(500000);
	} while (send(e->a, much, 1, MSG_DONTWAIT) > 0);
}

/* Signals interrupt further calls, which case_signals() does not test. */
static void case_signals_more(void)
{
	struct ends e = ends_open();
	int plain = file_open("bytes"), p[2], epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pollfd waited = { .fd = e.a, .events = POLLIN };
	fd_set set;

	handler_set(0);
	CHECK(pipe(p) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	FD_ZERO(&set);
	FD_SET(e.a, &set);
	INTERRUPTED(readv(e.a, &iov, 1));
	INTERRUPTED(recvmsg(e.a, &msg, MSG_WAITALL));
	INTERRUPTED(splice(e.a, NULL, p[1], NULL, 1, 0));
	INTERRUPTED(ppoll(&waited, 1, NULL, NULL));
	INTERRUPTED(select(e.a + 1, &set, NULL, NULL, NULL));
	FD_SET(e.a, &set);
	INTERRUPTED(pselect(e.a + 1, &set, NULL, NULL, NULL, NULL));
	INTERRUPTED(epoll_pwait(epoll, &event, 1, -1, NULL));
	fill_peer(&e);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	INTERRUPTED(writev(e.a, &iov, 1));
	INTERRUPTED(sendmsg(e.a, &msg, 0));
	INTERRUPTED(sendfile(e.a, plain, &(off_t){ 0 }, 5));
	close(p[0]);
	close(p[1]);
	close(plain);
	close(epoll);
	ends_close(&e);
}

/* A call with a timeout of its own is not resumed, even if the handler requests it. */
static void case_signals_and_times(void)
{
	struct timeval time = { .tv_sec = 60 };
	struct ends e = ends_open();
	char byte = 0;

	handler_set(SA_RESTART);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0);
	CHECK(setsockopt(e.listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	INTERRUPTED(recv(e.a, &byte, 1, 0));
	INTERRUPTED(accept(e.listener, NULL, NULL));
	fill_peer(&e);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	ends_close(&e);
}

struct waiter {
	pthread_t thread;
	int peer;
};

static void *signal_then_say(void *arg)
{
	struct waiter *w = arg;

	signal_soon(&w->thread);
	usleep(50000);
	CHECK(say(w->peer, "x"));
	return NULL;
}

/* A call without a timeout is resumed. */
static void case_signals_resumed(void)
{
	struct ends e = ends_open();
	struct waiter w = { pthread_self(), e.b };
	pthread_t other;

	handler_set(SA_RESTART);
	atomic_store(&signals, 0);
	pthread_create(&other, NULL, signal_then_say, &w);
	CHECK(expect(e.a, "x") && atomic_load(&signals));
	pthread_join(other, NULL);
	ends_close(&e);
}

/* A thread that waits behind another waiting thread gets its signals too. */
static void *wait_for_byte(void *arg)
{
	return (void *)(intptr_t)expect(*(int *)arg, "x");
}

static void case_signals_of_second(void)
{
	struct ends e = ends_open();
	pthread_t first;
	char byte = 0;
	void *came;

	handler_set(0);
	fill_peer(&e);
	pthread_create(&first, NULL, wait_for_byte, &e.a);
	usleep(100000); /* it sleeps */
	INTERRUPTED(send(e.a, &byte, 1, 0));
	CHECK(say(e.b, "x"));
	pthread_join(first, &came);
	CHECK(came);
	ends_close(&e);
}

static void *wait_for_all(void *arg)
{
	return (void *)(intptr_t)expect(*(int *)arg, "12");
}

static void *send_all(void *arg)
{
	static char much[1 << 20];
	const struct ends *e = arg;

	return (void *)(intptr_t)(send(e->a, much, sizeof(much), 0) == sizeof(much));
}

static void *receive_one(void *arg)
{
	char byte;

	recv(*(int *)arg, &byte, 1, 0);
	return NULL;
}

/* A thread that waits for the receive or send of another thread gets its signals, too. */
static void case_signals_behind_another(void)
{
	struct timeval little = { .tv_usec = 50000 }, none = {};
	struct ends e = ends_open();
	pthread_t first, second;
	static char much[65536];
	void *was;
	char byte = 0;

	handler_set(0);
	pthread_create(&first, NULL, wait_for_all, &e.a);
	CHECK(say(e.b, "1"));
	usleep(200000); /* the thread has that byte, and waits for more */
	INTERRUPTED(recv(e.a, &byte, 1, 0));
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof(little)) == 0);
	CHECK_ERRNO(recv(e.a, &byte, 1, 0), EAGAIN);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) == 0);
#ifndef __SANITIZE_ADDRESS__ /* which fails if a thread is cancelled in a system call */
	pthread_create(&second, NULL, receive_one, &e.a);
	usleep(100000);
	CHECK(pthread_cancel(second) == 0);
	CHECK(pthread_join(second, &was) == 0 && was == PTHREAD_CANCELED);
#else
	(void)second;
	(void)receive_one;
#endif
	CHECK(say(e.b, "2"));
	pthread_join(first, &was);
	CHECK(was);
	fill_peer(&e);
	pthread_create(&first, NULL, send_all, &e);
	usleep(200000);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	fcntl(e.b, F_SETFL, O_NONBLOCK);
	while (pthread_tryjoin_np(first, &was))
		while (recv(e.b, much, sizeof(much), 0) > 0)
			;
	CHECK(was);
	ends_close(&e);
}

const struct case_row signal_cases[] = {
	{ "signals", case_signals },
	{ "signals_more", case_signals_more },
	{ "signals_and_times", case_signals_and_times },
	{ "signals_resumed", case_signals_resumed },
	{ "signals_of_second", case_signals_of_second },
	{ "signals_behind_another", case_signals_behind_another },
	{},
};
