/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests: find their listeners, and refuse those without one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/answered.h"
#include "librdmacm/ibcm/arrival.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/dispatch.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/send.h"
#include "librdmacm/ibcm/share.h"
#include "librdmacm/ibcm/table.h"

static void answer_data(const struct arrival *in, const uint8_t data[IBCM_MAD_LEN])
{
	struct verbs_gsi_mad mad = {
		.port_num = in->from->port_num,
		.sgid_index = in->from->sgid_index,
		.traffic_class = in->mad.type == IBCM_REQ ? in->mad.req.primary.traffic_class : 0,
		.local_gid = in->from->local_gid,
		.remote_gid = in->from->remote_gid,
	};

	memcpy(mad.data, data, sizeof(mad.data));
	ibcm_send(in->dev, &mad);
}

static void answer(const struct arrival *in, const struct ibcm_mad *reply)
{
	uint8_t data[IBCM_MAD_LEN];

	if (!ibcm_mad_pack(reply, data))
		answer_data(in, data);
}

/* Repeat the only answer to a request. Return: whether there was an answer. */
static bool answer_again(const struct arrival *in)
{
	const uint8_t *data =
		ibcm_answered_find(&in->from->remote_gid, in->mad.local_id, in->mad.tid);

	if (data)
		answer_data(in, data);
	return data;
}

void ibcm_arrival_stray(const struct arrival *in)
{
	struct ibcm_mad reply;

	if (!ibcm_state_stray(&in->mad, &reply))
		answer(in, &reply);
}

static void answer_rej(const struct arrival *in, enum ibcm_reject_reason reason)
{
	struct ibcm_mad reply = {
		.type = IBCM_REJ,
		.tid = in->mad.tid,
		.remote_id = in->mad.local_id,
		.rej = { .rejected = IBCM_ANSWERS_REQ, .reason = reason },
	};

	answer(in, &reply);
}

static uint64_t arrival_service(const struct arrival *in)
{
	return in->mad.type == IBCM_REQ ? in->mad.req.service_id : in->mad.sidr_req.service_id;
}

/*
 * Return the GUID of the sender's node. Requests of datagram services have no GUID, so their source
 * address replaces it.
 */
static uint64_t arrival_guid(const struct arrival *in)
{
	return in->mad.type == IBCM_REQ ? in->mad.req.ca_guid
					: in->from->remote_gid.global.subnet_prefix ^
						  in->from->remote_gid.global.interface_id;
}

static void ip_to_sockaddr(const struct ibcm_ip *ip, const struct in6_addr *addr, uint16_t port,
			   uint32_t scope, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in = (struct sockaddr_in *)ret;

	*ret = (struct sockaddr_storage){ .ss_family = ip->family };
	if (ip->family == AF_INET) {
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, &addr->s6_addr[12], sizeof(in->sin_addr));
		return;
	}
	in6->sin6_port = htons(port);
	in6->sin6_addr = *addr;
	if (IN6_IS_ADDR_LINKLOCAL(addr))
		in6->sin6_scope_id = scope;
}

static uint32_t arrival_ifindex(const struct arrival *in)
{
	struct ibv_gid_entry entry;

	return ibv_query_gid_ex(in->dev->verbs, 1, in->from->sgid_index, &entry, 0)
		       ? 0
		       : entry.ndev_ifindex;
}

static bool is_nobodys(const union ibv_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->raw;
	uint32_t v4;

	if (!IN6_IS_ADDR_V4MAPPED(addr))
		return IN6_IS_ADDR_LOOPBACK(addr) || IN6_IS_ADDR_UNSPECIFIED(addr) ||
		       IN6_IS_ADDR_MULTICAST(addr);
	memcpy(&v4, gid->raw + 12, sizeof(v4));
	v4 = ntohl(v4);
	return !(v4 >> 24) || v4 >> 24 == IN_LOOPBACKNET || IN_MULTICAST(v4) ||
	       v4 == INADDR_BROADCAST;
}

static union ibv_gid ip_to_gid(const struct ibcm_ip *ip, const struct in6_addr *addr)
{
	struct sockaddr_storage sockaddr;
	union ibv_gid gid;

	ip_to_sockaddr(ip, addr, 0, 0, &sockaddr);
	ibcm_addr_to_gid((struct sockaddr *)&sockaddr, &gid);
	return gid;
}

/*
 * Check the header of annex A11. Its destination must be the address that received the request. The
 * peer may choose the source address. As in the kernel, refuse only addresses that no other host
 * can have.
 */
static int arrival_ip(struct arrival *in)
{
	union ibv_gid src, dst;
	int r = ibcm_ip_unpack(in->mad.private_data, in->mad.private_len, &in->ip);

	if (r < 0)
		return r;
	src = ip_to_gid(&in->ip, &in->ip.src);
	dst = ip_to_gid(&in->ip, &in->ip.dst);
	if (memcmp(&dst, &in->from->local_gid, sizeof(dst)) ||
	    (is_nobodys(&src) && memcmp(&src, &in->from->remote_gid, sizeof(src))))
		return -EADDRNOTAVAIL;
	return 0;
}

