/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A socket keeps its options, its duplicates and its entries in epolls through connect(),
 * whether RDMA or TCP connects. System calls create the listeners here, so that with
 * librspreload they are TCP listeners. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "socket_cases.h"

static int tcp_listener(struct sockaddr_in *ret_address)
{
	socklen_t size = sizeof(*ret_address);
	long fd = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);

	*ret_address = loopback(0);
	if (fd < 0 || syscall(SYS_bind, fd, ret_address, size) < 0 ||
	    syscall(SYS_listen, fd, 8) < 0 ||
	    syscall(SYS_getsockname, fd, ret_address, &size) < 0) {
		perror("listener of TCP");
		exit(1);
	}
	return fd;
}

static bool say_by_tcp(int fd, const char *text)
{
	return syscall(SYS_sendto, fd, text, strlen(text), MSG_NOSIGNAL, NULL, 0) ==
	       (long)strlen(text);
}

/* ---- epoll ---- */

static void epoll_kept(int flags, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = 0x1234567890 }, got;
	int poller = epoll_create1(0), fd = socket(AF_INET, SOCK_STREAM | flags, 0), other;
	struct sockaddr_in address;
	int listener = tcp_listener(&address);

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
	      errno == EINPROGRESS);
	other = syscall(SYS_accept4, listener, NULL, NULL, 0);
	CHECK(say_by_tcp(other, "data"));
	do {
		CHECK(epoll_wait(poller, &got, 1, PATIENCE_MS) == 1);
	} while (!(got.events & EPOLLIN) && !case_failed);
	CHECK(got.data.u64 == 0x1234567890);
	CHECK(expect(fd, "data"));
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event), EEXIST);
	CHECK(epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) == 0);
	CHECK(epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL) == 0);
	close(fd);
	close(poller);
	syscall(SYS_close, other);
	syscall(SYS_close, listener);
}

static void case_fallback_epoll(void)
{
	epoll_kept(0, EPOLLIN);
	epoll_kept(SOCK_NONBLOCK, EPOLLIN | EPOLLOUT);
	epoll_kept(SOCK_NONBLOCK, EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP);
}

/* ---- options ---- */

static const struct {
	int level, name, value, read; /* @read: what getsockopt() says then */
} numbers[] = {
	{ SOL_SOCKET, SO_RCVBUF, 9999, 19998 },
	{ SOL_SOCKET, SO_SNDBUF, 9999, 19998 },
	{ SOL_SOCKET, SO_KEEPALIVE, 1, 1 },
	{ SOL_SOCKET, SO_REUSEADDR, 1, 1 },
	{ SOL_SOCKET, SO_OOBINLINE, 1, 1 },
	{ IPPROTO_IP, IP_TOS, 0x10, 0x10 },
	{ SOL_SOCKET, SO_PRIORITY, 3, 3 }, /* behind IP_TOS, which sets it */
	{ IPPROTO_IP, IP_TTL, 77, 77 },
	{ IPPROTO_TCP, TCP_NODELAY, 1, 1 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 300, 300 },
	{ IPPROTO_TCP, TCP_KEEPCNT, 7, 7 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 11, 11 },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 5000, 5000 },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, 77777, 77777 },
	{ IPPROTO_TCP, TCP_SYNCNT, 4, 4 },
	{ IPPROTO_TCP, TCP_CORK, 1, 1 },
};

#define CONGESTION "reno" /* every kernel has it */

static void options_set(int fd)
{
	const struct timeval receive = { .tv_usec = 250000 }, send = { .tv_sec = 7 };
	const struct linger linger = { .l_onoff = 1, .l_linger = 3 };

	for (unsigned int i = 0; i < SIZE(numbers); i++)
		CHECK(setsockopt(fd, numbers[i].level, numbers[i].name, &numbers[i].value,
				 sizeof(int)) == 0);
	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, strlen(CONGESTION)) == 0);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "none such", 9), ENOENT);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0);
}

static void options_check(int fd)
{
	struct linger linger = {};
	struct timeval time = {};
	char name[16] = "";
	socklen_t size = sizeof(name);
	int value;

	CHECK(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
	CHECK(!strcmp(name, CONGESTION) && size == sizeof(name));
	for (unsigned int i = 0; i < SIZE(numbers); i++) {
		size = sizeof(value);
		CHECK(getsockopt(fd, numbers[i].level, numbers[i].name, &value, &size) == 0);
		if (value != numbers[i].read)
			fprintf(stderr, "level %d option %d: %d, not %d\n", numbers[i].level,
				numbers[i].name, value, numbers[i].read);
		CHECK(value == numbers[i].read && size == sizeof(value));
	}
	size = sizeof(time);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, &size) == 0 && !time.tv_sec &&
	      time.tv_usec >= 250000 && time.tv_usec < 300000);
	size = sizeof(time);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, &size) == 0 && time.tv_sec == 7);
	size = sizeof(linger);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size) == 0 && linger.l_onoff == 1 &&
	      linger.l_linger == 3);
}

