/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The backend's operations on identifiers. Start reading here. */
#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/mcast.h"
#include "librdmacm/ibcm/path.h"
#include "librdmacm/ibcm/port.h"
#include "librdmacm/ibcm/table.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"
#include "util/util.h"

enum {
	PKEY_DEFAULT = 0xffff,
	LID_PERMISSIVE = 0xffff, /* LID in messages whose routes use GIDs */
	HOP_LIMIT = 64,
	RESPONSE_TIMEOUT = 20, /* 4.3 s: limit for the answer of either side */
	MAX_CM_RETRIES = 15,
	BACKLOG_MAX = 8192, /* limit of pending requests, which take about 1 KiB each */
	RETRY_MAX = 7,
};

/* --- life --- */

static int ibcm_create_id(struct cm_id *id)
{
	struct ibcm_id *iid;

	ibcm_lock();
	iid = ibcm_id_new(cm_id_channel(id)->ibcm, id->id.ps, id->id.qp_type == IBV_QPT_UD);
	if (iid)
		iid->id = id;
	ibcm_unlock();
	if (!iid)
		return -ENOMEM;
	id->ibcm = iid;
	return 0;
}

static int ibcm_destroy_id(struct cm_id *id, uint32_t *ret_events)
{
	struct ibcm_id *iid = id->ibcm;

	ibcm_lock();
	*ret_events = iid->reported;
	iid->held = true;
	ibcm_id_end(iid);
	ibcm_unlock();
	return 0;
}

/* Forget an identifier. The program has acknowledged all its events and cannot use it any more. */
static void ibcm_forget_id(struct cm_id *id)
{
	struct ibcm_id *iid = id->ibcm;

	if (!iid)
		return;
	id->ibcm = NULL;
	ibcm_lock();
	iid->held = false;
	ibcm_id_release_ended(iid);
	ibcm_unlock();
}

static void ibcm_drop_request(struct cm_channel *ch, struct cm_event *ev)
{
	ibcm_lock();
	ibcm_request_refuse(ev->new_ibcm);
	ibcm_unlock();
}

static int ibcm_migrate_id(struct cm_id *id, struct cm_channel *to, uint32_t *ret_events)
{
	struct ibcm_id *iid = id->ibcm;
	int r = -EINVAL;

	if (!to->ibcm)
		return -ENODEV;
	ibcm_lock();
	if (!iid->detached) {
		ibcm_events_move(iid, to->ibcm);
		*ret_events = iid->reported;
		r = 0;
	}
	ibcm_unlock();
	return r;
}

/* Set reuseaddr. After the bind it can only be switched on, and a listener cannot do even that. */
static int set_reuseaddr(struct ibcm_id *iid, bool reuse)
{
	if (iid->step != STEP_NEW && (!reuse || iid->step == STEP_LISTEN))
		return -EINVAL;
	iid->reuseaddr = reuse;
	return 0;
}

