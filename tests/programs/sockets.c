/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: sockets [CASE...]
 *
 * Use of sockets by programs, through the C library's functions only. It passes on the kernel's
 * sockets and, with librspreload, on RDMA sockets; cases whose outcome differs contain both.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static bool failed;
static const char *skipped; /* why; NULL: it ran */

#define CHECK(truth)                                                                              \
	do {                                                                                      \
		if (!(truth)) {                                                                   \
			fprintf(stderr, "%s:%d: %s (errno %d: %s)\n", __func__, __LINE__, #truth, \
				errno, strerror(errno));                                          \
			failed = true;                                                            \
		}                                                                                 \
	} while (0)
#define CHECK_ERRNO(call, error)         \
	do {                             \
		errno = 0;               \
		CHECK((call) == -1);     \
		CHECK(errno == (error)); \
	} while (0)

static bool over_rdma; /* librspreload is loaded */

struct ends {
	int listener, a, b; /* a connected, b was accepted */
	struct sockaddr_in address;
	pthread_t waiter; /* the thread that waits at a */
};

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int listener_open(struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*ret_address);
	int on = 1;

	*ret_address = loopback(0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, size) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &size) < 0) {
		perror("listener");
		exit(1);
	}
	return fd;
}

static struct ends ends_open(void)
{
	struct ends e;

	e.listener = listener_open(&e.address);
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) < 0 ||
	    (e.b = accept(e.listener, NULL, NULL)) < 0) {
		perror("connection");
		exit(1);
	}
	return e;
}

static void ends_close(struct ends *e)
{
	close(e->a);
	close(e->b);
	close(e->listener);
}

/* Check that exactly these bytes arrive. */
static bool expect(int fd, const char *text)
{
	char bytes[256];
	ssize_t n = recv(fd, bytes, strlen(text), MSG_WAITALL);

	if (n == (ssize_t)strlen(text) && !memcmp(bytes, text, n))
		return true;
	fprintf(stderr, "expected '%s', got %zd bytes '%.*s'\n", text, n, n > 0 ? (int)n : 0,
		bytes);
	return false;
}

