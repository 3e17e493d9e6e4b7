/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that a parent and its children use at the same time, with threads that wait for it,
 * and with processes that are stopped or killed.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* Two pipes, so that a parent and a child wait for each other. */
struct steps {
	int down[2], up[2];
};

static struct steps steps_open(void)
{
	struct steps s;

	CHECK(pipe(s.down) == 0 && pipe(s.up) == 0);
	return s;
}

static void step_tell(const int *way)
{
	CHECK(write(way[1], "s", 1) == 1);
}

static void step_await(const int *way)
{
	char byte;

	CHECK(read(way[0], &byte, 1) == 1);
}

static void steps_close(struct steps *s)
{
	close(s->down[0]);
	close(s->down[1]);
	close(s->up[0]);
	close(s->up[1]);
}

/* Parent and child read in turn, while both live. */
static void case_share_reads(void)
{
	struct ends e = ends_open();
	struct steps s = steps_open();
	pid_t pid;

	CHECK(send(e.a, LETTERS, 26, 0) == 26);
	pid = fork();
	if (pid == 0) {
		CHECK(expect(e.b, "abc"));
		step_tell(s.up);
		step_await(s.down);
		CHECK(expect(e.b, "ghi"));
		step_tell(s.up);
		step_await(s.down);
		_exit(case_failed);
	}
	step_await(s.up);
	CHECK(expect(e.b, "def"));
	step_tell(s.down);
	step_await(s.up);
	CHECK(expect(e.b, "jklmnopqrstuvwxyz"));
	step_tell(s.down);
	CHECK(child_status(pid) == 0);
	steps_close(&s);
	ends_close(&e);
}

/* A child claims the connection by a write, while another one does. All of it arrives. */
static void case_share_writes(void)
{
	struct ends e = ends_open();
	size_t count[3] = {};
	char bytes[3000];

	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			for (int round = 0; round < 100; round++)
				CHECK(write(e.b, i ? "11111" : "00000", 5) == 5);
			_exit(case_failed);
		}
	}
	for (int round = 0; round < 100; round++)
		CHECK(write(e.b, "22222", 5) == 5);
	CHECK(recv(e.a, bytes, 1500, MSG_WAITALL) == 1500);
	for (int i = 0; i < 1500; i++)
		count[(bytes[i] - '0') % 3]++;
	CHECK(count[0] == 500 && count[1] == 500 && count[2] == 500);
	CHECK(child_status(-1) == 0 && child_status(-1) == 0);
	ends_close(&e);
}

