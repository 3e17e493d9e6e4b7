/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A datagram socket that a parent and its children use. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

/* A server, which has no peer, and a client that is connected to it. */
struct pair {
	int server, client;
	struct sockaddr_in names[2];
};

static struct pair pair_open(void)
{
	struct pair p = { socket(AF_INET, SOCK_DGRAM, 0), socket(AF_INET, SOCK_DGRAM, 0) };
	socklen_t size = sizeof(p.names[0]);

	for (int i = 0; i < 2; i++) {
		int fd = i ? p.client : p.server;

		p.names[i] = loopback(0);
		CHECK(bind(fd, (void *)&p.names[i], size) == 0);
		CHECK(getsockname(fd, (void *)&p.names[i], &size) == 0);
	}
	CHECK(connect(p.client, (void *)&p.names[0], size) == 0);
	return p;
}

static void pair_close(struct pair *p)
{
	close(p->server);
	close(p->client);
}

static bool is_from(const struct sockaddr_in *a, socklen_t size, const struct sockaddr_in *b)
{
	return size == sizeof(*a) && a->sin_family == AF_INET && a->sin_port == b->sin_port &&
	       a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Receive that text from the client, and send it back in capitals. */
static void serve(struct pair *p, const char *text, int flags)
{
	char bytes[100];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t n = recvfrom(p->server, bytes, sizeof(bytes), flags, (void *)&from, &size);

	CHECK(n == (ssize_t)strlen(text) && !memcmp(bytes, text, n));
	CHECK(is_from(&from, size, &p->names[1]));
	for (ssize_t i = 0; i < n; i++)
		bytes[i] -= 'a' - 'A';
	CHECK(sendto(p->server, bytes, n, 0, (void *)&from, size) == n);
}

/* Requests that parent and children serve in turn */
static void case_share_datagrams(void)
{
	struct pair p = pair_open();

	for (int round = 0; round < 6; round++) {
		CHECK(send(p.client, "hello", 5, 0) == 5);
		if (round % 3) {
			pid_t pid = fork();

			if (pid == 0) {
				serve(&p, "hello", 0);
				_exit(case_failed);
			}
			CHECK(child_status(pid) == 0);
		} else {
			CHECK(becomes(p.server, POLLIN));
			serve(&p, "hello", MSG_DONTWAIT);
		}
		CHECK(expect(p.client, "HELLO"));
	}
	pair_close(&p);
}

/* Boundaries, lengths, peeks and empty datagrams, in a child */
static void case_share_datagram_sizes(void)
{
	struct pair p = pair_open();
	static char large[60000], got[60000];
	pid_t pid;

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = i * 7 >> 3;
	pid = fork();
	if (pid == 0) {
		struct iovec parts[2] = { { got, 1 }, { got + 1, 2 } };
		struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
		int waiting = -1;

		CHECK(recv(p.server, got, 2, MSG_PEEK | MSG_TRUNC) == 5 && !memcmp(got, "12", 2));
		CHECK(ioctl(p.server, FIONREAD, &waiting) == 0 && waiting == 5);
		CHECK(recvmsg(p.server, &msg, 0) == 3 && !memcmp(got, "123", 3));
		CHECK(msg.msg_flags == MSG_TRUNC);
		CHECK(read(p.server, got, sizeof(got)) == 0); /* the empty one */
		CHECK(recv(p.server, got, sizeof(got), 0) == sizeof(large));
		CHECK(!memcmp(got, large, sizeof(large)));
		CHECK_ERRNO(recv(p.server, got, 1, MSG_DONTWAIT), EAGAIN);
		CHECK_ERRNO(send(p.server, got, 1, 0), EDESTADDRREQ);
		CHECK_ERRNO(sendto(p.server, got, 1, 0, (void *)&p.names[1], 4), EINVAL);
		_exit(case_failed);
	}
	CHECK(send(p.client, "12345", 5, 0) == 5 && send(p.client, "", 0, 0) == 0);
	CHECK(send(p.client, large, sizeof(large), 0) == sizeof(large));
	CHECK(child_status(pid) == 0);
	pair_close(&p);
}

static int option_of(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	CHECK(getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0);
	return value;
}

/* A child connects the socket, and its parent uses that. */
static void case_share_datagram_peer(void)
{
	struct pair p = pair_open();
	struct sockaddr_in name;
	socklen_t size = sizeof(name);
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(option_of(p.server, SO_TYPE) == SOCK_DGRAM);
		CHECK(option_of(p.server, SO_DOMAIN) == AF_INET);
		CHECK(option_of(p.server, SO_PROTOCOL) == IPPROTO_UDP);
		CHECK_ERRNO(getpeername(p.server, (void *)&name, &size), ENOTCONN);
		CHECK(connect(p.server, (void *)&p.names[1], sizeof(p.names[1])) == 0);
		CHECK(getpeername(p.server, (void *)&name, &size) == 0);
		CHECK(is_from(&name, size, &p.names[1]));
		CHECK(write(p.server, "one", 3) == 3);
		_exit(case_failed);
	}
	CHECK(child_status(pid) == 0);
	CHECK(expect(p.client, "one"));
	CHECK(getpeername(p.server, (void *)&name, &size) == 0);
	CHECK(is_from(&name, size, &p.names[1]));
	CHECK(send(p.server, "two", 3, 0) == 3 && expect(p.client, "two"));
	CHECK(connect(p.server, &(struct sockaddr){ .sa_family = AF_UNSPEC }, size) == 0);
	CHECK_ERRNO(send(p.server, "x", 1, 0), EDESTADDRREQ);
	pair_close(&p);
}

