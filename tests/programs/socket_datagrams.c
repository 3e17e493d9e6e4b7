/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control messages of datagrams, in both directions. */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_cases.h"

struct pair {
	int from, to; /* from is connected to to */
};

static struct pair pair_open(int family)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in v4 = loopback(0);
	struct sockaddr *addr = family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
	struct pair p = { socket(family, SOCK_DGRAM, 0), socket(family, SOCK_DGRAM, 0) };

	CHECK(bind(p.to, addr, size) == 0 && getsockname(p.to, addr, &size) == 0);
	CHECK(connect(p.from, addr, size) == 0);
	return p;
}

static void option_on(int fd, int level, int name)
{
	int on = 1;
	socklen_t size = sizeof(on);

	CHECK(setsockopt(fd, level, name, &on, sizeof(on)) == 0);
	on = 0;
	CHECK(getsockopt(fd, level, name, &on, &size) == 0 && on == 1);
}

struct received {
	union {
		struct cmsghdr align;
		unsigned char bytes[256];
	} control;
	struct msghdr msg;
};

/* Receive one datagram, with @room for control messages. */
static void one_receive(int fd, size_t room, struct received *ret)
{
	static char byte;
	static struct iovec iov = { &byte, 1 };

	ret->msg = (struct msghdr){
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &ret->control,
		.msg_controllen = room,
	};
	CHECK(recvmsg(fd, &ret->msg, 0) == 1 && byte == 'x');
}

/* Copy the value of a control message. Return: its size, or -1. */
static int value_of(struct received *r, int level, int type, void *value, size_t size)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&r->msg); c; c = CMSG_NXTHDR(&r->msg, c)) {
		if (c->cmsg_level != level || c->cmsg_type != type)
			continue;
		memcpy(value, CMSG_DATA(c),
		       c->cmsg_len - CMSG_LEN(0) < size ? c->cmsg_len - CMSG_LEN(0) : size);
		return c->cmsg_len - CMSG_LEN(0);
	}
	return -1;
}

/* The first datagrams and later ones go different ways. */
#define DATAGRAMS 8

static void case_control_v4(void)
{
	struct pair p = pair_open(AF_INET);
	struct received r = {};

	option_on(p.to, IPPROTO_IP, IP_PKTINFO);
	option_on(p.to, IPPROTO_IP, IP_RECVTTL);
	option_on(p.to, IPPROTO_IP, IP_RECVTOS);
	for (int i = 0; i < DATAGRAMS && !case_failed; i++) {
		struct in_pktinfo info = {};
		unsigned char tos = 1;
		int ttl = 0;

		CHECK(send(p.from, "x", 1, 0) == 1);
		one_receive(p.to, sizeof(r.control), &r);
		CHECK(value_of(&r, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info)) == sizeof(info));
		CHECK(info.ipi_ifindex == 1 && info.ipi_addr.s_addr == htonl(INADDR_LOOPBACK));
		CHECK(value_of(&r, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)) == sizeof(ttl));
		CHECK(ttl > 0 && ttl <= 255);
		CHECK(value_of(&r, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) == 1 && tos == 0);
		CHECK(r.msg.msg_flags == 0);
	}
	close(p.from);
	close(p.to);
}

/* A control message that does not fit is cut. */
static void cut_check(struct pair p)
{
	struct received r = {};

	CHECK(send(p.from, "x", 1, 0) == 1);
	one_receive(p.to, CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_LEN(0) + 1, &r);
	CHECK(r.msg.msg_flags == MSG_CTRUNC);
	CHECK(r.msg.msg_controllen == CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_LEN(0) + 1);
	CHECK(send(p.from, "x", 1, 0) == 1);
	one_receive(p.to, 0, &r);
	CHECK(r.msg.msg_flags == MSG_CTRUNC && r.msg.msg_controllen == 0);
}

static void case_control_v6(void)
{
	struct pair p = pair_open(AF_INET6);
	struct received r = {};

	option_on(p.to, IPPROTO_IPV6, IPV6_RECVPKTINFO);
	option_on(p.to, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
	option_on(p.to, IPPROTO_IPV6, IPV6_RECVTCLASS);
	for (int i = 0; i < DATAGRAMS && !case_failed; i++) {
		struct in6_pktinfo info = {};
		int hops = 0, class = -1;

		CHECK(send(p.from, "x", 1, 0) == 1);
		one_receive(p.to, sizeof(r.control), &r);
		CHECK(value_of(&r, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info)) ==
		      sizeof(info));
		CHECK(info.ipi6_ifindex == 1 && IN6_IS_ADDR_LOOPBACK(&info.ipi6_addr));
		CHECK(value_of(&r, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops)) ==
		      sizeof(hops));
		CHECK(hops > 0 && hops <= 255);
		CHECK(value_of(&r, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class)) ==
		      sizeof(class));
		CHECK(class == 0);
		CHECK(r.msg.msg_flags == 0);
		cut_check(p);
	}
	close(p.from);
	close(p.to);
}

