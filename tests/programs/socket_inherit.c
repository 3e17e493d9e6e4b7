/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Data of a connection that a parent and its children have: the next reader gets what a child has
 * not received, and what a child has sent goes before that of its parent.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

#define MANY 50000

static bool many_send(int fd, size_t from, size_t to)
{
	static uint8_t bytes[MANY];

	for (size_t i = from; i < to; i++)
		bytes[i] = byte_at(i);
	return send(fd, bytes + from, to - from, 0) == (ssize_t)(to - from);
}

/* Check that the bytes from that place on are next. */
static bool many_expect(int fd, size_t from, size_t to, int flags)
{
	static uint8_t bytes[MANY];
	ssize_t n;

	for (; from < to; from += n) {
		n = recv(fd, bytes, to - from, flags);
		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(from + i))
				return false;
	}
	return true;
}

/* Wait until that many bytes can be received. */
static bool arrives(int fd, int size)
{
	int waiting = 0;

	for (int tries = 0; tries < 60000 && waiting < size; tries++) {
		if (ioctl(fd, FIONREAD, &waiting) < 0)
			return false;
		if (waiting < size)
			usleep(1000);
	}
	return waiting >= size;
}

enum leave {
	LEAVE_EXIT,
	LEAVE_CLOSE, /* the child closes its socket and lives */
	LEAVE_KILLED,
};

/* Let a child receive the bytes up to @to, and end in that way. Return after its end. */
static void child_receives(const struct ends *e, size_t from, size_t to, enum leave leave)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		close(e->a);
		CHECK(many_expect(e->b, from, to, 0));
		if (leave == LEAVE_CLOSE)
			close(e->b);
		if (leave != LEAVE_EXIT) {
			CHECK(write(ready[1], &(char){ 'r' }, 1) == 1);
			pause();
		}
		_exit(case_failed);
	}
	close(ready[1]);
	if (leave != LEAVE_EXIT) {
		CHECK(read(ready[0], &byte, 1) == 1);
		/* The rest comes back while the child lives. */
		if (leave == LEAVE_CLOSE)
			CHECK(becomes(e->b, POLLIN));
		kill(pid, SIGKILL);
	}
	close(ready[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(leave == LEAVE_EXIT ? status == 0 : WTERMSIG(status) == SIGKILL);
}

/* After the end of a child, its parent can receive the rest of the data at once. */
static void case_inherit_rest(void)
{
	const enum leave leaves[] = { LEAVE_EXIT, LEAVE_KILLED, LEAVE_CLOSE };
	struct ends e = ends_open();

	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		int waiting = 0;

		CHECK(many_send(e.a, 0, MANY) && arrives(e.b, MANY));
		child_receives(&e, 0, 100, leaves[i]);
		CHECK(many_send(e.a, 0, 10));
		CHECK(ioctl(e.b, FIONREAD, &waiting) == 0 && waiting >= MANY - 100);
		CHECK(many_expect(e.b, 100, 200, MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT));
		CHECK(many_expect(e.b, 100, MANY, MSG_DONTWAIT));
		CHECK(many_expect(e.b, 0, 10, 0));
		CHECK_ERRNO(recv(e.b, &waiting, 1, MSG_DONTWAIT), EAGAIN);
	}
	ends_close(&e);
}

/* Several children in turn read one stream, and their parent reads the end. */
static void case_inherit_in_turn(void)
{
	struct ends e = ends_open();

	CHECK(many_send(e.a, 0, MANY) && arrives(e.b, MANY));
	CHECK(shutdown(e.a, SHUT_WR) == 0);
	for (size_t i = 0; i < 8; i++)
		child_receives(&e, i * 1000, (i + 1) * 1000, i % 3);
	CHECK(many_expect(e.b, 8000, MANY, MSG_DONTWAIT) && is_at_end(e.b));
	ends_close(&e);
}

/* A parent that waits already hears of the data that comes back. */
static void case_inherit_waits(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), status, go[2];
	char byte;
	pid_t pid;

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.b, &event) == 0);
	for (int how = 0; how < 3; how++) {
		CHECK(pipe(go) == 0);
		pid = fork();
		if (pid == 0) {
			close(go[1]);
			CHECK(read(e.b, &byte, 1) == 1 && byte == 'a');
			CHECK(write(e.b, "x", 1) == 1);
			CHECK(read(go[0], &byte, 1) == 0);
			_exit(case_failed);
		}
		close(go[0]);
		CHECK(write(e.a, "abc", 3) == 3 && read(e.a, &byte, 1) == 1);
		close(go[1]);
		if (how == 0)
			CHECK(poll(&(struct pollfd){ .fd = e.b, .events = POLLIN }, 1, 60000) == 1);
		else if (how == 1)
			CHECK(epoll_wait(epoll, &event, 1, 60000) == 1);
		CHECK(expect(e.b, "bc"));
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	close(epoll);
	ends_close(&e);
}

/* What a child has written precedes what its parent writes after it. */
static void case_inherit_order(void)
{
	struct ends e = ends_open();
	size_t place = 0;
	int status;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			CHECK(many_send(e.b, place, place + 1000));
			_exit(case_failed);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		place += 1000;
		CHECK(many_send(e.b, place, place + 100));
		place += 100;
	}
	CHECK(many_expect(e.a, 0, place, 0));
	ends_close(&e);
}

const struct case_row inherit_cases[] = {
	{ "inherit_rest", case_inherit_rest },
	{ "inherit_in_turn", case_inherit_in_turn },
	{ "inherit_waits", case_inherit_waits },
	{ "inherit_order", case_inherit_order },
	{},
};
