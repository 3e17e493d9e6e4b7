/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rarely used calls. */
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "socket_cases.h"

/* ---- threads with small stacks ---- */

/* The address sanitizer needs more of each stack. */
#ifdef __SANITIZE_ADDRESS__
#define STACK_LEAST (128 * 1024)
#else
#define STACK_LEAST PTHREAD_STACK_MIN
#endif

static void *stack_use(void *arg)
{
	char bytes[8192];

	memset(bytes, 1, sizeof(bytes));
	*(char *)arg = bytes[sizeof(bytes) / 2];
	return NULL;
}

static void case_small_stacks(void)
{
	size_t size = STACK_LEAST;

	for (int times = 0; times < 3; times++, size *= 2) {
		pthread_attr_t attr;
		pthread_t thread;
		char used = 0;

		pthread_attr_init(&attr);
		CHECK(pthread_attr_setstacksize(&attr, size) == 0);
		errno = pthread_create(&thread, &attr, stack_use, &used);
		CHECK(errno == 0);
		if (errno == 0)
			CHECK(pthread_join(thread, NULL) == 0 && used == 1);
		pthread_attr_destroy(&attr);
	}
}

/* ---- epoll ---- */

static void case_epoll_pwait2(void)
{
	const struct timespec none = {}, wrong = { .tv_nsec = 1000000000 };
	struct ends e = ends_open();
	int poller = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 42 }, got = {};

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(epoll_pwait2(poller, &got, 1, &none, NULL) == 0);
	CHECK_ERRNO(epoll_pwait2(poller, &got, 1, &wrong, NULL), EINVAL);
	CHECK(send(e.b, "x", 1, 0) == 1);
	CHECK(epoll_pwait2(poller, &got, 1, NULL, NULL) == 1);
	CHECK(got.data.u64 == 42 && got.events == EPOLLIN);
	close(poller);
	ends_close(&e);
}

/* Each descriptor is an entry of its own. */
static void case_epoll_duplicate(void)
{
	struct ends e = ends_open();
	int copy = dup(e.a), poller = epoll_create1(0), again;
	struct epoll_event in = { .events = EPOLLIN, .data.u32 = 1 };
	struct epoll_event out = { .events = EPOLLOUT, .data.u32 = 2 }, got[4];

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &in) == 0);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, copy, &out) == 0);
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_ADD, copy, &out), EEXIST);
	CHECK(send(e.b, "x", 1, 0) == 1 && becomes(e.a, POLLIN));
	CHECK(epoll_wait(poller, got, 4, PATIENCE_MS) == 2);
	CHECK(epoll_ctl(poller, EPOLL_CTL_DEL, e.a, NULL) == 0);
	CHECK(epoll_wait(poller, got, 4, PATIENCE_MS) == 1 && got[0].data.u32 == 2);
	out.events = EPOLLIN;
	CHECK(epoll_ctl(poller, EPOLL_CTL_MOD, copy, &out) == 0);
	CHECK(epoll_wait(poller, got, 4, PATIENCE_MS) == 1 && got[0].data.u32 == 2);
	CHECK(epoll_ctl(poller, EPOLL_CTL_DEL, copy, NULL) == 0);
	CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_DEL, copy, NULL), ENOENT);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, copy, &out) == 0);
	CHECK(epoll_ctl(poller, EPOLL_CTL_DEL, copy, NULL) == 0);
	close(copy);
	again = dup(e.b); /* which takes the number */
	CHECK(again == copy && epoll_ctl(poller, EPOLL_CTL_ADD, again, &in) == 0);
	CHECK(send(e.a, "y", 1, 0) == 1);
	CHECK(epoll_wait(poller, got, 4, PATIENCE_MS) == 1 && got[0].data.u32 == 1);
	close(again);
	close(poller);
	ends_close(&e);
}

