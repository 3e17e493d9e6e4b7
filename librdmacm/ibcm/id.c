/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identifiers: creation and end, and the results of a step of a connection's state machine. */
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/answered.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/mcast.h"
#include "librdmacm/ibcm/path.h"
#include "librdmacm/ibcm/port.h"
#include "librdmacm/ibcm/probe.h"
#include "librdmacm/ibcm/send.h"
#include "librdmacm/ibcm/share.h"
#include "librdmacm/ibcm/table.h"
#include "librdmacm/ibcm/wake.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "util/log.h"

static LIST_HEAD(, ibcm_id) all = LIST_HEAD_INITIALIZER(all);

struct ibcm_id *ibcm_id_new(struct ibcm_channel *channel, uint16_t ps, bool ud)
{
	struct ibcm_id *iid = calloc(1, sizeof(*iid));

	if (!iid)
		return NULL;
	TAILQ_INIT(&iid->records);
	ibcm_channel_set(iid, channel);
	iid->ps = ps;
	iid->ud = ud;
	iid->psn = ibcm_random() & 0xffffff;
	iid->qkey = RDMA_UDP_QKEY;
	LIST_INSERT_HEAD(&all, iid, entry);
	return iid;
}

void ibcm_id_release(struct ibcm_id *iid)
{
	ibcm_share_leave(iid);
	ibcm_guard_end(iid);
	ibcm_table_remove(iid);
	ibcm_port_drop(iid);
	ibcm_channel_set(iid, NULL);
	LIST_REMOVE(iid, entry);
	free(iid);
}

/* --- results of a step --- */

static void report_reply(struct ibcm_id *iid, const struct ibcm_mad *mad)
{
	struct cm_event *ev = ibcm_event_new(iid, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);

	if (!ev)
		return;
	ibcm_event_private(ev, mad->private_data, mad->private_len);
	ev->event.param.conn.responder_resources = iid->conn.qp.responder_resources;
	ev->event.param.conn.initiator_depth = iid->conn.qp.initiator_depth;
	ev->event.param.conn.flow_control = mad->rep.flow_control;
	ev->event.param.conn.rnr_retry_count = mad->rep.rnr_retry_count;
	ev->event.param.conn.srq = mad->rep.srq;
	ev->event.param.conn.qp_num = mad->rep.qpn;
	ev->ece.vendor_id = mad->rep.vendor_id;
	ev->ece.options = mad->attr_mod;
}

static void report_rejected(struct ibcm_id *iid, const struct ibcm_mad *mad, int reason)
{
	struct cm_event *ev = ibcm_event_new(iid, RDMA_CM_EVENT_REJECTED, reason);

	if (ev)
		ibcm_event_private(ev, mad->private_data, mad->private_len);
}

static void report_resolved(struct ibcm_id *iid, const struct ibcm_mad *mad, int status)
{
	struct cm_event *ev;

	if (status) {
		if (iid->id)
			cm_info(iid->id, "no answer to the request for its QP: %s",
				ibcm_sidr_status_str(status));
		ibcm_event_new(iid, RDMA_CM_EVENT_UNREACHABLE, status);
		return;
	}
	ev = ibcm_event_new(iid, RDMA_CM_EVENT_ESTABLISHED, 0);
	if (!ev)
		return;
	ibcm_event_private(ev, mad->private_data, mad->private_len);
	ev->event.param.ud.ah_attr = ibcm_ah_attr(iid);
	ev->event.param.ud.qp_num = mad->sidr_rep.qpn;
	ev->event.param.ud.qkey = mad->sidr_rep.qkey;
}

static void report(struct ibcm_id *iid, const struct ibcm_out *out, const struct ibcm_mad *mad)
{
	static const enum rdma_cm_event_type plain[] = {
		[IBCM_EVENT_ESTABLISHED] = RDMA_CM_EVENT_ESTABLISHED,
		[IBCM_EVENT_UNREACHABLE] = RDMA_CM_EVENT_UNREACHABLE,
		[IBCM_EVENT_DISCONNECTED] = RDMA_CM_EVENT_DISCONNECTED,
		[IBCM_EVENT_TIMEWAIT_EXIT] = RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};

	switch (out->event) {
	case IBCM_EVENT_REPLY:
		report_reply(iid, mad);
		break;
	case IBCM_EVENT_REJECTED:
		report_rejected(iid, mad, out->status);
		break;
	case IBCM_EVENT_RESOLVED:
		report_resolved(iid, mad, out->status);
		break;
	default:
		ibcm_event_new(iid, plain[out->event], out->status);
		break;
	}
}

