/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A kernel's device beside the user-space device, on one channel: the device under test, and
 * uroce on lo if UROCE names it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "tests/lib/rt_cm.h"

/* Return the context of the device that leads to the address. A loopback address that is only bound
 * has no context. */
static struct ibv_context *device_at(struct rdma_event_channel *channel, const char *text)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct ibv_context *verbs;

	CHECK_INT(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 60000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	verbs = id->verbs;
	CHECK_OK(rdma_destroy_id(id));
	return verbs;
}

static bool both_there(struct rdma_event_channel *channel)
{
	struct sockaddr_storage addr = rt_cm_address(0);
	char text[INET6_ADDRSTRLEN] = "";
	struct ibv_context *kernel, *user = device_at(channel, "127.0.0.1");

	if (addr.ss_family != AF_INET)
		return false;
	inet_ntop(AF_INET, &((struct sockaddr_in *)&addr)->sin_addr, text, sizeof(text));
	kernel = device_at(channel, text);
	return user && kernel && user != kernel;
}

/* Both listen on one port; a backend that does not have the host's RoCE port does not hinder the
 * other. */
static void wildcard(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct rdma_cm_id *listener, *client, *server;
	struct pollfd idle = { .fd = servers->fd, .events = POLLIN };

	if (!both_there(clients))
		FAIL("there are not two kinds of devices");
	listener = rt_cm_listen(servers, RDMA_PS_TCP, true);
	CHECK(!listener->verbs && rt_cm_port(listener));
	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	CHECK(server->verbs == client->verbs);
	CHECK_INT(poll(&idle, 1, 0), 0);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

/* Without blocking, the epoll of both backends reports that there is no event, and later that
 * there is one. */
static void nonblocking(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage addr = rt_cm_address(7);
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct pollfd ready = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	CHECK_OK(fcntl(channel->fd, F_SETFL, O_RDWR | O_NONBLOCK));
	CHECK_INT(rdma_get_cm_event(channel, &event), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 60000));
	CHECK_INT(poll(&ready, 1, 60000), 1);
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	CHECK_INT(rdma_get_cm_event(channel, &event), -1);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void resolves(struct rdma_event_channel *channel, struct sockaddr *addr)
{
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);

	CHECK(!id->verbs);
	CHECK_OK(rdma_resolve_addr(id, NULL, addr, 60000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	CHECK(id->verbs);
	CHECK_OK(rdma_destroy_id(id));
}

static void addresses(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_in user = { .sin_family = AF_INET,
				    .sin_port = htons(7),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage kernel = rt_cm_address(7);
	int count;

	rdma_free_devices(rdma_get_devices(&count));
	CHECK(count >= 2);
	for (int i = 0; i < 2; i++) {
		resolves(channel, (struct sockaddr *)&user);
		resolves(channel, (struct sockaddr *)&kernel);
	}
	rdma_destroy_event_channel(channel);
}

static const struct rt_case cases[] = {
	{ "a wildcard listens on both", wildcard },
	{ "not blocking", nonblocking },
	{ "an address chooses", addresses },
};
RT_MAIN(cases)