/* Set the timeout. ibv_modify_qp() refuses values that no queue pair accepts. */
static int set_ack_timeout(struct cm_id *id, uint8_t timeout)
{
	if (id->id.qp_type != IBV_QPT_RC && id->id.qp_type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	id->ibcm->ack_timeout = timeout;
	id->ibcm->ack_timeout_set = true;
	return 0;
}

static int ibcm_set_option(struct cm_id *id, int level, int optname, const void *value,
			   size_t length)
{
	struct ibcm_id *iid = id->ibcm;

	if (level != RDMA_OPTION_ID)
		return -EOPNOTSUPP;
	if (iid->step == STEP_ENDED)
		return -EINVAL;
	switch (optname) {
	case RDMA_OPTION_ID_TOS:
		iid->tos = *(const uint8_t *)value;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuseaddr(iid, *(const int *)value);
	case RDMA_OPTION_ID_AFONLY:
		if (iid->step != STEP_NEW && iid->step != STEP_BOUND)
			return -EINVAL;
		iid->afonly = *(const int *)value;
		iid->afonly_set = true;
		return 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout(id, *(const uint8_t *)value);
	default:
		return -EOPNOTSUPP;
	}
}

static int ibcm_write_event(struct cm_id *id, enum rdma_cm_event_type event, int status,
			    uint64_t arg)
{
	struct cm_event *ev;

	if (id->ibcm->step == STEP_ENDED)
		return -EINVAL;
	ibcm_lock();
	ev = ibcm_event_new(id->ibcm, event, status);
	if (ev)
		ev->event.param.arg = arg;
	ibcm_unlock();
	return ev ? 0 : -ENOMEM;
}

/* --- listen --- */

static int listen_wildcard(struct cm_id *id)
{
	static const struct sockaddr_in any = { .sin_family = AF_INET };

	return ibcm_bind_addr(id, (const struct sockaddr *)&any);
}

static int listen_start(struct ibcm_id *iid)
{
	int r = verbs_gsi_listen(iid->dev->verbs, ibcm_service_id(iid), ibcm_listener_gid(iid),
				 true);

	if (r < 0)
		return r;
	ibcm_listener_add(iid);
	iid->step = STEP_LISTEN;
	return 0;
}

static int ibcm_listen(struct cm_id *id, int backlog)
{
	struct ibcm_id *iid = id->ibcm;
	int r = 0;

	if (iid->step == STEP_NEW)
		r = listen_wildcard(id);
	if (!r && iid->step != STEP_BOUND)
		r = -EINVAL;
	if (!r && !iid->local.cm) {
		ibcm_interfaces_follow();
		r = ibcm_dev_get_all(&iid->dev);
	}
	if (!r)
		r = ibcm_port_listen(iid);
	if (r < 0)
		return r;
	ibcm_lock();
	iid->backlog = backlog > 0 && backlog < BACKLOG_MAX ? backlog : BACKLOG_MAX;
	r = iid->detached ? -EINVAL : listen_start(iid);
	ibcm_unlock();
	if (!r && !iid->local.cm)
		ibcm_interfaces_follow(); /* a device may have appeared since the last call */
	return r;
}

/* --- connect --- */

/* Write the private data: the header with the addresses, then the data of the program. */
static int put_private(const struct ibcm_id *iid, const struct cm_conn *conn, struct ibcm_mad *mad)
{
	struct ibcm_ip ip = {
		.family = iid->src.ss_family,
		.port = ntohs(cm_addr_port((const struct sockaddr *)&iid->src)),
	};

	if (conn->private_data_len > ibcm_private_size(mad->type) - IBCM_IP_LEN)
		return -EINVAL;
	memcpy(&ip.src, iid->local.gid.raw, sizeof(ip.src));
	memcpy(&ip.dst, iid->remote_gid.raw, sizeof(ip.dst));
	ibcm_ip_pack(&ip, mad->private_data);
	if (conn->private_data_len)
		memcpy(mad->private_data + IBCM_IP_LEN, conn->private_data, conn->private_data_len);
	mad->private_len = IBCM_IP_LEN + conn->private_data_len;
	return 0;
}

static uint64_t peer_service_id(const struct ibcm_id *iid)
{
	return (uint64_t)iid->ps << 16 | ntohs(cm_addr_port((const struct sockaddr *)&iid->dst));
}

static struct ibcm_path path_of(const struct ibcm_id *iid)
{
	return (struct ibcm_path){
		.local_lid = LID_PERMISSIVE,
		.remote_lid = LID_PERMISSIVE,
		.local_gid = iid->local.gid,
		.remote_gid = iid->remote_gid,
		.rate = ibcm_path_rate(iid),
		.traffic_class = iid->tos,
		.hop_limit = HOP_LIMIT,
		.ack_timeout = min_of(ibcm_packet_life_time(iid) + 1, 31),
	};
}

static uint32_t transport_of(const struct cm_id *id)
{
	if (id->id.qp_type == IBV_QPT_XRC_SEND)
		return IBCM_TRANSPORT_EXTENDED;
	return id->id.qp_type == IBV_QPT_UC ? IBCM_TRANSPORT_UC : IBCM_TRANSPORT_RC;
}

static int make_req(struct cm_id *id, const struct cm_conn *conn, struct ibcm_mad *mad)
{
	const struct ibcm_id *iid = id->ibcm;

	*mad = (struct ibcm_mad){
		.type = IBCM_REQ,
		.attr_mod = conn->ece.options,
		.req = {
			.service_id = peer_service_id(iid),
			.ca_guid = be64toh(iid->local.cm->guid),
			.vendor_id = conn->ece.vendor_id & 0xffffff,
			.qpn = conn->qp_num,
			.responder_resources = conn->responder_resources,
			.initiator_depth = conn->initiator_depth,
			.remote_response_timeout = RESPONSE_TIMEOUT,
			.transport = transport_of(id),
			.extended_transport = transport_of(id) == IBCM_TRANSPORT_EXTENDED ? IBCM_EXTENDED_XRC : 0,
			.flow_control = !!conn->flow_control,
			.starting_psn = iid->psn,
			.local_response_timeout = RESPONSE_TIMEOUT,
			.retry_count = min_of(conn->retry_count, RETRY_MAX),
			.pkey = PKEY_DEFAULT,
			.mtu = ibcm_path_mtu(iid),
			.rnr_retry_count = min_of(conn->rnr_retry_count, RETRY_MAX),
			.max_cm_retries = MAX_CM_RETRIES,
			.srq = conn->srq,
			.primary = path_of(iid),
		},
	};
	return put_private(iid, conn, mad);
}

static int make_sidr_req(struct cm_id *id, const struct cm_conn *conn, struct ibcm_mad *mad)
{
	const struct ibcm_id *iid = id->ibcm;

	*mad = (struct ibcm_mad){
		.type = IBCM_SIDR_REQ,
		.sidr_req = { .service_id = peer_service_id(iid), .pkey = PKEY_DEFAULT },
	};
	return put_private(iid, conn, mad);
}

static int connect_start(struct ibcm_id *iid, struct ibcm_mad *mad)
{
	struct ibcm_out out = {};
	int r = 0;

	if (!iid->in_table)
		r = ibcm_table_add(iid, ibcm_prefix());
	if (r < 0)
		return r;
	mad->local_id = iid->conn.local_id;
	mad->tid = (uint64_t)iid->psn << 32 | iid->conn.local_id;
	r = ibcm_state_request(&iid->conn, mad, ibcm_now(), &out);
	if (r < 0)
		return r;
	iid->step = STEP_CONNECT;
	ibcm_run(iid, &out, NULL);
	return 0;
}

static int ibcm_connect(struct cm_id *id, const struct cm_conn *conn)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_mad mad;
	bool guarded;
	int r;

	if (iid->step != STEP_ROUTE)
		return -EINVAL;
	r = iid->ud ? make_sidr_req(id, conn, &mad) : make_req(id, conn, &mad);
	if (r < 0)
		return r;
	guarded = ibcm_guard_begin(iid);
	ibcm_lock();
	iid->guarded = guarded;
	r = iid->detached ? -EINVAL : connect_start(iid, &mad);
	ibcm_unlock();
	return r;
}