static bool say(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool is_at_end(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

static bool is_quiet(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static bool becomes(int fd, short events, int timeout)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, timeout) == 1 && (p.revents & events) == events;
}

/* Return whether the descriptor is a socket of the kernel, whatever fstat() reports. */
static bool is_of_kernel(int fd)
{
	char path[64], file[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, file, sizeof(file) - 1) > 0 && !strncmp(file, "socket:", 7);
}

/* ---- stdio ---- */

static void case_fdopen(void)
{
	struct ends e = ends_open();
	FILE *in = fdopen(e.b, "r"), *out = fdopen(dup(e.b), "w"), *other = fdopen(e.a, "r+");
	char line[64];
	int number = 0;

	CHECK(in && out && other);
	CHECK(fileno(in) == e.b);
	CHECK(say(e.a, "first line\nsecond 42\n"));
	CHECK(fgets(line, sizeof(line), in) && !strcmp(line, "first line\n"));
	CHECK(fscanf(in, "second %d", &number) == 1 && number == 42);
	CHECK(fprintf(out, "answer %d\n", 7) == 9 && fflush(out) == 0);
	CHECK(fgets(line, sizeof(line), other) && !strcmp(line, "answer 7\n"));
	CHECK(fclose(out) == 0);
	CHECK(fclose(in) == 0); /* the last of the two descriptors */
	CHECK(!fgets(line, sizeof(line), other) && feof(other));
	CHECK(fclose(other) == 0);
	close(e.listener);
}

static void case_standard_output(void)
{
	struct ends e = ends_open();
	int saved;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	CHECK(dup2(e.a, STDOUT_FILENO) == STDOUT_FILENO);
	printf("by printf %d\n", 5);
	fflush(stdout);
	CHECK(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
	CHECK(expect(e.b, "by printf 5\n"));
	close(saved);
	ends_close(&e);
}

/* ---- files and pipes ---- */

static int file_open(const char *text)
{
	char name[] = "/tmp/sockets.XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	if (fd < 0 || !say(fd, text))
		perror(name);
	return fd;
}

static void case_sendfile(void)
{
	struct ends e = ends_open();
	int file = file_open("0123456789");
	off64_t wide = 3;
	off_t offset = 2;

	CHECK(sendfile(e.a, file, &offset, 4) == 4 && offset == 6);
	CHECK(expect(e.b, "2345"));
	CHECK(sendfile64(e.a, file, &wide, 100) == 7 && wide == 10);
	CHECK(expect(e.b, "3456789"));
	CHECK(lseek(file, 8, SEEK_SET) == 8);
	CHECK(sendfile(e.a, file, NULL, 1) == 1 && lseek(file, 0, SEEK_CUR) == 9);
	CHECK(expect(e.b, "8"));
	close(file);
	ends_close(&e);
}

static void case_splice(void)
{
	struct ends e = ends_open();
	int p[2], flag = 1;
	off64_t offset = 0;
	char bytes[16];

	CHECK(pipe(p) == 0);
	CHECK(say(e.a, "abcdef"));
	CHECK(becomes(e.b, POLLIN, 10000));
	CHECK(splice(e.b, NULL, p[1], NULL, 4, 0) == 4);
	CHECK(read(p[0], bytes, sizeof(bytes)) == 4 && !memcmp(bytes, "abcd", 4));
	CHECK(splice(e.b, NULL, p[1], NULL, 100, SPLICE_F_MORE) == 2);
	CHECK(splice(p[0], NULL, e.b, NULL, 100, 0) == 2);
	CHECK(expect(e.a, "ef"));
	CHECK(fcntl(e.b, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERRNO(splice(e.b, NULL, p[1], NULL, 4, 0), EAGAIN);
	CHECK_ERRNO(splice(p[0], NULL, e.b, NULL, 4, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERRNO(splice(e.b, &offset, p[1], NULL, 4, 0), EINVAL);
	CHECK_ERRNO(splice(e.b, NULL, p[1], &offset, 4, 0), ESPIPE);
	CHECK_ERRNO(splice(e.a, NULL, e.b, NULL, 4, 0), EINVAL);
	/* The peer takes no data: bytes that were not sent stay in the pipe. */
	CHECK(ioctl(e.a, FIONBIO, &flag) == 0);
	for (long sent = 0; sent < 100000000;) {
		char zeros[4096] = {};
		ssize_t n;

		CHECK(write(p[1], zeros, sizeof(zeros)) == sizeof(zeros));
		n = splice(p[0], NULL, e.a, NULL, sizeof(zeros), SPLICE_F_NONBLOCK);
		sent += n > 0 ? n : 0;
		if (n < (ssize_t)sizeof(zeros)) {
			int left = 0;

			CHECK(n > 0 || errno == EAGAIN);
			CHECK(ioctl(p[0], FIONREAD, &left) == 0);
			CHECK(left == (int)sizeof(zeros) - (n > 0 ? (int)n : 0));
			break;
		}
	}
	close(p[1]);
	CHECK(shutdown(e.b, SHUT_WR) == 0);
	close(p[0]);
	CHECK(pipe(p) == 0);
	ioctl(e.a, FIONBIO, &(int){ 0 });
	CHECK(splice(e.a, NULL, p[1], NULL, 10, 0) == 0); /* the end */
	close(p[0]);
	close(p[1]);
	ends_close(&e);
}

static void case_many_messages(void)
{
	struct ends e = ends_open();
	char here[2][4];
	struct iovec out[2] = { { (char[]){ "one" }, 3 }, { (char[]){ "four" }, 4 } };
	struct iovec in[2] = { { here[0], 3 }, { here[1], 4 } };
	struct mmsghdr send[2] = {}, recv[2] = {};

	for (int i = 0; i < 2; i++) {
		send[i].msg_hdr = (struct msghdr){ .msg_iov = &out[i], .msg_iovlen = 1 };
		recv[i].msg_hdr = (struct msghdr){ .msg_iov = &in[i], .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(e.a, send, 2, 0) == 2 && send[0].msg_len == 3 && send[1].msg_len == 4);
	CHECK(recvmmsg(e.b, recv, 2, MSG_WAITALL, NULL) == 2 && recv[1].msg_len == 4);
	CHECK(!memcmp(here[0], "one", 3) && !memcmp(here[1], "four", 4));
	CHECK(say(e.a, "one"));
	CHECK(recvmmsg(e.b, recv, 2, MSG_WAITFORONE, NULL) == 1);
	CHECK_ERRNO(recvmmsg(e.b, recv, 2, MSG_DONTWAIT, NULL), EAGAIN);
	ends_close(&e);
}

/* ---- descriptors ---- */

static void case_duplicates(void)
{
	struct ends e = ends_open();
	int copy = dup(e.a), high = fcntl(e.a, F_DUPFD, 300), more, plain;

	CHECK(copy >= 0 && high >= 300);
	more = fcntl(high, F_DUPFD_CLOEXEC, 400);
	CHECK(more >= 400 && fcntl(more, F_GETFD) == FD_CLOEXEC && !fcntl(high, F_GETFD));
	CHECK(close(e.a) == 0); /* the first one first */
	CHECK(say(copy, "1") && say(high, "2") && say(more, "3"));
	CHECK(expect(e.b, "123"));
	CHECK(fcntl(high, F_SETFL, O_NONBLOCK) == 0 && fcntl(copy, F_GETFL) & O_NONBLOCK);
	CHECK(close(high) == 0 && close(more) == 0);
	CHECK(is_quiet(e.b));
	/* A file that replaces the last duplicate ends the connection. */
	plain = open("/dev/null", O_RDWR);
	CHECK(dup2(plain, copy) == copy);
	CHECK(is_at_end(e.b));
	CHECK(say(copy, "to nobody"));
	/* Put the accepted socket in a file's place. */
	CHECK(dup3(e.b, plain, O_CLOEXEC) == plain && fcntl(plain, F_GETFD) == FD_CLOEXEC);
	CHECK(dup2(e.b, e.b) == e.b);
	CHECK_ERRNO(dup3(e.b, e.b, 0), EINVAL);
	CHECK(close(e.b) == 0);
	CHECK(is_at_end(plain));
	CHECK_ERRNO(close(e.b), EBADF);
	close(plain);
	close(copy);
	close(e.listener);
}

/* Take the lowest free numbers repeatedly. */
struct grabber {
	atomic_int wanted; /* a number that always belongs to the program; -1: end */
	atomic_bool got;
};

static void *numbers_grab(void *arg)
{
	struct grabber *g = arg;
	int wanted;

	while ((wanted = atomic_load(&g->wanted)) >= 0) {
		int fd = open("/dev/null", O_RDONLY);

		if (fd == wanted && fd == atomic_load(&g->wanted))
			atomic_store(&g->got, true);
		else if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* A descriptor that cannot be duplicated replaces none. */
static void case_dup2_of_none(void)
{
	struct ends e = ends_open();

	CHECK_ERRNO(dup2(999, e.a), EBADF);
	CHECK_ERRNO(dup3(e.b, e.a, 1), EINVAL);
	CHECK(say(e.a, "is there") && expect(e.b, "is there"));
	ends_close(&e);
}

/* A number that dup2() replaces is free at no moment. */
static void case_dup2_at_once(void)
{
	struct grabber g = { .wanted = 99999 };
	int plain = open("/dev/null", O_RDONLY);
	pthread_t other;
	char byte;

	pthread_create(&other, NULL, numbers_grab, &g);
	for (int round = 0; round < 100 && !atomic_load(&g.got); round++) {
		struct ends e = ends_open();
		int copy = dup(e.b);

		atomic_store(&g.wanted, e.a);
		CHECK(dup2(plain, e.a) == e.a);
		atomic_store(&g.wanted, copy);
		CHECK(dup2(plain, copy) == copy);
		atomic_store(&g.wanted, e.b);
		CHECK(dup2(plain, e.b) == e.b);
		atomic_store(&g.wanted, 99999);
		CHECK(copy >= 0 && read(e.a, &byte, 1) == 0 && read(e.b, &byte, 1) == 0);
		close(copy);
		ends_close(&e);
	}
	CHECK(!atomic_load(&g.got));
	atomic_store(&g.wanted, -1);
	pthread_join(other, NULL);
	close(plain);
}

static void case_copies_of_listener(void)
{
	struct ends e = ends_open();
	int copy = dup(e.listener), a = socket(AF_INET, SOCK_STREAM, 0), b;

	CHECK(close(e.listener) == 0);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	b = accept(copy, NULL, NULL);
	CHECK(b >= 0 && say(a, "x") && expect(b, "x"));
	close(a);
	close(b);
	e.listener = copy;
	ends_close(&e);
}

static void case_close_range(void)
{
	struct ends e = ends_open();
	int far = fcntl(e.a, F_DUPFD, 700);

	CHECK(close(e.a) == 0);
	CHECK(close_range(700, 710, 0) == 0);
	CHECK(is_at_end(e.b));
	CHECK_ERRNO(write(far, "x", 1), EBADF);
	far = open("/dev/null", O_RDONLY);
	CHECK(dup2(far, 701) == 701 && close_range(700, 710, CLOSE_RANGE_CLOEXEC) == 0);
	CHECK(fcntl(701, F_GETFD) == FD_CLOEXEC && close(701) == 0);
	close(far);
	close(e.b);
	close(e.listener);
}

/* ---- flags, options, times ---- */

static void case_flags(void)
{
	struct ends e = ends_open();
	int a = socket(AF_INET, SOCK_STREAM, 0), b, count = 0;
	char bytes[8];

	CHECK(fcntl(e.listener, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EAGAIN);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLIN, 10000));
	b = accept4(e.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(b >= 0 && fcntl(b, F_GETFL) & O_NONBLOCK && fcntl(b, F_GETFD) == FD_CLOEXEC);
	CHECK_ERRNO(read(b, bytes, 1), EAGAIN);
	close(a);
	close(b);
	a = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK(fcntl(a, F_GETFL) & O_NONBLOCK && fcntl(a, F_GETFD) == FD_CLOEXEC);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0 ||
	      errno == EINPROGRESS);
	CHECK(becomes(e.listener, POLLIN, 10000));
	b = accept(e.listener, NULL, NULL); /* does not have the listener's O_NONBLOCK */
	CHECK(b >= 0 && !(fcntl(b, F_GETFL) & O_NONBLOCK) && !fcntl(b, F_GETFD));
	CHECK_ERRNO(accept4(e.listener, NULL, NULL, 1 << 30), EINVAL);
	CHECK(becomes(a, POLLOUT, 10000));
	CHECK(say(a, "12345") && becomes(b, POLLIN, 10000));
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

static int error_of(int fd)
{
	socklen_t size = sizeof(int);
	int error = -1;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
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
		CHECK(becomes(fd, POLLOUT, 10000));
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
	CHECK(listen(fds[0], 4) == 0 || (over_rdma && errno == EADDRINUSE));
	CHECK_ERRNO(listen(fds[1], 4), EADDRINUSE);
	CHECK_ERRNO(listen(fds[1], 4), EADDRINUSE);
	close(fds[0]);
	CHECK(listen(fds[1], 4) == 0);
	a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(a, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(becomes(fds[1], POLLIN, 10000));
	close(a);
	close(fds[1]);
}

/* ---- shutdown ---- */

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

/* ---- waiting ---- */

static int events_of(int epoll, int timeout)
{
	struct epoll_event event = {};
	int n = epoll_wait(epoll, &event, 1, timeout);

	return n == 1 ? (int)event.events : n;
}

static void case_poll(void)
{
	struct ends e = ends_open();
	int copy = dup(e.a);
	struct pollfd p[] = {
		{ .fd = -1, .events = POLLIN, .revents = 77 },
		{ .fd = e.a, .events = POLLIN },
		{ .fd = -e.b, .events = POLLIN, .revents = 77 },
		{ .fd = copy, .events = POLLIN | POLLOUT },
		{ .fd = 999, .events = POLLIN },
	};
	const struct timespec none = {};

	CHECK(poll(p, 4, 0) == 1);
	CHECK(!p[0].revents && !p[1].revents && !p[2].revents && p[3].revents == POLLOUT);
	CHECK(poll(p, 5, -1) == 2 && p[4].revents == POLLNVAL);
	CHECK(say(e.b, "x"));
	CHECK(becomes(e.a, POLLIN, 10000));
	CHECK(ppoll(p, 4, &none, NULL) == 2);
	CHECK(p[1].revents == POLLIN && p[3].revents == (POLLIN | POLLOUT));
	CHECK(poll(NULL, 0, 1) == 0);
	close(e.b);
	CHECK(expect(e.a, "x"));
	p[1].events = POLLIN | POLLRDHUP;
	CHECK(becomes(e.a, POLLIN | POLLRDHUP, 10000));
	close(copy);
	close(e.a);
	close(e.listener);
}

/* POSIX has other names for the same events. */
static void case_poll_normal(void)
{
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLRDNORM | POLLWRNORM };
	struct epoll_event event = { .events = EPOLLRDNORM | EPOLLWRNORM };
	int epoll = epoll_create1(0), a = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLWRNORM);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(events_of(epoll, 0) == EPOLLWRNORM);
	CHECK(say(e.b, "x") && becomes(e.a, POLLRDNORM, 10000));
	CHECK(events_of(epoll, 0) == (EPOLLRDNORM | EPOLLWRNORM));
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLRDNORM, 10000));
	close(a);
	close(epoll);
	ends_close(&e);
}

/* Invalid times: no call waits for ever. */
static void case_wrong_times(void)
{
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLIN };
	const struct timespec before = { .tv_sec = -1 }, wide = { .tv_nsec = 1000000000 };
	struct timeval past = { .tv_sec = -1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(e.a, &set);
	CHECK_ERRNO(ppoll(&p, 1, &before, NULL), EINVAL);
	CHECK_ERRNO(ppoll(&p, 1, &wide, NULL), EINVAL);
	CHECK_ERRNO(pselect(e.a + 1, &set, NULL, NULL, &before, NULL), EINVAL);
	CHECK_ERRNO(pselect(e.a + 1, &set, NULL, NULL, &wide, NULL), EINVAL);
	CHECK_ERRNO(select(e.a + 1, &set, NULL, NULL, &past), EINVAL);
	ends_close(&e);
}

/* Sets may be larger than fd_set. */
static void case_select(void)
{
	struct ends e = ends_open();
	enum {
		HIGH = 2000
	};
	unsigned long in[HIGH / 64 + 2] = {}, out[HIGH / 64 + 2] = {};
	struct timeval time = { .tv_sec = 10 };
	fd_set set;
	int high;

	FD_ZERO(&set);
	FD_SET(e.a, &set);
	CHECK(select(e.a + 1, &set, NULL, NULL, &(struct timeval){}) == 0 && !FD_ISSET(e.a, &set));
	CHECK(say(e.b, "x"));
	FD_SET(e.a, &set);
	CHECK(select(e.a + 1, &set, NULL, NULL, &time) == 1 && FD_ISSET(e.a, &set));
	high = fcntl(e.a, F_DUPFD, HIGH);
	CHECK(high >= HIGH);
	in[high / 64] |= 1ul << (high % 64);
	out[high / 64] |= 1ul << (high % 64);
	CHECK(pselect(high + 1, (fd_set *)in, (fd_set *)out, NULL, NULL, NULL) == 2);
	close(high);
	FD_SET(high % 64, &set);
	CHECK_ERRNO(select(-1, &set, NULL, NULL, &time), EINVAL);
	ends_close(&e);
}

static void case_epoll(void)
{
	struct ends e = ends_open();
	int epoll = epoll_create1(0), outer = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK_ERRNO(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event), EEXIST);
	CHECK(events_of(epoll, 0) == 0);
	CHECK(say(e.b, "x"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && events_of(epoll, 0) == EPOLLIN);
	/* An epoll of an epoll. */
	CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event) == 0);
	CHECK(events_of(outer, 10000) == EPOLLIN);
	CHECK(becomes(epoll, POLLIN, 10000));
	CHECK(expect(e.a, "x"));
	CHECK(events_of(epoll, 0) == 0);
	CHECK(events_of(outer, 0) == 0);
	/* A second byte wakes the outer epoll again. */
	CHECK(say(e.b, "y"));
	CHECK(events_of(outer, 10000) == EPOLLIN);
	CHECK(events_of(epoll, 0) == EPOLLIN);
	CHECK(expect(e.a, "y"));
	/* The other order. */
	close(epoll);
	epoll = epoll_create1(0);
	CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	CHECK(events_of(outer, 0) == 0);
	CHECK(say(e.b, "z"));
	CHECK(events_of(outer, 10000) == EPOLLIN && expect(e.a, "z"));
	/* Edges. */
	event.events = EPOLLIN | EPOLLET;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, e.a, &event) == 0 && events_of(epoll, 0) == 0);
	CHECK(say(e.b, "12"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && events_of(epoll, 0) == 0);
	CHECK(expect(e.a, "1") && events_of(epoll, 0) == 0);
	CHECK(say(e.b, "3"));
	CHECK(events_of(epoll, 10000) == EPOLLIN && expect(e.a, "23"));
	/* Once. */
	event.events = EPOLLOUT | EPOLLONESHOT;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, e.a, &event) == 0);
	CHECK(events_of(epoll, 10000) == EPOLLOUT && events_of(epoll, 0) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, e.a, NULL) == 0);
	CHECK_ERRNO(epoll_ctl(epoll, EPOLL_CTL_DEL, e.a, NULL), ENOENT);
	CHECK_ERRNO(epoll_ctl(e.b, EPOLL_CTL_ADD, e.a, &event), EINVAL);
	close(outer);
	close(epoll);
	ends_close(&e);
}

