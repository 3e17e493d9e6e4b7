/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams over RDMA: the properties that programs expect of UDP. Peers that break the
 * protocol: rsocket_stranger. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <netinet/in.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define LONG_MS 60000
#define ROOM	65536

static struct sockaddr *any(struct sockaddr_storage *name)
{
	return (struct sockaddr *)name;
}

/* Open a socket at the device's address; return it and its name. */
static int socket_at(uint16_t port, struct sockaddr_storage *ret_name)
{
	struct sockaddr_storage name = rt_cm_address(port);
	socklen_t size = sizeof(*ret_name);
	int fd = rsocket(name.ss_family, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rbind(fd, any(&name), rt_rs_size(&name)));
	CHECK_OK(rgetsockname(fd, any(ret_name), &size));
	CHECK_INT(size, rt_rs_size(&name));
	return fd;
}

static uint16_t port_of(const struct sockaddr_storage *name)
{
	return ntohs(name->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)name)->sin6_port
						 : ((struct sockaddr_in *)name)->sin_port);
}

static int socket_any(struct sockaddr_storage *ret_name)
{
	return socket_at(0, ret_name);
}

static int connected_to(struct sockaddr_storage *name)
{
	int fd = rsocket(name->ss_family, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rconnect(fd, any(name), rt_rs_size(name)));
	return fd;
}

static void put_to(int fd, struct sockaddr_storage *to, const char *text)
{
	CHECK_INT(rsendto(fd, text, strlen(text), 0, any(to), rt_rs_size(to)), strlen(text));
}

static void expect(int fd, const char *text)
{
	char bytes[64];

	CHECK_INT(rrecv(fd, bytes, sizeof(bytes), 0), strlen(text));
	CHECK(!memcmp(bytes, text, strlen(text)));
}

static size_t payload_max(const struct sockaddr_storage *name)
{
	return 2048 - (name->ss_family == AF_INET6 ? 24 : 8);
}

/* ---- the other process ---- */

/* Echo datagrams at the given port, 0 for any. */
static void echo(int socket, int arg)
{
	static uint8_t bytes[ROOM];
	struct sockaddr_storage name, peer;
	int fd = socket_at(rt_hear(socket), &name);

	rt_tell(socket, port_of(&name));
	for (;;) {
		socklen_t size = sizeof(peer);
		ssize_t n = rrecvfrom(fd, bytes, sizeof(bytes), 0, any(&peer), &size);

		CHECK(n >= 0);
		CHECK_INT(size, rt_rs_size(&peer));
		if (n == 4 && !memcmp(bytes, "quit", 4))
			break;
		CHECK_INT(rsendto(fd, bytes, n, 0, any(&peer), size), n);
	}
	rt_tell(socket, 0);
	CHECK_OK(rclose(fd));
}

static uint16_t echo_start(struct rt_child *child, uint16_t port)
{
	rt_tell(child->socket, port);
	return rt_hear(child->socket);
}

/* Send a datagram, which may get lost, and wait for its answer. */
static void ask(int fd, size_t size, uint32_t number)
{
	static uint8_t bytes[ROOM], answer[ROOM];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	rt_fill(bytes, size, number);
	for (;;) {
		CHECK_INT(rsend(fd, bytes, size, 0), size);
		while (rpoll(&p, 1, 1000) > 0) {
			n = rrecv(fd, answer, sizeof(answer), MSG_DONTWAIT);
			if (n == (ssize_t)size && !memcmp(bytes, answer, size))
				return;
			CHECK(n >= 0 || errno == EAGAIN); /* answer to an earlier one */
		}
	}
}

/* Repeat until the child ends, because a datagram may get lost. */
static void quit(int fd, struct rt_child *child)
{
	struct pollfd p = { .fd = child->socket, .events = POLLIN };

	do /* the child may have got the datagram and ended */
		CHECK(rsend(fd, "quit", 4, 0) == 4 || errno == ECONNREFUSED);
	while (poll(&p, 1, 200) == 0);
	CHECK_OK(rclose(fd));
	rt_child_finish(child);
}

