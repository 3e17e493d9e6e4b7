/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast groups. RoCE has no subnet administrator: the GID of a group is its IP address, and the
 * Q_Key belongs to the port space. The core attaches the QP, and this joins the group on the
 * network.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "librdmacm/event.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/mcast.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"

enum {
	MULTICAST_QPN = 0xffffff,
	HOP_LIMIT = 64,
};

static bool gid_is_group(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (ibcm_gid_is_ipv4(gid) && gid->raw[12] >> 4 == 0xe);
}

static void report_joined(struct ibcm_id *iid, struct ibcm_mc *group, const union ibv_gid *gid)
{
	struct cm_event *ev = ibcm_event_group(iid, group, RDMA_CM_EVENT_MULTICAST_JOIN, 0);

	if (!ev)
		return;
	ev->event.param.ud.ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *gid,
			 .sgid_index = iid->local.index,
			 .hop_limit = HOP_LIMIT,
			 .traffic_class = iid->tos },
	};
	ev->event.param.ud.qp_num = MULTICAST_QPN;
	ev->event.param.ud.qkey = iid->qkey;
}

int ibcm_join(struct cm_mc *mc)
{
	struct sockaddr *addr = (struct sockaddr *)&mc->addr;
	struct ibcm_id *iid = mc->id->ibcm;
	struct ibcm_mc *group;
	union ibv_gid gid;

	if (iid->step == STEP_ENDED || !iid->dev || !iid->ud)
		return -EINVAL;
	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	ibcm_addr_to_gid(addr, &gid);
	if (!gid_is_group(&gid))
		return -EINVAL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->mc = mc;
	mc->ibcm = group;
	ibcm_lock();
	if (!iid->detached)
		report_joined(iid, group, &gid);
	ibcm_unlock();
	return 0;
}

int ibcm_leave(struct cm_mc *mc, uint32_t *ret_events)
{
	struct ibcm_mc *group = mc->ibcm;

	if (!group) /* another thread has destroyed the identifier and freed the group */
		return -EINVAL;
	ibcm_lock();
	ibcm_events_drop(mc->id->ibcm, group);
	*ret_events = group->reported;
	ibcm_unlock();
	free(group);
	mc->ibcm = NULL;
	return 0;
}
