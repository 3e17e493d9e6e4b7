/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags, options, times, ports and half closes. */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

const struct case_row option_cases[] = {
	{ "flags", case_flags },	   { "thrown_away", case_thrown_away },
	{ "times", case_times },	   { "refused", case_refused },
	{ "bind_again", case_bind_again }, { "listen_again", case_listen_again },
	{ "shutdown", case_shutdown },	   {},
};
