/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection manager: queue pairs of iWARP, which only it connects, and probes with a listener
 * and a client on one side. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

#define RESOLVE_MS	 20000
#define REJECTED_BY_USER 28 /* reason "consumer reject" */

struct cm {
	struct agent *agent;
	bool pair; /* of the queue pairs of both sides, not of a probe */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server, *last; /* @last: id of the last event */
};

static const char request[8] = "request", reply[8] = "reply";

static struct sockaddr_in address_make(const union ibv_gid *gid, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = port };

	memcpy(&address.sin_addr, gid->raw + 12, 4);
	return address;
}

/* Wait for an event. */
static bool came(const struct cm *cm)
{
	struct pollfd p = { .fd = cm->channel->fd, .events = POLLIN };
	int64_t end = wait_end(cm->agent, 0);

	while (poll(&p, 1, 10) != 1)
		if (!(cm->pair ? worth_waiting(cm->agent, end) : now() < end))
			return false;
	return true;
}

/* Wait for an event of @type for @id, or for any id if @id is NULL. Return a positive errno. @data:
 * bytes that the event must have if it is not one of the server, or NULL. */
static int take(struct cm *cm, struct rdma_cm_id *id, enum rdma_cm_event_type type,
		const char *data, int status)
{
	struct rdma_cm_event *event;
	int r = 0;

	if (!came(cm))
		return ETIMEDOUT;
	if (rdma_get_cm_event(cm->channel, &event))
		return errno;
	if (event->event != type || (id && event->id != id) || event->status != status)
		r = EPROTO;
	else if (data && event->id != cm->server &&
		 (event->param.conn.private_data_len < sizeof(request) ||
		  memcmp(event->param.conn.private_data, data, sizeof(request))))
		r = EBADMSG;
	cm->last = event->id;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server = event->id;
	rdma_ack_cm_event(event);
	return r;
}

/* Wait for the same event of the other id. The two may come in any order. */
static int take_other(struct cm *cm, enum rdma_cm_event_type type, const char *data)
{
	const struct rdma_cm_id *first = cm->last;

	return take(cm, NULL, type, data, 0) ?: cm->last == first ? EPROTO : 0;
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

static int listen_at(struct cm *cm, const union ibv_gid *gid)
{
	struct sockaddr_in address = address_make(gid, 0);

	if (!gid_is_ipv4(gid))
		return EOPNOTSUPP;
	return rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) ||
			       rdma_bind_addr(cm->listener, (struct sockaddr *)&address) ||
			       rdma_listen(cm->listener, 1)
		       ? errno
		       : 0;
}

/* Create the client, and resolve the address of the listener. */
static int reach(struct cm *cm, const union ibv_gid *gid, uint16_t port)
{
	struct sockaddr_in address = address_make(gid, port);
	int r = positive(rdma_create_id(cm->channel, &cm->client, NULL, RDMA_PS_TCP));

	r = r
		    ?: positive(rdma_resolve_addr(cm->client, NULL, (struct sockaddr *)&address,
						  RESOLVE_MS));
	r = r ?: take(cm, cm->client, RDMA_CM_EVENT_ADDR_RESOLVED, NULL, 0);
	r = r ?: positive(rdma_resolve_route(cm->client, RESOLVE_MS));
	return r ?: take(cm, cm->client, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL, 0);
}

/* Connect up to the request at the listener. */
static int call(struct cm *cm)
{
	struct rdma_conn_param param = { .private_data = request,
					 .private_data_len = sizeof(request),
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	int r = listen_at(cm, &cm->agent->gid);

	r = r ?: reach(cm, &cm->agent->gid, rdma_get_src_port(cm->listener));
	r = r ?: qp_add(cm->client) ?: positive(rdma_connect(cm->client, &param));
	return r ?: take(cm, NULL, RDMA_CM_EVENT_CONNECT_REQUEST, request, 0);
}

static int answer(struct cm *cm)
{
	struct rdma_conn_param param = { .private_data = reply,
					 .private_data_len = sizeof(reply),
					 .rnr_retry_count = 7 };
	int r = qp_add(cm->server) ?: positive(rdma_accept(cm->server, &param));

	r = r ?: take(cm, NULL, RDMA_CM_EVENT_ESTABLISHED, reply, 0);
	return r ?: take_other(cm, RDMA_CM_EVENT_ESTABLISHED, reply);
}

static void id_end(struct rdma_cm_id *id)
{
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		rdma_destroy_id(id);
}

static void ids_end(struct cm *cm)
{
	id_end(cm->client);
	id_end(cm->server);
	id_end(cm->listener);
	rdma_destroy_event_channel(cm->channel);
}

static int reject(struct cm *cm)
{
	/* iWARP has no reasons. */
	int status = cm->agent->by_cm ? -ECONNREFUSED : REJECTED_BY_USER;

	return positive(rdma_reject(cm->server, reply, sizeof(reply)))
		       ?: take(cm, cm->client, RDMA_CM_EVENT_REJECTED, reply, status);
}

static int leave(struct cm *cm)
{
	int r = answer(cm) ?: positive(rdma_disconnect(cm->client));

	r = r ?: take(cm, NULL, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
	if (!r && cm->last == cm->server)
		r = positive(rdma_disconnect(cm->server));
	return r ?: take_other(cm, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

int cm_probe(struct agent *agent, enum probe probe)
{
	struct cm cm = { .agent = agent, .channel = rdma_create_event_channel() };
	int r;

	if (!cm.channel)
		return EOPNOTSUPP;
	r = call(&cm)
		    ?: probe == PROBE_CM_DATA ? answer(&cm)
	       : probe == PROBE_CM_REJECT     ? reject(&cm)
					      : leave(&cm);
	ids_end(&cm);
	return r;
}

/* Find the IPv4 address at which the connection manager has the device. */
bool cm_address(struct agent *agent)
{
	const char *device = ibv_get_device_name(agent->context->device);
	struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (struct ifaddrs *a = list; a && !found; a = a->ifa_next) {
		struct rdma_cm_id *id = NULL;

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
		    rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
			continue;
		found = !rdma_bind_addr(id, a->ifa_addr) && id->verbs &&
			!strcmp(ibv_get_device_name(id->verbs->device), device);
		if (found) {
			agent->gid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
			memcpy(agent->gid.raw + 12, &((struct sockaddr_in *)a->ifa_addr)->sin_addr,
			       4);
		}
		rdma_destroy_id(id);
	}
	freeifaddrs(list);
	return found;
}

struct cm *cm_listen(struct agent *agent, uint16_t *ret_port)
{
	struct cm *cm = need(calloc(1, sizeof(*cm)));

	*cm = (struct cm){ .agent = agent, .pair = true, .channel = rdma_create_event_channel() };
	*ret_port =
		cm->channel && !listen_at(cm, &agent->gid) ? rdma_get_src_port(cm->listener) : 0;
	return cm;
}

/* Side a connects to the listener of side b. */
int cm_connect(struct cm *cm, uint32_t qp_num, const union ibv_gid *gid, uint16_t port)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .qp_num = qp_num };
	int r;

	if (cm->agent->side) {
		r = take(cm, NULL, RDMA_CM_EVENT_CONNECT_REQUEST, NULL, 0);
		r = r ?: positive(rdma_accept(cm->server, &param));
	} else {
		r = reach(cm, gid, port) ?: positive(rdma_connect(cm->client, &param));
	}
	return r ?: take(cm, NULL, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
}

void cm_end(struct cm *cm)
{
	ids_end(cm);
	free(cm);
}
