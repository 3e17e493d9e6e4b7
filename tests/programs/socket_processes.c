/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children share, inherit and pass on sockets. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

static int options_fd;

/* Starting programs leaves the sockets unchanged. */
static void case_spawn(void)
{
	char *arguments[] = { (char[]){ "true" }, NULL };
	extern char **environ;
	struct ends e;
	pid_t pid;

	SKIP_WITH_THREAD_SANITIZER("a started program has no ThreadSanitizer");
	e = ends_open();
	CHECK(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) == 0);
	CHECK(child_status(pid) == 0);
	pid = vfork();
	if (pid == 0) {
		/* The child's changes of descriptors do not affect the parent. */
		dup2(e.a, STDIN_FILENO);
		close(e.a);
		close(e.b);
		execvp("true", arguments);
		_exit(9);
	}
	CHECK(child_status(pid) == 0);
	CHECK(system("true") == 0);
	CHECK(say(e.a, "after") && expect(e.b, "after"));
	ends_close(&e);
}

/* A server that forks for each connection, and closes it. */
static void case_fork_after_accept(void)
{
	struct ends e = ends_open();
	struct sockaddr_in name, own;
	socklen_t size = sizeof(name);
	pid_t pid = fork();

	if (pid == 0) {
		close(e.listener);
		close(e.a);
		CHECK(getpeername(e.b, (struct sockaddr *)&name, &size) == 0);
		CHECK(name.sin_family == AF_INET && name.sin_port);
		CHECK(getsockname(e.b, (struct sockaddr *)&own, &size) == 0);
		CHECK(own.sin_port == e.address.sin_port);
		CHECK(setsockopt(e.b, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)) == 0);
		CHECK(expect(e.b, "to the child"));
		CHECK(say(e.b, "from the child"));
		/* Half closed, both ways. */
		CHECK(is_at_end(e.b));
		CHECK(say(e.b, "more") && shutdown(e.b, SHUT_WR) == 0);
		child_end();
	}
	close(e.b);
	CHECK(say(e.a, "to the child") && expect(e.a, "from the child"));
	CHECK(shutdown(e.a, SHUT_WR) == 0 && expect(e.a, "more") && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* Set options, which concern the library's own thread. */
static void *options_set(void *arg)
{
	int on = 1;

	while (!atomic_load((atomic_bool *)arg))
		setsockopt(options_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	return NULL;
}

/* No lock is held in a child, even if threads of its parent were in calls. */
static void case_fork_while_busy(void)
{
	struct ends e = ends_open();
	atomic_bool over = false;
	pthread_t other;

	options_fd = e.a;
	pthread_create(&other, NULL, options_set, &over);
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

			alarm(20);
			_exit(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ? 1 : 0);
		}
		CHECK(child_status(pid) == 0);
	}
	atomic_store(&over, true);
	pthread_join(other, NULL);
	ends_close(&e);
}

/* Workers accept from their parent's listener, each with an epoll. */
static void case_fork_workers(void)
{
	struct sockaddr_in address, name;
	int listener = listener_open(&address), fd;
	socklen_t size = sizeof(name);
	pid_t workers[2];

	CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
	for (unsigned int i = 0; i < SIZE(workers); i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			struct epoll_event event = { .events = EPOLLIN };
			int epoll = epoll_create1(0);

			CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
			for (;;) {
				CHECK(events_of(epoll, -1) == EPOLLIN);
				fd = accept4(listener, (struct sockaddr *)&name, &size,
					     SOCK_CLOEXEC);
				if (fd < 0) {
					CHECK(errno == EAGAIN);
					continue;
				}
				CHECK(name.sin_family == AF_INET &&
				      !(fcntl(fd, F_GETFL) & O_NONBLOCK));
				CHECK(expect(fd, "?") && say(fd, "!") && is_at_end(fd));
				close(fd);
			}
		}
	}
	for (int i = 0; i < 20; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(say(fd, "?") && expect(fd, "!"));
		CHECK(shutdown(fd, SHUT_WR) == 0 && is_at_end(fd));
		close(fd);
	}
	for (unsigned int i = 0; i < SIZE(workers); i++) {
		kill(workers[i], SIGKILL);
		CHECK(child_status(workers[i]) == -1);
	}
	/* Now the listener belongs only to the parent again. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(fd, (struct sockaddr *)&address, sizeof(address));
	CHECK(becomes(listener, POLLIN));
	close(fd);
	close(listener);
}

/* After a worker was killed, the next client goes to the parent or to the next worker. */
static void case_fork_worker_killed(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address);

	for (int round = 0; round < 30; round++) {
		pid_t worker = fork();
		int fd, mine;

		if (worker == 0) {
			fd = accept(listener, NULL, NULL);
			CHECK(fd >= 0 && say(fd, "!"));
			if (case_failed)
				_exit(9);
			pause();
		}
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(expect(fd, "!"));
		kill(worker, SIGKILL);
		CHECK(waitpid(worker, NULL, 0) == worker);
		close(fd);
		if (case_failed)
			break;
		if (round % 2)
			continue;
		mine = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(mine, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(becomes(listener, POLLIN));
		if (case_failed)
			break;
		close(accept(listener, NULL, NULL));
		close(mine);
	}
	close(listener);
}

