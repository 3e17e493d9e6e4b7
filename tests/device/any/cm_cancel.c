/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that is cancelled in any call of the library keeps no lock. An event that the thread did
 * not return is not lost. The cancellation is pending when the thread enters the call, so that the
 * first system call that is a cancellation point ends the thread. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>

#include "tests/lib/rt_cm.h"

enum {
	DEADLOCK_SECONDS = 100,
	SOON_MS = 60000,
};

/* The objects of a call. The thread may be cancelled in the call; the case continues with the
 * objects that exist then. */
struct scene {
	struct rdma_event_channel *channel, *other;
	struct sockaddr_storage address; /* an address without a listener */
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
	bool returned;
};

struct call {
	const char *name;
	void (*prepare)(struct scene *s);
	void (*run)(struct scene *s);
};

static void *cancelled_main(void *arg)
{
	void **both = arg;
	const struct call *call = both[0];
	struct scene *s = both[1];

	pthread_cancel(pthread_self());
	call->run(s);
	s->returned = true;
	pthread_testcancel();
	return NULL;
}

static void cancel_in(const struct call *call, struct scene *s)
{
	void *both[] = { (void *)call, s };
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, cancelled_main, both));
	CHECK_OK(pthread_join(thread, NULL));
}

/* Check that connections still work. */
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

static void cancelled(const void *arg)
{
	const struct call *call = arg;
	struct scene s = { .channel = rt_cm_channel(), .other = rt_cm_channel() };

	alarm(DEADLOCK_SECONDS);
	s.address = rt_cm_address(7);
	if (call->prepare)
		call->prepare(&s);
	cancel_in(call, &s);
	connect_once();
	if (s.event)
		CHECK_OK(rdma_ack_cm_event(s.event));
	rdma_destroy_event_channel(s.channel);
	if (s.other)
		rdma_destroy_event_channel(s.other);
}

/* The first call of the process, which opens everything. */
static void first_call(const void *arg)
{
	struct scene s = {};

	alarm(DEADLOCK_SECONDS);
	cancel_in(arg, &s);
	connect_once();
}

/* ---- events ---- */

static void have_id(struct scene *s)
{
	s->id = rt_cm_id(s->channel, RDMA_PS_TCP);
}

static void have_event(struct scene *s)
{
	struct pollfd ready = { .fd = s->channel->fd, .events = POLLIN };

	have_id(s);
	CHECK_OK(rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&s->address, SOON_MS));
	CHECK_INT(poll(&ready, 1, SOON_MS), 1);
}

static void get_event(struct scene *s)
{
	rdma_get_cm_event(s->channel, &s->event);
}

/* Either the thread got the event, or the next caller gets it. */
static void event_not_lost(void)
{
	static const struct call get = { .run = get_event };
	struct scene s = { .channel = rt_cm_channel() };

	alarm(DEADLOCK_SECONDS);
	s.address = rt_cm_address(7);
	have_event(&s);
	cancel_in(&get, &s);
	if (s.event) {
		CHECK_INT(s.event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
		CHECK_OK(rdma_ack_cm_event(s.event));
		rt_cm_expect_none(s.channel);
	} else {
		CM_TAKE(s.channel, ADDR_RESOLVED, 0);
	}
	CHECK_OK(rdma_destroy_id(s.id));
	rdma_destroy_event_channel(s.channel);
}

static void *wait_main(void *arg)
{
	struct scene *s = arg;

	get_event(s);
	return NULL;
}

/* A cancellation ends a thread that waits for events, as programs end their event threads. */
static void event_wait_ends(void)
{
	struct scene s = { .channel = rt_cm_channel() };
	pthread_t thread;
	void *result;

	alarm(DEADLOCK_SECONDS);
	for (int i = 0; i < 20; i++) {
		CHECK_OK(pthread_create(&thread, NULL, wait_main, &s));
		usleep(i * 500);
		CHECK_OK(pthread_cancel(thread));
		CHECK_OK(pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
		CHECK(!s.event);
	}
	connect_once();
	rdma_destroy_event_channel(s.channel);
}

/* ---- the other calls ---- */

static void create_channel(struct scene *s)
{
	(void)!rdma_create_event_channel();
}

static void destroy_channel(struct scene *s)
{
	struct rdma_event_channel *channel = s->other;

	s->other = NULL;
	rdma_destroy_event_channel(channel);
}

static void have_no_other(struct scene *s)
{
	have_event(s);
	rdma_destroy_event_channel(s->other);
	s->other = s->channel;
	s->channel = rt_cm_channel();
}

static void create_id(struct scene *s)
{
	rdma_create_id(s->channel, &s->id, NULL, RDMA_PS_TCP);
}

static void create_sync_id(struct scene *s)
{
	rdma_create_id(NULL, &s->id, NULL, RDMA_PS_TCP);
}

static void bind_addr(struct scene *s)
{
	rdma_bind_addr(s->id, (struct sockaddr *)&s->address);
}

static void have_port(struct scene *s)
{
	s->address = rt_cm_address(0);
	have_id(s);
}

static void listen_any(struct scene *s)
{
	rdma_listen(s->id, 0);
}

static void resolve_addr(struct scene *s)
{
	rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&s->address, SOON_MS);
}

static void have_addr(struct scene *s)
{
	have_event(s);
	CM_TAKE(s->channel, ADDR_RESOLVED, 0);
}

static void resolve_route(struct scene *s)
{
	rdma_resolve_route(s->id, SOON_MS);
}

static void have_route(struct scene *s)
{
	s->id = rt_cm_client(s->channel, RDMA_PS_TCP, 7, true);
}

static void connect_nobody(struct scene *s)
{
	rdma_connect(s->id, NULL);
}

static void have_request(struct scene *s)
{
	struct rdma_cm_id *listener = rt_cm_listen(s->other, RDMA_PS_TCP, false);
	struct rdma_cm_id *client =
		rt_cm_client(s->channel, RDMA_PS_TCP, rt_cm_port(listener), true);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(client, NULL));
	event = CM_EXPECT(s->other, CONNECT_REQUEST, 0);
	s->id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(s->id);
}

