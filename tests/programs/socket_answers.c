/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers that tests/programs/differ found to be wrong. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket_cases.h"

/* ---- SIGPIPE ---- */

static volatile sig_atomic_t pipes_broken;

static void pipe_count(int number)
{
	pipes_broken++;
}

/* Send to a stream that this side has ended. Each call raises SIGPIPE, except with MSG_NOSIGNAL. */
static void sends_check(int fd, int file)
{
	struct iovec iov = { (char[]){ 'b' }, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr many = { .msg_hdr = msg };
	int before = pipes_broken;

	CHECK_ERRNO(send(fd, "b", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERRNO(sendto(fd, "b", 1, MSG_NOSIGNAL, NULL, 0), EPIPE);
	CHECK_ERRNO(sendmsg(fd, &msg, MSG_NOSIGNAL), EPIPE);
	CHECK(pipes_broken == before);
	CHECK_ERRNO(sendto(fd, "b", 1, 0, NULL, 0), EPIPE);
	CHECK(pipes_broken == before + 1);
	CHECK_ERRNO(send(fd, "b", 1, 0), EPIPE);
	CHECK_ERRNO(sendmsg(fd, &msg, 0), EPIPE);
	CHECK_ERRNO(write(fd, "b", 1), EPIPE);
	CHECK_ERRNO(writev(fd, &iov, 1), EPIPE);
	CHECK_ERRNO(sendmmsg(fd, &many, 1, 0), EPIPE);
	CHECK(pipes_broken == before + 6);
	CHECK_ERRNO(sendfile(fd, file, &(off_t){ 0 }, 1), EPIPE);
	CHECK(pipes_broken == before + 7);
}

static void case_broken_pipe(void)
{
	struct sigaction count = { .sa_handler = pipe_count }, old;
	struct ends e = ends_open();
	int file = open("/proc/self/exe", O_RDONLY);

	CHECK(sigaction(SIGPIPE, &count, &old) == 0);
	CHECK(shutdown(e.a, SHUT_WR) == 0);
	sends_check(e.a, file);
	CHECK(shutdown(e.b, SHUT_RDWR) == 0);
	sends_check(e.b, file);
	CHECK(sigaction(SIGPIPE, &old, NULL) == 0);
	close(file);
	ends_close(&e);
}

/* After the peer has closed, the first send raises no signal, and a later one does. */
static void case_broken_pipe_of_peer(void)
{
	struct sigaction count = { .sa_handler = pipe_count }, old;
	struct ends e = ends_open();

	CHECK(sigaction(SIGPIPE, &count, &old) == 0);
	pipes_broken = 0;
	close(e.b);
	CHECK(is_at_end(e.a));
	send(e.a, "a", 1, 0);
	CHECK(pipes_broken == 0);
	CHECK(becomes(e.a, POLLHUP));
	CHECK_ERRNO(send(e.a, "a", 1, 0), EPIPE);
	CHECK(pipes_broken == 1);
	CHECK(sigaction(SIGPIPE, &old, NULL) == 0);
	close(e.a);
	close(e.listener);
}

/* ---- options ---- */

static void case_options_of_listener(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), on = 1, off = 0, bytes;

	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off)) == 0);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
	CHECK_ERRNO(ioctl(listener, FIONREAD, &bytes), EINVAL);
	close(listener);
}

/* A value that is read into less room is cut. */
static void case_cut_values(void)
{
	const struct timeval time = { .tv_sec = 7 };
	const struct linger linger = { .l_onoff = 1, .l_linger = 5 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int times[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	char got[32] = {};
	socklen_t size;

	for (unsigned int i = 0; i < SIZE(times); i++) {
		CHECK(setsockopt(fd, SOL_SOCKET, times[i], &time, sizeof(time)) == 0);
		memset(got, 1, sizeof(got));
		size = 3;
		CHECK(getsockopt(fd, SOL_SOCKET, times[i], got, &size) == 0 && size == 3);
		CHECK(!memcmp(got, &time, 3) && got[3] == 1);
		size = sizeof(got);
		CHECK(getsockopt(fd, SOL_SOCKET, times[i], got, &size) == 0);
		CHECK(size == sizeof(time) && !memcmp(got, &time, size));
	}
	CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0);
	memset(got, 3, sizeof(got));
	size = 4;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_LINGER, got, &size) == 0 && size == 4);
	CHECK(!memcmp(got, &linger, 4) && got[4] == 3);
	size = 0;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_LINGER, got, &size) == 0 && size == 0);
	size = -1;
	CHECK_ERRNO(getsockopt(fd, SOL_SOCKET, SO_LINGER, got, &size), EINVAL);
	close(fd);
}

