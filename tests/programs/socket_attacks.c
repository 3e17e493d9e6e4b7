/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls whose answers were those of no socket, as small programs found. */
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket_cases.h"

/* ---- waits ---- */

static void take_alarm(int number)
{
}

/* Interrupt this thread every 10 ms, so that a call that waits without sleep never returns. */
static timer_t alarms_begin(void)
{
	const struct sigaction action = { .sa_handler = take_alarm };
	const struct itimerspec often = { { 0, 10000000 }, { 0, 10000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	return timer;
}

/* A connection waits at a listener, and the program does not ask for it. */
static void case_listener_unasked(void)
{
	static const uint32_t wanted[] = { EPOLLPRI, EPOLLIN | EPOLLONESHOT, EPOLLIN | EPOLLET };
	struct pollfd p = { .events = POLLPRI };
	struct ends e = ends_open();
	timer_t timer;

	CHECK(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&e.address,
		      sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLIN));
	p.fd = e.listener;
	for (unsigned int i = 0; i < SIZE(wanted); i++) {
		struct epoll_event event = { .events = wanted[i] };
		int poller = epoll_create1(0);

		CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.listener, &event) == 0);
		CHECK(epoll_wait(poller, &event, 1, 0) == (wanted[i] != EPOLLPRI));
		timer = alarms_begin();
		CHECK_ERRNO(epoll_wait(poller, &event, 1, -1), EINTR);
		CHECK_ERRNO(poll(&p, 1, -1), EINTR);
		CHECK(timer_delete(timer) == 0);
		event.events = EPOLLIN;
		CHECK(epoll_ctl(poller, EPOLL_CTL_MOD, e.listener, &event) == 0);
		CHECK(epoll_wait(poller, &event, 1, PATIENCE_MS) == 1);
		close(poller);
	}
	CHECK(becomes(e.listener, POLLIN));
	CHECK(accept(e.listener, NULL, NULL) >= 0);
	ends_close(&e);
}

static void case_least_bytes(void)
{
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.b, .events = POLLIN };
	int least = 10, got = 0;
	socklen_t size = sizeof(got);
	char bytes[32];

	CHECK(setsockopt(e.b, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) == 0);
	CHECK(getsockopt(e.b, SOL_SOCKET, SO_RCVLOWAT, &got, &size) == 0 && got == 10);
	CHECK(send(e.a, "12345", 5, 0) == 5);
	while (ioctl(e.b, FIONREAD, &got) == 0 && got < 5)
		usleep(1000);
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(recv(e.b, bytes, 3, MSG_DONTWAIT) == 3 && !memcmp(bytes, "123", 3));
	CHECK(send(e.a, "6789abcd", 8, 0) == 8);
	CHECK(becomes(e.b, POLLIN));
	CHECK(recv(e.b, bytes, sizeof(bytes), 0) == 10 && !memcmp(bytes, "456789abcd", 10));
	CHECK(send(e.a, "end", 3, 0) == 3 && shutdown(e.a, SHUT_WR) == 0);
	CHECK(becomes(e.b, POLLIN) && recv(e.b, bytes, sizeof(bytes), 0) == 3);
	ends_close(&e);
}

static void case_list_too_long(void)
{
	struct ends e = ends_open();
	struct pollfd list[301] = { { .fd = e.a } };
	struct rlimit limit, low;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	low = (struct rlimit){ SIZE(list) - 1, limit.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
	CHECK_ERRNO(poll(list, SIZE(list), 0), EINVAL);
	CHECK_ERRNO(ppoll(list, SIZE(list), NULL, NULL), EINVAL);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	ends_close(&e);
}

/* ---- addresses ---- */

static void loopback_check(uint32_t bound, uint32_t asked)
{
	struct sockaddr_in address = loopback(0);
	int listener = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0), b;
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(bound);
	CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	address.sin_addr.s_addr = htonl(asked);
	CHECK(connect(a, (struct sockaddr *)&address, size) == 0);
	b = accept(listener, NULL, NULL);
	CHECK(send(a, "over", 4, 0) == 4 && expect(b, "over"));
	CHECK(getpeername(a, (struct sockaddr *)&address, &size) == 0);
	CHECK(address.sin_addr.s_addr == htonl(asked));
	close(a);
	close(b);
	close(listener);
}

