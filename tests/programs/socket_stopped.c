/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer that is stopped. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_cases.h"

#define STOPPED_S 10

static void part_echo(void)
{
	struct sockaddr_in address = loopback(atoi(getenv("SOCKET_CASES_PORT")));
	int fd = socket(AF_INET, SOCK_STREAM, 0), first = -1;
	char bytes[4096];
	ssize_t n;

	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && say(fd, "ready"));
	if (getenv("SOCKET_CASES_AGAIN")) {
		first = fd;
		CHECK(expect(first, "again"));
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(say(fd, "ready"));
	}
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		if (send(fd, bytes, n, 0) != n)
			break;
	/* After a reset there is no orderly end. */
	close(fd);
	close(first);
}

pid_t echo_fork(struct ends *e)
{
	char port[16];
	pid_t pid;

	snprintf(port, sizeof(port), "%d", ntohs(e->address.sin_port));
	setenv("SOCKET_CASES_PORT", port, 1);
	pid = fork();
	if (!pid) {
		/* If the case fails during that time, no process sends SIGCONT. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "socket_cases", "echo_by_itself", NULL);
		_exit(99);
	}
	return pid;
}

pid_t echo_start(struct ends *e)
{
	pid_t pid;

	e->listener = listener_open(&e->address);
	pid = echo_fork(e);
	e->a = accept(e->listener, NULL, NULL);
	CHECK(e->a >= 0 && expect(e->a, "ready"));
	return pid;
}

static void *go_on_later(void *arg)
{
	sleep(STOPPED_S);
	kill(*(pid_t *)arg, SIGCONT);
	return NULL;
}

/* Data sent to a stopped peer arrives later, and each call returns the result that it has with a
 * slow peer. */
static void case_stopped_peer(void)
{
	struct timeval second = { .tv_sec = 1 };
	static uint8_t much[65536], back[65536];
	struct ends e;
	pid_t pid = echo_start(&e);
	pthread_t other;
	size_t sent = 0, came = 0;
	bool right = true;
	ssize_t n;

	setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	kill(pid, SIGSTOP);
	pthread_create(&other, NULL, go_on_later, &pid);
	CHECK_ERRNO(recv(e.a, back, 1, 0), EAGAIN);
	while (sent < 8 * sizeof(much)) { /* less than the kernel's buffers of both directions */
		for (size_t i = 0; i < sizeof(much); i++)
			much[i] = byte_at(sent + i);
		n = send(e.a, much, sizeof(much), MSG_DONTWAIT);
		if (n <= 0) {
			CHECK(errno == EAGAIN);
			break;
		}
		sent += n;
	}
	CHECK(sent > 0 && error_of(e.a) == 0);
	CHECK(is_quiet(e.a));
	CHECK(shutdown(e.a, SHUT_WR) == 0);
	pthread_join(other, NULL);
	second.tv_sec = 30;
	setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	while ((n = recv(e.a, back, sizeof(back), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			right &= back[i] == byte_at(came + i);
		came += n;
	}
	CHECK(n == 0 && came == sent && right);
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* close() does not wait for a stopped peer longer than requested, and the peer gets the end of
 * the stream. */
static void case_stopped_peer_closed(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 1 };

	for (int lingers = 0; lingers < 2; lingers++) {
		static const char much[65536];
		struct ends e;
		pid_t pid = echo_start(&e);

		if (lingers)
			CHECK(setsockopt(e.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0);
		kill(pid, SIGSTOP);
		for (int i = 0; i < 100 && send(e.a, much, sizeof(much), MSG_DONTWAIT) > 0; i++)
			;
		CHECK(close(e.a) == 0);
		kill(pid, SIGCONT);
		CHECK(child_status(pid) == 0);
		close(e.listener);
	}
}

const struct case_row stopped_cases[] = {
	{ "stopped_peer", case_stopped_peer },
	{ "stopped_peer_closed", case_stopped_peer_closed },
	{ "echo_by_itself", part_echo },
	{},
};
