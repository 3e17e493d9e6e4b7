/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event channels: descriptors in event loops, identifiers that change their channel, events that
 * are acknowledged late or never, and forks. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "tests/lib/rt_cm.h"

enum {
	SOON_MS = 60000, /* limit for an event that must come */
};

static bool readable(int fd, int timeout_ms)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };

	return poll(&waiting, 1, timeout_ms) == 1;
}

static void resolve(struct rdma_cm_id *id)
{
	struct sockaddr_storage address = rt_cm_address(7);

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, SOON_MS));
}

static void expect_nothing(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int flags = fcntl(channel->fd, F_GETFL);

	CHECK_OK(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK));
	CHECK_INT(rdma_get_cm_event(channel, &event), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(fcntl(channel->fd, F_SETFL, flags));
	CHECK(!readable(channel->fd, 0));
}

/* ---- descriptors ---- */

static void not_blocking(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	expect_nothing(events);
	resolve(id);
	CHECK(readable(events->fd, SOON_MS));
	CHECK_OK(fcntl(events->fd, F_SETFL, O_RDWR | O_NONBLOCK));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	expect_nothing(events);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void on_signal(int signal)
{
}

struct disturber {
	pthread_t sleeper;
	struct rdma_cm_id *id;
};

/* Send some signals, then cause an event. */
static void *disturb(void *arg)
{
	const struct disturber *d = arg;

	for (int i = 0; i < 5; i++) {
		usleep(20000);
		pthread_kill(d->sleeper, SIGUSR1);
	}
	usleep(20000);
	resolve(d->id);
	return NULL;
}

/* A signal ends the wait of a thread unless its handler was installed with SA_RESTART. */
static void signalled(const void *arg)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = *(const int *)arg };
	struct rdma_event_channel *events = rt_cm_channel();
	struct disturber d = { pthread_self(), rt_cm_id(events, RDMA_PS_TCP) };
	struct rdma_cm_event *event;
	pthread_t thread;

	CHECK_OK(sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(pthread_create(&thread, NULL, disturb, &d));
	if (!action.sa_flags) {
		CHECK_INT(rdma_get_cm_event(events, &event), -1);
		CHECK_INT(errno, EINTR);
		CHECK_OK(pthread_join(thread, NULL));
	}
	CM_TAKE(events, ADDR_RESOLVED, 0);
	if (action.sa_flags)
		CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rdma_destroy_id(d.id));
	rdma_destroy_event_channel(events);
}

