/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user-space connection manager when the kernel refuses to watch another descriptor. */
#include <dlfcn.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "tests/lib/rt_cm.h"

#define FAILURES 500
#define FIRST	 10 /* failure after which no further memory stays allocated */

/* Number of the next descriptor of the manager that is not watched; 0: all are. */
static int failing;

static bool is_managers(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "librdmacm");
}

/* The libraries call this function instead of the C library's. */
__attribute__((visibility("default"))) int epoll_ctl(int epoll, int op, int fd,
						     struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && failing && is_managers(__builtin_return_address(0)) &&
	    --failing == 0) {
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

/* Return the number that the next descriptor gets. */
static int number_next(void)
{
	int number = dup(STDIN_FILENO);

	CHECK_OK(close(number));
	return number;
}

/* Open an identifier, and the device, whose own descriptors are watched. */
static struct rdma_cm_id *id_open(struct rdma_event_channel *channel,
				  struct sockaddr_storage *ret_address)
{
	if (rt_cm_is_kernel())
		rt_skip("the kernel's connection manager watches no descriptors");
	*ret_address = rt_cm_address(0);
	return rt_cm_id(channel, RDMA_PS_TCP);
}

static void connect_once(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(servers, RDMA_PS_TCP, false), *client, *server;

	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
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

/* Each failure is reported, and leaves neither memory nor a descriptor behind. */
static void refused_for_a_while(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage address;
	struct rdma_cm_id *id = id_open(channel, &address);
	size_t before = 0;
	int number = -1;

	for (int i = 0; i < FAILURES; i++) {
		failing = i < 3 ? i + 1 : 1; /* for the thread, then for the device */
		REFUSED(rdma_bind_addr(id, (struct sockaddr *)&address), ENOSPC);
		if (i == FIRST) {
			before = memory_used();
			number = number_next();
		}
	}
	CHECK(memory_used() < before + FAILURES);
	CHECK_INT(number_next(), number);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	connect_once();
}

static const struct rt_case cases[] = {
	{ "refused_for_a_while", refused_for_a_while },
};
RT_MAIN(cases)