/* One event at a time, from each kind of descriptor that has one. */
static void case_epoll_one_place(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLIN };
	int poller = epoll_create1(0), ends[2], count[2] = {};

	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	CHECK(send(e.b, "x", 1, 0) == 1 && becomes(e.a, POLLIN));
	event.data.u32 = 0;
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &event) == 0);
	event.data.u32 = 1;
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) == 0);
	for (int i = 0; i < 100; i++)
		if (epoll_wait(poller, &event, 1, PATIENCE_MS) == 1)
			count[event.data.u32]++;
	CHECK(count[0] >= 25 && count[1] >= 25 && count[0] + count[1] == 100);
	close(ends[0]);
	close(ends[1]);
	close(poller);
	ends_close(&e);
}

static void case_select_time(void)
{
	struct ends e = ends_open();
	struct timeval time = { .tv_sec = 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(e.a, &set);
	CHECK(select(e.a + 1, NULL, &set, NULL, &time) == 1);
	CHECK(time.tv_sec == 999 || (time.tv_sec == 1000 && !time.tv_usec));
	time = (struct timeval){ .tv_usec = 1 };
	CHECK(select(e.a + 1, &set, NULL, NULL, &time) == 0 && !time.tv_sec && !time.tv_usec);
	ends_close(&e);
}

/* ---- the kind of a socket ---- */

static void kind_check(int fd)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct statx wide;
	struct stat stat;

	CHECK(fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode));
	CHECK(fstatat(fd, "", &stat, AT_EMPTY_PATH) == 0 && S_ISSOCK(stat.st_mode));
	CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &wide) == 0 && S_ISSOCK(wide.stx_mode));
	CHECK(isfdtype(fd, S_IFSOCK) == 1);
	CHECK_ERRNO(lseek(fd, 0, SEEK_CUR), ESPIPE);
	CHECK_ERRNO(pread(fd, &byte, 1, 0), ESPIPE);
	CHECK_ERRNO(pwrite(fd, &byte, 1, 0), ESPIPE);
	CHECK_ERRNO(preadv(fd, &iov, 1, 0), ESPIPE);
	CHECK_ERRNO(pwritev(fd, &iov, 1, 0), ESPIPE);
	CHECK_ERRNO(preadv2(fd, &iov, 1, 0, 0), ESPIPE);
	CHECK(!isatty(fd));
}

static void case_kind(void)
{
	struct ends e = ends_open();
	int datagrams = socket(AF_INET, SOCK_DGRAM, 0), copy = dup(e.a);

	kind_check(e.a);
	kind_check(copy);
	kind_check(e.listener);
	kind_check(datagrams);
	close(datagrams);
	close(copy);
	ends_close(&e);
}

static void case_vectors_and_flags(void)
{
	struct ends e = ends_open();
	char bytes[8];
	struct iovec iov = { (char[]){ "hello" }, 5 }, room = { bytes, sizeof(bytes) };

	CHECK(pwritev2(e.a, &iov, 1, -1, 0) == 5);
	CHECK(preadv2(e.b, &room, 1, -1, 0) == 5 && !memcmp(bytes, "hello", 5));
	CHECK_ERRNO(preadv2(e.b, &room, 1, -1, RWF_NOWAIT), EAGAIN);
	ends_close(&e);
}

static void case_dprintf(void)
{
	struct ends e = ends_open();

	CHECK(dprintf(e.a, "%s %d\n", "number", 42) == 10 && expect(e.b, "number 42\n"));
	ends_close(&e);
}

/* ---- ioctl() ---- */

