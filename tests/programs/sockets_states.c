/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: sockets_states [PART...]
 *
 * Results of socket calls in each state, through the C library's functions only: a line for each
 * call, to be compared between the kernel's sockets and RDMA sockets
 * (tests/programs/sockets-states).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sockets_states.h"

#define ASKED (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

const char *state;

struct ends {
	int listener, a, b; /* a connected, b was accepted */
};

void die(const char *what)
{
	perror(what);
	exit(1);
}

int listener_open(struct sockaddr_in *ret, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, size) || listen(fd, backlog) ||
	    getsockname(fd, (struct sockaddr *)ret, &size))
		die("listener");
	return fd;
}

static struct ends ends_open(void)
{
	struct sockaddr_in address;
	struct ends e = { .listener = listener_open(&address, 8),
			  .a = socket(AF_INET, SOCK_STREAM, 0) };

	if (connect(e.a, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	e.b = accept(e.listener, NULL, NULL);
	if (e.b < 0)
		die("accept");
	return e;
}

static void ends_close(struct ends *e)
{
	if (e->a >= 0)
		close(e->a);
	if (e->b >= 0)
		close(e->b);
	close(e->listener);
}

/* ---- answers ---- */

static const char *error_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = { { EAGAIN, "EAGAIN" },
		      { EPIPE, "EPIPE" },
		      { ENOTCONN, "ENOTCONN" },
		      { ECONNRESET, "ECONNRESET" },
		      { EINTR, "EINTR" },
		      { EINVAL, "EINVAL" },
		      { EMSGSIZE, "EMSGSIZE" },
		      { EFAULT, "EFAULT" },
		      { EOPNOTSUPP, "EOPNOTSUPP" },
		      { ETIMEDOUT, "ETIMEDOUT" },
		      { EALREADY, "EALREADY" },
		      { EINPROGRESS, "EINPROGRESS" },
		      { EISCONN, "EISCONN" },
		      { ECONNREFUSED, "ECONNREFUSED" },
		      { ECONNABORTED, "ECONNABORTED" },
		      { EBADF, "EBADF" } };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			return names[i].name;
	return "another error";
}

void say(const char *question, long result)
{
	int error = errno;

	printf("%s: %s: %ld%s%s\n", state, question, result, result < 0 ? " " : "",
	       result < 0 ? error_name(error) : "");
	fflush(stdout);
}

void error_say(const char *question, int error)
{
	printf("%s: %s: %s\n", state, question, error ? error_name(error) : "none");
	fflush(stdout);
}

void events_say(const char *how, unsigned int events)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} names[] = { { POLLIN, "IN" },	  { POLLPRI, "PRI" }, { POLLOUT, "OUT" },
		      { POLLERR, "ERR" }, { POLLHUP, "HUP" }, { POLLRDHUP, "RDHUP" } };

	printf("%s: %s:", state, how);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (events & names[i].bit)
			printf(" %s", names[i].name);
	printf("\n");
	fflush(stdout);
}

short poll_now(int fd, short asked)
{
	struct pollfd p = { .fd = fd, .events = asked };

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

static unsigned int epoll_now(int fd, unsigned int asked)
{
	struct epoll_event event = { .events = asked }, got = {};
	int ep = epoll_create1(0);

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
	if (epoll_wait(ep, &got, 1, 0) != 1)
		got.events = 0;
	close(ep);
	return got.events;
}

static unsigned int select_now(int fd)
{
	struct timeval none = {};
	fd_set in, out, other;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&other);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	FD_SET(fd, &other);
	if (select(fd + 1, &in, &out, &other, &none) < 0)
		return POLLERR;
	return (FD_ISSET(fd, &in) ? POLLIN : 0) | (FD_ISSET(fd, &out) ? POLLOUT : 0) |
	       (FD_ISSET(fd, &other) ? POLLPRI : 0);
}

void news_await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	poll(&p, 1, 10000);
}

