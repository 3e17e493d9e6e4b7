/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups. */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/backend.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "librdmacm/sockaddr.h"

static void group_insert(struct cm_mc *mc)
{
	pthread_mutex_lock(&mc->id->lock);
	LIST_INSERT_HEAD(&mc->id->groups, mc, entry);
	pthread_mutex_unlock(&mc->id->lock);
}

static void group_free(struct cm_mc *mc)
{
	pthread_mutex_lock(&mc->id->lock);
	LIST_REMOVE(mc, entry);
	pthread_mutex_unlock(&mc->id->lock);
	free(mc);
}

static struct cm_mc *group_find(struct cm_id *id, const struct sockaddr *addr)
{
	struct cm_mc *mc;

	pthread_mutex_lock(&id->lock);
	LIST_FOREACH(mc, &id->groups, entry)
		if (!memcmp(&mc->addr, addr, cm_addr_size(addr)))
			break;
	pthread_mutex_unlock(&id->lock);
	return mc;
}

static int join_check(struct cm_id *id, const struct rdma_cm_join_mc_attr_ex *attr)
{
	const uint32_t all = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	int r = cm_need_backend(id, "rdma_join_multicast");

	if (r < 0)
		return r;
	if (attr->comp_mask & ~all)
		return -EOPNOTSUPP;
	if (attr->comp_mask != all || !attr->addr || !cm_addr_size(attr->addr) ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	return id->backend->join ? 0 : cm_unsupported(id, "multicast");
}

static int group_join(struct cm_id *id, const struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	char text[CM_ADDR_TEXT];
	struct cm_mc *mc;
	int r = join_check(id, attr);

	if (r < 0)
		return r;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -ENOMEM;
	mc->id = id;
	mc->context = context;
	mc->join_flags = attr->join_flags;
	memcpy(&mc->addr, attr->addr, cm_addr_size(attr->addr));
	group_insert(mc);
	r = id->backend->join(mc);
	if (r < 0) {
		cm_err(id, "rdma_join_multicast %s: %s", cm_addr_text(attr->addr, text),
		       strerror(-r));
		group_free(mc);
		return r;
	}
	return cm_sync_wait(id);
}

CM_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	const struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = addr,
	};

	return ret_neg1(group_join(to_cm_id(id), &attr, context));
}

CM_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				     struct rdma_cm_join_mc_attr_ex *mc_join_attr, void *context)
{
	return ret_neg1(group_join(to_cm_id(id), mc_join_attr, context));
}

int cm_mc_joined(struct cm_mc *mc, const struct ibv_ah_attr *attr)
{
	struct ibv_qp *qp = mc->id->id.qp;
	int r;

	mc->mgid = attr->grh.dgid;
	mc->mlid = attr->dlid;
	if (!qp || mc->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return 0;
	r = -ibv_attach_mcast(qp, &mc->mgid, mc->mlid);
	mc->attached = !r;
	return r;
}

static int group_leave(struct cm_id *id, const struct sockaddr *addr)
{
	char text[CM_ADDR_TEXT];
	uint32_t reported;
	struct cm_mc *mc;
	int r = addr && cm_addr_size(addr) ? 0 : -EINVAL;

	if (!r)
		r = cm_need_backend(id, "rdma_leave_multicast");
	if (r < 0)
		return r;
	mc = group_find(id, addr);
	if (!mc) {
		cm_err(id, "rdma_leave_multicast %s: not a member", cm_addr_text(addr, text));
		return -EADDRNOTAVAIL;
	}
	if (mc->attached && id->id.qp)
		ibv_detach_mcast(id->id.qp, &mc->mgid, mc->mlid);
	r = id->backend->leave(mc, &reported);
	if (r < 0)
		return r;
	if (id->id.event && to_cm_event(id->id.event)->mc == mc)
		cm_sync_drop_event(id);
	cm_events_wait(id, &mc->events_acked, reported, "rdma_leave_multicast()");
	group_free(mc);
	return 0;
}

CM_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return ret_neg1(group_leave(to_cm_id(id), addr));
}

void cm_groups_free(struct cm_id *id)
{
	struct cm_mc *mc;

	/* The backend left the groups when it destroyed the identifier. */
	while ((mc = LIST_FIRST(&id->groups)))
		group_free(mc);
}
