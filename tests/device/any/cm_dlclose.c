/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that loads librdmacm and unloads it while connections are open, as plug-ins do. The
 * program itself does not link the library. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <sys/wait.h>

#include <rdma/rdma_cma.h>

#include "tests/lib/rt.h"

#define LIBRARY "librdmacm.so.1"

static void *call(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address)
		FAIL("%s", dlerror());
	return address;
}

static void *library_open(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		FAIL("%s", dlerror());
	return library;
}

static struct rdma_event_channel *channel_create(void *library)
{
	struct rdma_event_channel *(*create)(void) = call(library, "rdma_create_event_channel");
	struct rdma_event_channel *channel = create();

	if (!channel)
		rt_skip("no connection manager: %m");
	return channel;
}

static struct rdma_cm_id *id_create(void *library, struct rdma_event_channel *channel)
{
	__typeof__(rdma_create_id) *create = call(library, "rdma_create_id");
	struct rdma_cm_id *id;

	CHECK_OK(create(channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

static struct rdma_cm_id *listen_any(void *library, struct rdma_event_channel *channel)
{
	__typeof__(rdma_listen) *listen = call(library, "rdma_listen");
	struct rdma_cm_id *id = id_create(library, channel);

	CHECK_OK(listen(id, 4));
	return id;
}

static struct sockaddr_in6 device_address(uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct rt_dev *dev = rt_open();

	memcpy(&in6.sin6_addr, dev->gid.raw, 16);
	rt_close(dev);
	return in6;
}

/* Convert an IPv4-mapped IPv6 address: it cannot be connected to. */
static struct sockaddr_storage plain_address(const struct sockaddr_in6 *in6)
{
	struct sockaddr_storage address = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&address;

	if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&address, in6, sizeof(*in6));
		return address;
	}
	in->sin_family = AF_INET;
	in->sin_port = in6->sin6_port;
	memcpy(&in->sin_addr, in6->sin6_addr.s6_addr + 12, 4);
	return address;
}

static void expect(void *library, struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	__typeof__(rdma_get_cm_event) *get = call(library, "rdma_get_cm_event");
	__typeof__(rdma_ack_cm_event) *ack = call(library, "rdma_ack_cm_event");
	struct rdma_cm_event *event;

	CHECK_OK(get(channel, &event));
	CHECK_INT(event->event, type);
	CHECK_OK(ack(event));
}

/* Let another process ask for a connection. */
static void ask(uint16_t port)
{
	struct sockaddr_in6 in6 = device_address(port);
	struct sockaddr_storage address = plain_address(&in6);
	struct rdma_conn_param param = { .qp_num = 0x123456 };
	void *library = library_open();
	struct rdma_event_channel *channel = channel_create(library);
	struct rdma_cm_id *id = id_create(library, channel);
	__typeof__(rdma_resolve_addr) *resolve = call(library, "rdma_resolve_addr");
	__typeof__(rdma_resolve_route) *route = call(library, "rdma_resolve_route");
	__typeof__(rdma_connect) *connect = call(library, "rdma_connect");

	CHECK_OK(resolve(id, NULL, (struct sockaddr *)&address, 60000));
	expect(library, channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK_OK(route(id, 60000));
	expect(library, channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK_OK(connect(id, &param));
}

/* A request arrives while the library is closed. It is there when the library is opened again. */
static void closed_while_listening(void)
{
	int to_child[2], status;
	void *library;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct pollfd request;
	uint16_t port;
	pid_t child;

	CHECK_OK(pipe(to_child));
	child = fork(); /* before the library is used, because children cannot use its state */
	CHECK(child >= 0);
	if (!child) {
		close(to_child[1]);
		CHECK_INT(read(to_child[0], &port, sizeof(port)), sizeof(port));
		ask(port);
		CHECK_INT(read(to_child[0], &port, 1), 0); /* until the parent has the request */
		_exit(0);
	}
	library = library_open();
	channel = channel_create(library);
	listener = listen_any(library, channel);
	port = ntohs(((struct sockaddr_in *)&listener->route.addr.src_addr)->sin_port);
	CHECK_OK(dlclose(library));
	CHECK_INT(write(to_child[1], &port, sizeof(port)), sizeof(port));
	request = (struct pollfd){ .fd = channel->fd, .events = POLLIN };
	CHECK_INT(poll(&request, 1, 60000), 1);
	library = library_open();
	expect(library, channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK_OK(dlclose(library));
	close(to_child[1]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	close(to_child[0]);
}

/* The handlers that the library registered for forks must stay valid. */
static void closed_and_forked(void)
{
	void *library = library_open();
	int status;
	pid_t child;

	listen_any(library, channel_create(library));
	CHECK_OK(dlclose(library));
	child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

/* Open and close many times: no resource is lost. */
static void again_and_again(void)
{
	for (int i = 0; i < 100; i++) {
		void *library = library_open();
		__typeof__(rdma_destroy_event_channel) *destroy =
			call(library, "rdma_destroy_event_channel");

		destroy(channel_create(library));
		CHECK_OK(dlclose(library));
	}
}

static const struct rt_case cases[] = {
	{ "closed while it listens", closed_while_listening },
	{ "closed, and a fork", closed_and_forked },
	{ "opened and closed", again_and_again },
};
RT_MAIN(cases)
