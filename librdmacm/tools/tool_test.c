/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All peers: how connections are made and how they end. */
#include "tool.h"

#define RESOLVE_MS 2000

int tool_test_open(struct tool_test *test)
{
	test->channel = rdma_create_event_channel();
	if (!test->channel)
		return tool_open_error(test->prefix, "failed to create event channel");
	test->peers = calloc(test->connections, sizeof(*test->peers));
	if (!test->peers)
		return tool_perror(test->prefix, "unable to allocate memory for test nodes");
	if (!test->size)
		test->messages = 0;
	test->connects_left = test->connections;
	return 0;
}

void tool_test_close(struct tool_test *test)
{
	for (int i = 0; test->peers && i < test->connections; i++)
		tool_peer_close(&test->peers[i]);
	free(test->peers);
	if (test->listen)
		rdma_destroy_id(test->listen);
	if (test->first_channel)
		rdma_destroy_event_channel(test->first_channel);
	if (test->channel)
		rdma_destroy_event_channel(test->channel);
}

/* ---- events ---- */

static int on_addr_resolved(struct tool_test *test, struct rdma_cm_id *id)
{
	uint8_t tos = test->tos;

	if (test->tos >= 0 &&
	    rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)))
		return tool_perror(test->prefix, "set TOS option failed");
	if (rdma_resolve_route(id, RESOLVE_MS))
		return tool_perror(test->prefix, "resolve route failed");
	return 0;
}

static int set_ack_timeout(struct tool_test *test, struct rdma_cm_id *id)
{
	uint8_t timeout = test->ack_timeout;

	if (test->ack_timeout >= 0 &&
	    rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1))
		return tool_perror(test->prefix, "set ack timeout option failed");
	return 0;
}

static int on_route_resolved(struct tool_test *test, struct tool_peer *peer)
{
	int r = set_ack_timeout(test, peer->id);

	if (!r)
		r = tool_peer_open(test, peer);
	if (!r && rdma_connect(peer->id, &test->connect))
		r = tool_perror(test->prefix, "failure connecting");
	return r;
}

static int accept_peer(struct tool_test *test, struct tool_peer *peer)
{
	struct rdma_conn_param param = {};
	int r = tool_peer_open(test, peer);

	if (r)
		return r;
	param.qp_num = peer->id->qp->qp_num;
	if (rdma_accept(peer->id, test->datagrams ? &param : NULL))
		return tool_perror(test->prefix, "failure accepting");
	if (!test->datagrams)
		return 0;
	/* A datagram server gets no event when the client has received the answer. */
	peer->connected = true;
	test->connects_left--;
	return 0;
}

static int on_connect_request(struct tool_test *test, struct rdma_cm_id *id)
{
	struct tool_peer *peer;
	int r;

	if (test->accepted == test->connections) {
		rdma_reject(id, NULL, 0);
		test->refused = id;
		return 0;
	}
	peer = &test->peers[test->accepted++];
	peer->id = id;
	id->context = peer;
	r = set_ack_timeout(test, id);
	if (!r)
		r = accept_peer(test, peer);
	if (!r)
		return 0;
	printf("%s: failing connection request\n", test->prefix);
	rdma_reject(id, NULL, 0);
	return r;
}

static int on_established(struct tool_test *test, struct tool_peer *peer,
			  const struct rdma_cm_event *event)
{
	test->connects_left--;
	peer->connected = true;
	test->disconnects_left++;
	return test->datagrams ? tool_peer_set_address(test, peer, &event->param.ud) : 0;
}

static int on_event(struct tool_test *test, const struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct tool_peer *peer = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return on_addr_resolved(test, id);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return on_route_resolved(test, peer);
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return on_connect_request(test, id);
	case RDMA_CM_EVENT_ESTABLISHED:
		return on_established(test, peer, event);
	case RDMA_CM_EVENT_DISCONNECTED:
		test->disconnects_left -= peer->connected;
		peer->connected = false;
		rdma_disconnect(id);
		return 0;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return 0;
	default:
		printf("%s: event: %s, error: %d\n", test->prefix, rdma_event_str(event->event),
		       event->status);
		tool_explain_event(event);
		return event->status ? event->status : -ENODEV;
	}
}

int tool_test_event(struct tool_test *test)
{
	struct rdma_cm_event *event;
	int r;

	if (rdma_get_cm_event(test->channel, &event))
		return tool_perror(test->prefix, "failure in rdma_get_cm_event");
	r = test->on_event ? test->on_event(test, event) : on_event(test, event);
	rdma_ack_cm_event(event);
	if (test->refused)
		rdma_destroy_id(take_ptr(&test->refused));
	return r;
}

int tool_test_events(struct tool_test *test, const int *left)
{
	int r = 0;

	while (*left > 0 && !r)
		r = tool_test_event(test);
	return r;
}

/* ---- begin and end of connections ---- */

int tool_test_connect(struct tool_test *test, struct rdma_addrinfo *info)
{
	for (int i = 0; i < test->connections; i++) {
		struct tool_peer *peer = &test->peers[i];

		if (rdma_create_id(test->channel, &peer->id, peer, info->ai_port_space))
			return tool_perror(test->prefix, "failure creating id");
		if (rdma_resolve_addr(peer->id, info->ai_src_addr, info->ai_dst_addr, RESOLVE_MS))
			return tool_perror(test->prefix, "failure getting addr");
	}
	return tool_test_events(test, &test->connects_left);
}

int tool_test_listen(struct tool_test *test, struct rdma_addrinfo *info)
{
	if (rdma_create_id(test->channel, &test->listen, NULL, info->ai_port_space))
		return tool_perror(test->prefix, "listen request failed");
	if (rdma_bind_addr(test->listen, info->ai_src_addr))
		return tool_perror(test->prefix, "bind address failed");
	if (rdma_listen(test->listen, 0))
		return tool_perror(test->prefix, "failure trying to listen");
	return tool_test_events(test, &test->connects_left);
}

int tool_test_migrate(struct tool_test *test)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel)
		return tool_perror(test->prefix, "failed to create event channel");
	test->first_channel = test->channel;
	test->channel = channel;
	for (int i = 0; i < test->connections; i++)
		if (rdma_migrate_id(test->peers[i].id, channel))
			return tool_perror(test->prefix, "failure migrating to channel");
	return 0;
}

int tool_test_disconnect(struct tool_test *test)
{
	for (int i = 0; i < test->connections; i++)
		rdma_disconnect(test->peers[i].id);
	return tool_test_events(test, &test->disconnects_left);
}