/* ---- signals ---- */

static atomic_int signals;

static void signal_count(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void *signal_soon(void *arg)
{
	pthread_t thread = *(pthread_t *)arg;

	for (int i = 0; i < 100 && !atomic_load(&signals); i++) {
		usleep(20000);
		pthread_kill(thread, SIGUSR1);
	}
	return NULL;
}

#define INTERRUPTED(call)                                                    \
	do {                                                                 \
		pthread_t own = pthread_self(), other;                       \
		atomic_store(&signals, 0);                                   \
		CHECK(pthread_create(&other, NULL, signal_soon, &own) == 0); \
		CHECK_ERRNO(call, EINTR);                                    \
		pthread_join(other, NULL);                                   \
	} while (0)

static void case_signals(void)
{
	struct sigaction action = { .sa_handler = signal_count };
	struct ends e = ends_open();
	struct pollfd p = { .fd = e.a, .events = POLLIN };
	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	sigaction(SIGUSR1, &action, NULL);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	INTERRUPTED(read(e.a, &byte, 1));
	INTERRUPTED(recv(e.a, &byte, 1, MSG_PEEK));
	INTERRUPTED(accept(e.listener, NULL, NULL));
	INTERRUPTED(poll(&p, 1, -1));
	INTERRUPTED(epoll_wait(epoll, &event, 1, -1));
	CHECK(say(e.b, "x") && expect(e.a, "x"));
	close(epoll);
	ends_close(&e);
}

static void handler_set(int flags)
{
	struct sigaction action = { .sa_handler = signal_count, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
}

/* Send as much as possible, to the last byte, because the kernel moves data on and then takes
 * more. */
static void fill_peer(const struct ends *e)
{
	static const char much[65536];
	int small = 16384;

	/* The buffers of the kernel must not grow. */
	setsockopt(e->a, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(e->b, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	do {
		while (send(e->a, much, sizeof(much), MSG_DONTWAIT) > 0)
			;
		while (send(e->a, much, 1, MSG_DONTWAIT) > 0)
			;
		CHECK(errno == EAGAIN);
		usleep(500000);
	} while (send(e->a, much, 1, MSG_DONTWAIT) > 0);
}

/* Calls that case_signals() does not test. */
static void case_signals_more(void)
{
	struct ends e = ends_open();
	int plain = file_open("bytes"), p[2], epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pollfd waited = { .fd = e.a, .events = POLLIN };
	fd_set set;

	handler_set(0);
	CHECK(pipe(p) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, e.a, &event) == 0);
	FD_ZERO(&set);
	FD_SET(e.a, &set);
	INTERRUPTED(readv(e.a, &iov, 1));
	INTERRUPTED(recvmsg(e.a, &msg, MSG_WAITALL));
	INTERRUPTED(splice(e.a, NULL, p[1], NULL, 1, 0));
	INTERRUPTED(ppoll(&waited, 1, NULL, NULL));
	INTERRUPTED(select(e.a + 1, &set, NULL, NULL, NULL));
	FD_SET(e.a, &set);
	INTERRUPTED(pselect(e.a + 1, &set, NULL, NULL, NULL, NULL));
	INTERRUPTED(epoll_pwait(epoll, &event, 1, -1, NULL));
	fill_peer(&e);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	INTERRUPTED(writev(e.a, &iov, 1));
	INTERRUPTED(sendmsg(e.a, &msg, 0));
	INTERRUPTED(sendfile(e.a, plain, &(off_t){ 0 }, 5));
	close(p[0]);
	close(p[1]);
	close(plain);
	close(epoll);
	ends_close(&e);
}

/* A call with a timeout of its own is not resumed, whatever the handler requests. */
static void case_signals_and_times(void)
{
	struct timeval time = { .tv_sec = 60 };
	struct ends e = ends_open();
	char byte = 0;

	handler_set(SA_RESTART);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0);
	CHECK(setsockopt(e.listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
	INTERRUPTED(recv(e.a, &byte, 1, 0));
	INTERRUPTED(accept(e.listener, NULL, NULL));
	fill_peer(&e);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	ends_close(&e);
}

static void *signal_then_say(void *arg)
{
	struct ends *e = arg;

	signal_soon(&e->waiter);
	usleep(50000);
	CHECK(say(e->b, "x"));
	return NULL;
}

/* A call without a timeout is resumed. */
static void case_signals_resumed(void)
{
	struct ends e = ends_open();
	pthread_t other;

	handler_set(SA_RESTART);
	atomic_store(&signals, 0);
	e.waiter = pthread_self();
	pthread_create(&other, NULL, signal_then_say, &e);
	CHECK(expect(e.a, "x") && atomic_load(&signals));
	pthread_join(other, NULL);
	ends_close(&e);
}

/* A thread that waits behind another waiting thread gets its signals too. */
static void *wait_for_byte(void *arg)
{
	return (void *)(intptr_t)expect(*(int *)arg, "x");
}

static void case_signals_of_second(void)
{
	struct ends e = ends_open();
	pthread_t first;
	char byte = 0;
	void *came;

	handler_set(0);
	fill_peer(&e);
	pthread_create(&first, NULL, wait_for_byte, &e.a);
	usleep(100000); /* it sleeps */
	INTERRUPTED(send(e.a, &byte, 1, 0));
	CHECK(say(e.b, "x"));
	pthread_join(first, &came);
	CHECK(came);
	ends_close(&e);
}

static void *wait_for_all(void *arg)
{
	return (void *)(intptr_t)expect(*(int *)arg, "12");
}

static void *send_all(void *arg)
{
	static char much[1 << 20];
	const struct ends *e = arg;

	return (void *)(intptr_t)(send(e->a, much, sizeof(much), 0) == sizeof(much));
}

static void *receive_one(void *arg)
{
	char byte;

	recv(*(int *)arg, &byte, 1, 0);
	return NULL;
}

/* So does a thread that waits for another one in the middle of a receive or a send. */
static void case_signals_behind_another(void)
{
	struct timeval little = { .tv_usec = 50000 }, none = {};
	struct ends e = ends_open();
	pthread_t first, second;
	static char much[65536];
	void *was;
	char byte = 0;

	handler_set(0);
	pthread_create(&first, NULL, wait_for_all, &e.a);
	CHECK(say(e.b, "1"));
	usleep(200000); /* the thread has that byte, and waits for more */
	INTERRUPTED(recv(e.a, &byte, 1, 0));
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof(little)) == 0);
	CHECK_ERRNO(recv(e.a, &byte, 1, 0), EAGAIN);
	CHECK(setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) == 0);
#ifndef __SANITIZE_ADDRESS__ /* which fails if a thread is cancelled in a system call */
	pthread_create(&second, NULL, receive_one, &e.a);
	usleep(100000);
	CHECK(pthread_cancel(second) == 0);
	CHECK(pthread_join(second, &was) == 0 && was == PTHREAD_CANCELED);
#else
	(void)second;
	(void)receive_one;
#endif
	CHECK(say(e.b, "2"));
	pthread_join(first, &was);
	CHECK(was);
	fill_peer(&e);
	pthread_create(&first, NULL, send_all, &e);
	usleep(200000);
	INTERRUPTED(send(e.a, &byte, 1, 0));
	fcntl(e.b, F_SETFL, O_NONBLOCK);
	while (pthread_tryjoin_np(first, &was))
		while (recv(e.b, much, sizeof(much), 0) > 0)
			;
	CHECK(was);
	ends_close(&e);
}

/* ---- threads ---- */

static void *end_wait(void *arg)
{
	return (void *)(intptr_t)(is_at_end(*(int *)arg) ? 1 : 0);
}

static void *accept_wait(void *arg)
{
	return (void *)(intptr_t)(accept(*(int *)arg, NULL, NULL) < 0 ? 1 : 0);
}

/* Threads learn of a shutdown() by another thread, whatever call they wait in. */
static void case_threads(void)
{
	struct ends e = ends_open();
	pthread_t reader, accepter;
	void *was;

	pthread_create(&reader, NULL, end_wait, &e.a);
	pthread_create(&accepter, NULL, accept_wait, &e.listener);
	usleep(50000);
	CHECK(shutdown(e.a, SHUT_RD) == 0 && shutdown(e.listener, SHUT_RDWR) == 0);
	pthread_join(reader, &was);
	CHECK(was);
	pthread_join(accepter, &was);
	CHECK(was);
	ends_close(&e);
}

static void *read_until_closed(void *arg)
{
	char bytes[64];
	int fd = *(int *)arg;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 100) >= 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) != 0)
		if (errno == EBADF || p.revents & POLLNVAL)
			break;
	return NULL;
}