static void interfaces_check(int fd)
{
	struct ifreq interface = { .ifr_name = "lo" }, list[16];
	struct ifconf all = { .ifc_len = sizeof(list), .ifc_req = list };

	CHECK(ioctl(fd, SIOCGIFADDR, &interface) == 0);
	CHECK(((struct sockaddr_in *)&interface.ifr_addr)->sin_addr.s_addr ==
	      htonl(INADDR_LOOPBACK));
	CHECK(ioctl(fd, SIOCGIFFLAGS, &interface) == 0 && interface.ifr_flags & IFF_LOOPBACK);
	CHECK(ioctl(fd, SIOCGIFINDEX, &interface) == 0 && interface.ifr_ifindex == 1);
	CHECK(ioctl(fd, SIOCGIFCONF, &all) == 0 && all.ifc_len >= (int)sizeof(*list));
	strcpy(interface.ifr_name, "none");
	CHECK_ERRNO(ioctl(fd, SIOCGIFADDR, &interface), ENODEV);
	CHECK_ERRNO(ioctl(fd, 0x1234, &interface), ENOTTY);
}

static void case_ioctl(void)
{
	struct ends e = ends_open();
	int datagrams = socket(AF_INET, SOCK_DGRAM, 0), count = -1, accepted, fd;

	interfaces_check(e.a);
	interfaces_check(e.listener);
	interfaces_check(datagrams);
	CHECK(ioctl(e.a, SIOCATMARK, &count) == 0 && count == 0 && sockatmark(e.a) == 0);
	CHECK(send(e.a, "x", 1, 0) == 1 && expect(e.b, "x"));
	do {
		CHECK(ioctl(e.a, SIOCOUTQ, &count) == 0 && count >= 0 && count <= 1);
	} while (count && !case_failed);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(send(fd, "first", 5, 0) == 5);
	accepted = accept(e.listener, NULL, NULL);
	do {
		CHECK(ioctl(accepted, FIONREAD, &count) == 0 && (!count || count == 5));
	} while (!count && !case_failed);
	close(fd);
	close(accepted);
	close(datagrams);
	ends_close(&e);
}

/* ---- names ---- */

static bool is_mapped(const struct sockaddr_in6 *name, socklen_t size)
{
	return size == sizeof(*name) && name->sin6_family == AF_INET6 &&
	       IN6_IS_ADDR_V4MAPPED(&name->sin6_addr) && name->sin6_addr.s6_addr[12] == 127 &&
	       name->sin6_port;
}

static void case_mapped_names(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 }, name;
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(any);
	struct sockaddr_in address;
	int accepted;

	CHECK(bind(listener, (struct sockaddr *)&any, size) == 0 && listen(listener, 8) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&any, &size) == 0);
	address = loopback(ntohs(any.sin6_port));
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	size = sizeof(name);
	accepted = accept(listener, (struct sockaddr *)&name, &size);
	CHECK(accepted >= 0 && is_mapped(&name, size));
	size = sizeof(name);
	CHECK(getpeername(accepted, (struct sockaddr *)&name, &size) == 0 &&
	      is_mapped(&name, size));
	size = sizeof(name);
	CHECK(getsockname(accepted, (struct sockaddr *)&name, &size) == 0 &&
	      is_mapped(&name, size));
	close(accepted);
	close(fd);
	close(listener);
}

/* ---- syscall() ---- */

/* libuv closes this way. The next descriptor gets the number. */
static void case_close_by_syscall(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 1 };
	int poller = epoll_create1(0), again, number = e.a;

	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(syscall(SYS_close, e.a) == 0);
	CHECK(is_at_end(e.b));
	CHECK_ERRNO(syscall(SYS_close, e.a), EBADF);
	again = dup(e.listener);
	CHECK(again == number && epoll_ctl(poller, EPOLL_CTL_ADD, again, &event) == 0);
	close(again);
	close(e.b);
	close(e.listener);
	close(poller);
}

/* The program closed the number before, and a duplicate still uses the socket. */
static void case_close_by_syscall_twice(void)
{
	struct ends e = ends_open();
	int other = dup(e.a), number = e.a;
	char byte;

	CHECK(close(e.a) == 0);
	CHECK_ERRNO(syscall(SYS_close, number), EBADF);
	CHECK(send(other, "x", 1, 0) == 1 && recv(e.b, &byte, 1, 0) == 1);
	CHECK(close(other) == 0 && is_at_end(e.b));
	close(e.b);
	close(e.listener);
}