/* The sender sets the hop limit of one datagram. */
static void case_control_sent(void)
{
	struct pair p = pair_open(AF_INET6);
	struct received r = {};
	int hops = 7, got = 0;
	union {
		struct cmsghdr header;
		unsigned char bytes[CMSG_SPACE(sizeof(hops))];
	} control = { .header = { CMSG_LEN(sizeof(hops)), IPPROTO_IPV6, IPV6_HOPLIMIT } };
	struct iovec iov = { (char[]){ "x" }, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &hops, sizeof(hops));
	option_on(p.to, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
	for (int i = 0; i < DATAGRAMS && !case_failed; i++) {
		CHECK(sendmsg(p.from, &msg, 0) == 1);
		one_receive(p.to, sizeof(r.control), &r);
		CHECK(value_of(&r, IPPROTO_IPV6, IPV6_HOPLIMIT, &got, sizeof(got)) == sizeof(got));
		CHECK(got == hops);
		CHECK(send(p.from, "x", 1, 0) == 1);
		one_receive(p.to, sizeof(r.control), &r);
		CHECK(value_of(&r, IPPROTO_IPV6, IPV6_HOPLIMIT, &got, sizeof(got)) == sizeof(got));
		CHECK(got != hops);
	}
	control.header.cmsg_len = sizeof(control) + 1;
	CHECK_ERRNO(sendmsg(p.from, &msg, 0), EINVAL);
	close(p.from);
	close(p.to);
}

/* A mark needs a privilege. The socket keeps its peer when the kernel refuses one. */
static void case_control_refused(void)
{
	struct pair p = pair_open(AF_INET);
	struct received r;
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { (char[]){ "x" }, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	uid_t user = geteuid();

	control.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SO_MARK };
	CHECK(send(p.from, "x", 1, 0) == 1);
	one_receive(p.to, sizeof(r.control), &r);
	CHECK(user || seteuid(65534) == 0);
	CHECK_ERRNO(sendmsg(p.from, &msg, 0), EPERM);
	CHECK(seteuid(user) == 0);
	CHECK(getpeername(p.from, (struct sockaddr *)&peer, &size) == 0);
	CHECK(send(p.from, "x", 1, 0) == 1);
	one_receive(p.to, sizeof(r.control), &r);
	close(p.from);
	close(p.to);
}

/* Control messages are longer together than what most programs send. */
static void case_control_many(void)
{
	enum {
		COUNT = 40
	};
	struct pair p = pair_open(AF_INET);
	struct received r;
	union {
		struct cmsghdr align;
		unsigned char bytes[COUNT * CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { (char[]){ "x" }, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int ttl = 9;

	for (int i = 0; i < COUNT; i++) {
		struct cmsghdr *c = (void *)&control.bytes[i * CMSG_SPACE(sizeof(int))];

		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
				       .cmsg_level = IPPROTO_IP,
				       .cmsg_type = IP_TTL };
		memcpy(CMSG_DATA(c), &ttl, sizeof(ttl));
	}
	CHECK(sendmsg(p.from, &msg, 0) == 1);
	one_receive(p.to, sizeof(r.control), &r);
	close(p.from);
	close(p.to);
}

static void case_datagrams(void)
{
	struct sockaddr_in address = loopback(0), from;
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	socklen_t size = sizeof(address);
	struct timeval time = { .tv_sec = 10 };
	char bytes[32];
	int count = 0;

	CHECK(bind(a, (struct sockaddr *)&address, size) == 0);
	CHECK(getsockname(a, (struct sockaddr *)&address, &size) == 0 && address.sin_port);
	setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(b, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	for (int i = 0; i < 3; i++) {
		CHECK(sendto(b, "hello", 5, 0, (struct sockaddr *)&address, size) == 5);
		size = sizeof(from);
		CHECK(becomes(a, POLLIN));
		CHECK(ioctl(a, FIONREAD, &count) == 0 && count == 5);
		CHECK(recvfrom(a, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size) == 5);
		CHECK(sendto(a, "to you", 6, 0, (struct sockaddr *)&from, size) == 6);
		CHECK(recv(b, bytes, 2, MSG_TRUNC) == 6);
	}
	CHECK(connect(b, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(say(b, "connected") && recv(a, bytes, sizeof(bytes), 0) == 9);
	CHECK_ERRNO(recv(a, bytes, sizeof(bytes), MSG_DONTWAIT), EAGAIN);
	close(a);
	close(b);
}

const struct case_row datagram_cases[] = {
	{ "datagrams", case_datagrams },
	{ "control_v4", case_control_v4 },
	{ "control_v6", case_control_v6 },
	{ "control_sent", case_control_sent },
	{ "control_refused", case_control_refused },
	{ "control_many", case_control_many },
	{},
};
