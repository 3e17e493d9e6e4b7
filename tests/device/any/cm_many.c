/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many connections, at once and one after the other, without any leak. CM_OPEN and CM_CYCLES
 * give other numbers than those that a test run has time for. */
#include <malloc.h>

#include "tests/lib/rt_cm.h"

/* Descriptors that uroce opens to keep the numbers of former QPs unused for a while. */
#define NUMBER_BLOCKS 15

struct two {
	struct rdma_event_channel *client_events, *server_events;
	struct rdma_cm_id *listener;
	uint16_t port;
};

/* The number of the allocator's mappings changes by itself; the race detector's changes more. */
#ifdef __SANITIZE_THREAD__
#define ALLOCATOR_MAPPINGS 25
#else
#define ALLOCATOR_MAPPINGS 2
#endif

static struct two two_open(void)
{
	struct two t = { .client_events = rt_cm_channel(), .server_events = rt_cm_channel() };

	t.listener = rt_cm_listen(t.server_events, RDMA_PS_TCP, false);
	t.port = rt_cm_port(t.listener);
	return t;
}

static void two_close(struct two *t)
{
	CHECK_OK(rdma_destroy_id(t->listener));
	rdma_destroy_event_channel(t->client_events);
	rdma_destroy_event_channel(t->server_events);
}

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);

	if (text)
		return atoi(text);
	/* The kernel's manager is emulated here, and other tests cover it. */
	return rt_cm_is_kernel() ? otherwise / 20 : otherwise;
}

static void open_at_once(void)
{
	int count = number("CM_OPEN", 200);
	struct rdma_cm_id **clients = calloc(count, sizeof(*clients)),
			  **servers = calloc(count, sizeof(*servers));
	struct two t = two_open();

	for (int i = 0; i < count; i++)
		clients[i] = rt_cm_connect(t.client_events, t.port, t.server_events, &servers[i]);
	for (int i = 0; i < count; i++)
		for (int j = i + 1; j < i + 5 && j < count; j++)
			CHECK(clients[i]->qp->qp_num != clients[j]->qp->qp_num);
	for (int i = 0; i < count; i++)
		rt_cm_disconnect(clients[i], servers[i]);
	two_close(&t);
	free(clients);
	free(servers);
}

/* All requests are under way before the first answer. */
static void connect_at_once(void)
{
	int count = number("CM_OPEN", 200), established = 0, disconnected = 0;
	struct rdma_cm_id **clients = calloc(count, sizeof(*clients)),
			  **servers = calloc(count, sizeof(*servers));
	struct two t = two_open();
	struct rdma_cm_event *event;

	for (int i = 0; i < count; i++)
		clients[i] = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true);
	for (int i = 0; i < count; i++)
		CHECK_OK(rdma_connect(clients[i], NULL));
	for (int i = 0; i < count; i++) {
		do {
			CHECK_OK(rdma_get_cm_event(t.server_events, &event));
			established += event->event == RDMA_CM_EVENT_ESTABLISHED;
			servers[i] =
				event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
			CHECK_OK(rdma_ack_cm_event(event));
		} while (!servers[i]);
		rt_cm_qp(servers[i]);
		CHECK_OK(rdma_accept(servers[i], NULL));
	}
	for (int i = 0; i < count; i++)
		CM_TAKE(t.client_events, ESTABLISHED, 0);
	for (; established < count; established++)
		CM_TAKE(t.server_events, ESTABLISHED, 0);
	for (int i = 0; i < count; i++)
		CHECK_OK(rdma_disconnect(clients[i]));
	for (; disconnected < count; disconnected++) {
		event = CM_EXPECT(t.server_events, DISCONNECTED, 0);
		CHECK_OK(rdma_disconnect(event->id));
		CHECK_OK(rdma_ack_cm_event(event));
	}
	for (int i = 0; i < count; i++)
		CM_TAKE(t.client_events, DISCONNECTED, 0);
	for (int i = 0; i < count; i++) {
		rt_cm_destroy(clients[i]);
		rt_cm_destroy(servers[i]);
	}
	two_close(&t);
	free(clients);
	free(servers);
}

static void cycle(struct two *t, int count)
{
	for (int i = 0; i < count; i++) {
		struct rdma_cm_id *server, *client = rt_cm_connect(t->client_events, t->port,
								   t->server_events, &server);

		rt_cm_disconnect(client, server);
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

/* The first cycles allocate memory that is allocated only once. By then the time wait of earlier
 * connections has ended; this waits for the end of the last one. */
static void cycles(void)
{
	int count = number("CM_CYCLES", 500), patience = 60;
	struct two t = two_open();
	struct rt_use before, after;
	long long grown;
	size_t memory;

	cycle(&t, count / 2);
	sleep(1);
	before = rt_use();
	memory = memory_used();
	cycle(&t, count);
	do {
		sleep(1);
		after = rt_use();
		grown = memory_used() - memory;
	} while (grown > count * 64LL && patience--);
	printf("  %d connections after %d: %+d descriptors, %+d mappings, %+lld bytes in use\n",
	       count, count / 2, after.descriptors - before.descriptors,
	       after.mappings - before.mappings, grown);
	CHECK(after.descriptors <= before.descriptors + NUMBER_BLOCKS);
	CHECK(after.mappings <= before.mappings + ALLOCATOR_MAPPINGS);
	CHECK(grown <= count * 64LL);
	two_close(&t);
}

static const struct rt_case cases[] = {
	{ "open at once", open_at_once },
	{ "connect at once", connect_at_once },
	{ "cycles", cycles },
};
RT_MAIN(cases)