static int epoll_of(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	CHECK(epoll >= 0);
	CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

/* Put the channel into the program's epoll, and that into another one, as libraries of event
 * loops do. */
static void nested(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *ids[3];
	int inner = epoll_of(events->fd), outer = epoll_of(inner);
	struct epoll_event ready;

	CHECK_INT(epoll_wait(outer, &ready, 1, 0), 0);
	for (int i = 0; i < RT_COUNT(ids); i++)
		ids[i] = rt_cm_id(events, RDMA_PS_TCP);
	resolve(ids[0]);
	CHECK_INT(epoll_wait(outer, &ready, 1, SOON_MS), 1);
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_INT(epoll_wait(outer, &ready, 1, 0), 0);
	resolve(ids[1]);
	resolve(ids[2]);
	CHECK_INT(epoll_wait(outer, &ready, 1, SOON_MS), 1);
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_INT(epoll_wait(outer, &ready, 1, SOON_MS), 1); /* the other event still waits */
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_INT(epoll_wait(outer, &ready, 1, 0), 0);
	close(outer);
	close(inner);
	for (int i = 0; i < RT_COUNT(ids); i++)
		CHECK_OK(rdma_destroy_id(ids[i]));
	rdma_destroy_event_channel(events);
}

/* ---- migration ---- */

/* An event that waits in the old channel is read from the new one. */
static void migrate_with_event(void)
{
	struct rdma_event_channel *from = rt_cm_channel(), *to = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(from, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	resolve(id);
	CHECK(readable(from->fd, SOON_MS));
	CHECK_OK(rdma_migrate_id(id, to));
	CHECK(id->channel == to);
	expect_nothing(from);
	event = CM_EXPECT(to, ADDR_RESOLVED, 0);
	CHECK(event->id == id);
	CHECK_OK(rdma_ack_cm_event(event));
	rdma_destroy_event_channel(from);
	CHECK_OK(rdma_resolve_route(id, SOON_MS));
	CM_TAKE(to, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(to);
}

/* Migration to the same channel has no effect, and waiting events stay. */
static void migrate_to_same(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	resolve(id);
	CHECK(readable(events->fd, SOON_MS));
	CHECK_OK(rdma_migrate_id(id, events));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	expect_nothing(events);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* A request that was not taken moves with its listener, and its connection belongs to the new
 * channel. */
static void migrate_listener(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *from = rt_cm_channel(),
				  *to = rt_cm_channel();
	struct rdma_cm_id *listener, *client, *server;
	struct rdma_cm_event *event;

	if (rt_cm_is_kernel())
		rt_skip("the kernel moves the event, and leaves the request in the old channel");
	listener = rt_cm_listen(from, RDMA_PS_TCP, false);
	client = rt_cm_client(clients, RDMA_PS_TCP, rt_cm_port(listener), true);
	CHECK_OK(rdma_connect(client, NULL));
	CHECK(readable(from->fd, SOON_MS));
	CHECK_OK(rdma_migrate_id(listener, to));
	rdma_destroy_event_channel(from);
	event = CM_EXPECT(to, CONNECT_REQUEST, 0);
	CHECK(event->listen_id == listener);
	server = event->id;
	CHECK(server->channel == to);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	CHECK_OK(rdma_accept(server, NULL));
	CM_TAKE(clients, ESTABLISHED, 0);
	CM_TAKE(to, ESTABLISHED, 0);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(to);
}

/* The client withdrew its request before the migration: no request can be accepted, in the new
 * channel as in the old. */
static void migrate_withdrawn(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *from = rt_cm_channel(),
				  *to = rt_cm_channel(), *others = rt_cm_channel();
	struct rdma_conn_param param = { .qp_num = 0x123456 };
	struct rdma_cm_id *listener, *other, *client, *server;
	struct rdma_cm_event *event;

	if (rt_cm_is_kernel())
		rt_skip("the kernel moves the event, and leaves the request in the old channel");
	listener = rt_cm_listen(from, RDMA_PS_TCP, false);
	other = rt_cm_listen(others, RDMA_PS_TCP, false);
	client = rt_cm_client(clients, RDMA_PS_TCP, rt_cm_port(listener), true);
	CHECK_OK(rdma_connect(client, NULL));
	CHECK(readable(from->fd, SOON_MS));
	rt_cm_destroy(client);
	/* a request after the withdrawal is in the channel */
	client = rt_cm_client(clients, RDMA_PS_TCP, rt_cm_port(other), true);
	CHECK_OK(rdma_connect(client, NULL));
	CHECK(readable(others->fd, SOON_MS));
	CHECK_OK(rdma_migrate_id(listener, to));
	rdma_destroy_event_channel(from);
	event = CM_EXPECT(to, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_INT(rdma_accept(server, &param), -1);
	CHECK_INT(errno, EINVAL);
	expect_nothing(to);
	CHECK_OK(rdma_destroy_id(server));
	CHECK_OK(rdma_destroy_id(listener));
	CHECK_OK(rdma_destroy_id(other));
	rt_cm_destroy(client);
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(others);
	rdma_destroy_event_channel(to);
}

/* ---- acknowledgements ---- */

struct waiting {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to; /* NULL: destroy */
	bool done;
	pthread_t thread;
};

static void *wait_for_ack(void *arg)
{
	struct waiting *w = arg;

	CHECK_OK(w->to ? rdma_migrate_id(w->id, w->to) : rdma_destroy_id(w->id));
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void await_log(const char *words)
{
	for (int ms = 0; ms < SOON_MS; ms += 10) {
		if (strstr(rt_log_text(), words))
			return;
		usleep(10000);
	}
	FAIL("not in the log: %s; but %s", words, rt_log_text());
}

/* Destroying and migrating wait for an event that the program still holds, and log which one.
 * Other identifiers continue meanwhile. */
static void late_acknowledgement(void)
{
	struct rdma_event_channel *events, *other;
	struct waiting destroy = {}, migrate = {};
	struct rdma_cm_event *addr, *route;
	struct rdma_cm_id *free_one;

	rt_log_capture();
	events = rt_cm_channel();
	other = rt_cm_channel();
	destroy.id = rt_cm_id(events, RDMA_PS_TCP);
	resolve(destroy.id);
	addr = CM_EXPECT(events, ADDR_RESOLVED, 0);
	migrate.id = rt_cm_id(events, RDMA_PS_TCP);
	migrate.to = other;
	resolve(migrate.id);
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(migrate.id, SOON_MS));
	route = CM_EXPECT(events, ROUTE_RESOLVED, 0);
	CHECK_OK(pthread_create(&destroy.thread, NULL, wait_for_ack, &destroy));
	CHECK_OK(pthread_create(&migrate.thread, NULL, wait_for_ack, &migrate));
	free_one = rt_cm_id(events, RDMA_PS_TCP);
	resolve(free_one);
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_destroy_id(free_one));
	await_log("rdma_destroy_id() waits for rdma_ack_cm_event() of "
		  "RDMA_CM_EVENT_ADDR_RESOLVED");
	await_log("rdma_migrate_id() waits for rdma_ack_cm_event() of "
		  "RDMA_CM_EVENT_ROUTE_RESOLVED");
	CHECK(!__atomic_load_n(&destroy.done, __ATOMIC_ACQUIRE));
	CHECK(!__atomic_load_n(&migrate.done, __ATOMIC_ACQUIRE));
	CHECK_OK(rdma_ack_cm_event(addr));
	CHECK_OK(rdma_ack_cm_event(route));
	CHECK_OK(pthread_join(destroy.thread, NULL));
	CHECK_OK(pthread_join(migrate.thread, NULL));
	CHECK(migrate.id->channel == other);
	CHECK_OK(rdma_destroy_id(migrate.id));
	rdma_destroy_event_channel(events);
	rdma_destroy_event_channel(other);
	rt_log_discard();
}

/* Return an identifier that joined a group; its two events are left to the caller. */
static struct rdma_cm_id *member(struct rdma_event_channel *events,
				 struct rdma_cm_event **ret_resolved,
				 struct rdma_cm_event **ret_joined)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010108) };
	struct sockaddr_storage source = rt_cm_address(0);
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_UDP);

	/* Resolve by the group, as mckey does: on Linux 6.1 the route to an own address leads to
	 * no group. */
	CHECK_OK(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&group,
				   SOON_MS));
	*ret_resolved = CM_EXPECT(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	*ret_joined = CM_EXPECT(events, MULTICAST_JOIN, 0);
	return id;
}

