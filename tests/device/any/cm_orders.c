/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroy a listener, its connection, an unread request and the channels of all of them in every
 * order. The sanitizers and valgrind run this case too, because messages of the other side
 * arrive at the remaining objects. */
#include <arpa/inet.h>
#include <poll.h>

#include "tests/lib/rt_cm.h"

enum part {
	CLIENT_CHANNEL,
	SERVER_CHANNEL,
	LISTENER,
	CLIENT,	 /* client of a connection */
	SERVER,	 /* the same, accepted */
	WAITING, /* a client whose request was not read */
	PARTS,
};

/* The arrangement before the end. */
struct plan {
	bool migrated;	/* the listener went to another channel, with the request */
	bool split;	/* the connection's identifier has a channel of its own */
	bool wildcard;	/* the listener is on any address */
	bool confirmed; /* the client got its event; otherwise the event waits to be read */
};

struct stage {
	struct rdma_event_channel *clients, *servers, *first; /* @first: before the migration */
	struct rdma_cm_id *listener, *client, *server, *waiting;
};

/* Numbers that no queue pair has, different for each connection. */
static uint32_t next_qpn = 0x100000;

/* Ask for a connection. The number of its queue pair identifies the request, because it is
 * unique. */
static struct rdma_cm_id *ask(struct rdma_event_channel *channel, uint16_t port, uint32_t *ret_name)
{
	struct rdma_conn_param param = { .qp_num = next_qpn++,
					 .responder_resources = 1,
					 .private_data = ret_name,
					 .private_data_len = sizeof(*ret_name) };
	struct rdma_cm_id *id = rt_cm_client(channel, RDMA_PS_TCP, port, false);

	*ret_name = param.qp_num;
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

/* A listener may get the port of a former listener, and then a late request to the former one. The
 * client of such a request has gone: refuse it. */
static struct rdma_cm_id *take_request(struct rdma_event_channel *channel, uint32_t name)
{
	for (;;) {
		struct rdma_cm_event *event = CM_EXPECT(channel, CONNECT_REQUEST, 0);
		struct rdma_cm_id *id = event->id;
		bool found = event->param.conn.private_data_len >= sizeof(name) &&
			     !memcmp(event->param.conn.private_data, &name, sizeof(name));

		CHECK_OK(rdma_ack_cm_event(event));
		if (found)
			return id;
		CHECK_OK(rdma_destroy_id(id));
	}
}

static void accept_client(struct stage *s, struct rdma_event_channel *channel, uint32_t name)
{
	struct rdma_conn_param param = { .qp_num = next_qpn++, .responder_resources = 1 };

	s->server = take_request(channel, name);
	CHECK_OK(rdma_accept(s->server, &param));
}

static struct stage stage_open(const struct plan *plan)
{
	struct stage s = { .clients = rt_cm_channel(), .servers = rt_cm_channel() };
	uint32_t name;
	uint16_t port;

