/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many sockets over RDMA at once: epoll in all forms, the accept service, signals, times, forks. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define MANY	40
#define LONG_MS 60000

struct pair {
	int here, there;
};

/* Connect and accept; no thread may be in raccept() meanwhile. */
static struct pair pair_make(int listening, uint16_t port)
{
	struct pair pair = { .there = rt_rs_client(port) };

	pair.here = raccept(listening, NULL, NULL);
	CHECK(pair.here >= 0);
	return pair;
}

static struct pair pair_new(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port);
	struct pair pair = pair_make(listening, port);

	CHECK_OK(rclose(listening));
	return pair;
}

static void pair_close(struct pair *pair)
{
	CHECK_OK(rclose(pair->here));
	CHECK_OK(rclose(pair->there));
}

static void add(int epfd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = fd };

	CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event));
}

static void put(int fd)
{
	CHECK_INT(rsend(fd, "x", 1, 0), 1);
}

static void take(int fd)
{
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 1);
}

/* Check that there is one event, of that descriptor. */
static void expect(int epfd, int fd, uint32_t events)
{
	struct epoll_event event[2];

	CHECK_INT(repoll_wait(epfd, event, 2, LONG_MS), 1);
	CHECK_INT(event[0].data.u32, fd);
	CHECK_INT(event[0].events, events);
}

static void expect_nothing(int epfd)
{
	struct epoll_event event;

	CHECK_INT(repoll_wait(epfd, &event, 1, 30), 0);
}

static void level_triggered(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), epfd = repoll_create(EPOLL_CLOEXEC);
	struct epoll_event events[MANY + 2];
	struct pair pairs[MANY];

	CHECK(epfd >= 0);
	for (int i = 0; i < MANY; i++) {
		pairs[i] = pair_make(listening, port);
		add(epfd, pairs[i].here, EPOLLIN);
	}
	expect_nothing(epfd);
	for (int i = 0; i < MANY; i += 7) {
		put(pairs[i].there);
		expect(epfd, pairs[i].here, EPOLLIN);
		expect(epfd, pairs[i].here, EPOLLIN);
		take(pairs[i].here);
		expect_nothing(epfd);
	}
	for (int i = 0; i < MANY; i++) {
		put(pairs[i].there);
		CHECK_INT(rpoll(&(struct pollfd){ pairs[i].here, POLLIN, 0 }, 1, LONG_MS), 1);
	}
	CHECK_INT(repoll_wait(epfd, events, MANY + 2, LONG_MS), MANY);
	for (int i = 0; i < MANY; i++)
		pair_close(&pairs[i]);
	expect_nothing(epfd); /* closing removes it from the set */
	CHECK_OK(rclose(epfd));
	CHECK_OK(rclose(listening));
}

static void edge_triggered(void)
{
	struct pair pair = pair_new();
	int epfd = repoll_create(0);

	add(epfd, pair.here, EPOLLIN | EPOLLET);
	expect_nothing(epfd);
	for (int i = 0; i < 100; i++) {
		put(pair.there);
		expect(epfd, pair.here, EPOLLIN);
		expect_nothing(epfd);
		put(pair.there);
		expect(epfd, pair.here, EPOLLIN);
		take(pair.here);
		take(pair.here);
		if (i == 3)
			break;
	}
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

/* A socket that is idle beside a busy one is polled less, but its next event is reported. */
static void idle_beside_busy(void)
{
	struct pair busy = pair_new(), idle[2] = { pair_new(), pair_new() };
	int epfd = repoll_create(0);

	CHECK(epfd >= 0);
	add(epfd, busy.here, EPOLLIN);
	add(epfd, idle[0].here, EPOLLIN);
	add(epfd, idle[1].here, EPOLLIN | EPOLLET);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			put(busy.there);
			expect(epfd, busy.here, EPOLLIN);
			take(busy.here);
		}
		for (int i = 0; i < 2; i++) {
			put(idle[i].there);
			expect(epfd, idle[i].here, EPOLLIN);
			take(idle[i].here);
		}
	}
	expect_nothing(epfd);
	CHECK_OK(rclose(epfd));
	pair_close(&busy);
	pair_close(&idle[0]);
	pair_close(&idle[1]);
}

static void one_shot(void)
{
	struct pair pair = pair_new();
	int epfd = repoll_create(0);
	struct epoll_event again = { .events = EPOLLIN | EPOLLOUT | EPOLLONESHOT,
				     .data.u32 = pair.here };

	add(epfd, pair.here, EPOLLIN | EPOLLONESHOT);
	put(pair.there);
	expect(epfd, pair.here, EPOLLIN);
	expect_nothing(epfd);
	CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_MOD, pair.here, &again));
	expect(epfd, pair.here, EPOLLIN | EPOLLOUT);
	expect_nothing(epfd);
	CHECK_INT(repoll_ctl(epfd, EPOLL_CTL_ADD, pair.here, &again), -1);
	CHECK_INT(errno, EEXIST);
	CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_DEL, pair.here, NULL));
	CHECK_INT(repoll_ctl(epfd, EPOLL_CTL_MOD, pair.here, &again), -1);
	CHECK_INT(errno, ENOENT);
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