/* A child fills the buffers of the connection and ends. What its parent sends comes behind. */
static void case_share_full(void)
{
	static char bytes[65536];
	struct ends e = ends_open();
	size_t sent = 0, got = 0;
	struct steps s = steps_open();
	ssize_t n;
	pid_t pid = fork();

	if (pid == 0) {
		while ((n = send(e.b, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			sent += n;
		CHECK(errno == EAGAIN);
		CHECK(write(s.up[1], &sent, sizeof(sent)) == sizeof(sent));
		_exit(case_failed);
	}
	CHECK(read(s.up[0], &sent, sizeof(sent)) == sizeof(sent));
	CHECK(child_status(pid) == 0);
	pid = fork();
	if (pid == 0) { /* the last bytes are sent when there is room */
		CHECK(send(e.b, "end", 3, 0) == 3);
		_exit(case_failed);
	}
	for (; got < sent; got += n) {
		n = recv(e.a, bytes, sent - got < sizeof(bytes) ? sent - got : sizeof(bytes), 0);
		CHECK(n > 0);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			CHECK(!bytes[i]);
	}
	CHECK(expect(e.a, "end") && child_status(pid) == 0);
	CHECK(send(e.b, "parent", 6, 0) == 6 && expect(e.a, "parent"));
	steps_close(&s);
	ends_close(&e);
}

/* A child closes its socket while its parent is stopped. */
static void case_share_stopped(void)
{
	struct steps s = steps_open();
	pid_t parent = fork(), child;

	if (parent == 0) {
		struct ends e = ends_open();

		CHECK(send(e.a, LETTERS, 26, 0) == 26);
		child = fork();
		if (child == 0) {
			CHECK(expect(e.b, "abc"));
			kill(getppid(), SIGSTOP);
			CHECK(close(e.b) == 0 && close(e.a) == 0);
			child = fork();
			if (child == 0)
				_exit(0);
			CHECK(child_status(child) == 0);
			step_tell(s.up);
			_exit(case_failed);
		}
		CHECK(child_status(child) == 0);
		CHECK(expect(e.b, "defghijklmnopqrstuvwxyz"));
		ends_close(&e);
		_exit(case_failed);
	}
	CHECK(poll(&(struct pollfd){ .fd = s.up[0], .events = POLLIN }, 1, PATIENCE_MS) == 1);
	kill(parent, SIGCONT);
	CHECK(child_status(parent) == 0);
	steps_close(&s);
}

/* A killed child leaves a child of its own, which goes on. */
static void case_share_orphan(void)
{
	struct ends e = ends_open();
	struct steps s = steps_open();
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		CHECK(expect(e.b, "abc"));
		if (fork() == 0) {
			step_await(s.down);
			CHECK(expect(e.b, "def"));
			CHECK(write(e.b, case_failed ? "bad!" : "good", 4) == 4);
			_exit(0);
		}
		step_tell(s.up);
		pause();
	}
	CHECK(send(e.a, "abcdef", 6, 0) == 6);
	step_await(s.up);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGKILL);
	CHECK(close(e.b) == 0);
	step_tell(s.down);
	CHECK(expect(e.a, "good") && is_at_end(e.a));
	steps_close(&s);
	close(e.a);
	close(e.listener);
}

/* ---- threads that wait while a child claims the connection ---- */

static int waiting_fd;

static void *by_recv(void *unused)
{
	char byte = 0;

	(void)unused;
	return (void *)(intptr_t)(recv(waiting_fd, &byte, 1, 0) == 1 && byte == 'a');
}

static void *by_poll(void *unused)
{
	struct pollfd p = { .fd = waiting_fd, .events = POLLIN };

	(void)unused;
	return (void *)(intptr_t)(poll(&p, 1, PATIENCE_MS) == 1 && p.revents == POLLIN);
}

static void *by_select(void *unused)
{
	struct timeval time = { PATIENCE_MS / 1000, 0 };
	fd_set set;

	(void)unused;
	FD_ZERO(&set);
	FD_SET(waiting_fd, &set);
	return (void *)(intptr_t)(select(waiting_fd + 1, &set, NULL, NULL, &time) == 1);
}

static void *by_epoll(void *unused)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 12345 };
	int epoll = epoll_create1(0);
	bool right = epoll_ctl(epoll, EPOLL_CTL_ADD, waiting_fd, &event) == 0;

	(void)unused;
	event.data.u64 = 0;
	right = right && epoll_wait(epoll, &event, 1, PATIENCE_MS) == 1 &&
		event.data.u64 == 12345 && event.events == EPOLLIN;
	close(epoll);
	return (void *)(intptr_t)right;
}

static void thread_case(void *(*wait)(void *), bool takes, bool duplicate)
{
	struct ends e = ends_open();
	pthread_t thread;
	void *right;
	pid_t pid;

	waiting_fd = duplicate ? dup(e.b) : e.b;
	if (duplicate)
		close(e.b);
	CHECK(pthread_create(&thread, NULL, wait, NULL) == 0);
	usleep(20000); /* in most runs, the thread sleeps now */
	pid = fork();
	if (pid == 0) {
		CHECK(write(waiting_fd, "x", 1) == 1);
		_exit(case_failed);
	}
	CHECK(expect(e.a, "x") && child_status(pid) == 0);
	CHECK(send(e.a, "abc", 3, 0) == 3);
	CHECK(pthread_join(thread, &right) == 0 && right);
	CHECK(expect(waiting_fd, takes ? "bc" : "abc"));
	CHECK(send(waiting_fd, "y", 1, 0) == 1 && expect(e.a, "y"));
	close(waiting_fd);
	CHECK(is_at_end(e.a));
	close(e.a);
	close(e.listener);
}