/* Each address of 127.0.0.0/8 is this host. */
static void case_other_loopbacks(void)
{
	loopback_check(INADDR_LOOPBACK + 1, INADDR_LOOPBACK + 1);
	loopback_check(INADDR_ANY, INADDR_LOOPBACK + 2);
	loopback_check(INADDR_ANY, 0x7fffff01);
}

static void case_no_memory_given(void)
{
	struct ends e = ends_open();
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address;

	CHECK_ERRNO(bind(fd, NULL, sizeof(address)), EFAULT);
	CHECK_ERRNO(connect(fd, NULL, sizeof(address)), EFAULT);
	CHECK_ERRNO(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, NULL, sizeof(int)), EFAULT);
	CHECK(connect(fd, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK_ERRNO(accept(e.listener, (struct sockaddr *)&address, NULL), EFAULT);
	close(fd);
	ends_close(&e);
}

/* ---- calls without bytes ---- */

static volatile sig_atomic_t pipes_broken;

static void pipe_count(int number)
{
	pipes_broken++;
}

static void case_nothing_sent(void)
{
	const struct sigaction count = { .sa_handler = pipe_count };
	struct sigaction old;
	struct ends e = ends_open();
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct iovec none = {};

	CHECK(sigaction(SIGPIPE, &count, &old) == 0);
	CHECK_ERRNO(send(fd, "", 0, 0), EPIPE);
	CHECK_ERRNO(send(fd, "a", 1, 0), EPIPE);
	CHECK(pipes_broken == 2);
	CHECK_ERRNO(send(fd, "a", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERRNO(send(e.listener, "a", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(writev(fd, &none, 1) == 0);
	CHECK(send(e.a, NULL, 0, 0) == 0);
	CHECK(shutdown(e.a, SHUT_WR) == 0);
	CHECK_ERRNO(send(e.a, NULL, 0, MSG_NOSIGNAL), EPIPE);
	CHECK(pipes_broken == 2);
	sigaction(SIGPIPE, &old, NULL);
	close(fd);
	ends_close(&e);
}

static void case_nothing_received(void)
{
	struct sockaddr_in address = loopback(0);
	int fd = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(address);
	struct ends e = ends_open();
	char byte;

	CHECK_ERRNO(recv(fd, NULL, 0, 0), ENOTCONN);
	CHECK_ERRNO(recv(e.b, NULL, 0, MSG_DONTWAIT), EAGAIN);
	CHECK(read(e.b, NULL, 0) == 0);
	CHECK(send(e.a, "a", 1, 0) == 1);
	CHECK(recv(e.b, NULL, 0, 0) == 0 && expect(e.b, "a"));
	close(e.a);
	CHECK(recv(e.b, NULL, 0, 0) == 0);
	CHECK(bind(datagrams, (struct sockaddr *)&address, size) == 0);
	CHECK(getsockname(datagrams, (struct sockaddr *)&address, &size) == 0);
	CHECK(sendto(datagrams, "b", 1, 0, (struct sockaddr *)&address, size) == 1);
	CHECK(becomes(datagrams, POLLIN) && read(datagrams, NULL, 0) == 0);
	CHECK(recv(datagrams, &byte, 1, MSG_DONTWAIT) == 1 && byte == 'b');
	close(fd);
	close(datagrams);
	close(e.b);
	close(e.listener);
}

/* ---- options and epolls ---- */

struct kept {
	int level, name, value;
};

static bool has_value(int fd, const struct kept *kept)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, kept->level, kept->name, &value, &size) == 0 && value == kept->value;
}

static void case_options_inherited(void)
{
	static const struct kept options[] = {
		{ IPPROTO_TCP, TCP_KEEPCNT, 5 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 7 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 5000 },
		{ IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1 },
		{ IPPROTO_IP, IP_TOS, 16 },
		{ IPPROTO_IP, IP_TTL, 9 },
		{ IPPROTO_IP, IP_MTU_DISCOVER, 2 },
		{ SOL_SOCKET, SO_OOBINLINE, 1 },
		{ SOL_SOCKET, SO_REUSEADDR, 1 },
		{ SOL_SOCKET, SO_BROADCAST, 1 },
	};
	static const struct kept not_inherited[] = {
		{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1 },
		{ IPPROTO_IP, IP_RECVERR, 1 },
		{ SOL_SOCKET, SO_DONTROUTE, 1 },
	};
	struct ends e = ends_open();
	int b;

	for (unsigned int i = 0; i < SIZE(options); i++) {
		const struct kept *kept = &options[i];

		CHECK(setsockopt(e.listener, kept->level, kept->name, &kept->value, sizeof(int)) ==
		      0);
	}
	close(e.a);
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	for (unsigned int i = 0; i < SIZE(not_inherited); i++) {
		const struct kept *kept = &not_inherited[i];

		CHECK(setsockopt(e.a, kept->level, kept->name, &kept->value, sizeof(int)) == 0);
		CHECK(has_value(e.a, kept));
	}
	CHECK(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	b = accept(e.listener, NULL, NULL);
	for (unsigned int i = 0; i < SIZE(options); i++)
		CHECK(has_value(b, &options[i]));
	CHECK_ERRNO(setsockopt(b, IPPROTO_IP, IP_TTL, &(int){ 0 }, sizeof(int)), EINVAL);
	CHECK_ERRNO(setsockopt(b, IPPROTO_IP, IP_MTU_DISCOVER, &(char){ 9 }, 1), EINVAL);
	CHECK_ERRNO(setsockopt(b, SOL_SOCKET, 9999, &(char){ 9 }, 1), EINVAL);
	close(b);
	ends_close(&e);
}

static void case_epoll_refuses(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ends e = ends_open();
	int poller = epoll_create1(0);

	CHECK_ERRNO(epoll_wait(e.a, &event, 1, 0), EINVAL);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &event) == 0);
	event.events = EPOLLIN | EPOLLEXCLUSIVE;
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_MOD, e.a, &event), EINVAL);
	event.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT;
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_ADD, e.b, &event), EINVAL);
	event.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLRDHUP;
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_ADD, e.b, &event), EINVAL);
	event.events = EPOLLIN | EPOLLEXCLUSIVE;
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.b, &event) == 0);
	close(poller);
	ends_close(&e);
}