/* ---- listeners that overlap ---- */

static void overlap_check(struct sockaddr_in first, struct sockaddr_in second)
{
	int a = socket(AF_INET, SOCK_STREAM, 0), b = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t size = sizeof(first);

	CHECK(setsockopt(a, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(setsockopt(b, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(bind(a, (struct sockaddr *)&first, sizeof(first)) == 0);
	CHECK(getsockname(a, (struct sockaddr *)&first, &size) == 0);
	CHECK(listen(a, 8) == 0);
	second.sin_port = first.sin_port;
	CHECK_ERRNO(bind(b, (struct sockaddr *)&second, sizeof(second)), EADDRINUSE);
	second.sin_addr.s_addr = htonl(0xc6336401); /* no address of this host */
	CHECK_ERRNO(bind(b, (struct sockaddr *)&second, sizeof(second)), EADDRNOTAVAIL);
	close(a);
	close(b);
}

static void case_overlapping_listeners(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	overlap_check(loopback(0), any);
	overlap_check(any, loopback(0));
	overlap_check(any, any);
	overlap_check(loopback(0), loopback(0));
}

/* Listeners that allow it share a port. */
static void case_shared_port(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fds[3], on = 1, client;

	for (unsigned int i = 0; i < SIZE(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(setsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
		CHECK(getsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &on, &(socklen_t){ 4 }) == 0 &&
		      on == 1);
		CHECK(bind(fds[i], (struct sockaddr *)&address, size) == 0);
		CHECK(listen(fds[i], 8) == 0);
		CHECK(getsockname(fds[i], (struct sockaddr *)&address, &size) == 0);
	}
	client = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(client, (struct sockaddr *)&address, size) == 0);
	close(client);
	for (unsigned int i = 0; i < SIZE(fds); i++)
		close(fds[i]);
}

/* A non-blocking connect never returns the final result. */
static void case_connect_in_progress(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address);

	for (int i = 0; i < 20 && !case_failed; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EINPROGRESS);
		CHECK(becomes(fd, POLLOUT));
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)), EISCONN);
		close(fd);
	}
	close(listener);
}

/* accept() returns the lowest free number. Connections that wait do not take it. */
static void case_accept_lowest(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), clients[3], low, fd;

	for (unsigned int i = 0; i < SIZE(clients); i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(clients[i], (struct sockaddr *)&address, sizeof(address)) == 0);
	}
	close(accept(listener, NULL, NULL)); /* the first may open files of the library */
	for (unsigned int i = 1; i < SIZE(clients); i++) {
		low = open("/dev/null", O_RDONLY);
		close(low);
		fd = accept(listener, NULL, NULL);
		CHECK(fd == low);
		CHECK(send(clients[i], "x", 1, 0) == 1 && expect(fd, "x"));
		close(fd);
	}
	for (unsigned int i = 0; i < SIZE(clients); i++)
		close(clients[i]);
	close(listener);
}

/* A duplicate of an epoll is the same epoll. */
static void case_epoll_copies(void)
{
	struct ends e = ends_open();
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 42 }, got;
	int epoll = epoll_create1(0), copy, third;

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.b, &event) == 0);
	copy = dup(epoll);
	third = fcntl(copy, F_DUPFD, 0);
	CHECK(send(e.a, "x", 1, 0) == 1);
	CHECK(epoll_wait(copy, &got, 1, PATIENCE_MS) == 1 && got.data.u32 == 42);
	close(epoll);
	CHECK(epoll_wait(third, &got, 1, PATIENCE_MS) == 1 && got.data.u32 == 42);
	close(copy);
	CHECK(expect(e.b, "x") && epoll_wait(third, &got, 1, 0) == 0);
	CHECK(send(e.a, "y", 1, 0) == 1);
	CHECK(epoll_wait(third, &got, 1, PATIENCE_MS) == 1 && got.data.u32 == 42);
	CHECK(epoll_ctl(third, EPOLL_CTL_DEL, e.b, NULL) == 0);
	CHECK(epoll_wait(third, &got, 1, 0) == 0);
	close(third);
	CHECK_ERRNO(epoll_wait(third, &got, 1, 0), EBADF);
	ends_close(&e);
}