/* Threads use a socket while another one closes it: they get an error or the end of the stream. */
static void case_close_under(void)
{
	for (int round = 0; round < 20; round++) {
		struct ends e = ends_open();
		pthread_t threads[4];

		for (unsigned int i = 0; i < SIZE(threads); i++)
			pthread_create(&threads[i], NULL, read_until_closed, i % 2 ? &e.a : &e.b);
		for (int i = 0; i < 20; i++)
			say(i % 2 ? e.a : e.b, "some bytes");
		close(e.a);
		usleep(1000);
		close(e.b);
		for (unsigned int i = 0; i < SIZE(threads); i++)
			pthread_join(threads[i], NULL);
		close(e.listener);
	}
}

static int child_status(pid_t pid);
static uint8_t byte_at(size_t place);

/* ---- closing under a call that waits ---- */

enum waiting {
	IN_RECV,
	IN_PEEK,
	IN_SEND,
	IN_ACCEPT,
	IN_POLL,
	IN_SELECT,
	IN_EPOLL,
	WAITINGS
};

struct under {
	enum waiting how;
	int fd;
};

/* The call must return, with any result. */
static void *wait_under(void *arg)
{
	const struct under *u = arg;
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	static const char much[65536];
	char byte;
	int epoll;
	fd_set set;

	switch (u->how) {
	case IN_RECV:
		recv(u->fd, &byte, 1, 0);
		break;
	case IN_PEEK:
		recv(u->fd, &byte, 1, MSG_PEEK | MSG_WAITALL);
		break;
	case IN_SEND:
		while (send(u->fd, much, sizeof(much), 0) > 0)
			;
		break;
	case IN_ACCEPT:
		close(accept(u->fd, NULL, NULL));
		break;
	case IN_POLL:
		poll(&p, 1, -1);
		break;
	case IN_SELECT:
		FD_ZERO(&set);
		FD_SET(u->fd, &set);
		select(u->fd + 1, &set, NULL, NULL, NULL);
		break;
	default:
		epoll = epoll_create1(0);
		epoll_ctl(epoll, EPOLL_CTL_ADD, u->fd, &event);
		/* A closed descriptor is no longer in any epoll. */
		epoll_wait(epoll, &event, 1, 1000);
		close(epoll);
	}
	return NULL;
}