static void case_more_options(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), value = 7, none = 0;
	socklen_t size = sizeof(value);

	CHECK(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, sizeof(value)) == 0);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, &size) == 0 && value == 1);
	value = 8;
	CHECK(setsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value)) == 0);
	CHECK(setsockopt(fd, IPPROTO_IP, IP_TOS, &none, 0) == 0);
	CHECK(getsockopt(fd, IPPROTO_IP, IP_TOS, &value, &size) == 0 && value == 0);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_IP, IP_TTL, &none, 0), EINVAL);
	close(fd);
}

/* ---- other calls ---- */

static void case_epoll_ctl_of_closed(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ends e = ends_open();
	int closed = dup(0);

	close(closed);
	CHECK_ERRNO(epoll_ctl(e.a, EPOLL_CTL_ADD, closed, &event), EBADF);
	CHECK_ERRNO(epoll_ctl(e.a, EPOLL_CTL_ADD, e.b, &event), EINVAL);
	ends_close(&e);
}

/* connect() after the connection was shut down, also if the first call did not return the result.
 */
static void case_connect_shut_down(void)
{
	struct ends e = ends_open();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), b;

	CHECK(shutdown(e.a, SHUT_RDWR) == 0);
	CHECK(is_at_end(e.b));
	CHECK(shutdown(e.b, SHUT_RDWR) == 0);
	CHECK_ERRNO(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)), EISCONN);
	CHECK_ERRNO(connect(e.listener, (struct sockaddr *)&e.address, sizeof(e.address)), EISCONN);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&e.address, sizeof(e.address)), EINPROGRESS);
	CHECK(becomes(fd, POLLOUT));
	b = accept(e.listener, NULL, NULL);
	CHECK(shutdown(fd, SHUT_WR) == 0);
	CHECK(is_at_end(b));
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&e.address, sizeof(e.address)), EISCONN);
	close(b);
	close(fd);
	ends_close(&e);
}

/* A stream has no address for each recvfrom(). */
static void case_recvfrom_of_stream(void)
{
	struct sockaddr_in from = loopback(7);
	socklen_t size = sizeof(from);
	struct ends e = ends_open();
	char byte;

	CHECK(send(e.a, "a", 1, 0) == 1);
	CHECK(recvfrom(e.b, &byte, 1, 0, (struct sockaddr *)&from, &size) == 1 && byte == 'a');
	CHECK(size == 0 && ntohs(from.sin_port) == 7);
	ends_close(&e);
}

/* A refused datagram is an error, and nothing to read. */
static void case_refused_datagram(void)
{
	struct sockaddr_in address = loopback(0);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), gone = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	socklen_t size = sizeof(address);
	char byte;

	CHECK(bind(gone, (struct sockaddr *)&address, size) == 0);
	CHECK(getsockname(gone, (struct sockaddr *)&address, &size) == 0);
	CHECK(connect(fd, (struct sockaddr *)&address, size) == 0);
	close(gone);
	send(fd, "a", 1, 0);
	CHECK(becomes(fd, POLLERR));
	CHECK(poll(&p, 1, 0) == 1 && p.revents == (POLLOUT | POLLERR));
	CHECK_ERRNO(recv(fd, &byte, 1, MSG_DONTWAIT), ECONNREFUSED);
	close(fd);
}

/* Only the second listener allows others at its port. */
static void case_port_not_shared(void)
{
	struct sockaddr_in address = loopback(0);
	int a = socket(AF_INET, SOCK_STREAM, 0), b = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t size = sizeof(address);

	CHECK(bind(a, (struct sockaddr *)&address, size) == 0 && listen(a, 8) == 0);
	CHECK(getsockname(a, (struct sockaddr *)&address, &size) == 0);
	CHECK(setsockopt(b, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
	CHECK_ERRNO(bind(b, (struct sockaddr *)&address, size), EADDRINUSE);
	close(a);
	close(b);
}

const struct case_row answer_cases[] = {
	{ "broken_pipe", case_broken_pipe },
	{ "broken_pipe_of_peer", case_broken_pipe_of_peer },
	{ "options_of_listener", case_options_of_listener },
	{ "cut_values", case_cut_values },
	{ "more_options", case_more_options },
	{ "epoll_ctl_of_closed", case_epoll_ctl_of_closed },
	{ "connect_shut_down", case_connect_shut_down },
	{ "recvfrom_of_stream", case_recvfrom_of_stream },
	{ "refused_datagram", case_refused_datagram },
	{ "port_not_shared", case_port_not_shared },
	{},
};