/* A removed socket reports no events, even if it has news. Added again, it counts as new. */
static void taken_out(void)
{
	struct pair pair = pair_new();
	int epfd = repoll_create(0);
	struct epoll_event other = { .events = EPOLLOUT, .data.u32 = 77 };

	for (int i = 0; i < 3; i++) {
		add(epfd, pair.here, EPOLLIN);
		expect_nothing(epfd);
		CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_DEL, pair.here, NULL));
		REFUSED(repoll_ctl(epfd, EPOLL_CTL_DEL, pair.here, NULL), ENOENT);
		REFUSED(repoll_ctl(epfd, EPOLL_CTL_MOD, pair.here, &other), ENOENT);
		if (i)
			put(pair.there);
		expect_nothing(epfd);
		CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_ADD, pair.here, &other));
		expect(epfd, 77, EPOLLOUT);
		CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_DEL, pair.here, NULL));
		add(epfd, pair.here, EPOLLIN | EPOLLET);
		if (i) {
			expect(epfd, pair.here, EPOLLIN);
			take(pair.here);
		}
		expect_nothing(epfd);
		CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_DEL, pair.here, NULL));
	}
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

/* The kernel's own epoll accepts RDMA sockets too, and keeps its other descriptors. */
static void mixed(void)
{
	struct pair pair = pair_new();
	int epfd = epoll_create1(0), other = eventfd(0, 0);
	struct epoll_event events[3];

	add(epfd, other, EPOLLIN);
	add(epfd, pair.here, EPOLLIN | EPOLLRDHUP);
	expect_nothing(epfd);
	CHECK_OK(eventfd_write(other, 1));
	expect(epfd, other, EPOLLIN);
	put(pair.there);
	CHECK_INT(rpoll(&(struct pollfd){ pair.here, POLLIN, 0 }, 1, LONG_MS), 1);
	CHECK_INT(repoll_wait(epfd, events, 3, LONG_MS), 2);
	take(pair.here);
	expect(epfd, other, EPOLLIN);
	CHECK_OK(close(other));
	CHECK_OK(rshutdown(pair.there, SHUT_WR));
	expect(epfd, pair.here, EPOLLIN | EPOLLRDHUP);
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

static void *waiter(void *arg)
{
	struct pair *pair = arg;

	expect(pair->there, pair->here, EPOLLIN);
	return NULL;
}

/* A waiting thread gets events of sockets that another thread adds, and events that another
 * thread's call brought. */
static void woken(void)
{
	struct pair pair = pair_new();
	int epfd = repoll_create(0);
	struct pair args = { .here = pair.here, .there = epfd };
	pthread_t thread;
	char byte;

	CHECK_OK(pthread_create(&thread, NULL, waiter, &args));
	put(pair.there);
	CHECK_INT(rrecv(pair.here, &byte, 1, MSG_PEEK), 1);
	add(epfd, pair.here, EPOLLIN);
	CHECK_OK(pthread_join(thread, NULL));
	take(pair.here);
	CHECK_OK(pthread_create(&thread, NULL, waiter, &args));
	put(pair.there);
	CHECK_INT(rrecv(pair.here, &byte, 1, MSG_PEEK), 1);
	CHECK_OK(pthread_join(thread, NULL));
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

/* A non-blocking call consumes what woke the descriptor: the epoll reports the event all the
 * same. */
static void drained(void)
{
	struct pair pair = pair_new();
	int epfd = repoll_create(0);
	char byte;

	add(epfd, pair.here, EPOLLIN);
	expect_nothing(epfd);
	put(pair.there);
	take(pair.here);
	for (int i = 0; i < 200; i++)
		CHECK_INT(rrecv(pair.here, &byte, 1, MSG_DONTWAIT), -1);
	put(pair.there);
	expect(epfd, pair.here, EPOLLIN);
	pair_close(&pair);
	CHECK_OK(rclose(epfd));
}

/* A listener in an epoll, and a peer whose connect does not wait for raccept(). */
static void accepting(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), epfd = repoll_create(0), first, second, fd;

	add(epfd, listening, EPOLLIN);
	expect_nothing(epfd);
	first = rt_rs_client(port);
	put(first);
	second = rt_rs_client(port);
	expect(epfd, listening, EPOLLIN);
	fd = raccept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(rfcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(rfcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_INT(rpoll(&(struct pollfd){ fd, POLLIN, 0 }, 1, LONG_MS), 1);
	take(fd);
	CHECK_OK(rclose(fd));
	expect(epfd, listening, EPOLLIN);
	fd = raccept(listening, NULL, NULL);
	CHECK(!(rfcntl(fd, F_GETFD) & FD_CLOEXEC));
	expect_nothing(epfd);
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(first));
	CHECK_OK(rclose(second));
	/* A connection that was not accepted ends with its listener. */
	first = rt_rs_client(port);
	expect(epfd, listening, EPOLLIN);
	CHECK_OK(rclose(listening));
	CHECK(rrecv(first, &fd, 1, 0) <= 0);
	CHECK_OK(rclose(first));
	CHECK_OK(rclose(epfd));
}

static void *late_client(void *arg)
{
	int fd = rt_rs_client(*(uint16_t *)arg);

	put(fd);
	CHECK_OK(rclose(fd));
	return NULL;
}

/* More peers than the queue has places: the others wait, and none is lost. */
static void backlog(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port);
	pthread_t threads[12];

	CHECK_OK(rlisten(listening, 2));
	for (int i = 0; i < 12; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, late_client, &port));
	for (int i = 0; i < 12; i++) {
		int fd = raccept(listening, NULL, NULL);

		CHECK(fd >= 0);
		take(fd);
		CHECK_OK(rclose(fd));
	}
	for (int i = 0; i < 12; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	CHECK_OK(rclose(listening));
}

/* Ask for a connection, and do not continue after the answer. */
static struct rdma_cm_id *silent_peer(struct rdma_event_channel *events, uint16_t port)
{
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, false);
	uint8_t data[40] = { 1, 0, 0, 16, [23] = 2, [39] = 1 };
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.qp_num = 17,
	};

	CHECK_OK(rdma_connect(id, &param));
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	return id;
}

