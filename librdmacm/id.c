/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creation and end of an identifier, and the choice of its backend. The choice is made at once if
 * the channel has only one backend, otherwise when a local address is known.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "librdmacm/sockaddr.h"
#include "util/cond.h"
#include "util/log.h"
#include "util/text.h"

void cm_log(enum log_level level, const struct cm_id *id, const char *fmt, ...)
{
	const struct rdma_addr *addr = &id->id.route.addr;
	char src[CM_ADDR_TEXT], dst[CM_ADDR_TEXT], text[640];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_print(level, "rdma_cm %s (%s to %s): %s",
		  id->id.verbs ? id->id.verbs->device->name : "id without a device",
		  cm_addr_text(&addr->src_addr, src), cm_addr_text(&addr->dst_addr, dst), text);
}

/* ------------------------------------------------------------------ memory */

int cm_id_alloc(struct cm_channel *ch, void *context, enum rdma_port_space ps,
		enum ibv_qp_type qp_type, struct cm_id **ret_id)
{
	struct cm_id *id = calloc(1, sizeof(*id));
	int r;

	if (!id)
		return -ENOMEM;
	r = cm_channel_enter(ch, id);
	if (r < 0) {
		free(id);
		return r;
	}
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	pthread_mutex_init(&id->lock, NULL);
	cond_init_monotonic(&id->acked);
	TAILQ_INIT(&id->unacked);
	LIST_INIT(&id->groups);
	*ret_id = id;
	return 0;
}

void cm_id_free(struct cm_id *id)
{
	cm_channel_leave(id);
	cm_options_free(id);
	rdma_freeaddrinfo(id->addrinfo);
	free(id->id.route.path_rec);
	free(id->early_paths);
	free(id->ep_attr);
	free(id->connect_data);
	pthread_cond_destroy(&id->acked);
	pthread_mutex_destroy(&id->lock);
	free(id);
}

int cm_id_set_device(struct cm_id *id, struct cm_device *dev)
{
	int r = cm_device_open(dev);

	if (r < 0)
		return r;
	id->dev = dev;
	id->id.verbs = dev->verbs;
	id->id.pd = id->id.pd ? id->id.pd : dev->pd;
	return 0;
}

int cm_id_set_paths(struct cm_id *id, const struct ibv_sa_path_rec *paths, int num_paths)
{
	struct ibv_sa_path_rec *copy = NULL;

	if (num_paths > 0) {
		copy = calloc(num_paths, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		memcpy(copy, paths, num_paths * sizeof(*copy));
	}
	free(id->id.route.path_rec);
	id->id.route.path_rec = copy;
	id->id.route.num_paths = num_paths;
	return 0;
}

/* ------------------------------------------------------------------ backends */

int cm_unsupported(struct cm_id *id, const char *what)
{
	cm_err(id, "%s is not supported by the %s connection manager", what, id->backend->name);
	return -EOPNOTSUPP;
}

int cm_need_backend(struct cm_id *id, const char *who)
{
	if (id->closed) {
		cm_err(id, "%s: the identifier's event channel was destroyed", who);
		return -EBADF;
	}
	if (id->backend)
		return 0;
	cm_err(id, "%s before an address was bound or resolved", who);
	return -EINVAL;
}

static int backend_attach(struct cm_id *id, const struct cm_backend_ops *ops)
{
	int r;

	id->backend = ops;
	r = ops->create_id(id);
	if (r < 0) {
		id->backend = NULL;
		return r;
	}
	return cm_options_replay(id);
}

static int backend_detach(struct cm_id *id)
{
	uint32_t reported = 0;
	int r;

	if (!id->backend && !id->closed)
		return 0;
	r = id->closed ? 0 : id->backend->destroy_id(id, &reported);
	if (r < 0)
		return r;
	if (id->closed)
		reported = id->closed_reported;
	cm_events_wait(id, &id->events_acked, reported, "rdma_destroy_id()");
	if (!id->closed && id->backend->forget_id)
		id->backend->forget_id(id);
	id->events_acked = 0;
	id->backend = NULL;
	return 0;
}

static const struct cm_backend_ops *backend_for(const struct cm_id *id, const struct sockaddr *src)
{
	struct cm_channel *ch = cm_id_channel(id);

	if (ch->ibcm_fd < 0)
		return &ucma_ops;
	if (ch->ucma_fd < 0)
		return &ibcm_ops;
	return ibcm_ops.serves(src) ? &ibcm_ops : &ucma_ops;
}

static int twin_create(struct cm_id *id, const struct cm_backend_ops *ops)
{
	struct cm_id *twin;
	int r = cm_id_alloc(cm_id_channel(id), id->id.context, id->id.ps, id->id.qp_type, &twin);

	if (r < 0)
		return r;
	twin->front = id;
	r = backend_attach(twin, ops);
	if (r < 0) {
		cm_id_free(twin);
		return r;
	}
	id->twin = twin;
	return 0;
}

static int twin_destroy(struct cm_id *id)
{
	struct cm_id *twin = id->twin;
	int r;

	if (!twin)
		return 0;
	r = backend_detach(twin);
	if (r < 0)
		return r;
	id->twin = NULL;
	cm_id_free(twin);
	return 0;
}

int cm_id_choose(struct cm_id *id, const struct sockaddr *src)
{
	const struct cm_backend_ops *ops;
	int r = id->closed ? -EBADF : twin_destroy(id);

	if (r < 0)
		return r;
	ops = backend_for(id, src);
	if (id->backend == ops)
		return 0;
	r = backend_detach(id);
	return r < 0 ? r : backend_attach(id, ops);
}

int cm_id_choose_both(struct cm_id *id)
{
	int r;

	if (id->closed)
		return -EBADF;
	if (id->backend)
		return 0;
	r = backend_attach(id, &ucma_ops);
	if (!r)
		r = twin_create(id, &ibcm_ops);
	return r;
}

int cm_id_choose_none(struct cm_id *id)
{
	int r = twin_destroy(id);

	return r < 0 ? r : backend_detach(id);
}

/* ------------------------------------------------------------------ create and destroy */

static int id_create(struct cm_channel *ch, void *context, enum rdma_port_space ps,
		     enum ibv_qp_type qp_type, struct cm_id **ret_id)
{
	struct cm_id *id;
	int r = cm_id_alloc(ch, context, ps, qp_type, &id);

	if (r < 0)
		return r;
	if (!cm_channel_is_mixed(ch))
		r = backend_attach(id, ch->ucma_fd >= 0 ? &ucma_ops : &ibcm_ops);
	if (r < 0) {
		cm_id_free(id);
		return r;
	}
	*ret_id = id;
	return 0;
}

static bool port_space_known(enum rdma_port_space ps)
{
	return ps == RDMA_PS_TCP || ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB || ps == RDMA_PS_IB;
}

int cm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **ret_id)
{
	struct cm_channel *ch = to_cm_channel(channel);
	int r;

	if (!port_space_known(ps)) {
		log_err("port space 0x%x is not one of RDMA_PS_*", ps);
		return -EINVAL;
	}
	if (channel)
		return id_create(ch, context, ps, qp_type, ret_id);
	r = cm_channel_create(&ch);
	if (r < 0)
		return r;
	r = id_create(ch, context, ps, qp_type, ret_id);
	if (r < 0)
		cm_channel_destroy(ch);
	else
		(*ret_id)->sync = true;
	return r;
}