static void case_share_with_threads(void)
{
	for (int duplicate = 0; duplicate < 2; duplicate++) {
		thread_case(by_recv, true, duplicate);
		thread_case(by_poll, false, duplicate);
		thread_case(by_select, false, duplicate);
		thread_case(by_epoll, false, duplicate);
	}
}

static void *moves(void *fd)
{
	static char bytes[100000];
	size_t got = 0;
	ssize_t n;

	while (got < sizeof(bytes)) {
		n = recv((int)(intptr_t)fd, bytes, sizeof(bytes) - got, 0);
		if (n <= 0)
			return NULL;
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != (char)((got + i) % 251))
				return NULL;
		got += n;
	}
	return fd;
}

/* Bytes flow while a child claims the connection. */
static void case_share_amid_data(void)
{
	static char bytes[100000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 251);
	for (int round = 0; round < 20; round++) {
		struct ends e = ends_open();
		pthread_t thread;
		void *right;
		size_t sent = 0;
		pid_t pid;

		CHECK(pthread_create(&thread, NULL, moves, (void *)(intptr_t)e.b) == 0);
		for (; sent < sizeof(bytes) / 2; sent += 1000)
			CHECK(send(e.a, bytes + sent, 1000, 0) == 1000);
		pid = fork();
		if (pid == 0) {
			CHECK(write(e.b, "x", 1) == 1);
			_exit(case_failed);
		}
		for (; sent < sizeof(bytes); sent += 1000)
			CHECK(send(e.a, bytes + sent, 1000, 0) == 1000);
		CHECK(expect(e.a, "x") && child_status(pid) == 0);
		CHECK(pthread_join(thread, &right) == 0 && right);
		ends_close(&e);
	}
}

/* ---- the rest ---- */