	s.first = plan->migrated ? rt_cm_channel() : s.servers;
	s.listener = rt_cm_listen(s.first, RDMA_PS_TCP, plan->wildcard);
	port = rt_cm_port(s.listener);
	s.waiting = rt_cm_client(s.clients, RDMA_PS_TCP, port, false);
	s.client = ask(s.clients, port, &name);
	accept_client(&s, s.first, name);
	if (plan->confirmed) {
		CM_TAKE(s.clients, CONNECT_RESPONSE, 0);
		CHECK_OK(rdma_establish(s.client));
		CM_TAKE(s.first, ESTABLISHED, 0);
	}
	if (plan->split)
		CHECK_OK(rdma_migrate_id(s.server, NULL));
	CHECK_OK(rdma_connect(s.waiting, &(struct rdma_conn_param){ .qp_num = next_qpn++ }));
	if (plan->migrated)
		CHECK_OK(rdma_migrate_id(s.listener, s.servers));
	return s;
}

static void stage_remove(struct stage *s, enum part part)
{
	switch (part) {
	case CLIENT_CHANNEL:
		rdma_destroy_event_channel(s->clients);
		break;
	case SERVER_CHANNEL:
		rdma_destroy_event_channel(s->servers);
		if (s->first != s->servers)
			rdma_destroy_event_channel(s->first);
		break;
	case LISTENER:
		CHECK_OK(rdma_destroy_id(s->listener));
		break;
	case CLIENT:
		CHECK_OK(rdma_destroy_id(s->client));
		break;
	case SERVER:
		CHECK_OK(rdma_destroy_id(s->server));
		break;
	default:
		CHECK_OK(rdma_destroy_id(s->waiting));
		break;
	}
}

static void run_order(const struct plan *plan, const enum part order[PARTS])
{
	struct stage s = stage_open(plan);

	for (int i = 0; i < PARTS; i++)
		stage_remove(&s, order[i]);
}

/* Try every order of the elements from @done on. */
static void permute(const struct plan *plan, enum part order[PARTS], int done)
{
	if (done == PARTS) {
		run_order(plan, order);
		return;
	}
	for (int i = done; i < PARTS; i++) {
		enum part chosen = order[i];

		order[i] = order[done];
		order[done] = chosen;
		permute(plan, order, done + 1);
		order[done] = order[i];
		order[i] = chosen;
	}
}

static void every_order(const void *arg)
{
	enum part order[PARTS] = {
		CLIENT_CHANNEL, SERVER_CHANNEL, LISTENER, CLIENT, SERVER, WAITING
	};
	const struct plan *plan = arg;
	struct rdma_event_channel *clients, *servers;
	struct rdma_cm_id *listener, *client, *server;

	if (plan->migrated && rt_cm_is_kernel())
		rt_skip("the kernel moves the event, and leaves the request in the old channel");
	permute(plan, order, 0);
	/* and everything works as before */
	clients = rt_cm_channel();
	servers = rt_cm_channel();
	listener = rt_cm_listen(servers, RDMA_PS_TCP, false);
	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

/* ---- events of the peers of a channel that closes ---- */

static void peers_hear(void)
{
	const struct plan plan = { .confirmed = true };
	struct stage s = stage_open(&plan);
	struct pollfd request = { .fd = s.servers->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	CHECK_INT(poll(&request, 1, 60000), 1);
	rdma_destroy_event_channel(s.servers);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(rdma_get_cm_event(s.clients, &event));
		if (event->id == s.client) {
			CHECK_INT(event->event, RDMA_CM_EVENT_DISCONNECTED);
		} else {
			CHECK(event->id == s.waiting);
			CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
			CHECK_INT(event->status, 28);
		}
		CHECK_OK(rdma_ack_cm_event(event));
	}
	CHECK_OK(rdma_destroy_id(s.server));
	CHECK_OK(rdma_destroy_id(s.listener));
	CHECK_OK(rdma_destroy_id(s.client));
	CHECK_OK(rdma_destroy_id(s.waiting));
	rdma_destroy_event_channel(s.clients);
}

/* ---- identifiers without their channel ---- */

/* The identifiers are closed: they can only be destroyed. */
static void closed_identifier(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage address = rt_cm_address(7);
	struct rdma_cm_id *id = rt_cm_client(channel, RDMA_PS_TCP, 7, true);
	struct rdma_cm_event *event;

	rdma_destroy_event_channel(channel);
	channel = rt_cm_channel(); /* its descriptor may have the same number */
	CHECK_INT(rdma_connect(id, NULL), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_disconnect(id), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 100), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_bind_addr(id, (struct sockaddr *)&address), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_listen(id, 0), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_migrate_id(id, channel), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rdma_leave_multicast(id, (struct sockaddr *)&address), -1);
	CHECK_INT(rdma_get_cm_event(id->channel, &event), -1);
	CHECK_INT(errno, EBADF);
	rt_cm_destroy(id);
	rt_cm_expect_none(channel);
	rdma_destroy_event_channel(channel);
}

/* The kernel gives the number of an identifier that went with its channel to the next one, and
 * the library reuses the channel's memory: the end of the old identifier must not affect the new
 * one. */
static void not_the_next(void)
{
	for (int i = 0; i < 8; i++) {
		struct rdma_event_channel *old = rt_cm_channel(), *new;
		struct rdma_cm_id *gone = rt_cm_listen(old, RDMA_PS_TCP, false), *next;
		struct rdma_cm_id *client, *server;

		rdma_destroy_event_channel(old);
		new = rt_cm_channel();
		next = rt_cm_listen(new, RDMA_PS_TCP, false);
		CHECK_OK(rdma_destroy_id(gone));
		client = rt_cm_connect(new, rt_cm_port(next), new, &server);
		CHECK_OK(rdma_disconnect(client));
		CM_TAKE(new, DISCONNECTED, 0);
		rt_cm_destroy(server);
		rt_cm_destroy(client);
		CHECK_OK(rdma_destroy_id(next));
		rdma_destroy_event_channel(new);
	}
}

/* An event that the program still holds keeps its identifier. */
static void acknowledged_late(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage address = rt_cm_address(7);
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 60000));
	event = CM_EXPECT(channel, ADDR_RESOLVED, 0);
	rdma_destroy_event_channel(channel);
	CHECK(event->id == id);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_destroy_id(id));
}

/* The memory of a group belongs to its identifier. */
static void groups(void)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010107) };
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_UDP);
	struct sockaddr_storage source = rt_cm_address(0);

	/* Resolve by the group, as mckey does: on Linux 6.1 the route to an own address leads to
	 * no group. */
	CHECK_OK(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&group,
				   60000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	rdma_destroy_event_channel(channel);
	CHECK_INT(rdma_leave_multicast(id, (struct sockaddr *)&group), -1);
	CHECK_INT(errno, EBADF);
	rt_cm_destroy(id);
}

static const struct plan plain = {}, confirmed = { .confirmed = true, .wildcard = true },
			 split = { .confirmed = true, .split = true },
			 migrated = { .confirmed = true, .migrated = true };

static const struct rt_case cases[] = {
	{ "every order", .run_with = every_order, .arg = &plain },
	{ "every order, established", .run_with = every_order, .arg = &confirmed },
	{ "every order, connection with a channel", .run_with = every_order, .arg = &split },
	{ "every order, migrated listener", .run_with = every_order, .arg = &migrated },
	{ "peers hear of a channel that closes", peers_hear },
	{ "calls on an identifier without channel", closed_identifier },
	{ "an identifier that outlives its channel is not the next one", not_the_next },
	{ "acknowledged after the channel", acknowledged_late },
	{ "a group and its channel", groups },
};
RT_MAIN(cases)