/* Ask everything that changes no state, and then the calls that may. */
static void ask(const char *name, int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);
	struct sockaddr_in address;
	socklen_t address_size = sizeof(address);
	char byte = 'x';

	state = name;
	events_say("poll", poll_now(fd, ASKED));
	events_say("poll of nothing", poll_now(fd, 0));
	events_say("epoll", epoll_now(fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP));
	events_say("epoll of nothing", epoll_now(fd, 0));
	events_say("select", select_now(fd));
	say("getpeername", getpeername(fd, (struct sockaddr *)&address, &address_size));
	say("peek", recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
	say("receive nothing", recv(fd, &byte, 0, MSG_DONTWAIT));
	say("send nothing", send(fd, &byte, 0, MSG_DONTWAIT | MSG_NOSIGNAL));
	say("send", send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
	say("receive", recv(fd, &byte, 1, MSG_DONTWAIT));
	say("receive again", recv(fd, &byte, 1, MSG_DONTWAIT));
	say("SO_ERROR", getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	error_say("error", error);
	say("shutdown for reading", shutdown(fd, SHUT_RD));
	say("shutdown for writing", shutdown(fd, SHUT_WR));
	events_say("poll at the end", poll_now(fd, ASKED));
}

/* ---- states ---- */

static void part_unconnected(void)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM, 0), listener = listener_open(&address, 8);

	ask("new", fd);
	close(fd);
	ask("listening", listener);
	close(listener);
}

static void part_connected(void)
{
	struct ends e = ends_open();

	ask("connected", e.a);
	ends_close(&e);
	e = ends_open();
	send(e.b, "ab", 2, 0);
	news_await(e.a, POLLIN);
	ask("data waits", e.a);
	ends_close(&e);
}

static void part_half_closed(void)
{
	struct ends e = ends_open();

	shutdown(e.b, SHUT_WR);
	news_await(e.a, POLLRDHUP);
	ask("peer ended", e.a);
	ends_close(&e);
	e = ends_open();
	send(e.b, "ab", 2, 0);
	shutdown(e.b, SHUT_WR);
	news_await(e.a, POLLRDHUP);
	ask("peer ended behind data", e.a);
	ends_close(&e);
	e = ends_open();
	shutdown(e.a, SHUT_WR);
	ask("ended", e.a);
	ends_close(&e);
	e = ends_open();
	shutdown(e.a, SHUT_RD);
	ask("receives no more", e.a);
	ends_close(&e);
	e = ends_open();
	shutdown(e.a, SHUT_RDWR);
	news_await(e.b, POLLRDHUP);
	ask("shut down", e.a);
	ends_close(&e);
}

static void part_both_ended(void)
{
	struct ends e = ends_open();

	shutdown(e.a, SHUT_WR);
	news_await(e.b, POLLRDHUP);
	shutdown(e.b, SHUT_WR);
	news_await(e.a, POLLRDHUP);
	ask("both ended, first here", e.a);
	ends_close(&e);
	e = ends_open();
	shutdown(e.b, SHUT_WR);
	news_await(e.a, POLLRDHUP);
	shutdown(e.a, SHUT_WR);
	ask("both ended, first there", e.a);
	ends_close(&e);
}

static void part_closed(void)
{
	struct ends e = ends_open();

	close(e.b);
	e.b = -1;
	news_await(e.a, POLLRDHUP);
	ask("peer closed", e.a);
	ends_close(&e);
	e = ends_open();
	send(e.b, "ab", 2, 0);
	close(e.b);
	e.b = -1;
	news_await(e.a, POLLRDHUP);
	ask("peer closed behind data", e.a);
	ends_close(&e);
	e = ends_open();
	send(e.a, "ab", 2, 0);
	news_await(e.b, POLLIN);
	close(e.b);
	e.b = -1;
	news_await(e.a, POLLRDHUP);
	ask("peer closed with data unread", e.a);
	ends_close(&e);
}

/* ---- sizes ---- */

static void vectors_ask(const char *name, int fd, int count)
{
	struct iovec *iov = calloc(IOV_MAX + 2, sizeof(*iov));
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };
	char bytes[2] = "xy";

	state = name;
	for (int i = 0; i < IOV_MAX + 1; i++)
		iov[i] = (struct iovec){ bytes, i == count - 1 };
	say("writev", writev(fd, iov, count));
	say("sendmsg", count >= 0 ? sendmsg(fd, &msg, MSG_NOSIGNAL) : 0);
	free(iov);
}

static void vectors_take(const char *name, int fd, int count)
{
	struct iovec *iov = calloc(IOV_MAX + 2, sizeof(*iov));
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };
	char bytes[2];

	state = name;
	for (int i = 0; i < IOV_MAX + 1; i++)
		iov[i] = (struct iovec){ bytes, i == count - 1 };
	say("readv", readv(fd, iov, count));
	say("recvmsg", count >= 0 ? recvmsg(fd, &msg, 0) : 0);
	free(iov);
}