/* ---- the cases ---- */

#define LONGEST 65400

static uint8_t long_bytes[65508];

static void all_sizes(void)
{
	struct rt_child child = rt_child_start(echo, 0);
	struct sockaddr_storage name = rt_cm_address(echo_start(&child, 0)), other;
	socklen_t size = sizeof(other);
	int fd = connected_to(&name);

	CHECK_OK(rgetpeername(fd, any(&other), &size));
	CHECK_INT(port_of(&other), port_of(&name));
	for (size_t i = 0; i <= payload_max(&name); i += i < 70 ? 1 : 47)
		ask(fd, i, i);
	ask(fd, payload_max(&name), 1);
	/* Longer ones go by UDP. */
	for (size_t i = payload_max(&name) + 1; i < LONGEST; i += 7919)
		ask(fd, i, i);
	ask(fd, LONGEST, 1);
	CHECK_INT(rsend(fd, long_bytes, 65508, 0), -1);
	CHECK_INT(errno, EMSGSIZE);
	for (int i = 0; i < 2000; i++)
		ask(fd, 100, i);
	quit(fd, &child);
}

/* A successor at the same port has another queue pair. */
static void restarted_peer(void)
{
	struct rt_child child = rt_child_start(echo, 0), next = rt_child_start(echo, 0);
	uint16_t port = echo_start(&child, 0);
	struct sockaddr_storage name = rt_cm_address(port);
	int fd = connected_to(&name);

	for (int i = 0; i < 20; i++)
		ask(fd, 100, i);
	rt_child_kill(&child);
	CHECK_INT(echo_start(&next, port), port);
	ask(fd, 100, 77);
	quit(fd, &next);
}

