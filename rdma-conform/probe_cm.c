/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes of the connection manager, with a listener and a client on one side, at the address of its
 * device. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

#define RESOLVE_MS	 20000
#define REJECTED_BY_USER 28 /* reason "consumer reject" */

struct cm {
	struct agent *agent;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server, *last; /* @last: id of the last event */
};

static const char request[8] = "request", reply[8] = "reply";

static bool address_make(const struct agent *agent, struct sockaddr_in *ret_address)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };

	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&ret_address->sin_addr, agent->gid.raw + 12, 4);
	return !memcmp(agent->gid.raw, ipv4, sizeof(ipv4));
}

/* Wait for an event of @type for @id, or for any id if @id is NULL. Return a positive errno. @data:
 * bytes that the event must have, or NULL. */
static int take(struct cm *cm, struct rdma_cm_id *id, enum rdma_cm_event_type type,
		const char *data, int status)
{
	struct pollfd p = { .fd = cm->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int r = 0;

	if (poll(&p, 1, cm->agent->patience / 1000000) != 1)
		return ETIMEDOUT;
	if (rdma_get_cm_event(cm->channel, &event))
		return errno;
	if (event->event != type || (id && event->id != id) || event->status != status)
		r = EPROTO;
	else if (data && (event->param.conn.private_data_len < sizeof(request) ||
			  memcmp(event->param.conn.private_data, data, sizeof(request))))
		r = EBADMSG;
	cm->last = event->id;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server = event->id;
	rdma_ack_cm_event(event);
	return r;
}

/* If the device refuses the queue pair, the probe cannot test the connection manager. */
static int qp_add(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &attr) ? EOPNOTSUPP : 0;
}

/* Connect up to the request at the listener. */
static int call(struct cm *cm)
{
	struct rdma_conn_param param = { .private_data = request,
					 .private_data_len = sizeof(request),
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct sockaddr_in address;
	int r;

	if (!address_make(cm->agent, &address))
		return EOPNOTSUPP;
	if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(cm->listener, (struct sockaddr *)&address) ||
	    rdma_listen(cm->listener, 1) ||
	    rdma_create_id(cm->channel, &cm->client, NULL, RDMA_PS_TCP))
		return errno;
	address.sin_port = rdma_get_src_port(cm->listener);
	r = positive(rdma_resolve_addr(cm->client, NULL, (struct sockaddr *)&address, RESOLVE_MS));
	r = r ?: take(cm, cm->client, RDMA_CM_EVENT_ADDR_RESOLVED, NULL, 0);
	r = r ?: positive(rdma_resolve_route(cm->client, RESOLVE_MS));
	r = r ?: take(cm, cm->client, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL, 0);
	r = r ?: qp_add(cm->client) ?: positive(rdma_connect(cm->client, &param));
	return r ?: take(cm, NULL, RDMA_CM_EVENT_CONNECT_REQUEST, request, 0);
}

static int answer(struct cm *cm)
{
	struct rdma_conn_param param = { .private_data = reply,
					 .private_data_len = sizeof(reply),
					 .rnr_retry_count = 7 };
	int r = qp_add(cm->server) ?: positive(rdma_accept(cm->server, &param));

	r = r ?: take(cm, cm->client, RDMA_CM_EVENT_ESTABLISHED, reply, 0);
	return r ?: take(cm, cm->server, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
}

static void id_end(struct rdma_cm_id *id)
{
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		rdma_destroy_id(id);
}

static int cm_play(struct agent *agent, int (*play)(struct cm *cm))
{
	struct cm cm = { .agent = agent, .channel = rdma_create_event_channel() };
	int r;

	if (!cm.channel)
		return EOPNOTSUPP;
	r = call(&cm) ?: play(&cm);
	id_end(cm.client);
	id_end(cm.server);
	id_end(cm.listener);
	rdma_destroy_event_channel(cm.channel);
	return r;
}

static int reject(struct cm *cm)
{
	return positive(rdma_reject(cm->server, reply, sizeof(reply)))
		       ?: take(cm, cm->client, RDMA_CM_EVENT_REJECTED, reply, REJECTED_BY_USER);
}

static int leave(struct cm *cm)
{
	int r = answer(cm) ?: positive(rdma_disconnect(cm->client));
	struct rdma_cm_id *first;

	/* The two events may come in any order. */
	r = r ?: take(cm, NULL, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
	first = cm->last;
	if (!r && first == cm->server)
		r = positive(rdma_disconnect(cm->server));
	r = r ?: take(cm, NULL, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
	return r ?: cm->last == first ? EPROTO : 0;
}

int probe_cm(struct agent *agent, enum probe probe)
{
	return cm_play(agent, probe == PROBE_CM_DATA	 ? answer
			      : probe == PROBE_CM_REJECT ? reject
							 : leave);
}