static void part_sizes(void)
{
	struct ends e = ends_open();
	struct iovec much[2] = { { NULL, (size_t)SSIZE_MAX + 1 }, { NULL, 1 } };
	char byte;

	state = "sizes";
	say("write nothing", write(e.a, &byte, 0));
	send(e.b, "ab", 2, 0);
	news_await(e.a, POLLIN);
	say("read nothing", read(e.a, &byte, 0));
	vectors_ask("no pieces", e.b, 0);
	vectors_ask("fewer than none", e.b, -1);
	vectors_ask("one piece", e.b, 1);
	vectors_ask("IOV_MAX pieces", e.b, IOV_MAX);
	vectors_ask("one more", e.b, IOV_MAX + 1);
	vectors_take("no pieces", e.a, 0);
	vectors_take("fewer than none", e.a, -1);
	vectors_take("one piece", e.a, 1);
	vectors_take("IOV_MAX pieces", e.a, IOV_MAX);
	vectors_take("one more", e.a, IOV_MAX + 1);
	state = "sizes";
	say("writev of too much", writev(e.a, much, 2));
	ends_close(&e);
}

/* ---- signals and times ---- */

static void nothing(int number)
{
}

void handler_set(int flags)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
}

void alarms(bool on)
{
	struct timeval time = { .tv_usec = on ? 30000 : 0 };
	struct itimerval timer = { time, time };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void fill(int fd)
{
	char bytes[4096] = "";
	int quiet = 0;

	/* Data takes its time to the place where it waits. */
	while (quiet < 5) {
		if (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			quiet = 0;
		else if (++quiet)
			usleep(20000);
	}
}

static void *poke(void *arg)
{
	usleep(200000);
	send(*(int *)arg, "x", 1, 0);
	return NULL;
}

static void part_signals(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	static char much[1 << 20];
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLIN };
	int ep = epoll_create1(0);
	pthread_t thread;
	fd_set set;
	char byte;

	epoll_ctl(ep, EPOLL_CTL_ADD, e.a, &event);
	FD_ZERO(&set);
	FD_SET(e.a, &set);
	handler_set(0);
	alarms(true);
	state = "interrupted";
	say("recv", recv(e.a, &byte, 1, 0));
	say("recv, MSG_WAITALL", recv(e.a, much, sizeof(much), MSG_WAITALL));
	say("accept", accept(e.listener, NULL, NULL));
	say("poll", poll(&p, 1, -1));
	say("select", select(e.a + 1, &set, NULL, NULL, NULL));
	say("epoll_wait", epoll_wait(ep, &event, 1, -1));
	alarms(false);
	fill(e.a);
	alarms(true);
	say("send", send(e.a, &byte, 1, 0));
	say("much", send(e.a, much, sizeof(much), 0));
	alarms(false);
	/* These calls are resumed, except for the polls. */
	handler_set(SA_RESTART);
	pthread_create(&thread, NULL, poke, &e.b);
	alarms(true);
	state = "resumed";
	say("poll", poll(&p, 1, -1));
	say("recv", recv(e.a, &byte, 1, 0));
	alarms(false);
	pthread_join(thread, NULL);
	close(ep);
	ends_close(&e);
}

static void part_times(void)
{
	static char much[1 << 20];
	struct timeval time = { .tv_usec = 100000 };
	struct ends e = ends_open();
	char byte;

	setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(e.a, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
	setsockopt(e.listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	state = "times";
	say("recv", recv(e.a, &byte, 1, 0));
	say("recv, MSG_WAITALL", recv(e.a, much, sizeof(much), MSG_WAITALL));
	say("accept", accept(e.listener, NULL, NULL));
	fill(e.a);
	say("send", send(e.a, &byte, 1, 0));
	say("much", send(e.a, much, sizeof(much), 0));
	ends_close(&e);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "unconnected", part_unconnected },
	{ "connected", part_connected },
	{ "half_closed", part_half_closed },
	{ "both_ended", part_both_ended },
	{ "closed", part_closed },
	{ "sizes", part_sizes },
	{ "signals", part_signals },
	{ "times", part_times },
	{ "connecting", part_connecting },
	{ "connecting_resumed", part_connecting_resumed },
	{ "connecting_ended", part_connecting_ended },
	{ "connecting_peer_dies", part_connecting_peer_dies },
	{ "listen_by_itself", part_listen },
	{ "leaving", part_leaving },
	{ "leave_by_itself", part_leave },
};

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool wanted = argc < 2 && !strstr(parts[i].name, "_by_itself");

		for (int j = 1; j < argc; j++)
			wanted |= !strcmp(argv[j], parts[i].name);
		if (wanted)
			parts[i].run();
	}
	return 0;
}
