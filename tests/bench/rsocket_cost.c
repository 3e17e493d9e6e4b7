/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a wait costs that finds one socket ready beside N idle ones, counted by callgrind: run under
 *   valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no ./rsocket_cost N
 * "waits W" on stdout says how many waits are in what was collected.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <valgrind/callgrind.h>

#include <rdma/rsocket.h>

enum {
	WAITS = 100,
	WARM = 100,    /* idle sockets are polled for a while */
	BUFFER = 2048, /* bytes, doubled by the library; small for thousands of sockets */
	PORT = 22999,
};

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

static int socket_new(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), bytes = BUFFER;

	check(fd < 0, "rsocket");
	rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return fd;
}

static const struct sockaddr_in name = {
	.sin_family = AF_INET,
	.sin_port = PORT,
};

static int listener(void)
{
	int fd = socket_new(), on = 1;
	struct sockaddr_in any = name;

	rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(rbind(fd, (struct sockaddr *)&any, sizeof(any)), "rbind");
	check(rlisten(fd, 16), "rlisten");
	return fd;
}

/* Return the end that sends; the other end is in the epoll. */
static int pair(int listening, int epfd)
{
	struct sockaddr_in to = name;
	struct epoll_event event = { .events = EPOLLIN };
	int here = socket_new();

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(rconnect(here, (struct sockaddr *)&to, sizeof(to)), "rconnect");
	event.data.fd = raccept(listening, NULL, NULL);
	check(event.data.fd < 0, "raccept");
	check(repoll_ctl(epfd, EPOLL_CTL_ADD, event.data.fd, &event), "repoll_ctl");
	return here;
}

static void limit_raise(void)
{
	struct rlimit limit;

	check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static void wait_once(int epfd, int from, int counted)
{
	struct epoll_event events[16];
	char byte;
	int n;

	check(rsend(from, "x", 1, 0) != 1, "rsend");
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	n = repoll_wait(epfd, events, 16, 10000);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	check(n != 1, "repoll_wait");
	check(rrecv(events[0].data.fd, &byte, 1, 0) != 1, "rrecv");
}

int main(int argc, char **argv)
{
	int idle = argc == 2 ? atoi(argv[1]) : 0, epfd = repoll_create(0), listening, from;
	struct epoll_event event;

	limit_raise();
	check(epfd < 0, "repoll_create");
	listening = listener();
	from = pair(listening, epfd); /* with the same numbers, independent of later sockets */
	for (int i = 0; i < idle; i++)
		pair(listening, epfd);
	check(repoll_wait(epfd, &event, 1, 100), "repoll_wait without news");
	for (int i = 0; i < WARM; i++)
		wait_once(epfd, from, 0);
	CALLGRIND_START_INSTRUMENTATION;
	for (int i = 0; i < WAITS; i++)
		wait_once(epfd, from, 1);
	CALLGRIND_STOP_INSTRUMENTATION;
	printf("waits %d\n", WAITS);
	fflush(stdout);
	_Exit(0); /* leave thousands of connections without a disconnect */
}