static void silent(void)
{
	struct rt_dev *dev = rt_open();
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id;
	uint16_t port;
	int listening, fd;
	struct pair pair;
	char byte;

	rt_skip_iwarp(dev, "a peer has no say after the answer");
	rt_close(dev);
	listening = rt_rs_listener(&port);
	id = silent_peer(events, port);
	pair.there = rt_rs_client(port);
	fd = raccept4(listening, NULL, NULL, SOCK_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_INT(rrecv(fd, &byte, 1, 0), -1);
	CHECK_INT(errno, EAGAIN);
	pair.here = raccept(listening, NULL, NULL);
	put(pair.there);
	take(pair.here);
	pair_close(&pair);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

static void times(void)
{
	struct pair pair = pair_new();
	struct timeval time = { .tv_usec = 20000 }, back;
	socklen_t size = sizeof(back);
	int value = 3, count = -1;
	char byte;

	CHECK_OK(rsetsockopt(pair.here, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	CHECK_OK(rgetsockopt(pair.here, SOL_SOCKET, SO_RCVTIMEO, &back, &size));
	CHECK_INT(back.tv_usec, time.tv_usec);
	CHECK_INT(rrecv(pair.here, &byte, 1, 0), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(rsetsockopt(pair.here, IPPROTO_TCP, TCP_KEEPIDLE, &value, sizeof(value)));
	CHECK_OK(rsetsockopt(pair.here, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)));
	size = sizeof(value);
	value = 0;
	CHECK_OK(rgetsockopt(pair.here, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size));
	CHECK_INT(value, 3);
	put(pair.there);
	put(pair.there);
	CHECK_INT(rrecv(pair.here, &byte, 1, MSG_PEEK), 1);
	do
		CHECK_OK(rioctl(pair.here, FIONREAD, &count));
	while (count < 2);
	CHECK_INT(count, 2);
	value = 1;
	CHECK_OK(rioctl(pair.here, FIONBIO, &value));
	CHECK(rfcntl(pair.here, F_GETFL) & O_NONBLOCK);
	pair_close(&pair);
}

static atomic_bool ended;

static void *reader(void *arg)
{
	char byte;
	ssize_t n = rrecv(*(int *)arg, &byte, 1, 0);
	int error = errno;

	atomic_store(&ended, true);
	CHECK_INT(n, -1);
	CHECK_INT(error, EINTR);
	return NULL;
}

static void nothing(int signal)
{
}

/* A signal interrupts a waiting call, as on TCP. */
static void interrupted(void)
{
	struct sigaction action = { .sa_handler = nothing };
	struct pair pair = pair_new();
	pthread_t thread;

	CHECK_OK(sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(pthread_create(&thread, NULL, reader, &pair.here));
	while (!atomic_load(&ended)) {
		pthread_kill(thread, SIGUSR1);
		usleep(1000);
	}
	CHECK_OK(pthread_join(thread, NULL));
	pair_close(&pair);
}

static void *write_later(void *arg)
{
	usleep(50000);
	eventfd_write(*(int *)arg, 1);
	return NULL;
}

/* A kernel descriptor that becomes ready during the wait is among the results. */
static void kernels_beside(void)
{
	struct pair pair = pair_new();
	int number = eventfd(0, EFD_NONBLOCK);
	struct pollfd fds[] = { { pair.here, POLLIN, 0 }, { number, POLLIN, 0 } };
	struct timeval time = { .tv_sec = LONG_MS / 1000 };
	pthread_t thread;
	fd_set set;

	for (int round = 0; round < 2; round++) {
		CHECK_OK(pthread_create(&thread, NULL, write_later, &number));
		if (round == 0) {
			CHECK_INT(rpoll(fds, 2, LONG_MS), 1);
			CHECK_INT(fds[1].revents, POLLIN);
		} else {
			FD_ZERO(&set);
			FD_SET(pair.here, &set);
			FD_SET(number, &set);
			CHECK_INT(rselect(FD_SETSIZE, &set, NULL, NULL, &time), 1);
			CHECK(FD_ISSET(number, &set) && !FD_ISSET(pair.here, &set));
		}
		CHECK_OK(pthread_join(thread, NULL));
		eventfd_read(number, &(eventfd_t){ 0 });
	}
	close(number);
	pair_close(&pair);
}

static atomic_bool nagged;

static void *nag(void *arg)
{
	while (!nagged) {
		put(*(int *)arg);
		usleep(2000);
	}
	return NULL;
}

/* A poll with a spurious wake-up waits for the rest of its time, which is not shortened. */
static void whole_time(void)
{
	struct pair pair = pair_new();
	struct pollfd p = { pair.here, POLLPRI, 0 };
	struct timespec before, after;
	pthread_t thread;

	nagged = false;
	CHECK_OK(pthread_create(&thread, NULL, nag, &pair.there));
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_INT(rpoll(&p, 1, 300), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >=
	      299);
	nagged = true;
	CHECK_OK(pthread_join(thread, NULL));
	pair_close(&pair);
}

/* Fill the peer's window; return the number of bytes sent. */
static size_t stuff(int fd)
{
	static const char bytes[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = rsend(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		sum += n;
	CHECK_INT(errno, EAGAIN);
	return sum;
}

static void *receive_one(void *arg)
{
	take(*(int *)arg);
	return NULL;
}

static void *poll_for_room(void *arg)
{
	struct pollfd p = { *(int *)arg, POLLOUT, 0 };

	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	return NULL;
}

/* Threads wait for different events of one socket: a thread that wakes without its event wakes
 * the others. */
static void waiting_together(void)
{
	struct pair pair = pair_new();
	static char bytes[65536];

	for (int round = 0; round < 50; round++) {
		pthread_t receiver, pollers[2];
		size_t left = stuff(pair.here);

		pthread_create(&receiver, NULL, receive_one, &pair.here);
		for (int i = 0; i < 2; i++)
			pthread_create(&pollers[i], NULL, poll_for_room, &pair.here);
		usleep(round % 5 * 1000);
		while (left) { /* some of it may be on its way */
			ssize_t n = rrecv(pair.there, bytes, sizeof(bytes), 0);

			CHECK(n > 0);
			left -= n;
		}
		for (int i = 0; i < 2; i++)
			pthread_join(pollers[i], NULL);
		put(pair.there);
		pthread_join(receiver, NULL);
	}
	pair_close(&pair);
}

/* A child's use of its copy of the descriptor does not affect the connection. */
static void forked(void)
{
	struct pair pair = pair_new();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		char byte;

		if (rrecv(pair.here, &byte, 1, MSG_DONTWAIT) != -1 || errno != EBADF)
			_exit(1);
		_exit(rclose(pair.here) ? 2 : rclose(pair.here) != -1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	put(pair.there);
	take(pair.here);
	pair_close(&pair);
}

static const struct rt_case cases[] = {
	{ "level_triggered", level_triggered },
	{ "edge_triggered", edge_triggered },
	{ "idle_beside_busy", idle_beside_busy },
	{ "one_shot", one_shot },
	{ "taken_out", taken_out },
	{ "mixed", mixed },
	{ "woken", woken },
	{ "drained", drained },
	{ "accepting", accepting },
	{ "backlog", backlog },
	{ "silent", silent },
	{ "times", times },
	{ "interrupted", interrupted },
	{ "kernels_beside", kernels_beside },
	{ "whole_time", whole_time },
	{ "waiting_together", waiting_together },
	{ "forked", forked },
};
RT_MAIN(cases)