static void case_close_under_each(void)
{
	for (int how = 0; how < WAITINGS; how++) {
		struct ends e = ends_open();
		struct under u = { how, how == IN_ACCEPT ? e.listener : e.a };
		int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		pthread_t thread;

		pthread_create(&thread, NULL, wait_under, &u);
		usleep(100000);
		CHECK(close(u.fd) == 0);
		/* The kernel's sockets wake the waiting thread only when the peer acts. */
		if (how == IN_ACCEPT)
			connect(late, (struct sockaddr *)&e.address, sizeof(e.address));
		else
			close(e.b);
		pthread_join(thread, NULL);
		close(late);
		if (how == IN_ACCEPT) {
			CHECK(say(e.a, "x") && expect(e.b, "x"));
			close(e.a);
			close(e.b);
		} else {
			close(e.listener);
		}
	}
}

/* On the one processor of both threads, the close is interrupted as soon as the other thread
 * wakes. */
static void *close_politely(void *arg)
{
	setpriority(PRIO_PROCESS, gettid(), 19);
	usleep(1000);
	CHECK(close(((struct under *)arg)->fd) == 0);
	return NULL;
}

/* The waiting thread may wake up in the middle of the close. */
static void case_close_under_accept(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int round = 0; round < 400; round++) {
		struct sockaddr_in address;
		struct under u = { IN_ACCEPT, listener_open(&address) };
		int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		pthread_t waits, closes;

		pthread_create(&waits, NULL, wait_under, &u);
		pthread_create(&closes, NULL, close_politely, &u);
		pthread_join(closes, NULL);
		if (!over_rdma) /* as above */
			connect(late, (struct sockaddr *)&address, sizeof(address));
		pthread_join(waits, NULL);
		close(late);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/* AddressSanitizer fails if a thread is cancelled in a system call. ThreadSanitizer does not see
 * a lock that such a thread takes in its handler, and reports the data that the lock protects: a
 * thread in epoll_wait() whose handler takes a mutex is enough. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CANCELS_ARE_THEIRS true
#else
#define CANCELS_ARE_THEIRS false
#endif

static void under_close(void *arg)
{
	CHECK(close(((struct under *)arg)->fd) == 0);
}

static void *wait_cancelled(void *arg)
{
	pthread_cleanup_push(under_close, arg);
	wait_under(arg);
	pthread_cleanup_pop(0);
	return NULL;
}

/* The cleanup handler of a cancelled thread closes the socket, and the peer gets the end of the
 * stream. */
static void case_cancelled_each(void)
{
	if (CANCELS_ARE_THEIRS) {
		skipped = "a sanitizer does not bear threads that are cancelled";
		return;
	}
	for (int how = 0; how < WAITINGS; how++) {
		struct ends e = ends_open();
		struct under u = { how, how == IN_ACCEPT ? e.listener : e.a };
		struct timeval time = { .tv_sec = 10 };
		static char much[65536];
		pthread_t thread;
		ssize_t n;
		void *was;

		pthread_create(&thread, NULL, wait_cancelled, &u);
		usleep(100000);
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &was) == 0 && was == PTHREAD_CANCELED);
		CHECK_ERRNO(fcntl(u.fd, F_GETFD), EBADF);
		if (how == IN_ACCEPT) {
			CHECK(say(e.a, "x") && expect(e.b, "x") && close(e.a) == 0);
		} else {
			close(e.listener);
		}
		CHECK(setsockopt(e.b, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0);
		while ((n = recv(e.b, much, sizeof(much), 0)) > 0)
			;
		CHECK(n == 0);
		close(e.b);
	}
}

/* ---- a peer that is stopped ---- */

#define STOPPED_S 10

/* A client that returns all data that it gets. The port is in the environment. If SOCKETS_AGAIN
 * is set, the client connects a second time when told to, and uses that connection. */
static void part_echo(void)
{
	struct sockaddr_in address = loopback(atoi(getenv("SOCKETS_PORT")));
	int fd = socket(AF_INET, SOCK_STREAM, 0), first = -1;
	char bytes[4096];
	ssize_t n;

	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && say(fd, "ready"));
	if (getenv("SOCKETS_AGAIN")) {
		first = fd;
		CHECK(expect(first, "again"));
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(say(fd, "ready"));
	}
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		if (send(fd, bytes, n, 0) != n)
			break;
	/* After a reset there is no orderly end. */
	close(fd);
	close(first);
}

static pid_t echo_fork(struct ends *e)
{
	char port[16];
	pid_t pid;

	snprintf(port, sizeof(port), "%d", ntohs(e->address.sin_port));
	setenv("SOCKETS_PORT", port, 1);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "sockets", "echo_by_itself", NULL);
		_exit(99);
	}
	return pid;
}

static pid_t echo_start(struct ends *e)
{
	pid_t pid;

	e->listener = listener_open(&e->address);
	pid = echo_fork(e);
	e->a = accept(e->listener, NULL, NULL);
	CHECK(e->a >= 0 && expect(e->a, "ready"));
	return pid;
}

static void *go_on_later(void *arg)
{
	sleep(STOPPED_S);
	kill(*(pid_t *)arg, SIGCONT);
	return NULL;
}

/* Data sent to a stopped peer arrives later, and each call returns the result that it has with a
 * slow peer. */
