/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags, options, times, ports and half closes. */
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

static void case_flags(void)
{
	struct ends e = ends_open();
	int a = socket(AF_INET, SOCK_STREAM, 0), b, count = 0;
	char bytes[8];

	CHECK(fcntl(e.listener, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EAGAIN);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLIN));
	b = accept4(e.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(b >= 0 && fcntl(b, F_GETFL) & O_NONBLOCK && fcntl(b, F_GETFD) == FD_CLOEXEC);
	CHECK_ERRNO(read(b, bytes, 1), EAGAIN);
	close(a);
	close(b);
	a = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK(fcntl(a, F_GETFL) & O_NONBLOCK && fcntl(a, F_GETFD) == FD_CLOEXEC);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0 ||
	      errno == EINPROGRESS);
	CHECK(becomes(e.listener, POLLIN));
	b = accept(e.listener, NULL, NULL); /* does not have the listener's O_NONBLOCK */
	CHECK(b >= 0 && !(fcntl(b, F_GETFL) & O_NONBLOCK) && !fcntl(b, F_GETFD));
	CHECK_ERRNO(accept4(e.listener, NULL, NULL, 1 << 30), EINVAL);
	CHECK(becomes(a, POLLOUT));
	CHECK(say(a, "12345") && becomes(b, POLLIN));
	CHECK(recv(b, bytes, 2, MSG_PEEK) == 2 && recv(b, bytes, 3, MSG_PEEK) == 3);
	CHECK(ioctl(b, FIONREAD, &count) == 0 && count == 5);
	CHECK(recv(b, bytes, 5, MSG_WAITALL) == 5 && !memcmp(bytes, "12345", 5));
	CHECK(ioctl(b, FIONBIO, &(int){ 1 }) == 0 && fcntl(b, F_GETFL) & O_NONBLOCK);
	CHECK_ERRNO(recv(b, bytes, 5, 0), EAGAIN);
	close(a);
	close(b);
	ends_close(&e);
}

/* Discard data that the program does not want. */
static void case_thrown_away(void)
{
	struct ends e = ends_open();
	char bytes[4] = "....";

	CHECK(say(e.a, "abcdef"));
	CHECK(recv(e.b, NULL, 3, MSG_TRUNC | MSG_WAITALL) == 3);
	CHECK(recv(e.b, bytes, 2, MSG_TRUNC | MSG_PEEK) == 2 && !memcmp(bytes, "....", 4));
	CHECK(expect(e.b, "def"));
	ends_close(&e);
}

static void case_times(void)
{
	struct ends e = ends_open();
	struct timeval time = { .tv_usec = 50000 }, got = {};
	socklen_t size = sizeof(got);
	char bytes[4];

	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	CHECK(getsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &got, &size) == 0);
	CHECK(!got.tv_sec && got.tv_usec >= 50000 && got.tv_usec < 60000);
	CHECK_ERRNO(recv(e.a, bytes, 4, 0), EAGAIN);
	CHECK(say(e.b, "ab"));
	CHECK(recv(e.a, bytes, 4, MSG_WAITALL) == 2);
	CHECK(setsockopt(e.listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EAGAIN);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0);
	for (int i = 0; i < 100000; i++) {
		static char much[65536];
		ssize_t n = send(e.a, much, sizeof(much), 0);

		if (n < 0) {
			CHECK(errno == EAGAIN);
			break;
		}
	}
	ends_close(&e);
}

/* Connect to a port without a listener. */
static void case_refused(void)
{
	struct sockaddr_in address;
	int closed = listener_open(&address), fd = socket(AF_INET, SOCK_STREAM, 0), r;

	close(closed);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), ECONNREFUSED);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	r = connect(fd, (struct sockaddr *)&address, sizeof(address));
	CHECK(r == -1 && (errno == EINPROGRESS || errno == ECONNREFUSED));
	if (errno == EINPROGRESS) {
		CHECK(becomes(fd, POLLOUT));
		CHECK(error_of(fd) == ECONNREFUSED);
		CHECK(error_of(fd) == 0);
	}
	close(fd);
}

