/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Endpoints: synchronous identifiers made from the result of an address look-up. */
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "util/log.h"

enum {
	RESOLVE_MS = 2000,
	CONNECT_MAX = 255, /* bytes */
};

static int keep_connect_data(struct cm_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_connect_len)
		return 0;
	if (res->ai_connect_len > CONNECT_MAX) {
		cm_err(id, "rdma_create_ep: ai_connect_len %zu: a request carries up to %d bytes",
		       (size_t)res->ai_connect_len, CONNECT_MAX);
		return -EINVAL;
	}
	id->connect_data = malloc(res->ai_connect_len);
	if (!id->connect_data)
		return -ENOMEM;
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_len = res->ai_connect_len;
	return 0;
}

/* Bind a passive endpoint, and store the attributes for the QPs of its requests. */
static int endpoint_bind(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			 const struct ibv_qp_init_attr *attr)
{
	int r = cm_addr_bind(id, res->ai_src_addr);

	if (r < 0)
		return r;
	if (pd)
		id->id.pd = pd;
	if (!attr)
		return 0;
	id->ep_attr = malloc(sizeof(*attr));
	if (!id->ep_attr)
		return -ENOMEM;
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = res->ai_qp_type;
	return 0;
}

static int endpoint_route(struct cm_id *id, const struct rdma_addrinfo *res)
{
	int r;

	if (!res->ai_route_len)
		return cm_route_resolve(id, RESOLVE_MS);
	r = cm_option_set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
			  res->ai_route_len);
	return r < 0 ? r : cm_sync_wait(id);
}

static int endpoint_resolve(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *attr)
{
	int r = cm_addr_resolve(id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS);

	if (!r)
		r = endpoint_route(id, res);
	if (!r && attr) {
		attr->qp_type = res->ai_qp_type;
		r = cm_qp_create(id, pd, attr);
	}
	return r < 0 ? r : keep_connect_data(id, res);
}

static int endpoint_create(const struct rdma_addrinfo *res, struct ibv_pd *pd,
			   struct ibv_qp_init_attr *attr, struct rdma_cm_id **ret_id)
{
	struct cm_id *id;
	int r = cm_id_create(NULL, NULL, res->ai_port_space, res->ai_qp_type, &id);

	if (r < 0)
		return r;
	if (res->ai_flags & RAI_PASSIVE)
		r = endpoint_bind(id, res, pd, attr);
	else
		r = endpoint_resolve(id, res, pd, attr);
	if (r < 0) {
		rdma_destroy_ep(&id->id);
		return r;
	}
	*ret_id = &id->id;
	return 0;
}

CM_EXPORT int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *qp_init_attr)
{
	if (!id || !res) {
		log_err("rdma_create_ep: %s is NULL", id ? "res" : "id");
		return ret_neg1(-EINVAL);
	}
	return ret_neg1(endpoint_create(res, pd, qp_init_attr, id));
}

CM_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	cm_id_destroy(to_cm_id(id));
}

/* ------------------------------------------------------------------ requests */

static int request_take(struct cm_id *listener, struct rdma_cm_event **ret_event)
{
	struct rdma_cm_event *event;

	cm_sync_drop_event(listener);
	if (rdma_get_cm_event(listener->id.channel, &event))
		return -errno;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		*ret_event = event;
		return 0;
	}
	/* the program may read the event */
	listener->id.event = event;
	cm_err(listener, "rdma_get_request: %s instead of a connection request",
	       rdma_event_str(event->event));
	return event->status ? -abs(event->status) : -EINVAL;
}

static int request_qp(struct cm_id *listener, struct cm_id *id)
{
	struct ibv_qp_init_attr attr;

	if (!listener->ep_attr)
		return 0;
	attr = *listener->ep_attr;
	return cm_qp_create(id, listener->id.pd, &attr);
}

static int request_get(struct cm_id *listener, struct rdma_cm_id **ret_id)
{
	struct rdma_cm_event *event = NULL;
	struct cm_id *id;
	int r;

	if (!listener->sync) {
		cm_err(listener, "rdma_get_request: the identifier has a channel: read its events");
		return -EINVAL;
	}
	r = request_take(listener, &event);
	if (r < 0)
		return r;
	id = to_cm_id(event->id);
	/*
	 * Count it now: the event belongs to the new identifier, and the listener may be destroyed
	 * earlier.
	 */
	cm_event_count_early(to_cm_event(event));
	r = request_qp(listener, id);
	id->id.event = event;
	if (r < 0) {
		rdma_reject(&id->id, NULL, 0);
		rdma_destroy_ep(&id->id);
		return r;
	}
	*ret_id = &id->id;
	return 0;
}

CM_EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	return ret_neg1(request_get(to_cm_id(listen), id));
}