static void case_stopped_peer(void)
{
	struct timeval second = { .tv_sec = 1 };
	static uint8_t much[65536], back[65536];
	struct ends e;
	pid_t pid = echo_start(&e);
	pthread_t other;
	size_t sent = 0, came = 0;
	bool right = true;
	ssize_t n;

	setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	kill(pid, SIGSTOP);
	pthread_create(&other, NULL, go_on_later, &pid);
	CHECK_ERRNO(recv(e.a, back, 1, 0), EAGAIN);
	while (sent < 8 * sizeof(much)) { /* less than the kernel's buffers of both directions */
		for (size_t i = 0; i < sizeof(much); i++)
			much[i] = byte_at(sent + i);
		n = send(e.a, much, sizeof(much), MSG_DONTWAIT);
		if (n <= 0) {
			CHECK(errno == EAGAIN);
			break;
		}
		sent += n;
	}
	CHECK(sent > 0 && error_of(e.a) == 0);
	CHECK(!becomes(e.a, POLLIN, 100));
	CHECK(shutdown(e.a, SHUT_WR) == 0);
	pthread_join(other, NULL);
	second.tv_sec = 30;
	setsockopt(e.a, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	while ((n = recv(e.a, back, sizeof(back), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			right &= back[i] == byte_at(came + i);
		came += n;
	}
	CHECK(n == 0 && came == sent && right);
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* close() does not wait for a stopped peer longer than requested, and the peer gets the end of
 * the stream. */
static void case_stopped_peer_closed(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 1 };

	for (int lingers = 0; lingers < 2; lingers++) {
		static const char much[65536];
		struct ends e;
		pid_t pid = echo_start(&e);

		if (lingers)
			CHECK(setsockopt(e.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0);
		kill(pid, SIGSTOP);
		for (int i = 0; i < 100 && send(e.a, much, sizeof(much), MSG_DONTWAIT) > 0; i++)
			;
		CHECK(close(e.a) == 0);
		kill(pid, SIGCONT);
		CHECK(child_status(pid) == 0);
		close(e.listener);
	}
}

/* ---- numbers ---- */

/* Programs have tables of as many entries as connections: each connection takes one number. */
static void case_numbers(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), ends[24];

	for (unsigned int i = 0; i < SIZE(ends); i += 2) {
		ends[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(ends[i], (struct sockaddr *)&address, sizeof(address)) == 0);
		ends[i + 1] = accept(listener, NULL, NULL);
		CHECK(say(ends[i], "x") && expect(ends[i + 1], "x"));
	}
	for (unsigned int i = 0; i < SIZE(ends); i++) {
		CHECK(ends[i] >= 0 && ends[i] < (int)SIZE(ends) + 16);
		close(ends[i]);
	}
	close(listener);
}

/* ---- no descriptors left ---- */

#define FILES 200
#define FEW   80

struct spent {
	struct rlimit old;
	int fds[FILES], count;
};

static void fill(struct spent *s)
{
	while (s->count < FILES &&
	       (s->fds[s->count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		s->count++;
}

/* Use up all descriptors. */
static struct spent descriptors_spend(void)
{
	struct spent s = {};
	struct rlimit few;

	getrlimit(RLIMIT_NOFILE, &s.old);
	few = s.old;
	few.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &few);
	fill(&s);
	return s;
}

static void descriptors_return(struct spent *s)
{
	setrlimit(RLIMIT_NOFILE, &s->old);
	while (s->count)
		close(s->fds[--s->count]);
}

static void case_descriptors_spent(void)
{
	struct ends e = ends_open();
	struct spent spent;
	int a = socket(AF_INET, SOCK_STREAM, 0), b;

	CHECK(fcntl(e.listener, F_SETFL, O_NONBLOCK) == 0);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	CHECK(becomes(e.listener, POLLIN, 10000));
	spent = descriptors_spend();
	CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, 0), EMFILE);
	b = accept(e.listener, NULL, NULL);
	CHECK(b >= 0 ? over_rdma : errno == EMFILE); /* it may have been accepted before */
	if (b >= 0)
		close(b);
	fill(&spent);
	CHECK_ERRNO(dup(e.a), EMFILE);
	CHECK(say(e.a, "goes on") && expect(e.b, "goes on"));
	descriptors_return(&spent);
	close(a);
	ends_close(&e);
	e = ends_open();
	CHECK(say(e.a, "again") && expect(e.b, "again"));
	ends_close(&e);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A connection that waited for descriptors, and whose client has gone, may reach the listener
 * late. */
static bool descriptors_become(int most, int listener)
{
	for (int i = 0; i < 100; i++) {
		int fd;

		if (count_descriptors() <= most)
			return true;
		fd = accept(listener, NULL, NULL);
		if (fd >= 0)
			close(fd);
		usleep(10000);
	}
	return false;
}

/* With 0, 1, 2 ... free descriptors: each call succeeds or fails with EMFILE, and no descriptor
 * is lost. */
static void case_few_and_fewer(void)
{
	struct ends e = ends_open();
	struct spent spent = descriptors_spend();
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd p = { .fd = e.a, .events = POLLOUT };
	struct sockaddr_in address = e.address;

	CHECK(fcntl(e.listener, F_SETFL, O_NONBLOCK) == 0);
	for (int left = 0; left < 12; left++) {
		int before = count_descriptors(), ep = epoll_create1(0), fd, r;

		CHECK(ep >= 0 || errno == EMFILE);
		r = ep < 0 ? 0 : epoll_ctl(ep, EPOLL_CTL_ADD, e.a, &event);
		CHECK(r == 0 || (over_rdma && errno == EMFILE));
		CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		CHECK(fd >= 0 || errno == EMFILE);
		r = fd < 0 ? 0 : connect(fd, (struct sockaddr *)&address, sizeof(address));
		/* With too few descriptors to accept, the connection waits. */
		CHECK(r == 0 || errno == EINPROGRESS || (over_rdma && errno == EMFILE));
		if (fd >= 0)
			close(fd);
		fd = accept(e.listener, NULL, NULL);
		CHECK(fd >= 0 || errno == EMFILE || errno == EAGAIN);
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		CHECK(fd >= 0 || errno == EMFILE);
		r = fd < 0 ? 5
			   : sendto(fd, "hello", 5, 0, (struct sockaddr *)&address,
				    sizeof(address));
		CHECK(r == 5 || (over_rdma && errno == EMFILE));
		if (fd >= 0)
			close(fd);
		if (ep >= 0)
			close(ep);
		CHECK(descriptors_become(before, e.listener));
		close(spent.fds[--spent.count]);
	}
	descriptors_return(&spent);
	while ((p.fd = accept(e.listener, NULL, NULL)) >= 0)
		close(p.fd);
	CHECK(say(e.a, "goes on") && expect(e.b, "goes on"));
	ends_close(&e);
	e = ends_open();
	CHECK(say(e.a, "again") && expect(e.b, "again"));
	ends_close(&e);
}

/* A process without descriptors gets an error from accept(), and its client waits until it can
 * accept. */
static void case_accept_without_descriptors(void)
{
	struct spent spent;
	struct ends e;
	pid_t pid;

	setenv("SOCKETS_AGAIN", "1", 1);
	pid = echo_start(&e);
	unsetenv("SOCKETS_AGAIN");
	spent = descriptors_spend();
	CHECK(say(e.a, "again"));
	CHECK(becomes(e.listener, POLLIN, 20000));
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EMFILE);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EMFILE);
	descriptors_return(&spent);
	e.b = accept(e.listener, NULL, NULL);
	CHECK(e.b >= 0 && expect(e.b, "ready"));
	CHECK(shutdown(e.b, SHUT_WR) == 0 && is_at_end(e.b));
	CHECK(child_status(pid) == 0);
	ends_close(&e);
}

/* When descriptors are free again, the listener stops reporting the error. It is readable as
 * long as a client waits. */
static void case_accept_after_descriptors(void)
{
	struct spent spent;
	pid_t pid, other;
	int queued;
	struct ends e;

	setenv("SOCKETS_AGAIN", "1", 1);
	pid = echo_start(&e);
	unsetenv("SOCKETS_AGAIN");
	other = echo_fork(&e);
	CHECK(becomes(e.listener, POLLIN, 20000));
	spent = descriptors_spend();
	CHECK(say(e.a, "again"));
	usleep(500000); /* the client comes, and there is no descriptor for it */
	descriptors_return(&spent);
	queued = accept(e.listener, NULL, NULL);
	usleep(200000); /* now there is one */
	e.b = accept(e.listener, NULL, NULL);
	CHECK(queued >= 0 && expect(queued, "ready") && e.b >= 0 && expect(e.b, "ready"));
	CHECK(!becomes(e.listener, POLLIN, 0));
	CHECK(shutdown(queued, SHUT_WR) == 0 && is_at_end(queued));
	CHECK(shutdown(e.b, SHUT_WR) == 0 && is_at_end(e.b));
	CHECK(child_status(other) == 0 && child_status(pid) == 0);
	close(queued);
	ends_close(&e);
}

/* Threads learn of shutdown() even if no descriptor is left. */
static void case_end_without_descriptors(void)
{
	struct ends e = ends_open();
	pthread_t reader, accepter;
	struct rlimit old, none;
	void *was;

	pthread_create(&reader, NULL, end_wait, &e.a);
	pthread_create(&accepter, NULL, accept_wait, &e.listener);
	usleep(50000);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	CHECK(shutdown(e.a, SHUT_RD) == 0 && shutdown(e.listener, SHUT_RDWR) == 0);
	pthread_join(reader, &was);
	CHECK(was);
	pthread_join(accepter, &was);
	CHECK(was);
	setrlimit(RLIMIT_NOFILE, &old);
	ends_close(&e);
}

/* ---- no memory left ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_IS_THEIRS true
#else
#define MEMORY_IS_THEIRS false
#endif

static rlim_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	CHECK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

/* Connect a client and its listener without memory: the connection works, or there is none. */
static void connect_without_memory(int listener, const struct sockaddr_in *address)
{
	int a = socket(AF_INET, SOCK_STREAM, 0), b;

	CHECK(a >= 0);
	if (connect(a, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		CHECK(over_rdma && (errno == ECONNREFUSED || errno == ENOMEM));
	} else if (becomes(listener, POLLIN, 10000)) {
		b = accept(listener, NULL, NULL);
		CHECK(b >= 0 && say(a, "little") && expect(b, "little"));
		close(b);
	} else {
		CHECK(over_rdma && is_at_end(a));
	}
	close(a);
}

static void case_memory_spent(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address);
	struct rlimit old, little;
	struct ends e = ends_open();

	getrlimit(RLIMIT_AS, &old);
	for (int i = 0; i < 40 && !MEMORY_IS_THEIRS; i++) {
		little = old;
		little.rlim_cur = address_space() + (rlim_t)i * 65536;
		setrlimit(RLIMIT_AS, &little);
		connect_without_memory(listener, &address);
		setrlimit(RLIMIT_AS, &old);
	}
	/* Existing connections continue, and new ones can be made. */
	CHECK(say(e.a, "old") && expect(e.b, "old"));
	ends_close(&e);
	e = ends_open();
	CHECK(say(e.a, "new") && expect(e.b, "new"));
	ends_close(&e);
	close(listener);
}

/* As a user who may lock no memory: in a guest the kernel's device reports that. */
static void case_memory_not_locked(void)
{
	struct rlimit old, none;

	getrlimit(RLIMIT_MEMLOCK, &old);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &none);
	struct ends e = ends_open();
	CHECK(say(e.a, "not locked") && expect(e.b, "not locked"));
	ends_close(&e);
	setrlimit(RLIMIT_MEMLOCK, &old);
}

/* A program with few descriptors, run in its own process. */
static void part_few_descriptors(void)
{
	struct ends e = ends_open();

	CHECK(over_rdma == !is_of_kernel(e.a));
	CHECK(say(e.a, "few") && expect(e.b, "few"));
	ends_close(&e);
}

static void case_few_descriptors(void)
{
	struct rlimit few;
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		getrlimit(RLIMIT_NOFILE, &few);
		few.rlim_cur = FEW;
		setrlimit(RLIMIT_NOFILE, &few);
		execl("/proc/self/exe", "sockets", "few_descriptors_by_itself", NULL);
		_exit(99);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* ---- processes ---- */

static int options_fd;

static int child_status(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Starting programs leaves the sockets unchanged. */
static void case_spawn(void)
{
	struct ends e = ends_open();
	char *arguments[] = { (char[]){ "true" }, NULL };
	extern char **environ;
	pid_t pid;

	CHECK(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) == 0);
	CHECK(child_status(pid) == 0);
	pid = vfork();
	if (pid == 0) {
		/* The child's changes of descriptors do not affect the parent. */
		dup2(e.a, STDIN_FILENO);
		close(e.a);
		close(e.b);
		execvp("true", arguments);
		_exit(9);
	}
	CHECK(child_status(pid) == 0);
	CHECK(system("true") == 0);
	CHECK(say(e.a, "after") && expect(e.b, "after"));
	ends_close(&e);
}

/* End a child; a failed CHECK() in it counts. */
static void child_end(void)
{
	_exit(failed);
}

/* A server that forks for each connection, and closes it. */
static void case_fork_after_accept(void)
{
	struct ends e = ends_open();
	struct sockaddr_in name, own;
	socklen_t size = sizeof(name);
	pid_t pid = fork();

	if (pid == 0) {
		close(e.listener);
		close(e.a);
		CHECK(getpeername(e.b, (struct sockaddr *)&name, &size) == 0);
		CHECK(name.sin_family == AF_INET && name.sin_port);
		CHECK(getsockname(e.b, (struct sockaddr *)&own, &size) == 0);
		CHECK(own.sin_port == e.address.sin_port);
		CHECK(setsockopt(e.b, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)) == 0);
		CHECK(expect(e.b, "to the child"));
		CHECK(say(e.b, "from the child"));
		/* Half closed, both ways. */
		CHECK(is_at_end(e.b));
		CHECK(say(e.b, "more") && shutdown(e.b, SHUT_WR) == 0);
		child_end();
	}
	close(e.b);
	CHECK(say(e.a, "to the child") && expect(e.a, "from the child"));
	CHECK(shutdown(e.a, SHUT_WR) == 0 && expect(e.a, "more") && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* Set options, which concern the library's own thread. */
static void *options_set(void *arg)
{
	int on = 1;

	while (!atomic_load((atomic_bool *)arg))
		setsockopt(options_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	return NULL;
}

/* A child finds no lock taken, whatever threads of its parent were doing. */
static void case_fork_while_busy(void)
{
	struct ends e = ends_open();
	atomic_bool over = false;
	pthread_t other;

	options_fd = e.a;
	pthread_create(&other, NULL, options_set, &over);
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

			alarm(20);
			_exit(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ? 1 : 0);
		}
		CHECK(child_status(pid) == 0);
	}
	atomic_store(&over, true);
	pthread_join(other, NULL);
	ends_close(&e);
}

/* Workers accept from their parent's listener, each with an epoll. */
static void case_fork_workers(void)
{
	struct sockaddr_in address, name;
	int listener = listener_open(&address), fd;
	socklen_t size = sizeof(name);
	pid_t workers[2];

	CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
	for (unsigned int i = 0; i < SIZE(workers); i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			struct epoll_event event = { .events = EPOLLIN };
			int epoll = epoll_create1(0);

			CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
			for (;;) {
				CHECK(events_of(epoll, -1) == EPOLLIN);
				fd = accept4(listener, (struct sockaddr *)&name, &size,
					     SOCK_CLOEXEC);
				if (fd < 0) {
					CHECK(errno == EAGAIN);
					continue;
				}
				CHECK(name.sin_family == AF_INET &&
				      !(fcntl(fd, F_GETFL) & O_NONBLOCK));
				CHECK(expect(fd, "?") && say(fd, "!") && is_at_end(fd));
				close(fd);
			}
		}
	}
	for (int i = 0; i < 20; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(say(fd, "?") && expect(fd, "!"));
		CHECK(shutdown(fd, SHUT_WR) == 0 && is_at_end(fd));
		close(fd);
	}
	for (unsigned int i = 0; i < SIZE(workers); i++) {
		kill(workers[i], SIGKILL);
		CHECK(child_status(workers[i]) == SIGKILL);
	}
	/* The listener belongs to the parent only again. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(fd, (struct sockaddr *)&address, sizeof(address));
	CHECK(becomes(listener, POLLIN, 10000));
	close(fd);
	close(listener);
}

/* After a worker was killed, the next client goes to the parent or to the next worker. */
static void case_fork_worker_killed(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address);

	for (int round = 0; round < 30; round++) {
		pid_t worker = fork();
		int fd, mine;

		if (worker == 0) {
			fd = accept(listener, NULL, NULL);
			CHECK(fd >= 0 && say(fd, "!"));
			if (failed)
				_exit(9);
			pause();
		}
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(expect(fd, "!"));
		kill(worker, SIGKILL);
		CHECK(child_status(worker) == SIGKILL);
		close(fd);
		if (failed)
			break;
		if (round % 2)
			continue;
		mine = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(mine, (struct sockaddr *)&address, sizeof(address)) == 0);
		CHECK(becomes(listener, POLLIN, 10000));
		if (failed)
			break;
		close(accept(listener, NULL, NULL));
		close(mine);
	}
	close(listener);
}

