/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: socket_cases [CASE...]
 *
 * Behaviour of sockets that programs rely on, file by file: see socket_cases.h.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

bool case_failed;
const char *case_skipped;

static const struct case_row *const lists[] = {
	file_cases,	descriptor_cases, option_cases,		waiting_cases,
	signal_cases,	thread_cases,	  stopped_cases,	spent_cases,
	process_cases,	answer_cases,	  attack_cases,		call_cases,
	datagram_cases, end_cases,	  fallback_cases,	handler_cases,
	inherit_cases,	share_cases,	  share_datagram_cases, share_kill_cases,
};

bool is_over_rdma(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "librspreload");
}

struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

int listener_open(struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*ret_address);
	int on = 1;

	*ret_address = loopback(0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, size) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &size) < 0)
		die("listener");
	return fd;
}

struct ends ends_open(void)
{
	struct ends e;

	e.listener = listener_open(&e.address);
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) < 0)
		die("connect");
	e.b = accept(e.listener, NULL, NULL);
	if (e.b < 0)
		die("accept");
	return e;
}

void ends_close(struct ends *e)
{
	close(e->a);
	close(e->b);
	close(e->listener);
}

bool expect(int fd, const char *text)
{
	char bytes[256];
	ssize_t n = recv(fd, bytes, strlen(text), MSG_WAITALL);

	if (n == (ssize_t)strlen(text) && !memcmp(bytes, text, n))
		return true;
	fprintf(stderr, "expected '%s', got %zd bytes '%.*s'\n", text, n, n > 0 ? (int)n : 0,
		bytes);
	return false;
}

bool say(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

bool is_at_end(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

bool is_quiet(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

bool is_of_kernel(int fd)
{
	char path[64], file[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, file, sizeof(file) - 1) > 0 && !strncmp(file, "socket:", 7);
}

bool becomes(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, PATIENCE_MS) == 1 && (p.revents & events) == events;
}

int events_of(int epoll, int timeout)
{
	struct epoll_event event = {};
	int n = epoll_wait(epoll, &event, 1, timeout);

	return n == 1 ? (int)event.events : n;
}

int error_of(int fd)
{
	socklen_t size = sizeof(int);
	int error = -1;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

int file_open(const char *text)
{
	char name[] = "/tmp/sockets.XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	if (fd < 0 || !say(fd, text))
		perror(name);
	return fd;
}

void *end_wait(void *arg)
{
	return (void *)(intptr_t)(is_at_end(*(int *)arg) ? 1 : 0);
}

void *accept_wait(void *arg)
{
	return (void *)(intptr_t)(accept(*(int *)arg, NULL, NULL) < 0 ? 1 : 0);
}

int child_status(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void child_end(void)
{
	_exit(case_failed);
}

uint8_t byte_at(size_t place)
{
	return (place * 2654435761u) >> 16;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2 && !strstr(name, "_by_itself");
}

static bool case_run(const struct case_row *row)
{
	case_failed = false;
	case_skipped = NULL;
	alarm(120);
	row->run();
	alarm(0);
	signal(SIGUSR1, SIG_DFL);
	if (case_skipped)
		printf("%s: skipped: %s\n", row->name, case_skipped);
	else
		printf("%s: %s\n", row->name, case_failed ? "FAILED" : "passed");
	fflush(stdout);
	return !case_failed;
}

int main(int argc, char **argv)
{
	bool good = true;

	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < SIZE(lists); i++)
		for (const struct case_row *row = lists[i]; row->name; row++)
			if (is_wanted(row->name, argc, argv))
				good &= case_run(row);
	return !good;
}
