/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets of a process that has no free descriptors or no memory. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

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
	CHECK(becomes(e.listener, POLLIN));
	spent = descriptors_spend();
	CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, 0), EMFILE);
	b = accept(e.listener, NULL, NULL);
	CHECK(b >= 0 ? is_over_rdma() : errno == EMFILE); /* it may have been accepted before */
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

/* A socket that is connected to itself: uroce keeps up to 16 of them, for numbers that peers know.
 */
static bool is_connected_to_itself(int fd)
{
	struct sockaddr_in own = {}, peer = {};
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);

	return !syscall(SYS_getsockname, fd, &own, &own_size) &&
	       !syscall(SYS_getpeername, fd, &peer, &peer_size) && own.sin_family == AF_INET &&
	       !memcmp(&own, &peer, sizeof(own));
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0 && !is_connected_to_itself(fd);
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
		CHECK(r == 0 || (is_over_rdma() && errno == EMFILE));
		CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		CHECK(fd >= 0 || errno == EMFILE);
		r = fd < 0 ? 0 : connect(fd, (struct sockaddr *)&address, sizeof(address));
		/* With too few descriptors to accept, the connection waits. */
		CHECK(r == 0 || errno == EINPROGRESS || (is_over_rdma() && errno == EMFILE));
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
		CHECK(r == 5 || (is_over_rdma() && errno == EMFILE));
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

	setenv("SOCKET_CASES_AGAIN", "1", 1);
	pid = echo_start(&e);
	unsetenv("SOCKET_CASES_AGAIN");
	spent = descriptors_spend();
	CHECK(say(e.a, "again"));
	CHECK(becomes(e.listener, POLLIN));
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EMFILE);
	CHECK_ERRNO(accept(e.listener, NULL, NULL), EMFILE);
	descriptors_return(&spent);
	e.b = accept(e.listener, NULL, NULL);
	CHECK(e.b >= 0 && expect(e.b, "ready"));
	CHECK(shutdown(e.b, SHUT_WR) == 0 && is_at_end(e.b));
	CHECK(child_status(pid) == 0);
	ends_close(&e);
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* When descriptors are free again, the listener stops reporting the error. It is readable as
 * long as a client waits. */
static void case_accept_after_descriptors(void)
{
	struct spent spent;
	pid_t pid, other;
	int queued;
	struct ends e;

	setenv("SOCKET_CASES_AGAIN", "1", 1);
	pid = echo_start(&e);
	unsetenv("SOCKET_CASES_AGAIN");
	other = echo_fork(&e);
	CHECK(becomes(e.listener, POLLIN));
	spent = descriptors_spend();
	CHECK(say(e.a, "again"));
	usleep(500000); /* the client comes, and there is no descriptor for it */
	descriptors_return(&spent);
	queued = accept(e.listener, NULL, NULL);
	usleep(200000); /* now there is one */
	e.b = accept(e.listener, NULL, NULL);
	CHECK(queued >= 0 && expect(queued, "ready") && e.b >= 0 && expect(e.b, "ready"));
	CHECK(!is_readable(e.listener));
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
		CHECK(is_over_rdma() && (errno == ECONNREFUSED || errno == ENOMEM));
	} else if (becomes(listener, POLLIN)) {
		b = accept(listener, NULL, NULL);
		CHECK(b >= 0 && say(a, "little") && expect(b, "little"));
		close(b);
	} else {
		CHECK(is_over_rdma() && is_at_end(a));
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

	CHECK(is_over_rdma() == !is_of_kernel(e.a));
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
		execl("/proc/self/exe", "socket_cases", "few_descriptors_by_itself", NULL);
		_exit(99);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

const struct case_row spent_cases[] = {
	{ "descriptors_spent", case_descriptors_spent },
	{ "few_descriptors", case_few_descriptors },
	{ "few_and_fewer", case_few_and_fewer },
	{ "accept_without_descriptors", case_accept_without_descriptors },
	{ "accept_after_descriptors", case_accept_after_descriptors },
	{ "memory_spent", case_memory_spent },
	{ "memory_not_locked", case_memory_not_locked },
	{ "end_without_descriptors", case_end_without_descriptors },
	{ "few_descriptors_by_itself", part_few_descriptors },
	{},
};