/* A port is free again after its listener is closed, also while connections live. */
static void case_bind_again(void)
{
	struct ends e = ends_open();
	int again = socket(AF_INET, SOCK_STREAM, 0), on = 1, a;

	CHECK(close(e.listener) == 0);
	CHECK(setsockopt(again, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(bind(again, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(listen(again, 4) == 0);
	a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(say(e.a, "old") && expect(e.b, "old"));
	e.listener = again;
	close(a);
	ends_close(&e);
}

/* If two sockets are bound to a port, the second may listen after the first has gone. */
static void case_listen_again(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fds[2], on = 1, a;

	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(setsockopt(fds[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
		CHECK(bind(fds[i], (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(getsockname(fds[i], (struct sockaddr *)&address, &size) == 0);
	}
	/* The connection manager refuses both as long as both exist. */
	CHECK(listen(fds[0], 4) == 0 || (is_over_rdma() && errno == EADDRINUSE));
	CHECK_ERRNO(listen(fds[1], 4), EADDRINUSE);
	CHECK_ERRNO(listen(fds[1], 4), EADDRINUSE);
	close(fds[0]);
	CHECK(listen(fds[1], 4) == 0);
	a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(a, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(becomes(fds[1], POLLIN));
	close(a);
	close(fds[1]);
}

static void case_shutdown(void)
{
	struct ends e = ends_open();
	int fresh = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_ERRNO(shutdown(fresh, SHUT_RDWR), ENOTCONN);
	CHECK_ERRNO(shutdown(e.a, 17), EINVAL);
	close(fresh);
	/* The connecting side is the first to end. */
	CHECK(say(e.a, "last") && shutdown(e.a, SHUT_WR) == 0);
	CHECK(expect(e.b, "last") && is_at_end(e.b));
	CHECK_ERRNO(send(e.a, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(say(e.b, "still") && expect(e.a, "still"));
	CHECK(shutdown(e.b, SHUT_WR) == 0 && is_at_end(e.a));
	CHECK(shutdown(e.b, SHUT_WR) == 0 || errno == ENOTCONN);
	ends_close(&e);
	/* The other way round. */
	e = ends_open();
	CHECK(say(e.b, "last") && shutdown(e.b, SHUT_WR) == 0);
	CHECK(expect(e.a, "last") && is_at_end(e.a));
	CHECK(say(e.a, "still") && expect(e.b, "still"));
	CHECK(close(e.a) == 0 && is_at_end(e.b));
	close(e.b);
	/* On a listener: a thread that waits in accept() gets an error. */
	CHECK(shutdown(e.listener, SHUT_RD) == 0);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EINVAL);
	close(e.listener);
}

/* ---- options without a meaning for RDMA ---- */

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, level, name, &value, &size) < 0 ? -errno : value;
}

static int option_give(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* The kernel's answers to values that it keeps, changes or refuses. */
static void case_options_kept(void)
{
	static const struct {
		int level, name, value, result, read;
	} rows[] = {
		{ IPPROTO_IP, IP_TOS, 0xb9, 0, 0xb8 },
		{ IPPROTO_IP, IP_TOS, 0x12d, 0, 0x2c },
		{ IPPROTO_IP, IP_TTL, -1, 0, 64 },
		{ IPPROTO_TCP, TCP_CORK, 7, 0, 1 },
		{ IPPROTO_TCP, TCP_QUICKACK, 5, 0, 1 },
		{ IPPROTO_IP, IP_PKTINFO, 1, 0, 1 },
		{ IPPROTO_IP, IP_RECVTTL, 1, 0, 1 },
		{ IPPROTO_IP, IP_RECVTOS, 1, 0, 1 },
		{ IPPROTO_IP, IP_MULTICAST_TTL, 3, -EINVAL, 1 },
		{ IPPROTO_IP, IP_HDRINCL, 1, -ENOPROTOOPT, 0 },
		{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, 3, -ENOPROTOOPT, -EOPNOTSUPP },
		{ IPPROTO_IPV6, IPV6_V6ONLY, 1, -ENOPROTOOPT, -EOPNOTSUPP },
		{ IPPROTO_TCP, TCP_MAXSEG, 1, -EINVAL, INT_MIN },
		{ IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1, 0, 1 },
		{ SOL_SOCKET, SO_PASSCRED, 1, -EOPNOTSUPP, -EOPNOTSUPP },
		{ SOL_SOCKET, SO_TYPE, 1, -ENOPROTOOPT, SOCK_STREAM },
	};

	for (unsigned int i = 0; i < SIZE(rows); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), read;
		int result = option_give(fd, rows[i].level, rows[i].name, rows[i].value);

		read = option_of(fd, rows[i].level, rows[i].name);
		/*
		 * The size of segments belongs to the path. A refused option may also refuse reads.
		 */
		if (result != rows[i].result ||
		    (read != rows[i].read && rows[i].read != INT_MIN &&
		     !(is_over_rdma() && result < 0 && read == -ENOPROTOOPT))) {
			fprintf(stderr, "level %d, option %d: %d, read %d\n", rows[i].level,
				rows[i].name, result, read);
			case_failed = true;
		}
		close(fd);
	}
}

static void case_options_kept_ipv6(void)
{
	static const struct {
		int name, value, result, read;
	} rows[] = {
		{ IPV6_V6ONLY, 5, 0, 1 },	  { IPV6_TCLASS, -1, 0, 0 },
		{ IPV6_TCLASS, 256, -EINVAL, 0 }, { IPV6_TCLASS, 0xb9, 0, 0xb8 },
		{ IPV6_UNICAST_HOPS, -1, 0, 64 }, { IPV6_UNICAST_HOPS, 256, -EINVAL, 64 },
	};

	for (unsigned int i = 0; i < SIZE(rows); i++) {
		int fd = socket(AF_INET6, SOCK_STREAM, 0);
		int result, read;

		if (fd < 0) {
			case_skipped = "the host has no IPv6";
			return;
		}
		result = option_give(fd, IPPROTO_IPV6, rows[i].name, rows[i].value);
		read = option_of(fd, IPPROTO_IPV6, rows[i].name);
		if (result != rows[i].result || read != rows[i].read) {
			fprintf(stderr, "option %d: %d, read %d\n", rows[i].name, result, read);
			case_failed = true;
		}
		close(fd);
	}
}

/* SO_BINDTODEVICE makes the socket a TCP socket, because only TCP can serve it. */
static void case_bound_to_interface(void)
{
	struct sockaddr_in address;
	int listener = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0), b;
	socklen_t size = sizeof(address);
	char name[16] = "";

	address = loopback(0);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0);
	CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	CHECK_ERRNO(setsockopt(a, SOL_SOCKET, SO_BINDTODEVICE, "nothing", 8), ENODEV);
	CHECK(setsockopt(a, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0);
	size = sizeof(name);
	CHECK(getsockopt(a, SOL_SOCKET, SO_BINDTODEVICE, name, &size) == 0 && !strcmp(name, "lo"));
	CHECK(connect(a, (struct sockaddr *)&address, sizeof(address)) == 0);
	b = accept(listener, NULL, NULL);
	CHECK(b >= 0 && say(a, "bound") && expect(b, "bound"));
	close(a);
	close(b);
	close(listener);
}

/* The default value of an option that only TCP can serve needs no TCP. */
static void case_default_of_tcp(void)
{
	struct ends e = ends_open();
	int fd = socket(AF_INET, SOCK_STREAM, 0), v6 = socket(AF_INET6, SOCK_STREAM, 0);

	CHECK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0) == 0);
	CHECK(option_give(fd, IPPROTO_IP, IP_TRANSPARENT, 0) == 0);
	CHECK(option_give(v6, IPPROTO_IPV6, IPV6_TRANSPARENT, 0) == 0);
	CHECK(option_give(e.a, IPPROTO_IP, IP_TRANSPARENT, 0) == 0);
	CHECK(is_of_kernel(fd) == !is_over_rdma() && is_of_kernel(v6) == !is_over_rdma());
	CHECK(say(e.a, "still") && expect(e.b, "still"));
	close(fd);
	close(v6);
	ends_close(&e);
}

/* A socket that went back to TCP without success stays there, and does not try RDMA again. */
static void case_bound_after_fallback(void)
{
	struct sockaddr_in address = loopback(1); /* no process listens */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(address);
	char name[16] = "";

	CHECK(connect(fd, (struct sockaddr *)&address, size) < 0 && becomes(fd, POLLOUT));
	CHECK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0);
	CHECK(connect(fd, (struct sockaddr *)&address, size) < 0);
	size = sizeof(name);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size) == 0 && !strcmp(name, "lo"));
	close(fd);
}

/* ---- a port that processes share ---- */

static void part_listen(void)
{
	struct sockaddr_in address = loopback(atoi(getenv("SOCKET_CASES_PORT")));
	int fd = socket(AF_INET, SOCK_STREAM, 0), a;

	CHECK(option_give(fd, SOL_SOCKET, SO_REUSEPORT, 1) == 0);
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 64) == 0);
	kill(getppid(), SIGUSR1);
	while ((a = accept(fd, NULL, NULL)) >= 0) {
		send(a, getenv("SOCKET_CASES_NAME"), 1, MSG_NOSIGNAL);
		close(a);
	}
}

static pid_t listen_start(const char *name)
{
	sigset_t set, before;
	pid_t pid;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &before);
	setenv("SOCKET_CASES_NAME", name, 1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "socket_cases", "listen_by_itself", NULL);
		_exit(99);
	}
	CHECK(sigwait(&set, &number) == 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* Connect ten times. Return the number of connections that each of both processes accepted. */
static void served(const struct sockaddr_in *address, int counts[2])
{
	counts[0] = counts[1] = 0;
	for (int i = 0; i < 10; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		char name = 0;

		CHECK(connect(fd, (struct sockaddr *)address, sizeof(*address)) == 0);
		CHECK(recv(fd, &name, 1, 0) == 1 && (name == 'a' || name == 'b'));
		counts[name == 'b']++;
		close(fd);
	}
}

/* All connects succeed while two processes share a port, and after one of them has ended. */
static void case_port_of_processes(void)
{
	struct sockaddr_in address;
	int counts[2], closed = listener_open(&address);
	char port[16];
	pid_t a, b;

	close(closed);
	snprintf(port, sizeof(port), "%d", ntohs(address.sin_port));
	setenv("SOCKET_CASES_PORT", port, 1);
	a = listen_start("a");
	b = listen_start("b");
	served(&address, counts);
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	served(&address, counts);
	CHECK(counts[1] == 10);
	kill(b, SIGKILL);
	waitpid(b, NULL, 0);
}

const struct case_row option_cases[] = {
	{ "flags", case_flags },
	{ "thrown_away", case_thrown_away },
	{ "times", case_times },
	{ "refused", case_refused },
	{ "bind_again", case_bind_again },
	{ "listen_again", case_listen_again },
	{ "shutdown", case_shutdown },
	{ "options_kept", case_options_kept },
	{ "options_kept_ipv6", case_options_kept_ipv6 },
	{ "bound_to_interface", case_bound_to_interface },
	{ "default_of_tcp", case_default_of_tcp },
	{ "bound_after_fallback", case_bound_after_fallback },
	{ "port_of_processes", case_port_of_processes },
	{ "listen_by_itself", part_listen },
	{},
};