CM_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			     void *context, enum rdma_port_space ps)
{
	bool datagrams = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct cm_id *created;
	int r;

	if (!id) {
		log_err("rdma_create_id: id is NULL");
		return ret_neg1(-EINVAL);
	}
	r = cm_id_create(channel, context, ps, datagrams ? IBV_QPT_UD : IBV_QPT_RC, &created);
	if (r < 0)
		return ret_neg1(r);
	*id = &created->id;
	return 0;
}

int cm_id_destroy(struct cm_id *id)
{
	struct cm_channel *own;
	int r;

	cm_sync_drop_event(id);
	r = twin_destroy(id);
	if (!r)
		r = backend_detach(id);
	if (r < 0)
		return r;
	cm_posted_drop(id);
	cm_events_wait(id, &id->posted_acked, id->posted_given, "rdma_destroy_id()");
	cm_groups_free(id);
	own = id->sync ? cm_id_channel(id) : NULL;
	cm_id_free(id);
	if (own)
		cm_channel_destroy(own);
	return 0;
}

CM_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	return ret_neg1(cm_id_destroy(to_cm_id(id)));
}

/* ------------------------------------------------------------------ migration */

static int migrate_one(struct cm_id *id, struct cm_channel *to)
{
	uint32_t reported;
	int r;

	if (!id->backend)
		return 0;
	if ((id->backend == &ucma_ops ? to->ucma_fd : to->ibcm_fd) < 0) {
		cm_err(id, "rdma_migrate_id: the channel does not serve the %s connection manager",
		       id->backend->name);
		return -EINVAL;
	}
	r = id->backend->migrate_id(id, to, &reported);
	if (r < 0)
		return r;
	cm_events_wait(id, &id->events_acked, reported, "rdma_migrate_id()");
	return 0;
}

static void id_move(struct cm_id *id, struct cm_channel *to)
{
	cm_channel_leave(id);
	cm_channel_enter(to, id);
}

int cm_id_migrate(struct cm_id *id, struct cm_channel *to)
{
	struct cm_channel *from = cm_id_channel(id), *own = NULL;
	int r = id->closed ? -EBADF : id->sync && !to ? -EINVAL : 0;

	if (r < 0)
		return r;
	cm_sync_drop_event(id);
	if (!to) {
		r = cm_channel_create(&own);
		to = own;
	}
	if (!r)
		r = migrate_one(id, to);
	if (!r && id->twin)
		r = migrate_one(id->twin, to);
	if (r < 0) {
		if (own)
			cm_channel_destroy(own);
		return r;
	}
	cm_posted_move(id, to);
	cm_events_wait(id, &id->posted_acked, id->posted_given, "rdma_migrate_id()");
	id_move(id, to);
	if (id->twin)
		id_move(id->twin, to);
	if (id->sync)
		cm_channel_destroy(from);
	id->sync = own;
	return 0;
}

CM_EXPORT int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	return ret_neg1(cm_id_migrate(to_cm_id(id), to_cm_channel(channel)));
}