static void names(void)
{
	struct sockaddr_storage a_name, b_name, from;
	int a = socket_any(&a_name), b = socket_any(&b_name);
	socklen_t size = sizeof(from);
	char byte;

	CHECK_INT(rgetpeername(a, any(&from), &size), -1);
	CHECK_INT(errno, ENOTCONN);
	for (int i = 0; i < 20; i++) {
		size = sizeof(from);
		put_to(a, &b_name, "x");
		CHECK_INT(rrecvfrom(b, &byte, 1, 0, any(&from), &size), 1);
		CHECK_INT(size, rt_rs_size(&from));
		CHECK(!memcmp(&from, &a_name, size));
		/* and back to the sender */
		put_to(b, &from, "y");
		CHECK_INT(rrecv(a, &byte, 1, 0), 1);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* A socket of every address gets messages at one of them and answers from there. */
static void wildcard(void)
{
	struct sockaddr_storage name = rt_cm_address(0), bound = { .ss_family = name.ss_family };
	int a = rsocket(name.ss_family, SOCK_DGRAM, 0), b;
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char byte;

	CHECK_OK(rbind(a, any(&bound), rt_rs_size(&bound)));
	size = sizeof(bound);
	CHECK_OK(rgetsockname(a, any(&bound), &size));
	name = rt_cm_address(port_of(&bound));
	b = connected_to(&name);
	for (int i = 0; i < 20; i++) {
		size = sizeof(from);
		CHECK_INT(rsend(b, "x", 1, 0), 1);
		CHECK_INT(rrecvfrom(a, &byte, 1, 0, any(&from), &size), 1);
		put_to(a, &from, "y");
		CHECK_INT(rrecv(b, &byte, 1, 0), 1);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* An IPv6 socket that also accepts IPv4. */
static void both_families(void)
{
	struct sockaddr_storage name = rt_cm_address(0), from;
	struct sockaddr_in6 bound = { .sin6_family = AF_INET6 };
	socklen_t size = sizeof(bound);
	int a = rsocket(AF_INET6, SOCK_DGRAM, 0), b;
	char byte;

	CHECK(a >= 0);
	CHECK_OK(rbind(a, (struct sockaddr *)&bound, sizeof(bound)));
	CHECK_OK(rgetsockname(a, (struct sockaddr *)&bound, &size));
	name = rt_cm_address(ntohs(bound.sin6_port));
	b = connected_to(&name);
	for (int i = 0; i < 20; i++) {
		size = sizeof(from);
		CHECK_INT(rsend(b, "x", 1, 0), 1);
		CHECK_INT(rrecvfrom(a, &byte, 1, 0, any(&from), &size), 1);
		CHECK_INT(size, sizeof(struct sockaddr_in6));
		CHECK_INT(from.ss_family, AF_INET6);
		put_to(a, &from, "y");
		CHECK_INT(rrecv(b, &byte, 1, 0), 1);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* Each kind of read keeps the boundaries of datagrams. */
static void boundaries(void)
{
	struct sockaddr_storage a_name, b_name;
	int a = socket_any(&a_name), b = socket_any(&b_name), value;
	char bytes[16] = "";
	struct iovec parts[3] = { { bytes, 2 }, { bytes + 2, 0 }, { bytes + 2, 3 } };
	struct sockaddr_storage from;
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = parts, .msg_iovlen = 3
	};

	for (int i = 0; i < 10; i++) {
		put_to(a, &b_name, "abcdefg");
		CHECK_INT(rrecv(b, bytes, 3, MSG_PEEK), 3);
		put_to(a, &b_name, "hi"); /* it must not overtake the other */
		CHECK_INT(rrecv(b, bytes, 3, MSG_PEEK | MSG_TRUNC), 7);
		CHECK_OK(rioctl(b, FIONREAD, &value));
		CHECK_INT(value, 7);
		msg.msg_namelen = sizeof(from);
		CHECK_INT(rrecvmsg(b, &msg, 0), 5);
		CHECK(!memcmp(bytes, "abcde", 5));
		CHECK(msg.msg_flags & MSG_TRUNC);
		CHECK_INT(msg.msg_namelen, rt_rs_size(&from));
		CHECK(!memcmp(&from, &a_name, msg.msg_namelen));
		expect(b, "hi");
	}
	/* A datagram of several pieces. */
	memcpy(bytes, "vector", 6);
	msg = (struct msghdr){ .msg_name = &b_name,
			       .msg_namelen = rt_rs_size(&b_name),
			       .msg_iov = (struct iovec[]){ { bytes, 4 }, { bytes + 4, 2 } },
			       .msg_iovlen = 2 };
	CHECK_INT(rsendmsg(a, &msg, 0), 6);
	expect(b, "vector");
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

static void await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK_INT(p.revents, events);
}

static void nonblocking(void)
{
	struct sockaddr_storage a_name, b_name;
	int a = socket_any(&a_name), b = socket_any(&b_name);
	struct timeval shortly = { .tv_usec = 20000 }, second = { .tv_sec = LONG_MS / 1000 };
	struct pollfd p = { .fd = b, .events = POLLIN };
	fd_set set;
	char byte;

	CHECK_INT(rrecv(b, &byte, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(rsetsockopt(b, SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof(shortly)));
	CHECK_INT(rrecv(b, &byte, 1, 0), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(rpoll(&p, 1, 20), 0);
	CHECK_OK(rfcntl(b, F_SETFL, O_NONBLOCK));
	await(a, POLLOUT);
	for (int i = 0; i < 20; i++) {
		put_to(a, &b_name, "x");
		await(b, POLLIN);
		CHECK_INT(rrecv(b, &byte, 1, 0), 1);
		CHECK_INT(rrecv(b, &byte, 1, 0), -1);
		CHECK_INT(errno, EAGAIN);
		FD_ZERO(&set);
		FD_SET(b, &set);
		put_to(a, &b_name, "x");
		CHECK_INT(rselect(b + 1, &set, NULL, NULL, &second), 1);
		CHECK_INT(rrecv(b, &byte, 1, 0), 1);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

static void in_epoll(void)
{
	struct sockaddr_storage a_name, b_name;
	int a = socket_any(&a_name), b = socket_any(&b_name), epfd = repoll_create(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };

	CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_ADD, b, &event));
	for (int i = 0; i < 20; i++) {
		CHECK_INT(repoll_wait(epfd, &event, 1, 1), 0);
		put_to(a, &b_name, "x");
		CHECK_INT(repoll_wait(epfd, &event, 1, LONG_MS), 1);
		CHECK_INT(event.events, EPOLLIN);
		expect(b, "x");
	}
	event.events = EPOLLIN | EPOLLET;
	CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_MOD, b, &event));
	for (int i = 0; i < 20; i++) {
		put_to(a, &b_name, "x");
		CHECK_INT(repoll_wait(epfd, &event, 1, LONG_MS), 1);
		expect(b, "x");
	}
	CHECK_OK(rclose(b));
	CHECK_INT(repoll_wait(epfd, &event, 1, 1), 0);
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(epfd));
}

/* A socket with a peer receives from that peer only, and may get another peer. */
static void peers(void)
{
	struct sockaddr_storage names[3], none = { .ss_family = AF_UNSPEC };
	int fds[3];
	char byte;

	for (int i = 0; i < 3; i++)
		fds[i] = socket_any(&names[i]);
	for (int i = 0; i < 20; i++) { /* until the stranger knows the RDMA path too */
		put_to(fds[2], &names[0], "acquaintance");
		expect(fds[0], "acquaintance");
	}
	CHECK_OK(rconnect(fds[0], any(&names[1]), rt_rs_size(&names[1])));
	for (int i = 0; i < 20; i++) {
		put_to(fds[2], &names[0], "stranger");
		put_to(fds[1], &names[0], "peer");
		CHECK_INT(rsend(fds[0], "hello", 5, 0), 5);
		expect(fds[1], "hello");
		expect(fds[0], "peer");
		CHECK_INT(rrecv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
	}
	CHECK_OK(rconnect(fds[0], any(&names[2]), rt_rs_size(&names[2])));
	for (int i = 0; i < 20; i++) {
		CHECK_INT(rsend(fds[0], "hello", 5, 0), 5);
		expect(fds[2], "hello");
	}
	CHECK_OK(rconnect(fds[0], any(&none), sizeof(struct sockaddr)));
	CHECK_INT(rsend(fds[0], "x", 1, 0), -1);
	CHECK_INT(errno, EDESTADDRREQ);
	for (int i = 0; i < 3; i++)
		CHECK_OK(rclose(fds[i]));
}

static void *late_shutdown(void *arg)
{
	usleep(20000);
	rshutdown(*(int *)arg, SHUT_RD);
	return NULL;
}

static void shut_down(void)
{
	struct sockaddr_storage a_name, b_name;
	int a = socket_any(&a_name), b = socket_any(&b_name);
	struct pollfd p = { .fd = a, .events = POLLIN | POLLOUT };
	pthread_t thread;
	char byte;

	CHECK_OK(rconnect(a, any(&b_name), rt_rs_size(&b_name)));
	CHECK_OK(pthread_create(&thread, NULL, late_shutdown, &a));
	CHECK_INT(rrecv(a, &byte, 1, 0), 0); /* it had waited in the socket */
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_INT(rsend(a, "x", 1, 0), 1);
	expect(b, "x");
	CHECK_OK(rshutdown(a, SHUT_WR));
	CHECK_INT(rsend(a, "x", 1, 0), -1);
	CHECK_INT(errno, EPIPE);
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK(p.revents & POLLHUP);
	CHECK_INT(rshutdown(b, SHUT_WR), -1);
	CHECK_INT(errno, ENOTCONN);
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* The network reports that no socket is there. */
static void nobody_there(void)
{
	struct sockaddr_storage name;
	int fd = socket_any(&name), error = 0;
	struct pollfd p = { .events = POLLIN };
	socklen_t size = sizeof(error);

	CHECK_OK(rclose(fd));
	fd = p.fd = connected_to(&name);
	CHECK_INT(rsend(fd, "x", 1, 0), 1);
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK(p.revents & POLLERR);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, ECONNREFUSED);
	CHECK_OK(rclose(fd));
}

/* A socket that is not read loses datagrams, and delays no other socket. */
static void flood(void)
{
	struct sockaddr_storage a_name, b_name;
	int a = socket_any(&a_name), b = socket_any(&b_name), got = 0;
	static uint8_t bytes[1000];

	for (int i = 0; i < 20; i++) { /* until it goes by RDMA */
		put_to(a, &b_name, "x");
		expect(b, "x");
	}
	for (int i = 0; i < 3000; i++)
		CHECK_INT(rsendto(a, bytes, sizeof(bytes), 0, any(&b_name), rt_rs_size(&b_name)),
			  sizeof(bytes));
	while (rrecv(b, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		got++;
	CHECK(got >= 16);
	for (int i = 0; i < 100; i++) {
		put_to(a, &b_name, "x");
		await(b, POLLIN);
		CHECK(rrecv(b, bytes, sizeof(bytes), 0) >= 0);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* ---- threads ---- */

#define ENOUGH 500

static struct {
	int fds[2];
	struct sockaddr_storage names[2];
	atomic_int got[2];
} crowd;

static bool is_over(void)
{
	return atomic_load(&crowd.got[0]) >= ENOUGH && atomic_load(&crowd.got[1]) >= ENOUGH;
}

static void *crowd_send(void *arg)
{
	int i = (uintptr_t)arg;
	static const uint8_t bytes[333];

	while (!is_over()) {
		ssize_t n = rsendto(crowd.fds[i], bytes, sizeof(bytes), 0, any(&crowd.names[!i]),
				    rt_rs_size(&crowd.names[!i]));

		CHECK_INT(n, sizeof(bytes));
		sched_yield();
	}
	return NULL;
}

static void *crowd_receive(void *arg)
{
	int i = (uintptr_t)arg;
	uint8_t bytes[ROOM];

	while (!is_over()) {
		struct pollfd p = { .fd = crowd.fds[i], .events = POLLIN };
		ssize_t n;

		if (atomic_load(&crowd.got[i]) % 2)
			rpoll(&p, 1, 100);
		n = rrecv(crowd.fds[i], bytes, sizeof(bytes), 0);
		if (n >= 0)
			CHECK_INT(n, 333);
		else
			CHECK_INT(errno, EAGAIN);
		atomic_fetch_add(&crowd.got[i], n >= 0);
	}
	return NULL;
}

static void threads(void)
{
	struct timeval shortly = { .tv_usec = 100000 };
	pthread_t all[8];

	for (int i = 0; i < 2; i++) {
		crowd.fds[i] = socket_any(&crowd.names[i]);
		CHECK_OK(rsetsockopt(crowd.fds[i], SOL_SOCKET, SO_RCVTIMEO, &shortly,
				     sizeof(shortly)));
	}
	for (uintptr_t i = 0; i < 8; i++)
		CHECK_OK(pthread_create(&all[i], NULL, i < 4 ? crowd_send : crowd_receive,
					(void *)(i % 2)));
	for (int i = 0; i < 8; i++)
		CHECK_OK(pthread_join(all[i], NULL));
	for (int i = 0; i < 2; i++)
		CHECK_OK(rclose(crowd.fds[i]));
}

/* ---- unsupported calls, and limits ---- */

#define FAILS(call, number)                 \
	do {                                \
		CHECK_INT((call), -1);      \
		CHECK_INT(errno, (number)); \
	} while (0)

static void wrong_calls(void)
{
	struct sockaddr_storage name = rt_cm_address(1);
	struct sockaddr_in nowhere = { .sin_family = AF_INET,
				       .sin_port = htons(1),
				       .sin_addr.s_addr = htonl(0xc6336401) };
	int fd = rsocket(name.ss_family, SOCK_DGRAM, IPPROTO_UDP);
	char bytes[8] = "";

	CHECK(fd >= 0);
	FAILS(rsend(fd, bytes, 1, 0), EDESTADDRREQ);
	FAILS(rsend(fd, bytes, 1, MSG_OOB), EOPNOTSUPP);
	FAILS(rlisten(fd, 1), EOPNOTSUPP);
	FAILS(raccept(fd, NULL, NULL), EOPNOTSUPP);
	FAILS(riomap(fd, bytes, 8, PROT_WRITE, 0, 0), EOPNOTSUPP);
	FAILS((ssize_t)riowrite(fd, bytes, 8, 0, 0), EOPNOTSUPP);
	FAILS(rconnect(fd, any(&name), 1), EINVAL);
	FAILS(rsendto(fd, bytes, 1, 0, any(&name), 3), EINVAL);
	/* an address that no host here has */
	CHECK_INT(rbind(fd, (struct sockaddr *)&nowhere, sizeof(nowhere)), -1);
	CHECK_OK(rclose(fd));
	FAILS(rsend(fd, bytes, 1, 0), EBADF);
	FAILS(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	CHECK_OK(rgetsockopt(fd, level, name, &value, &size));
	return value;
}

static void options(void)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0), value = 1 << 19;

	CHECK_INT(option(fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
	CHECK_INT(option(fd, SOL_SOCKET, SO_PROTOCOL), IPPROTO_UDP);
	CHECK_INT(option(fd, SOL_SOCKET, SO_DOMAIN), AF_INET);
	CHECK_INT(option(fd, SOL_SOCKET, SO_ERROR), 0);
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)));
	CHECK_INT(option(fd, SOL_SOCKET, SO_SNDBUF), 2 * value);
	value = 1;
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)));
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, sizeof(value)));
	CHECK_INT(option(fd, SOL_SOCKET, SO_BROADCAST), 1);
	value = 0x20;
	CHECK_OK(rsetsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value)));
	CHECK_INT(option(fd, IPPROTO_IP, IP_TOS), 0x20);
	FAILS(rsetsockopt(fd, IPPROTO_IP, IP_RECVERR, &value, sizeof(value)), ENOPROTOOPT);
	FAILS(rsetsockopt(fd, IPPROTO_UDP, 1, &value, sizeof(value)), ENOPROTOOPT);
	FAILS(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &value, sizeof(value)), ENOPROTOOPT);
	value = 20;
	CHECK_OK(rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &value, sizeof(value)));
	CHECK_INT(option(fd, SOL_RDMA, RDMA_SQSIZE), 20);
	CHECK_OK(rclose(fd));
}