static void request_event(struct ibcm_id *listener, struct ibcm_id *child, const struct arrival *in)
{
	const struct ibcm_req *req = &in->mad.req;
	struct cm_event *ev = ibcm_event_request(listener, child);

	if (!ev) {
		ibcm_request_refuse(child);
		return;
	}
	ibcm_event_private(ev, in->mad.private_data + IBCM_IP_LEN,
			   in->mad.private_len - IBCM_IP_LEN);
	if (in->mad.type != IBCM_REQ)
		return;
	ev->event.param.conn.responder_resources = req->initiator_depth;
	ev->event.param.conn.initiator_depth = req->responder_resources;
	ev->event.param.conn.flow_control = req->flow_control;
	ev->event.param.conn.retry_count = req->retry_count;
	ev->event.param.conn.rnr_retry_count = req->rnr_retry_count;
	ev->event.param.conn.srq = req->srq;
	ev->event.param.conn.qp_num = req->qpn;
	ev->ece.vendor_id = req->vendor_id;
	ev->ece.options = in->mad.attr_mod;
}

static void child_addresses(struct ibcm_id *child, const struct ibcm_id *listener,
			    const struct arrival *in)
{
	uint32_t scope = arrival_ifindex(in);

	child->dev = in->dev;
	child->local = (struct ibcm_local){ .cm = in->dev->cm,
					    .index = in->from->sgid_index,
					    .gid = in->from->local_gid };
	child->remote_gid = in->from->remote_gid;
	ip_to_sockaddr(&in->ip, &in->ip.dst, ibcm_service_id(listener) & 0xffff, scope,
		       &child->src);
	ip_to_sockaddr(&in->ip, &in->ip.src, in->ip.port, scope, &child->dst);
	if (in->mad.type == IBCM_REQ)
		child->tos = in->mad.req.primary.traffic_class;
}

static void request_accept(struct ibcm_id *listener, const struct arrival *in)
{
	struct ibcm_id *child = ibcm_id_new(listener->channel, listener->ps, listener->ud);

	if (!child)
		return; /* the peer will try again */
	if (ibcm_table_add(child, ibcm_prefix()) < 0) {
		ibcm_id_release(child);
		return;
	}
	child->step = STEP_CONNECT;
	child->silent = true;
	child_addresses(child, listener, in);
	ibcm_state_arrive(&child->conn, &in->mad);
	child->conn.remote_guid = arrival_guid(in);
	ibcm_table_add_peer(child);
	ibcm_share_update(child);
	request_event(listener, child, in);
}

static void let_go(struct ibcm_id *iid)
{
	struct ibcm_out out = {};

	ibcm_state_timeout(&iid->conn, iid->conn.deadline, &out);
	ibcm_run(iid, &out, NULL);
}

/*
 * Return whether the peer's QP is already connected on this side. If so, one side is wrong, and
 * both connections end. Accept this only from the peer's address, because GUIDs and QP numbers are
 * no secrets.
 */
static bool request_is_stale(const struct arrival *in)
{
	struct ibcm_id *old;
	struct ibcm_out out = {};

	if (in->mad.type != IBCM_REQ)
		return false;
	old = ibcm_table_find_qpn(&in->from->remote_gid, in->mad.req.ca_guid, in->mad.req.qpn);
	if (!old || old->conn.state == IBCM_IDLE)
		return false;
	if (ibcm_is_over(old)) {
		let_go(old);
		return false;
	}
	answer_rej(in, IBCM_REJ_STALE_CONN);
	ibcm_state_disconnect(&old->conn, ibcm_now(), &out);
	ibcm_run(old, &out, NULL);
	return true;
}

/* Return whether @known is another connection, which has the id of the request by chance. */
static bool is_another(const struct ibcm_id *known, const struct arrival *in)
{
	return ibcm_is_over(known) && in->mad.type == IBCM_REQ &&
	       in->mad.req.qpn != known->conn.qp.remote_qpn;
}

/*
 * Return whether the request is accepted. The first request of a host is accepted even if other
 * hosts filled the backlog.
 */
static bool has_room(const struct ibcm_id *listener, const struct arrival *in)
{
	const union ibv_gid *gid = &in->from->remote_gid;

	return ibcm_share_allows(gid) &&
	       (listener->waiting < listener->backlog || ibcm_share_is_first(gid));
}

bool ibcm_arrival_request(struct arrival *in)
{
	struct ibcm_id *known = ibcm_table_find_peer(&in->from->remote_gid, arrival_guid(in),
						     in->mad.local_id),
		       *listener;
	struct ibcm_out out = {};

	if (known && is_another(known, in)) {
		let_go(known);
	} else if (known) {
		ibcm_state_message(&known->conn, &in->mad, ibcm_now(), &out);
		ibcm_run(known, &out, &in->mad);
		return true;
	}
	if (answer_again(in) || request_is_stale(in))
		return true;
	if (arrival_ip(in) < 0) {
		ibcm_arrival_stray(in);
		return true;
	}
	listener = ibcm_listener_find(arrival_service(in), &in->from->local_gid, in->ip.family);
	if (!listener)
		return false;
	if (listener->ud != (in->mad.type == IBCM_SIDR_REQ))
		answer_rej(in, IBCM_REJ_INVALID_TRANSPORT);
	else if (has_room(listener, in))
		request_accept(listener, in);
	/* Otherwise the program is too slow, and the peer repeats its request. */
	return true;
}

bool ibcm_request_again(struct ibcm_dev *dev, const struct verbs_gsi_mad *from, bool last)
{
	struct arrival in = { .dev = dev, .from = from };

	if (ibcm_mad_unpack(from->data, &in.mad) < 0 || ibcm_arrival_request(&in))
		return true;
	if (last)
		ibcm_arrival_stray(&in);
	return last;
}