static void case_share_ends(void)
{
	struct ends e = ends_open();
	int value = 1;
	socklen_t size = sizeof(value);
	pid_t pid;

	CHECK(setsockopt(e.b, IPPROTO_TCP, TCP_NODELAY, &value, size) == 0);
	pid = fork();
	if (pid == 0) {
		CHECK(send(e.b, "last", 4, 0) == 4 && shutdown(e.b, SHUT_WR) == 0);
		_exit(case_failed);
	}
	CHECK(expect(e.a, "last") && is_at_end(e.a) && child_status(pid) == 0);
	value = 0;
	CHECK(getsockopt(e.b, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0 && value);
	CHECK_ERRNO(send(e.b, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(send(e.a, "back", 4, 0) == 4 && expect(e.b, "back"));
	CHECK(shutdown(e.a, SHUT_WR) == 0 && is_at_end(e.b));
	ends_close(&e);
}

/* The flags of a file are shared, too. */
static void case_share_flags(void)
{
	struct ends e = ends_open();
	char byte;
	pid_t pid;

	CHECK(fcntl(e.b, F_SETFL, O_NONBLOCK) == 0);
	pid = fork();
	if (pid == 0) {
		CHECK_ERRNO(recv(e.b, &byte, 1, 0), EAGAIN);
		_exit(case_failed);
	}
	CHECK(child_status(pid) == 0);
	CHECK(fcntl(e.b, F_GETFL) & O_NONBLOCK);
	CHECK_ERRNO(recv(e.b, &byte, 1, 0), EAGAIN);
	ends_close(&e);
}

/* A hundred children use one connection, and ten of them live at a time. */
static void case_share_many(void)
{
	struct ends e = ends_open();
	char bytes[100];

	for (int i = 0; i < 100; i++) {
		if (fork() == 0) {
			CHECK(write(e.b, "x", 1) == 1);
			_exit(case_failed);
		}
		if (i >= 10)
			CHECK(child_status(-1) == 0);
	}
	for (int i = 0; i < 10; i++)
		CHECK(child_status(-1) == 0);
	CHECK(recv(e.a, bytes, 100, MSG_WAITALL) == 100);
	CHECK(send(e.b, "p", 1, 0) == 1 && expect(e.a, "p"));
	ends_close(&e);
}

/* A child uses the connection when its parent has no descriptor left. The parent can go on. */
static void case_share_without_descriptors(void)
{
	struct ends e = ends_open();
	struct steps s = steps_open();
	struct rlimit limit, none;
	static int copies[4000];
	int count = 0, most = 0;
	pid_t pid;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	pid = fork();
	if (pid == 0) {
		step_await(s.down);
		/* As the limit is one of RDMA, this fails there. */
		CHECK(write(e.b, "x", 1) == 1 || (is_over_rdma() && errno == EBADF));
		_exit(case_failed);
	}
	while (most < 3000 && (copies[count] = dup(0)) >= 0)
		most = copies[count++];
	none = (struct rlimit){ most + 1, limit.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	step_tell(s.down);
	CHECK(child_status(pid) == 0);
	CHECK(send(e.b, "yz", 2, 0) == 2 && send(e.a, "abc", 3, 0) == 3 && expect(e.b, "abc"));
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while (count)
		close(copies[--count]);
	steps_close(&s);
	ends_close(&e);
}

/* The first number of a socket belongs to the program again, although a duplicate lives. */
static void case_share_number(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 };
	struct ends e = ends_open();
	int epoll = epoll_create1(0), copy = dup(e.b), listener = dup(e.listener), file, more;
	pthread_t thread;
	void *right;

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, copy, &event) == 0);
	waiting_fd = copy;
	CHECK(pthread_create(&thread, NULL, by_recv, NULL) == 0);
	usleep(20000);
	CHECK(close(e.b) == 0);
	CHECK_ERRNO(close(e.b), EBADF);
	file = open("/dev/null", O_RDWR);
	CHECK(file == e.b && write(file, "x", 1) == 1);
	CHECK(send(e.a, "abc", 3, 0) == 3);
	CHECK(pthread_join(thread, &right) == 0 && right);
	CHECK(epoll_wait(epoll, &event, 1, PATIENCE_MS) == 1 && event.data.u64 == 7);
	CHECK(expect(copy, "bc") && send(copy, "y", 1, 0) == 1 && expect(e.a, "y"));
	more = dup(copy);
	CHECK(dup2(file, copy) == copy && write(copy, "x", 1) == 1);
	CHECK(send(more, "z", 1, 0) == 1 && expect(e.a, "z"));
	CHECK(dup2(file, e.listener) == e.listener);
	close(e.a);
	CHECK(is_at_end(more));
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	e.b = accept(listener, NULL, NULL);
	CHECK(send(e.a, "new", 3, 0) == 3 && expect(e.b, "new"));
	close(more);
	close(copy);
	close(listener);
	close(epoll);
	ends_close(&e);
}

/* A server closes a connection before its child uses it. */
static void case_share_closed(void)
{
	struct ends e = ends_open();
	struct steps s = steps_open();
	int file;
	pid_t pid = fork();

	if (pid == 0) {
		step_await(s.down);
		CHECK(expect(e.b, "abc") && send(e.b, "xyz", 3, 0) == 3);
		_exit(case_failed);
	}
	CHECK(close(e.b) == 0);
	file = open("/dev/null", O_RDWR);
	CHECK(file == e.b);
	step_tell(s.down);
	CHECK(send(e.a, "abc", 3, 0) == 3 && expect(e.a, "xyz") && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	steps_close(&s);
	ends_close(&e);
}

const struct case_row share_cases[] = {
	{ "share_reads", case_share_reads },
	{ "share_writes", case_share_writes },
	{ "share_full", case_share_full },
	{ "share_stopped", case_share_stopped },
	{ "share_orphan", case_share_orphan },
	{ "share_with_threads", case_share_with_threads },
	{ "share_amid_data", case_share_amid_data },
	{ "share_ends", case_share_ends },
	{ "share_flags", case_share_flags },
	{ "share_many", case_share_many },
	{ "share_number", case_share_number },
	{ "share_closed", case_share_closed },
	{ "share_without_descriptors", case_share_without_descriptors },
	{},
};