/* --- accept, reject, disconnect --- */

static int make_rep(const struct ibcm_id *iid, const struct cm_conn *conn, struct ibcm_mad *mad)
{
	*mad = (struct ibcm_mad){
		.type = IBCM_REP,
		.attr_mod = conn->ece.options,
		.rep = {
			.ca_guid = be64toh(iid->local.cm->guid),
			.vendor_id = conn->ece.vendor_id & 0xffffff,
			.qpn = conn->qp_num,
			.starting_psn = iid->psn,
			.responder_resources = conn->responder_resources,
			.initiator_depth = conn->initiator_depth,
			.flow_control = !!conn->flow_control,
			.rnr_retry_count = min_of(conn->rnr_retry_count, RETRY_MAX),
			.srq = conn->srq,
		},
	};
	return 0;
}

static int make_sidr_rep(const struct ibcm_id *iid, const struct cm_conn *conn,
			 struct ibcm_mad *mad)
{
	*mad = (struct ibcm_mad){
		.type = IBCM_SIDR_REP,
		.sidr_rep = { .status = IBCM_SIDR_SUCCESS,
			      .service_id = ibcm_service_id(iid),
			      .qpn = conn->qp_num,
			      .qkey = iid->qkey },
	};
	return 0;
}

static int make_reply(const struct ibcm_id *iid, const struct cm_conn *conn, struct ibcm_mad *mad)
{
	int r = iid->ud ? make_sidr_rep(iid, conn, mad) : make_rep(iid, conn, mad);

	if (r < 0)
		return r;
	if (conn->private_data_len > ibcm_private_size(mad->type))
		return -EINVAL;
	if (conn->private_data_len)
		memcpy(mad->private_data, conn->private_data, conn->private_data_len);
	mad->private_len = conn->private_data_len;
	return 0;
}