/* A program with the connection as its stdin and stdout. */
static void case_fork_exec(void)
{
	struct ends e = ends_open();
	pid_t pid = fork();

	if (pid == 0) {
		dup2(e.b, STDIN_FILENO);
		dup2(e.b, STDOUT_FILENO);
		execlp("cat", "cat", NULL);
		_exit(9);
	}
	close(e.b);
	CHECK(say(e.a, "through a cat") && expect(e.a, "through a cat"));
	CHECK(shutdown(e.a, SHUT_WR) == 0 && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* A child that uses none of its sockets leaves them to its parent. A child that is killed ends
 * its sockets. */
static void case_fork_and_end(void)
{
	struct ends e = ends_open();
	pid_t pid = fork();

	if (pid == 0) {
		close(e.a);
		close(e.b);
		child_end();
	}
	CHECK(child_status(pid) == 0);
	CHECK(say(e.a, "mine") && expect(e.b, "mine") && is_quiet(e.b));
	pid = fork();
	if (pid == 0) {
		close(e.a);
		CHECK(say(e.b, "killed soon"));
		pause();
	}
	close(e.b);
	CHECK(expect(e.a, "killed soon"));
	kill(pid, SIGKILL);
	CHECK(child_status(pid) == SIGKILL && is_at_end(e.a));
	close(e.a);
	/* The stream ends when the last process closes it. */
	e.a = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(e.a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	e.b = accept(e.listener, NULL, NULL);
	pid = fork();
	if (pid == 0) {
		close(e.a);
		CHECK(expect(e.b, "x"));
		child_end();
	}
	close(e.b);
	CHECK(say(e.a, "x") && is_at_end(e.a));
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* The client goes while a child writes to it. */
static void case_fork_peer_gone(void)
{
	struct ends e = ends_open();
	static char much[65536];
	pid_t pid = fork();

	if (pid == 0) {
		close(e.a);
		while (send(e.b, much, sizeof(much), MSG_NOSIGNAL) > 0)
			;
		CHECK(errno == EPIPE || errno == ECONNRESET);
		child_end();
	}
	close(e.b);
	CHECK(recv(e.a, much, sizeof(much), MSG_WAITALL) == sizeof(much));
	close(e.a);
	CHECK(child_status(pid) == 0);
	close(e.listener);
}

/* Check that so many bytes arrive, each with the value of its place, and then none until the
 * sender ends. */
#define MANY (8 << 20)

static uint8_t byte_at(size_t place)
{
	return (place * 2654435761u) >> 16;
}

static void *many_receive(void *arg)
{
	int fd = *(int *)arg;
	size_t place = 0;
	bool right = true;

	while (place < MANY) {
		uint8_t bytes[32768];
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			right &= bytes[i] == byte_at(place + i);
		place += n;
	}
	CHECK(place == MANY);
	return right ? arg : NULL;
}

static bool many_send(int fd)
{
	uint8_t bytes[20000];
	size_t place = 0;

	while (place < MANY) {
		size_t size = MANY - place < sizeof(bytes) ? MANY - place : sizeof(bytes);
		ssize_t n;

		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(place + i);
		n = send(fd, bytes, size, 0);
		if (n <= 0)
			return false;
		place += n;
	}
	return true;
}

static pid_t many_send_by_child(int fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(many_send(fd));
		child_end();
	}
	return pid;
}

/* Children send at both ends, while their parent receives at both. */
static void case_fork_twice(void)
{
	struct ends e = ends_open();
	pid_t of_a = many_send_by_child(e.a), of_b = many_send_by_child(e.b);
	pthread_t threads[2];
	void *right;

	pthread_create(&threads[0], NULL, many_receive, &e.a);
	pthread_create(&threads[1], NULL, many_receive, &e.b);
	for (unsigned int i = 0; i < SIZE(threads); i++) {
		pthread_join(threads[i], &right);
		CHECK(right);
	}
	CHECK(child_status(of_a) == 0 && child_status(of_b) == 0);
	CHECK(say(e.a, "there") && expect(e.b, "there"));
	CHECK(say(e.b, "back") && expect(e.a, "back"));
	ends_close(&e);
}

static void *many_send_and_end(void *arg)
{
	int fd = *(int *)arg;

	CHECK(many_send(fd));
	CHECK(shutdown(fd, SHUT_WR) == 0);
	return NULL;
}

/* A program with the connection as its stdin and stdout gives back all that it got, to the end. */
static void case_fork_much(void)
{
	struct ends e = ends_open();
	pthread_t sender;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(e.b, STDIN_FILENO);
		dup2(e.b, STDOUT_FILENO);
		execlp("cat", "cat", NULL);
		_exit(9);
	}
	close(e.b);
	CHECK(pthread_create(&sender, NULL, many_send_and_end, &e.a) == 0);
	CHECK(many_receive(&e.a) && is_at_end(e.a));
	pthread_join(sender, NULL);
	CHECK(child_status(pid) == 0);
	close(e.a);
	close(e.listener);
}

/* ---- datagrams ---- */

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
		CHECK(becomes(a, POLLIN, 10000));
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

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "fdopen", case_fdopen },
	{ "standard_output", case_standard_output },
	{ "sendfile", case_sendfile },
	{ "splice", case_splice },
	{ "many_messages", case_many_messages },
	{ "duplicates", case_duplicates },
	{ "dup2_at_once", case_dup2_at_once },
	{ "dup2_of_none", case_dup2_of_none },
	{ "copies_of_listener", case_copies_of_listener },
	{ "close_range", case_close_range },
	{ "flags", case_flags },
	{ "thrown_away", case_thrown_away },
	{ "times", case_times },
	{ "refused", case_refused },
	{ "bind_again", case_bind_again },
	{ "listen_again", case_listen_again },
	{ "shutdown", case_shutdown },
	{ "poll", case_poll },
	{ "select", case_select },
	{ "wrong_times", case_wrong_times },
	{ "poll_normal", case_poll_normal },
	{ "epoll", case_epoll },
	{ "signals", case_signals },
	{ "signals_more", case_signals_more },
	{ "signals_and_times", case_signals_and_times },
	{ "signals_resumed", case_signals_resumed },
	{ "signals_of_second", case_signals_of_second },
	{ "signals_behind_another", case_signals_behind_another },
	{ "threads", case_threads },
	{ "close_under", case_close_under },
	{ "close_under_each", case_close_under_each },
	{ "close_under_accept", case_close_under_accept },
	{ "cancelled_each", case_cancelled_each },
	{ "stopped_peer", case_stopped_peer },
	{ "stopped_peer_closed", case_stopped_peer_closed },
	{ "echo_by_itself", part_echo },
	{ "numbers", case_numbers },
	{ "descriptors_spent", case_descriptors_spent },
	{ "few_descriptors", case_few_descriptors },
	{ "few_and_fewer", case_few_and_fewer },
	{ "accept_without_descriptors", case_accept_without_descriptors },
	{ "accept_after_descriptors", case_accept_after_descriptors },
	{ "memory_spent", case_memory_spent },
	{ "memory_not_locked", case_memory_not_locked },
	{ "end_without_descriptors", case_end_without_descriptors },
	{ "spawn", case_spawn },
	{ "fork_after_accept", case_fork_after_accept },
	{ "fork_workers", case_fork_workers },
	{ "fork_worker_killed", case_fork_worker_killed },
	{ "fork_while_busy", case_fork_while_busy },
	{ "fork_exec", case_fork_exec },
	{ "fork_and_end", case_fork_and_end },
	{ "fork_peer_gone", case_fork_peer_gone },
	{ "fork_twice", case_fork_twice },
	{ "fork_much", case_fork_much },
	{ "datagrams", case_datagrams },
	{ "few_descriptors_by_itself", part_few_descriptors },
};

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2 && !strstr(name, "_by_itself");
}

int main(int argc, char **argv)
{
	bool any = false;

	over_rdma = getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "librspreload");
	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < SIZE(cases); i++) {
		if (!is_wanted(cases[i].name, argc, argv))
			continue;
		failed = false;
		skipped = NULL;
		alarm(120);
		cases[i].run();
		if (skipped)
			printf("%s: skipped: %s\n", cases[i].name, skipped);
		else
			printf("%s: %s\n", cases[i].name, failed ? "FAILED" : "passed");
		fflush(stdout);
		any |= failed;
	}
	return any;
}