/* ---- arguments that the kernel refuses ---- */

static void case_refused_arguments(void)
{
	struct ends e = ends_open();
	struct sockaddr_in6 mapped = {
		.sin6_family = AF_INET6,
		.sin6_addr = { { { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } } }
	};
	struct timespec wrong = { .tv_nsec = -1 };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1, ends[2];
	struct iovec iov = { (char[1]){ 0 }, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };
	struct sockaddr_storage name;
	socklen_t size = -1;
	int client = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(connect(client, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK_ERRNO(accept(e.listener, (struct sockaddr *)&name, &size), EINVAL);
	CHECK_ERRNO(setsockopt(e.a, SOL_SOCKET, SO_KEEPALIVE, &on, -1), EINVAL);
	CHECK_ERRNO(recvmmsg(e.a, &message, 1, 0, &wrong), EINVAL);
	CHECK(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0);
	CHECK_ERRNO(bind(fd, (struct sockaddr *)&mapped, sizeof(mapped)), EINVAL);
	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	CHECK_ERRNO(sendfile(e.a, ends[0], NULL, 1), EINVAL);
	CHECK(is_quiet(e.b));
	close(ends[0]);
	close(ends[1]);
	close(fd);
	close(client);
	ends_close(&e);
}

const struct case_row attack_cases[] = {
	{ "listener_unasked", case_listener_unasked },
	{ "least_bytes", case_least_bytes },
	{ "list_too_long", case_list_too_long },
	{ "other_loopbacks", case_other_loopbacks },
	{ "no_memory_given", case_no_memory_given },
	{ "nothing_sent", case_nothing_sent },
	{ "nothing_received", case_nothing_received },
	{ "options_inherited", case_options_inherited },
	{ "epoll_refuses", case_epoll_refuses },
	{ "refused_arguments", case_refused_arguments },
	{},
};
