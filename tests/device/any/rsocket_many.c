/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many streams over RDMA: RS_OPEN at once in one epoll, fewer if memory is short, and RS_CYCLES
 * one after another. */
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

/* Descriptors that uroce opens to keep the numbers of former QPs unused for a while. */
#define NUMBER_BLOCKS 15

#define LONG_MS	      60000
#define CONNECTION_KB 2048 /* of both ends, including the kernel's */
/* The allocator makes at most one further mapping for this number of connections. ThreadSanitizer
 * adds mappings, because it maps its shadow of freed shared pages again. */
#ifdef __SANITIZE_THREAD__
#define ALLOCATOR_SHARE 4
#else
#define ALLOCATOR_SHARE 16
#endif

/* On a kernel's device, the CPU time of an emulated machine limits the number of connections.
 * With soft-RoCE some kernels read a message a second time, if its queue pair enters the error
 * state at the moment of its completion, and warn of that in their log. */
static int on_kernel(int usual, int share)
{
	return rt_cm_is_kernel() ? usual / share : usual;
}

static int number(const char *name, int usual)
{
	const char *text = getenv(name);

	return text ? atoi(text) : usual;
}

/* Return a number of connections that leaves the machine enough memory. */
static int connections_fit(int wanted)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long kb = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lld kB", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb && kb / CONNECTION_KB < wanted ? (int)(kb / CONNECTION_KB) : wanted;
}

/* Raise the limit of descriptors, because each socket has some. */
static void limit_raise(void)
{
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
}

static void byte_move(int from, int to)
{
	char byte;

	CHECK_INT(rsend(from, "x", 1, 0), 1);
	CHECK_INT(rrecv(to, &byte, 1, 0), 1);
}

struct ends {
	int here, there;
};

static struct ends ends_make(int listening, uint16_t port)
{
	struct ends ends = { .there = rt_rs_client(port) };

	ends.here = raccept(listening, NULL, NULL);
	CHECK(ends.here >= 0);
	return ends;
}

static void ends_close(const struct ends *ends)
{
	CHECK_OK(rclose(ends->there));
	CHECK_OK(rclose(ends->here));
}

/* Every 37th socket sends, and only these have events; then all send. */
static void one_epoll(void)
{
	int count = connections_fit(number("RS_OPEN", 1000)), listening, heard = 0, n;
	int epfd = repoll_create(0);
	struct ends *ends = calloc(count, sizeof(*ends));
	struct epoll_event events[64];
	uint16_t port;

	printf("  %d connections\n", count);
	limit_raise();
	listening = rt_rs_listener(&port);
	CHECK(ends && epfd >= 0);
	for (int i = 0; i < count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		ends[i] = ends_make(listening, port);
		CHECK_OK(repoll_ctl(epfd, EPOLL_CTL_ADD, ends[i].here, &event));
	}
	CHECK_INT(repoll_wait(epfd, events, 64, 0), 0);
	for (int i = 0; i < count; i += 37) {
		char byte;

		CHECK_INT(rsend(ends[i].there, "x", 1, 0), 1);
		CHECK_INT(repoll_wait(epfd, events, 64, LONG_MS), 1);
		CHECK_INT(events[0].data.u32, i);
		CHECK_INT(events[0].events, EPOLLIN);
		CHECK_INT(rrecv(ends[i].here, &byte, 1, 0), 1);
	}
	for (int i = 0; i < count; i++)
		CHECK_INT(rsend(ends[i].there, "x", 1, 0), 1);
	while (heard < count) {
		n = repoll_wait(epfd, events, 64, LONG_MS);
		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			char byte;

			CHECK_INT(rrecv(ends[events[i].data.u32].here, &byte, 1, 0), 1);
			heard++;
		}
	}
	for (int i = 0; i < count; i++)
		ends_close(&ends[i]);
	CHECK_INT(repoll_wait(epfd, events, 64, 0), 0);
	CHECK_OK(rclose(epfd));
	CHECK_OK(rclose(listening));
	free(ends);
}

static void cycle(int listening, uint16_t port, int count)
{
	for (int i = 0; i < count; i++) {
		struct ends ends = ends_make(listening, port);

		byte_move(ends.there, ends.here);
		byte_move(ends.here, ends.there);
		if (i % 2) {
			CHECK_OK(rclose(ends.here));
			CHECK_OK(rclose(ends.there));
		} else {
			ends_close(&ends);
		}
	}
}