/* A program with the connection as its stdin and stdout. */
static void case_fork_exec(void)
{
	struct ends e;
	pid_t pid;

	SKIP_WITH_THREAD_SANITIZER("a started program has no ThreadSanitizer");
	e = ends_open();
	pid = fork();
	if (pid == 0) {
		dup2(e.b, STDIN_FILENO);
		dup2(e.b, STDOUT_FILENO);
		execlp("cat", "cat", NULL);
		_exit(9);
	}
	close(e.b);
	CHECK(say(e.a, "through a cat") && expect(e.a, "through a cat"));
	CHECK(shutdown(e.a, SHUT_WR) == 0 && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* A child that uses none of its sockets leaves them to its parent. A child that is killed ends
 * its sockets. */
static void case_fork_and_end(void)
{
	struct ends e = ends_open();
	pid_t pid = fork();

	if (pid == 0) {
		close(e.a);
		close(e.b);
		child_end();
	}
	CHECK(child_status(pid) == 0);
	CHECK(say(e.a, "mine") && expect(e.b, "mine") && is_quiet(e.b));
	pid = fork();
	if (pid == 0) {
		close(e.a);
		CHECK(say(e.b, "killed soon"));
		pause();
	}
	close(e.b);
	CHECK(expect(e.a, "killed soon"));
	kill(pid, SIGKILL);
	CHECK(child_status(pid) == -1 && is_at_end(e.a));
	close(e.a);
	/* The stream ends when the last process closes it. */
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	e.b = accept(e.listener, NULL, NULL);
	pid = fork();
	if (pid == 0) {
		close(e.a);
		CHECK(expect(e.b, "x"));
		child_end();
	}
	close(e.b);
	CHECK(say(e.a, "x") && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* The client goes while a child writes to it. */
static void case_fork_peer_gone(void)
{
	struct ends e = ends_open();
	static char much[65536];
	pid_t pid = fork();

	if (pid == 0) {
		close(e.a);
		while (send(e.b, much, sizeof(much), MSG_NOSIGNAL) > 0)
			;
		CHECK(errno == EPIPE || errno == ECONNRESET);
		child_end();
	}
	close(e.b);
	CHECK(recv(e.a, much, sizeof(much), MSG_WAITALL) == sizeof(much));
	close(e.a);
	CHECK(child_status(pid) == 0);
	close(e.listener);
}

/* Check that this number of bytes arrives, each with the value of its place, and that no further
 * bytes arrive until the sender ends. */
#define MANY (8 << 20)

static void *many_receive(void *arg)
{
	int fd = *(int *)arg;
	size_t place = 0;
	bool right = true;

	while (place < MANY) {
		uint8_t bytes[32768];
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			right &= bytes[i] == byte_at(place + i);
		place += n;
	}
	CHECK(place == MANY);
	return right ? arg : NULL;
}

static bool many_send(int fd)
{
	uint8_t bytes[20000];
	size_t place = 0;

	while (place < MANY) {
		size_t size = MANY - place < sizeof(bytes) ? MANY - place : sizeof(bytes);
		ssize_t n;

		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(place + i);
		n = send(fd, bytes, size, 0);
		if (n <= 0)
			return false;
		place += n;
	}
	return true;
}

static pid_t many_send_by_child(int fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(many_send(fd));
		child_end();
	}
	return pid;
}

/* Children send at both ends, while their parent receives at both. */
static void case_fork_twice(void)
{
	struct ends e = ends_open();
	pid_t of_a = many_send_by_child(e.a), of_b = many_send_by_child(e.b);
	pthread_t threads[2];
	void *right;

	pthread_create(&threads[0], NULL, many_receive, &e.a);
	pthread_create(&threads[1], NULL, many_receive, &e.b);
	for (unsigned int i = 0; i < SIZE(threads); i++) {
		pthread_join(threads[i], &right);
		CHECK(right);
	}
	CHECK(child_status(of_a) == 0 && child_status(of_b) == 0);
	CHECK(say(e.a, "there") && expect(e.b, "there"));
	CHECK(say(e.b, "back") && expect(e.a, "back"));
	ends_close(&e);
}

static void *many_send_and_end(void *arg)
{
	int fd = *(int *)arg;

	CHECK(many_send(fd));
	CHECK(shutdown(fd, SHUT_WR) == 0);
	return NULL;
}

/* A program with the connection as its stdin and stdout sends back all received data, up to the
 * end. */
static void case_fork_much(void)
{
	struct ends e;
	pthread_t sender;
	pid_t pid;

	SKIP_WITH_THREAD_SANITIZER("a started program has no ThreadSanitizer");
	e = ends_open();
	pid = fork();
	if (pid == 0) {
		dup2(e.b, STDIN_FILENO);
		dup2(e.b, STDOUT_FILENO);
		execlp("cat", "cat", NULL);
		_exit(9);
	}
	close(e.b);
	CHECK(pthread_create(&sender, NULL, many_send_and_end, &e.a) == 0);
	CHECK(many_receive(&e.a) && is_at_end(e.a));
	pthread_join(sender, NULL);
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

const struct case_row process_cases[] = {
	{ "spawn", case_spawn },
	{ "fork_after_accept", case_fork_after_accept },
	{ "fork_workers", case_fork_workers },
	{ "fork_worker_killed", case_fork_worker_killed },
	{ "fork_while_busy", case_fork_while_busy },
	{ "fork_exec", case_fork_exec },
	{ "fork_and_end", case_fork_and_end },
	{ "fork_peer_gone", case_fork_peer_gone },
	{ "fork_twice", case_fork_twice },
	{ "fork_much", case_fork_much },
	{},
};