static int ibcm_accept(struct cm_id *id, const struct cm_conn *conn)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_out out = {};
	struct ibcm_mad mad;
	int r = iid->step == STEP_ENDED || !iid->local.cm ? -EINVAL : iid->removed ? -ENXIO : 0;
	bool guarded;

	if (!r && conn)
		r = make_reply(iid, conn, &mad);
	if (r < 0)
		return r;
	guarded = conn && ibcm_guard_begin(iid);
	ibcm_lock();
	iid->guarded |= guarded;
	if (iid->detached)
		r = -EINVAL;
	else if (conn)
		r = ibcm_state_reply(&iid->conn, &mad, ibcm_now(), &out);
	else if (iid->conn.state == IBCM_REP_RCVD)
		r = ibcm_state_establish(&iid->conn, &out);
	else
		r = -EINVAL;
	if (!r) {
		iid->silent = false;
		ibcm_run(iid, &out, NULL);
	}
	ibcm_unlock();
	return r;
}

static int ibcm_reject(struct cm_id *id, const struct cm_reject *reject)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_out out = {};
	int r;

	ibcm_lock();
	r = iid->detached ? -EINVAL
			  : ibcm_state_reject(&iid->conn,
					      reject->reason ? reject->reason : IBCM_REJ_CONSUMER,
					      reject->private_data, reject->private_data_len,
					      ibcm_now(), &out);
	if (!r)
		ibcm_run(iid, &out, NULL);
	ibcm_unlock();
	return r;
}

/*
 * Return whether the identifier may be disconnected. As in the kernel, a program may disconnect a
 * connection that has ended or is not established yet. Then no message is sent.
 */
static bool has_begun(const struct ibcm_id *iid)
{
	return iid->step == STEP_CONNECT || (iid->step == STEP_LISTEN && iid->local.cm);
}

static int ibcm_disconnect(struct cm_id *id)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_out out = {};

	if (!has_begun(iid))
		return -EINVAL;
	ibcm_lock();
	if (!ibcm_state_disconnect(&iid->conn, ibcm_now(), &out))
		ibcm_run(iid, &out, NULL);
	ibcm_unlock();
	return 0;
}

static int ibcm_notify(struct cm_id *id, enum ibv_event_type event)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_out out = {};
	int r = -EINVAL;

	if (event != IBV_EVENT_COMM_EST)
		return -EINVAL;
	ibcm_lock();
	if (iid->conn.state == IBCM_ESTABLISHED)
		r = -EISCONN;
	else if (iid->conn.state == IBCM_REP_SENT)
		r = ibcm_state_establish(&iid->conn, &out);
	if (!r)
		ibcm_run(iid, &out, NULL);
	ibcm_unlock();
	return r;
}

const struct cm_backend_ops ibcm_ops = {
	.name = "user-space",
	.serves = ibcm_serves,
	.open_channel = ibcm_open_channel,
	.close_channel = ibcm_close_channel,
	.get_event = ibcm_get_event,
	.wait_event = ibcm_wait_event,
	.create_id = ibcm_create_id,
	.destroy_id = ibcm_destroy_id,
	.forget_id = ibcm_forget_id,
	.drop_request = ibcm_drop_request,
	.migrate_id = ibcm_migrate_id,
	.bind_addr = ibcm_bind_addr,
	.resolve_addr = ibcm_resolve_addr,
	.resolve_route = ibcm_resolve_route,
	.query_addr = ibcm_query_addr,
	.query_route = ibcm_query_route,
	.listen = ibcm_listen,
	.connect = ibcm_connect,
	.accept = ibcm_accept,
	.reject = ibcm_reject,
	.disconnect = ibcm_disconnect,
	.notify = ibcm_notify,
	.init_qp_attr = ibcm_init_qp_attr,
	.join = ibcm_join,
	.leave = ibcm_leave,
	.set_option = ibcm_set_option,
	.write_event = ibcm_write_event,
};