/* Return bytes, or 0 with a C library that does not report them. */
static size_t memory_used(void)
{
#ifdef __GLIBC__
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* The first cycles allocate memory that is allocated only once; the time wait of earlier
 * connections has ended by then. */
static void cycles(void)
{
	int count = number("RS_CYCLES", on_kernel(2000, 20)), listening;
	struct rt_use before, after;
	long long grown;
	size_t memory;
	uint16_t port;

	limit_raise();
	listening = rt_rs_listener(&port);
	cycle(listening, port, on_kernel(500, 20));
	sleep(1);
	before = rt_use();
	memory = memory_used();
	cycle(listening, port, count);
	sleep(1);
	after = rt_use();
	grown = memory_used() - memory;
	printf("  %d connections: %+d descriptors, %+d mappings, %+lld bytes in use\n", count,
	       after.descriptors - before.descriptors, after.mappings - before.mappings, grown);
	CHECK(after.descriptors <= before.descriptors + NUMBER_BLOCKS);
	CHECK(after.mappings <= before.mappings + count / ALLOCATOR_SHARE);
	CHECK(grown <= count * 64LL);
	CHECK_OK(rclose(listening));
}

/* ---- bursts ---- */

/* Begin all connects at once: none waits for another. */
static void burst_connect(int *fds, int count, uint16_t port)
{
	struct sockaddr_storage to = rt_cm_address(port);

	for (int i = 0; i < count; i++) {
		fds[i] = rsocket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		CHECK(fds[i] >= 0);
		if (rconnect(fds[i], (struct sockaddr *)&to, rt_rs_size(&to)) < 0)
			CHECK_INT(errno, EINPROGRESS);
	}
}

/* Close every second connection before the other end has accepted it. */
static void burst(int listening, uint16_t port, int count)
{
	int *there = calloc(count, sizeof(*there)), here, error;
	struct pollfd p = { .events = POLLOUT };
	socklen_t size = sizeof(error);

	CHECK(there);
	burst_connect(there, count, port);
	for (int i = 0; i < count; i++) {
		p.fd = there[i];
		CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
		CHECK_OK(rgetsockopt(there[i], SOL_SOCKET, SO_ERROR, &error, &size));
		CHECK_INT(error, 0);
		CHECK_INT(rsend(there[i], "x", 1, 0), 1);
		if (i % 2)
			CHECK_OK(rclose(there[i]));
	}
	for (int i = 0; i < count; i++) {
		char byte;

		here = raccept(listening, NULL, NULL);
		CHECK(here >= 0);
		CHECK_INT(rrecv(here, &byte, 1, 0), 1);
		CHECK_OK(rclose(here));
	}
	for (int i = 0; i < count; i += 2)
		CHECK_OK(rclose(there[i]));
	free(there);
}

/* Make RS_CONNECTS connections, RS_BURST at once. */
static void bursts(void)
{
	int count = number("RS_CONNECTS", on_kernel(500, 5));
	int size = number("RS_BURST", on_kernel(100, 5)), listening, done;
	struct rt_use before, after;
	long long grown;
	size_t memory;
	uint16_t port;

	size = connections_fit(size);
	limit_raise();
	listening = rt_rs_listener(&port);
	CHECK_OK(rlisten(listening, size));
	for (done = 0; done < 2 * size; done += size)
		burst(listening, port, size);
	sleep(1);
	before = rt_use();
	memory = memory_used();
	for (done = 0; done < count; done += size)
		burst(listening, port, size);
	sleep(1);
	after = rt_use();
	grown = memory_used() - memory;
	printf("  %d connections, %d at once: %+d descriptors, %+d mappings, %+lld bytes in use\n",
	       done, size, after.descriptors - before.descriptors, after.mappings - before.mappings,
	       grown);
	CHECK(after.descriptors <= before.descriptors + NUMBER_BLOCKS);
	CHECK(grown <= count * 64LL + size * 1024LL);
	CHECK_OK(rclose(listening));
}

static const struct rt_case cases[] = {
	{ "one_epoll", one_epoll },
	{ "cycles", cycles },
	{ "bursts", bursts },
};
RT_MAIN(cases)