static void case_fallback_options(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), other;
	struct sockaddr_in address;
	int listener = tcp_listener(&address);
	char byte;

	CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	options_set(fd);
	options_check(fd);
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	other = syscall(SYS_accept4, listener, NULL, NULL, 0);
	options_check(fd);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK_ERRNO(recv(fd, &byte, 1, 0), EAGAIN);
	close(fd);
	syscall(SYS_close, other);
	syscall(SYS_close, listener);
}

static void case_options_refused(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), value = 0, on = 0x0101;
	socklen_t size = 1;

	CHECK_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &value, sizeof(value)), EINVAL);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &value, sizeof(value)), EINVAL);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, 1), EINVAL);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &on, &size) == 0 && size == 1 &&
	      *(char *)&on == SOCK_STREAM);
	size = -1;
	CHECK_ERRNO(getsockopt(fd, SOL_SOCKET, SO_TYPE, &on, &size), EINVAL);
	close(fd);
}

/* ---- duplicates, and another connect() ---- */

static void case_fallback_duplicates(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), copy = dup(fd),
	    third = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	int poller = epoll_create1(0), other;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = copy };
	struct sockaddr_in address;
	int listener = tcp_listener(&address);

	close(fd);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, copy, &event) == 0);
	CHECK(connect(third, (struct sockaddr *)&address, sizeof(address)) == 0);
	other = syscall(SYS_accept4, listener, NULL, NULL, 0);
	CHECK(say_by_tcp(other, "for each"));
	CHECK(epoll_wait(poller, &event, 1, PATIENCE_MS) == 1 && event.data.fd == copy);
	CHECK(expect(copy, "for ") && expect(third, "each"));
	CHECK(fcntl(third, F_GETFD) == FD_CLOEXEC && fcntl(copy, F_GETFD) == 0);
	fd = open("/dev/null", O_RDONLY);
	CHECK(fd >= 0 && fd != copy && fd != third);
	close(fd);
	close(copy);
	CHECK(say_by_tcp(other, "still") && expect(third, "still"));
	close(third);
	close(poller);
	syscall(SYS_close, other);
	syscall(SYS_close, listener);
}

/*
 * Connect, wait for the result if the socket does not block, and return it. ECONNABORTED is the
 * kernel's result of an earlier attempt: try again.
 */
static int connect_fully(int fd, const struct sockaddr_in *address)
{
	socklen_t size = sizeof(int);
	int error = 0, r;

	do
		r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	while (r < 0 && errno == ECONNABORTED);
	if (r == 0 || errno != EINPROGRESS)
		return r;
	CHECK(becomes(fd, POLLOUT));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
	errno = error;
	return error ? -1 : 0;
}

/*
 * Connect and be refused until a server listens. The socket is polled meanwhile, and bound if it
 * blocks.
 */
static void connect_until(bool server_is_tcp, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0), copy = dup(fd), poller = epoll_create1(0),
	    other;
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 77 };
	struct sockaddr_in address = loopback(0), own = loopback(0);
	socklen_t size = sizeof(own);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int on = 1;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
	CHECK(flags || bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	for (int times = 0; times < 3; times++)
		CHECK_ERRNO(connect_fully(fd, &address), ECONNREFUSED);
	if (server_is_tcp) {
		close(listener);
		listener = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
		CHECK(syscall(SYS_setsockopt, listener, SOL_SOCKET, SO_REUSEADDR, &on,
			      sizeof(on)) == 0);
		CHECK(syscall(SYS_bind, listener, &address, sizeof(address)) == 0);
		CHECK(syscall(SYS_listen, listener, 8) == 0);
	} else {
		CHECK(listen(listener, 8) == 0);
	}
	CHECK(connect_fully(fd, &address) == 0);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	if (server_is_tcp) {
		other = syscall(SYS_accept4, listener, NULL, NULL, 0);
		CHECK(say_by_tcp(other, "hello"));
	} else {
		other = accept(listener, NULL, NULL);
		CHECK(send(other, "hello", 5, 0) == 5);
	}
	while (epoll_wait(poller, &event, 1, PATIENCE_MS) == 1 && !(event.events & EPOLLIN))
		continue;
	CHECK(event.events & EPOLLIN && event.data.u32 == 77);
	CHECK(expect(copy, "hello"));
	close(other);
	close(listener);
	CHECK(is_at_end(fd));
	close(fd);
	close(copy);
	close(poller);
}

static void case_connect_again(void)
{
	connect_until(false, 0);
	connect_until(true, 0);
}

static void case_connect_again_nonblock(void)
{
	connect_until(false, SOCK_NONBLOCK);
	connect_until(true, SOCK_NONBLOCK);
}

