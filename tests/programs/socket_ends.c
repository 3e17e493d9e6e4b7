/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets that have ended, were refused or begin again, as tests/programs/differ found them. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_cases.h"

static short events_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

static int to_none(int fd)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	return connect(fd, &none, sizeof(none));
}

/* ---- a reset ---- */

static bool is_reset(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == -1 && errno == ECONNRESET;
}

static void case_reset_by_linger(void)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct ends e = ends_open();

	CHECK(setsockopt(e.a, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
	CHECK(close(e.a) == 0);
	CHECK(is_reset(e.b));
	CHECK(events_now(e.b) == (POLLIN | POLLOUT | POLLRDHUP | POLLHUP));
	CHECK(is_at_end(e.b));
	close(e.b);
	close(e.listener);
}

static void case_connect_to_none(void)
{
	struct ends e = ends_open();
	int keep = 1, error;
	socklen_t size = sizeof(keep);
	char byte;

	CHECK(setsockopt(e.a, SOL_SOCKET, SO_KEEPALIVE, &keep, sizeof(keep)) == 0);
	CHECK(to_none(e.a) == 0);
	CHECK(is_reset(e.b));
	CHECK(getsockopt(e.a, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
	CHECK_ERRNO(recv(e.a, &byte, 1, 0), ENOTCONN);
	CHECK(events_now(e.a) == (POLLOUT | POLLHUP));
	close(e.b);
	CHECK(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	e.b = accept(e.listener, NULL, NULL);
	CHECK(send(e.a, "new", 3, 0) == 3 && expect(e.b, "new"));
	keep = 0;
	CHECK(getsockopt(e.a, SOL_SOCKET, SO_KEEPALIVE, &keep, &size) == 0 && keep == 1);
	CHECK(to_none(socket(AF_INET, SOCK_STREAM, 0)) == 0);
	ends_close(&e);
}

static void case_refused_is_unconnected(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	close(listener);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), ECONNREFUSED);
	CHECK_ERRNO(recv(fd, &byte, 1, 0), ENOTCONN);
	CHECK_ERRNO(send(fd, "a", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(events_now(fd) == (POLLOUT | POLLHUP));
	close(fd);
}

/* ---- shutting down ---- */

static void case_both_have_ended(void)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	struct ends e = ends_open();

	CHECK(shutdown(e.a, SHUT_WR) == 0 && is_at_end(e.b));
	CHECK(getpeername(e.b, (struct sockaddr *)&address, &size) == 0);
	CHECK(shutdown(e.b, SHUT_WR) == 0 && is_at_end(e.a));
	CHECK_ERRNO(getpeername(e.a, (struct sockaddr *)&address, &size), ENOTCONN);
	CHECK_ERRNO(getpeername(e.b, (struct sockaddr *)&address, &size), ENOTCONN);
	CHECK_ERRNO(shutdown(e.a, SHUT_RDWR), ENOTCONN);
	CHECK_ERRNO(shutdown(e.b, SHUT_RD), ENOTCONN);
	ends_close(&e);
}

/* Bytes arrive after the receiver has shut down its direction. */
static void case_receive_after_shutdown(void)
{
	struct ends e = ends_open();
	char byte;

	CHECK(shutdown(e.b, SHUT_RD) == 0 && is_at_end(e.b));
	CHECK(send(e.a, "late", 4, 0) == 4);
	while (recv(e.b, &byte, 1, MSG_PEEK) == 0)
		usleep(1000);
	CHECK(expect(e.b, "late") && is_at_end(e.b));
	ends_close(&e);
}

/* A peer that closes after the end of its direction, with data still to read, causes no edge. */
static void case_close_after_end(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int poller = epoll_create1(0), a, b;

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(send(e.b, "x", 1, 0) == 1 && shutdown(e.b, SHUT_WR) == 0);
	while (!(events_of(poller, PATIENCE_MS) & EPOLLRDHUP))
		continue;
	close(e.b);
	/* The data of a later connection arrives behind the close. */
	a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	b = accept(e.listener, NULL, NULL);
	CHECK(send(b, "later", 5, 0) == 5 && expect(a, "later"));
	CHECK(events_of(poller, 100) == 0);
	CHECK(expect(e.a, "x") && is_at_end(e.a));
	close(a);
	close(b);
	e.b = -1;
	ends_close(&e);
	close(poller);
}

static void case_listener_listens_again(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), a = socket(AF_INET, SOCK_STREAM, 0), b;
	socklen_t size = sizeof(address);
	char byte;

	CHECK(shutdown(listener, SHUT_WR) == 0);
	CHECK(shutdown(listener, SHUT_RDWR) == 0);
	CHECK_ERRNO(accept(listener, NULL, NULL), EINVAL);
	CHECK_ERRNO(recv(listener, &byte, 1, 0), ENOTCONN);
	CHECK_ERRNO(send(listener, "a", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(events_now(listener) == (POLLOUT | POLLHUP));
	CHECK(listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	CHECK(connect(a, (struct sockaddr *)&address, sizeof(address)) == 0);
	b = accept(listener, NULL, NULL);
	CHECK(send(a, "again", 5, 0) == 5 && expect(b, "again"));
	close(a);
	close(b);
	close(listener);
}

static void case_datagrams_shut_down(void)
{
	struct sockaddr_in address = loopback(0);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(address);
	char byte;

	CHECK_ERRNO(shutdown(other, SHUT_RDWR), ENOTCONN);
	CHECK_ERRNO(send(other, "a", 1, MSG_NOSIGNAL), EDESTADDRREQ);
	CHECK(bind(fd, (struct sockaddr *)&address, size) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
	CHECK_ERRNO(shutdown(fd, SHUT_RD), ENOTCONN);
	CHECK_ERRNO(recv(fd, &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(recv(fd, &byte, 1, 0) == 0);
	close(other);
	other = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(sendto(other, "b", 1, 0, (struct sockaddr *)&address, size) == 1);
	while (recv(fd, &byte, 1, MSG_PEEK) == 0)
		usleep(1000);
	CHECK(recv(fd, &byte, 1, 0) == 1 && byte == 'b');
	close(fd);
	close(other);
}

const struct case_row end_cases[] = {
	{ "reset_by_linger", case_reset_by_linger },
	{ "connect_to_none", case_connect_to_none },
	{ "refused_is_unconnected", case_refused_is_unconnected },
	{ "both_have_ended", case_both_have_ended },
	{ "receive_after_shutdown", case_receive_after_shutdown },
	{ "close_after_end", case_close_after_end },
	{ "listener_listens_again", case_listener_listens_again },
	{ "datagrams_shut_down", case_datagrams_shut_down },
	{},
};