static void accept_it(struct scene *s)
{
	rdma_accept(s->id, NULL);
}

static void reject_it(struct scene *s)
{
	rdma_reject(s->id, NULL, 0);
}

static void have_connection(struct scene *s)
{
	struct rdma_cm_id *listener = rt_cm_listen(s->other, RDMA_PS_TCP, false);

	rt_cm_connect(s->channel, rt_cm_port(listener), s->other, &s->id);
}

static void disconnect(struct scene *s)
{
	rdma_disconnect(s->id);
}

static void destroy_qp(struct scene *s)
{
	rdma_destroy_qp(s->id);
}

static void destroy_id(struct scene *s)
{
	rdma_destroy_id(s->id);
}

static void migrate(struct scene *s)
{
	rdma_migrate_id(s->id, s->other);
}

static void write_event(struct scene *s)
{
	rdma_write_cm_event(s->id, RDMA_CM_EVENT_USER, 0, 0);
}

static void get_devices(struct scene *s)
{
	rdma_free_devices(rdma_get_devices(NULL));
}

static void getaddrinfo_it(struct scene *s)
{
	struct rdma_addrinfo *info = NULL;

	rdma_getaddrinfo("192.0.2.7", "7471", NULL, &info);
	rdma_freeaddrinfo(info);
}

static void acknowledge(struct scene *s)
{
	struct rdma_cm_event *event = s->event;

	s->event = NULL;
	rdma_ack_cm_event(event);
}

static void have_taken(struct scene *s)
{
	have_event(s);
	get_event(s);
}

#define CALL(about, ...)                                                  \
	{                                                                 \
		about, .run_with = cancelled, .arg = &(const struct call) \
		{                                                         \
			about, __VA_ARGS__                                \
		}                                                         \
	}

static const struct rt_case cases[] = {
	{ "first of all: a channel", .run_with = first_call,
	  .arg = &(const struct call){ .run = create_channel } },
	{ "first of all: the devices", .run_with = first_call,
	  .arg = &(const struct call){ .run = get_devices } },
	{ "an event is not lost", event_not_lost },
	{ "a wait for events ends", event_wait_ends },
	CALL("rdma_get_cm_event", have_event, get_event),
	CALL("rdma_ack_cm_event", have_taken, acknowledge),
	CALL("rdma_create_event_channel", NULL, create_channel),
	CALL("rdma_destroy_event_channel", have_no_other, destroy_channel),
	CALL("rdma_create_id", NULL, create_id),
	CALL("rdma_create_id, synchronous", NULL, create_sync_id),
	CALL("rdma_bind_addr", have_port, bind_addr),
	CALL("rdma_listen", have_id, listen_any),
	CALL("rdma_resolve_addr", have_id, resolve_addr),
	CALL("rdma_resolve_route", have_addr, resolve_route),
	CALL("rdma_connect", have_route, connect_nobody),
	CALL("rdma_accept", have_request, accept_it),
	CALL("rdma_reject", have_request, reject_it),
	CALL("rdma_disconnect", have_connection, disconnect),
	CALL("rdma_destroy_qp", have_connection, destroy_qp),
	CALL("rdma_destroy_id", have_addr, destroy_id),
	CALL("rdma_destroy_id, listening", have_request, destroy_id),
	CALL("rdma_migrate_id", have_event, migrate),
	CALL("rdma_write_cm_event", have_id, write_event),
	CALL("rdma_get_devices", NULL, get_devices),
	CALL("rdma_getaddrinfo", NULL, getaddrinfo_it),
};
RT_MAIN(cases)