/* Send a probe. A peer on this host needs no probes, because the host reports its death. */
static void probe(struct ibcm_id *iid, const struct ibcm_out *out)
{
	int r = ibcm_probe_send(iid, out->mad[0]);

	if (r == -ENOENT)
		ibcm_state_near(&iid->conn);
	if (r < 0 && out->must)
		ibcm_id_send(iid, out->mad[0]);
}

void ibcm_run(struct ibcm_id *iid, const struct ibcm_out *out, const struct ibcm_mad *mad)
{
	if (out->probe)
		probe(iid, out);
	for (unsigned int i = out->probe; i < out->mads; i++)
		ibcm_id_send(iid, out->mad[i]);
	if (out->answered)
		ibcm_answered_add(iid, out->mad[0]);
	ibcm_state_watch(&iid->conn, ibcm_now());
	if (out->has_event && !iid->detached && !iid->removed && !iid->silent)
		report(iid, out, mad);
	if (iid->conn.state == IBCM_IDLE)
		ibcm_table_remove_peer(iid);
	ibcm_share_update(iid);
	ibcm_guard_update(iid);
	if (ibcm_heap_update(iid) < 0)
		log_err("rdma_cm: no memory for a timeout");
	ibcm_wake_by(iid->conn.deadline);
	ibcm_id_release_ended(iid);
}

void ibcm_id_release_ended(struct ibcm_id *iid)
{
	if (iid->detached && !iid->held && iid->conn.state == IBCM_IDLE)
		ibcm_id_release(iid);
}

/* --- ends --- */

void ibcm_request_refuse(struct ibcm_id *child)
{
	struct ibcm_out out = {};

	child->id = NULL;
	child->detached = true;
	ibcm_channel_set(child, NULL);
	ibcm_state_destroy(&child->conn, ibcm_now(), &out);
	ibcm_run(child, &out, NULL);
}

void ibcm_events_drop(struct ibcm_id *iid, struct ibcm_mc *mc)
{
	struct ibcm_id *child;

	while (ibcm_event_drop(iid, mc, &child))
		if (child)
			ibcm_request_refuse(child);
}

static void listen_end(struct ibcm_id *iid)
{
	ibcm_listener_remove(iid);
	verbs_gsi_listen(iid->dev->verbs, ibcm_service_id(iid), ibcm_listener_gid(iid), false);
}

static void groups_free(struct cm_id *id)
{
	struct cm_mc *mc;

	LIST_FOREACH(mc, &id->groups, entry) {
		free(mc->ibcm);
		mc->ibcm = NULL;
	}
}

void ibcm_id_end(struct ibcm_id *iid)
{
	struct ibcm_out out = {};

	if (iid->step == STEP_LISTEN)
		listen_end(iid);
	ibcm_events_drop(iid, NULL);
	if (iid->id)
		groups_free(iid->id);
	ibcm_port_drop(iid);
	iid->id = NULL;
	iid->step = STEP_ENDED;
	iid->detached = true;
	ibcm_channel_set(iid, NULL);
	ibcm_state_destroy(&iid->conn, ibcm_now(), &out);
	ibcm_run(iid, &out, NULL);
}

/*
 * Report the removal of a device to all identifiers on its addresses, as the kernel does. A
 * listener on any address stays, because other devices may exist and a new interface may get the
 * same name.
 */
void ibcm_ids_remove_device(const struct ibcm_dev *dev)
{
	struct ibcm_id *iid;

	LIST_FOREACH(iid, &all, entry) {
		if (iid->local.cm != dev->cm || iid->detached || iid->removed)
			continue;
		iid->removed = true;
		if (!iid->silent)
			ibcm_event_new(iid, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
}