/* Buffers keep the sizes that the program set, if a server is there at the second attempt. */
static void case_connect_again_buffers(void)
{
	for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
		int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
		int listener = socket(AF_INET, SOCK_STREAM, 0), value = 7000, read = 0, other;
		struct sockaddr_in address = loopback(0);
		socklen_t size = sizeof(address);

		CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
		CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)) == 0);
		value = 9000;
		CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)) == 0);
		CHECK_ERRNO(connect_fully(fd, &address), ECONNREFUSED);
		CHECK(listen(listener, 8) == 0);
		CHECK(connect_fully(fd, &address) == 0);
		other = accept(listener, NULL, NULL);
		size = sizeof(read);
		CHECK(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &read, &size) == 0 && read == 14000);
		CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &read, &size) == 0 && read == 18000);
		close(other);
		close(listener);
		close(fd);
	}
}

/* The socket that connects after a refusal has the queue sizes and mappings of the refused one. */
static void case_connect_again_sizes(void)
{
	static const int names[] = { RDMA_SQSIZE, RDMA_RQSIZE, RDMA_INLINE, RDMA_IOMAPSIZE };
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fd, other, listener;

	if (!is_over_rdma()) {
		case_skipped = "TCP has no such options";
		return;
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const int value = 40 + 8 * (int)i;

		CHECK(setsockopt(fd, SOL_RDMA, names[i], &value, sizeof(value)) == 0);
	}
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	CHECK_ERRNO(connect_fully(fd, &address), ECONNREFUSED);
	CHECK(listen(listener, 8) == 0);
	CHECK(connect_fully(fd, &address) == 0);
	other = accept(listener, NULL, NULL);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int value = 0;

		size = sizeof(value);
		CHECK(getsockopt(fd, SOL_RDMA, names[i], &value, &size) == 0);
		CHECK(value == 40 + 8 * (int)i);
	}
	close(other);
	close(listener);
	close(fd);
}

/* A listener of TCP whose queue is full: it answers no connect until it is closed. */
static int full_listener(struct sockaddr_in *ret_address, int *fillers, unsigned int count)
{
	int listener = tcp_listener(ret_address);

	CHECK(syscall(SYS_listen, listener, 0) == 0);
	for (unsigned int i = 0; i < count; i++) {
		fillers[i] = syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		syscall(SYS_connect, fillers[i], ret_address, sizeof(*ret_address));
	}
	return listener;
}

/* A refusal of a connect that did not block is returned once, by SO_ERROR or by the next connect().
 */
static void case_refusal_once(void)
{
	for (int asks = 0; asks < 2; asks++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
		struct sockaddr_in address;
		socklen_t size = sizeof(error);

		close(tcp_listener(&address));
		CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EINPROGRESS);
		CHECK(becomes(fd, POLLOUT | POLLHUP));
		CHECK(!asks || (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
				error == ECONNREFUSED));
		CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)),
			    asks ? ECONNABORTED : ECONNREFUSED);
		CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EINPROGRESS);
		close(fd);
	}
}

/* TCP refuses late, and then a server listens over RDMA. */
static void case_connect_after_late_refusal(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 77 };
	struct sockaddr_in address;
	int fillers[2], full = full_listener(&address, fillers, 2), listener, other, error = 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), copy = dup(fd);
	int poller = epoll_create1(0);
	socklen_t size = sizeof(error);

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EINPROGRESS);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EALREADY);
	syscall(SYS_close, full);
	for (unsigned int i = 0; i < SIZE(fillers); i++)
		syscall(SYS_close, fillers[i]);
	CHECK(becomes(fd, POLLOUT | POLLHUP));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == ECONNREFUSED);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) == 0);
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(listener, 8) == 0);
	CHECK(connect_fully(fd, &address) == 0);
	CHECK(fcntl(copy, F_GETFL) & O_NONBLOCK && fcntl(copy, F_SETFL, 0) == 0);
	other = accept(listener, NULL, NULL);
	CHECK(send(other, "hello", 5, 0) == 5);
	while (epoll_wait(poller, &event, 1, PATIENCE_MS) == 1 && !(event.events & EPOLLIN))
		continue;
	CHECK(event.events & EPOLLIN && event.data.u32 == 77);
	CHECK(expect(copy, "hello"));
	close(other);
	close(listener);
	close(fd);
	close(copy);
	close(poller);
}

const struct case_row fallback_cases[] = {
	{ "fallback_epoll", case_fallback_epoll },
	{ "fallback_options", case_fallback_options },
	{ "options_refused", case_options_refused },
	{ "fallback_duplicates", case_fallback_duplicates },
	{ "connect_again", case_connect_again },
	{ "connect_again_nonblock", case_connect_again_nonblock },
	{ "connect_again_buffers", case_connect_again_buffers },
	{ "connect_again_sizes", case_connect_again_sizes },
	{ "refusal_once", case_refusal_once },
	{ "connect_after_late_refusal", case_connect_after_late_refusal },
	{},
};
