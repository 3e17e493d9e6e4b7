/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A kernel's device is unplugged with connections, a listener and an address on it: each
 * identifier gets an event, and can be destroyed. usage: cm_removal COMMAND-THAT-REMOVES */
#include "tests/lib/rt_cm.h"

static void expect_removal(struct rdma_event_channel *events, struct rdma_cm_id *ids[], int count)
{
	for (int left = count; left; left--) {
		struct rdma_cm_event *event;
		int i = 0;

		do {
			CHECK_OK(rdma_get_cm_event(events, &event));
			if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
				break;
			/* the connection may end before the identifier gets the reason */
			CHECK_INT(event->event, RDMA_CM_EVENT_DISCONNECTED);
			CHECK_OK(rdma_ack_cm_event(event));
		} while (true);
		while (i < count && ids[i] != event->id)
			i++;
		CHECK(i < count);
		ids[i] = NULL;
		CHECK_OK(rdma_ack_cm_event(event));
	}
}

static const char *remove_command;

static void removal(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(servers, RDMA_PS_TCP, false), *client, *server;
	struct rdma_cm_id *resolved;

	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	resolved = rt_cm_client(clients, RDMA_PS_TCP, 7, false);
	CHECK_OK(system(remove_command));
	expect_removal(clients, (struct rdma_cm_id *[]){ client, resolved }, 2);
	expect_removal(servers, (struct rdma_cm_id *[]){ listener, server }, 2);
	rt_cm_destroy(client);
	rt_cm_destroy(server);
	rt_cm_destroy(resolved);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

static const struct rt_case cases[] = {
	{ "the device goes away", removal },
};

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	remove_command = argv[1];
	return rt_main(cases, RT_COUNT(cases));
}
