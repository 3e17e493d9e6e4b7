/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stream over RDMA between two hosts whose link is cut for a while, or until one of them gives
 * up. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include <rdma/rsocket.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_rsocket.h"

#define PIECE 10000
#define WHOLE (8u << 20)
#define PORT  7471
#define CUT_S 2 /* less than any timeout */

static uint8_t byte_at(size_t i)
{
	return i * 2654435761u >> 11;
}

static void link_cut(void)
{
	CHECK_OK(system("nft 'add table inet cut;"
			"add chain inet cut in { type filter hook input priority 0; };"
			"add chain inet cut out { type filter hook output priority 0; };"
			"add rule inet cut in udp dport 4791 drop;"
			"add rule inet cut out udp dport 4791 drop'"));
}

static void link_mend(void)
{
	CHECK_OK(system("nft delete table inet cut"));
}

static struct sockaddr_in address(const char *host)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	CHECK_INT(inet_pton(AF_INET, host, &name.sin_addr), 1);
	return name;
}

/* Receive until the end. Return 0 or the errno; *ret_got is the number of bytes. */
static int receive(int fd, size_t *ret_got)
{
	static uint8_t bytes[PIECE];
	ssize_t n;

	for (*ret_got = 0; (n = rrecv(fd, bytes, PIECE, 0)) > 0; *ret_got += n)
		for (ssize_t i = 0; i < n; i++)
			CHECK_INT(bytes[i], byte_at(*ret_got + i));
	return n ? errno : 0;
}

/* Send up to @total bytes. Return 0 or the errno. */
static int transmit(int fd, size_t from, size_t total)
{
	static uint8_t bytes[PIECE];

	while (from < total) {
		size_t size = total - from < PIECE ? total - from : PIECE;
		ssize_t n;

		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(from + i);
		n = rsend(fd, bytes, size, MSG_NOSIGNAL);
		if (n < 0)
			return errno;
		from += n;
	}
	return 0;
}