/* All resources are freed. */
static void no_leak(void)
{
	struct sockaddr_storage a_name, b_name;
	struct rt_use before, after;

	for (int i = 0; i < 12; i++) {
		int a = socket_any(&a_name), b = socket_any(&b_name);

		for (int j = 0; j < 10; j++) {
			put_to(a, &b_name, "x");
			expect(b, "x");
		}
		put_to(a, &b_name, "left behind");
		CHECK_OK(rclose(b));
		CHECK_OK(rclose(a));
		if (i == 1)
			before = rt_use();
	}
	after = rt_use();
	CHECK_INT(after.descriptors, before.descriptors);
}

static const struct rt_case cases[] = {
	{ "all_sizes", all_sizes },
	{ "restarted_peer", restarted_peer },
	{ "names", names },
	{ "wildcard", wildcard },
	{ "both_families", both_families },
	{ "boundaries", boundaries },
	{ "nonblocking", nonblocking },
	{ "in_epoll", in_epoll },
	{ "peers", peers },
	{ "shut_down", shut_down },
	{ "nobody_there", nobody_there },
	{ "flood", flood },
	{ "threads", threads },
	{ "wrong_calls", wrong_calls },
	{ "options", options },
	{ "no_leak", no_leak },
};
RT_MAIN(cases)