/* The event of a group also belongs to its identifier: the identifier cannot be destroyed before
 * the event is acknowledged. */
static void late_acknowledgement_of_group(void)
{
	struct rdma_cm_event *resolved[2], *joined[2];
	struct rdma_event_channel *events;
	struct waiting destroy[2] = {};

	rt_log_capture();
	events = rt_cm_channel();
	for (int i = 0; i < 2; i++)
		destroy[i].id = member(events, &resolved[i], &joined[i]);
	CHECK_OK(rdma_ack_cm_event(resolved[0]));
	CHECK_OK(rdma_ack_cm_event(joined[1]));
	for (int i = 0; i < 2; i++)
		CHECK_OK(pthread_create(&destroy[i].thread, NULL, wait_for_ack, &destroy[i]));
	await_log("rdma_destroy_id() waits for rdma_ack_cm_event() of "
		  "RDMA_CM_EVENT_MULTICAST_JOIN");
	await_log("rdma_destroy_id() waits for rdma_ack_cm_event() of "
		  "RDMA_CM_EVENT_ADDR_RESOLVED");
	CHECK_OK(rdma_ack_cm_event(joined[0]));
	CHECK_OK(rdma_ack_cm_event(resolved[1]));
	for (int i = 0; i < 2; i++)
		CHECK_OK(pthread_join(destroy[i].thread, NULL));
	rdma_destroy_event_channel(events);
	rt_log_discard();
}