/* Tell the other process when it listens, and the fate of the connection. */
static void receiver(int socket, bool whole)
{
	struct sockaddr_in here = address("192.0.2.2");
	int listening, fd, error;
	size_t got;

	net_enter(NET_THERE);
	listening = rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK(listening >= 0);
	CHECK_OK(rbind(listening, (struct sockaddr *)&here, sizeof(here)));
	CHECK_OK(rlisten(listening, 1));
	rt_tell(socket, 1);
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	error = receive(fd, &got);
	if (whole) {
		CHECK_INT(got, WHOLE);
		CHECK_INT(error, 0);
	} else {
		CHECK(got > 0 && got < WHOLE);
		/* A receiver that has to announce room when the link is cut gives up without a
		 * call. */
		CHECK(error == ECONNRESET || error == ETIMEDOUT);
	}
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

static void receive_whole(int socket, int arg)
{
	receiver(socket, true);
}

static void receive_part(int socket, int arg)
{
	receiver(socket, false);
}

static void hosts_make(void)
{
	net_make("udp");
	if (system("nft list tables"))
		rt_skip("nft does not work here");
}

static int connected(struct rt_child *ret_child, void (*there)(int, int))
{
	struct sockaddr_in name = address("192.0.2.2");
	int fd;

	hosts_make();
	*ret_child = rt_child_start(there, 0);
	net_enter(NET_HERE);
	CHECK_INT(rt_hear(ret_child->socket), 1);
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	CHECK_OK(rconnect(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_INT(transmit(fd, 0, WHOLE / 4), 0);
	return fd;
}

static void *mend_later(void *arg)
{
	sleep(CUT_S);
	link_mend();
	return NULL;
}

/* A link that comes back in time has lost no data. */
static void comes_back(void)
{
	struct rt_child child;
	int fd = connected(&child, receive_whole);
	pthread_t thread;

	link_cut();
	CHECK_OK(pthread_create(&thread, NULL, mend_later, NULL));
	CHECK_INT(transmit(fd, WHOLE / 4, WHOLE), 0);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* A sender gives up. When the link is back, its peer gets an error and no orderly end. */
static void comes_back_late(void)
{
	struct rt_child child;
	int fd = connected(&child, receive_part);

	link_cut();
	CHECK_INT(transmit(fd, WHOLE / 4, WHOLE), ETIMEDOUT);
	link_mend();
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* Accept, and read no data. */
static void receive_nothing(int socket, int arg)
{
	struct sockaddr_in here = address("192.0.2.2");
	int listening, fd[2];

	net_enter(NET_THERE);
	listening = rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK(listening >= 0);
	CHECK_OK(rbind(listening, (struct sockaddr *)&here, sizeof(here)));
	CHECK_OK(rlisten(listening, 2));
	rt_tell(socket, 1);
	for (int i = 0; i < 2; i++) {
		fd[i] = raccept(listening, NULL, NULL);
		CHECK(fd[i] >= 0);
	}
	CHECK_INT(rt_hear(socket), 2);
	for (int i = 0; i < 2; i++)
		CHECK_OK(rclose(fd[i]));
	CHECK_OK(rclose(listening));
}

/* Send as much as the peer has room for, and wait until no message is under way. */
static int connected_full(void)
{
	static const uint8_t bytes[PIECE];
	struct sockaddr_in name = address("192.0.2.2");
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rconnect(fd, (struct sockaddr *)&name, sizeof(name)));
	while (rsend(fd, bytes, PIECE, MSG_DONTWAIT) > 0)
		;
	CHECK_INT(errno, EAGAIN);
	return fd;
}

/* Poll until the socket reports that its peer no longer answers. */
static void *wait_in_vain(void *arg)
{
	struct pollfd *p = arg;

	CHECK_INT(rpoll(p, 1, -1), 1);
	CHECK(p->revents & POLLERR);
	return NULL;
}

/* Cut the link of two clients of receive_nothing(). One polls for @events in a thread, and the
 * other sleeps in the call @blocked. */
static void peer_away(int (*client)(void), short events, ssize_t (*blocked)(int))
{
	struct pollfd waited = { .events = events };
	struct rt_child child;
	pthread_t thread;
	int fd[2];

	hosts_make();
	child = rt_child_start(receive_nothing, 0);
	net_enter(NET_HERE);
	CHECK_INT(rt_hear(child.socket), 1);
	for (int i = 0; i < 2; i++)
		fd[i] = client();
	sleep(CUT_S);
	link_cut();
	waited.fd = fd[1];
	CHECK_OK(pthread_create(&thread, NULL, wait_in_vain, &waited));
	CHECK_INT(blocked(fd[0]), -1);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK_OK(pthread_join(thread, NULL));
	link_mend();
	rt_tell(child.socket, 2);
	for (int i = 0; i < 2; i++)
		CHECK_OK(rclose(fd[i]));
	rt_child_finish(&child);
}

static ssize_t send_one(int fd)
{
	return rsend(fd, "x", 1, MSG_NOSIGNAL);
}

/* No message is outstanding whose loss could reveal that the peer is away, and the peer owes
 * room. */
static void full_peer_away(void)
{
	peer_away(connected_full, POLLOUT, send_one);
}

/* ---- a receiver without messages under way that keeps its connection alive ---- */

static void keep_alive(int fd)
{
	int on = 1, seconds = 1;

	CHECK_OK(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds)));
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
}

static int connected_kept(void)
{
	struct sockaddr_in name = address("192.0.2.2");
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	keep_alive(fd);
	CHECK_OK(rconnect(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static ssize_t receive_one(int fd)
{
	uint8_t byte;

	return rrecv(fd, &byte, 1, 0);
}

static void kept_peer_away(void)
{
	peer_away(connected_kept, POLLIN, receive_one);
}

/* An interface that is down for a while has lost no data either. */
static void *up_later(void *arg)
{
	sleep(CUT_S);
	CHECK_OK(system("ip link set here0 up"));
	return NULL;
}

static void down_and_up(void)
{
	struct rt_child child;
	int fd = connected(&child, receive_whole);
	pthread_t thread;

	CHECK_OK(system("ip link set here0 down"));
	CHECK_OK(pthread_create(&thread, NULL, up_later, NULL));
	CHECK_INT(transmit(fd, WHOLE / 4, WHOLE), 0);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static const struct rt_case cases[] = {
	{ "comes_back", comes_back },	      { "comes_back_late", comes_back_late },
	{ "full_peer_away", full_peer_away }, { "kept_peer_away", kept_peer_away },
	{ "down_and_up", down_and_up },
};
RT_MAIN(cases)