/* A duplicate that is older than the first entry is the same epoll, too. */
static void case_epoll_early_copies(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 42 }, got;
	int epoll = epoll_create1(0), copies[3] = { dup(epoll), fcntl(epoll, F_DUPFD, 0) }, free;
	struct ends e = ends_open();

	copies[2] = dup2(copies[0], 200);
	free = dup(epoll);
	close(free);
	free = dup(0); /* another file has the number of a duplicate */
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.b, &event) == 0);
	CHECK(send(e.a, "x", 1, 0) == 1);
	for (unsigned int i = 0; i < SIZE(copies); i++) {
		got.data.u64 = 0;
		CHECK(epoll_wait(copies[i], &got, 1, PATIENCE_MS) == 1 && got.data.u32 == 42);
	}
	CHECK(epoll_ctl(copies[1], EPOLL_CTL_DEL, e.b, NULL) == 0);
	CHECK(epoll_wait(copies[2], &got, 1, 0) == 0);
	CHECK_ERRNO(epoll_wait(free, &got, 1, 0), EINVAL);
	for (unsigned int i = 0; i < SIZE(copies); i++)
		close(copies[i]);
	close(epoll);
	close(free);
	ends_close(&e);
}

/* A socket of IPv6 only does not reach an address of IPv4. */
static void case_only_v6(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = address.sin_port };

	mapped.sin6_addr.s6_addr32[2] = htonl(0xffff);
	mapped.sin6_addr.s6_addr32[3] = address.sin_addr.s_addr;
	CHECK(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&mapped, sizeof(mapped)), ENETUNREACH);
	close(fd);
	close(listener);
}

/* Control messages of a stream are checked, and have no effect. */
static void case_control_of_stream(void)
{
	struct ends e = ends_open();
	char letter = 'x';
	struct iovec iov = { &letter, 1 };
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
	struct cmsghdr *c = &control.align;

	msg.msg_controllen = sizeof(control);
	*c = (struct cmsghdr){ .cmsg_len = 4, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	CHECK_ERRNO(sendmsg(e.a, &msg, 0), EINVAL);
	c->cmsg_len = sizeof(control) + 1;
	CHECK_ERRNO(sendmsg(e.a, &msg, 0), EINVAL);
	c->cmsg_len = CMSG_LEN(sizeof(int));
	c->cmsg_type = 9999;
	CHECK_ERRNO(sendmsg(e.a, &msg, 0), EINVAL);
	c->cmsg_type = SCM_RIGHTS;
	CHECK(sendmsg(e.a, &msg, 0) == 1 && expect(e.b, "x"));
	ends_close(&e);
}

const struct case_row call_cases[] = {
	{ "epoll_copies", case_epoll_copies },
	{ "epoll_early_copies", case_epoll_early_copies },
	{ "only_v6", case_only_v6 },
	{ "control_of_stream", case_control_of_stream },
	{ "accept_lowest", case_accept_lowest },
	{ "small_stacks", case_small_stacks },
	{ "epoll_pwait2", case_epoll_pwait2 },
	{ "epoll_duplicate", case_epoll_duplicate },
	{ "epoll_one_place", case_epoll_one_place },
	{ "select_time", case_select_time },
	{ "kind", case_kind },
	{ "vectors_and_flags", case_vectors_and_flags },
	{ "dprintf", case_dprintf },
	{ "ioctl", case_ioctl },
	{ "mapped_names", case_mapped_names },
	{ "close_by_syscall", case_close_by_syscall },
	{ "close_by_syscall_twice", case_close_by_syscall_twice },
	{ "overlapping_listeners", case_overlapping_listeners },
	{ "shared_port", case_shared_port },
	{ "connect_in_progress", case_connect_in_progress },
	{},
};