static void *wait_run(void *arg)
{
	struct pair *p = arg;

	serve(p, "first", 0);
	return NULL;
}

/* A thread of the parent waits while a child takes the socket. */
static void case_share_datagram_waits(void)
{
	struct pair p = pair_open();
	struct sockaddr_in name;
	socklen_t size = sizeof(name);
	pthread_t thread;
	pid_t pid;

	CHECK(pthread_create(&thread, NULL, wait_run, &p) == 0);
	pid = fork();
	if (pid == 0) {
		CHECK(option_of(p.server, SO_ERROR) == 0);
		CHECK(sendto(p.server, "up", 2, 0, (void *)&p.names[1], size) == 2);
		_exit(case_failed);
	}
	CHECK(child_status(pid) == 0 && expect(p.client, "up"));
	CHECK(send(p.client, "first", 5, 0) == 5);
	CHECK(pthread_join(thread, NULL) == 0 && expect(p.client, "FIRST"));
	CHECK(getsockname(p.server, (void *)&name, &size) == 0 &&
	      is_from(&name, size, &p.names[0]));
	pair_close(&p);
}

/* The data of a child arrive even if the child exits at once and the parent has closed the socket.
 */
static void case_share_datagram_last(void)
{
	struct pair p = pair_open();
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		for (int i = 0; i < 50; i++)
			CHECK(sendto(p.server, &(char){ i }, 1, 0, (void *)&p.names[1],
				     sizeof(p.names[1])) == 1);
		_exit(case_failed);
	}
	close(p.server);
	CHECK(child_status(pid) == 0);
	for (int i = 0; i < 50; i++) {
		ssize_t n = recv(p.client, &byte, 1, 0);

		/* The network reports that the port is closed. */
		while (n < 0 && errno == ECONNREFUSED)
			n = recv(p.client, &byte, 1, 0);
		CHECK(n == 1 && byte >= 0 && byte < 50);
	}
	close(p.client);
}

const struct case_row share_datagram_cases[] = {
	{ "share_datagrams", case_share_datagrams },
	{ "share_datagram_sizes", case_share_datagram_sizes },
	{ "share_datagram_peer", case_share_datagram_peer },
	{ "share_datagram_waits", case_share_datagram_waits },
	{ "share_datagram_last", case_share_datagram_last },
	{},
};