/* Events that were never read are dropped with their identifier, and delay no destruction. */
static void unread(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	resolve(id);
	CHECK(readable(events->fd, SOON_MS));
	CHECK_OK(rdma_destroy_id(id));
	expect_nothing(events);
	rdma_destroy_event_channel(events);
}

/* ---- fork ---- */

struct connected {
	struct rdma_event_channel *clients, *servers;
	struct rdma_cm_id *listener, *client, *server;
	struct sockaddr_storage address; /* an address without a listener */
};

static struct connected connect_both(void)
{
	struct connected c = { .clients = rt_cm_channel(), .servers = rt_cm_channel() };

	c.address = rt_cm_address(7);
	c.listener = rt_cm_listen(c.servers, RDMA_PS_TCP, false);
	c.client = rt_cm_connect(c.clients, rt_cm_port(c.listener), c.servers, &c.server);
	return c;
}

/* The parent's connection is unchanged and ends in order. */
static void parent_goes_on(struct connected *c)
{
	expect_nothing(c->clients);
	expect_nothing(c->servers);
	rt_cm_disconnect(c->client, c->server);
	CHECK_OK(rdma_destroy_id(c->listener));
	rdma_destroy_event_channel(c->clients);
	rdma_destroy_event_channel(c->servers);
}

static void child_of(void (*body)(struct connected *c), struct connected *c)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		alarm(RT_SECONDS);
		body(c);
		exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void child_leaves(struct connected *c)
{
}

/* A child that exits sends no message for its parent's connections. */
static void fork_and_exit(void)
{
	struct connected c = connect_both();

	child_of(child_leaves, &c);
	parent_goes_on(&c);
}

static void child_connects(struct connected *c)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK(events);
	id = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_INT(rdma_resolve_addr(id, NULL, (struct sockaddr *)&c->address, SOON_MS), -1);
	CHECK_INT(errno, EIO);
	CHECK(strstr(rt_log_text(), "used before fork()"));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
	CHECK_INT(rdma_get_cm_event(c->clients, &event), -1);
	CHECK_INT(errno, EIO);
	CHECK(readable(c->clients->fd, 0)); /* the event belongs to the parent */
	rt_cm_destroy(c->client);
	rdma_destroy_event_channel(c->clients);
}

/* A child cannot use its parent's user-space devices: its calls fail with a log line. It frees
 * its own copies only, even with an event that waits for the parent. */
static void fork_and_use(void)
{
	struct connected c;
	struct rdma_cm_id *id;

	rt_log_capture();
	if (rt_cm_is_kernel())
		rt_skip("parent and child share the kernel's descriptor");
	c = connect_both();
	id = rt_cm_id(c.clients, RDMA_PS_TCP);
	resolve(id);
	child_of(child_connects, &c);
	CM_TAKE(c.clients, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_destroy_id(id));
	parent_goes_on(&c);
	rt_log_discard();
}

static const int restart = SA_RESTART, no_restart;

static const struct rt_case cases[] = {
	{ "not blocking", not_blocking },
	{ "a signal that restarts", .run_with = signalled, .arg = &restart },
	{ "a signal that interrupts", .run_with = signalled, .arg = &no_restart },
	{ "epoll in epoll", nested },
	{ "migration with an event", migrate_with_event },
	{ "migration to the same channel", migrate_to_same },
	{ "migration of a listener with a request", migrate_listener },
	{ "migration of a listener with a withdrawn request", migrate_withdrawn },
	{ "late acknowledgement", late_acknowledgement },
	{ "late acknowledgement of a group's event", late_acknowledgement_of_group },
	{ "events nobody read", unread },
	{ "a child that exits", fork_and_exit },
	{ "a child that goes on", fork_and_use },
};
RT_MAIN(cases)
