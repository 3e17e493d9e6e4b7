/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages in and out. One thread a process waits on QP1 of the devices in use and for the next
 * deadline, so that connections make progress whatever the program does; it sleeps while nothing is
 * due.
 */
#include <endian.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "librdmacm/ibcm/ibcm.h"

enum {
	EVENTS = 16,
	BATCH = 64,	    /* messages of one device before the lock is given up */
	RETRY_MS = 1,	    /* between two tries with messages there was no room for */
	RETRY_TRIES = 1000, /* then it counts as lost */
	RETRY_STUCK = 128,  /* failures in a row: the others need not be tried */
	LISTEN_BUCKETS = 256,
};

/* A message the device had no room for. */
struct unsent {
	TAILQ_ENTRY(unsent) entry;
	struct ibcm_dev *dev;
	unsigned int tries;
	struct verbs_gsi_mad mad;
};

static struct {
	pthread_mutex_t lock;
	pthread_mutex_t open_lock; /* opening devices, before lock */
	pid_t pid;		   /* whose thread it is */
	int epoll, wake;
	LIST_HEAD(, ibcm_dev) devs;
	uint8_t prefix;
	uint64_t wakes_at; /* when the thread wakes by itself, ns; 0: it is awake */
	TAILQ_HEAD(, unsent) unsent;
	LIST_HEAD(, ibcm_id) listeners[LISTEN_BUCKETS];
} manager = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.open_lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll = -1,
	.wake = -1,
	.unsent = TAILQ_HEAD_INITIALIZER(manager.unsent),
};

void ibcm_lock(void)
{
	pthread_mutex_lock(&manager.lock);
}

void ibcm_unlock(void)
{
	pthread_mutex_unlock(&manager.lock);
}

uint64_t ibcm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint32_t ibcm_random(void)
{
	uint32_t value;

	while (getrandom(&value, sizeof(value), 0) != sizeof(value))
		;
	return value;
}

uint8_t ibcm_prefix(void)
{
	return manager.prefix;
}

/* --- identifiers --- */

struct ibcm_id *ibcm_id_new(struct ibcm_channel *channel, uint16_t ps, bool ud)
{
	struct ibcm_id *iid = calloc(1, sizeof(*iid));

	if (!iid)
		return NULL;
	iid->channel = channel;
	iid->ps = ps;
	iid->ud = ud;
	iid->psn = ibcm_random() & 0xffffff;
	iid->qkey = RDMA_UDP_QKEY;
	return iid;
}

void ibcm_id_release(struct ibcm_id *iid)
{
	ibcm_table_remove(iid);
	ibcm_port_drop(iid);
	free(iid);
}

/* --- out --- */

static void thread_wake(void)
{
	uint64_t one = 1;

	(void)!write(manager.wake, &one, sizeof(one));
}

static void send_later(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad)
{
	struct unsent *unsent = malloc(sizeof(*unsent));

	if (!unsent) /* as good as lost on the way */
		return;
	*unsent = (struct unsent){ .dev = dev, .mad = *mad };
	if (TAILQ_EMPTY(&manager.unsent))
		thread_wake();
	TAILQ_INSERT_TAIL(&manager.unsent, unsent, entry);
}

/* What cannot be sent at all is repeated like what was lost, until the peer counts as unreachable.
 */
static void mad_send(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad)
{
	int r = verbs_gsi_send(dev->verbs, mad);

	if (r == -EAGAIN)
		send_later(dev, mad);
	else if (r < 0)
		log_info("%s: a message of the connection manager was not sent: %s",
			 dev->cm->device->name, strerror(-r));
}

static void unsent_retry(void)
{
	struct unsent *unsent, *next;
	unsigned int stuck = 0;

	for (unsent = TAILQ_FIRST(&manager.unsent); unsent && stuck < RETRY_STUCK; unsent = next) {
		next = TAILQ_NEXT(unsent, entry);
		if (verbs_gsi_send(unsent->dev->verbs, &unsent->mad) == -EAGAIN &&
		    ++unsent->tries < RETRY_TRIES) {
			stuck++;
			continue;
		}
		TAILQ_REMOVE(&manager.unsent, unsent, entry);
		free(unsent);
	}
}

static void id_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN])
{
	struct verbs_gsi_mad mad = {
		.port_num = 1,
		.sgid_index = iid->local.index,
		.local_gid = iid->local.gid,
		.remote_gid = iid->remote_gid,
	};

	memcpy(mad.data, data, sizeof(mad.data));
	mad_send(iid->dev, &mad);
}

/* --- events --- */

static void copy_private(struct cm_event *ev, const struct ibcm_mad *mad, uint32_t skip)
{
	uint32_t length = mad->private_len - skip;

	memcpy(ev->private_data, mad->private_data + skip, length);
	ev->event.param.conn.private_data_len = length;
}

static void report_reply(struct ibcm_id *iid, const struct ibcm_mad *mad)
{
	struct cm_event *ev = ibcm_event_new(iid, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);

	if (!ev)
		return;
	copy_private(ev, mad, 0);
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
		copy_private(ev, mad, 0);
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
	copy_private(ev, mad, 0);
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

void ibcm_run(struct ibcm_id *iid, const struct ibcm_out *out, const struct ibcm_mad *mad)
{
	for (unsigned int i = 0; i < out->mads; i++)
		id_send(iid, out->mad[i]);
	if (out->has_event && !iid->detached)
		report(iid, out, mad);
	if (iid->conn.state == IBCM_IDLE)
		ibcm_table_remove_peer(iid);
	if (ibcm_heap_update(iid) < 0)
		log_err("rdma_cm: no memory for a timeout");
	if (iid->conn.deadline && iid->conn.deadline < manager.wakes_at)
		thread_wake();
	if (iid->detached && iid->conn.state == IBCM_IDLE)
		ibcm_id_release(iid);
}

/* --- listeners --- */

uint64_t ibcm_service_id(const struct ibcm_id *iid)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&iid->src;

	/* the port stands at the same place in IPv6 addresses */
	return (uint64_t)iid->ps << 16 | ntohs(in->sin_port);
}

static unsigned int listen_bucket(uint64_t service_id)
{
	return (service_id ^ service_id >> 8) % LISTEN_BUCKETS;
}

void ibcm_listener_add(struct ibcm_id *iid)
{
	LIST_INSERT_HEAD(&manager.listeners[listen_bucket(ibcm_service_id(iid))], iid,
			 listen_entry);
}

void ibcm_listener_remove(struct ibcm_id *iid)
{
	LIST_REMOVE(iid, listen_entry);
}

static bool any_takes(const struct ibcm_id *listener, sa_family_t family)
{
	return !listener->local.cm && (!listener->afonly || listener->src.ss_family == family);
}

/* One on the very address before one on any. */
static struct ibcm_id *listener_find(uint64_t service_id, const union ibv_gid *gid,
				     sa_family_t family)
{
	struct ibcm_id *iid, *any = NULL;

	LIST_FOREACH(iid, &manager.listeners[listen_bucket(service_id)], listen_entry) {
		if (ibcm_service_id(iid) != service_id)
			continue;
		if (iid->local.cm && !memcmp(&iid->local.gid, gid, sizeof(*gid)))
			return iid;
		if (any_takes(iid, family))
			any = iid;
	}
	return any;
}

/* --- in: requests --- */

/* A message and how it came. */
struct arrival {
	struct ibcm_dev *dev;
	const struct verbs_gsi_mad *from;
	struct ibcm_mad mad;
	struct ibcm_ip ip;
};

static void answer(const struct arrival *in, const struct ibcm_mad *reply)
{
	struct verbs_gsi_mad mad = {
		.port_num = in->from->port_num,
		.sgid_index = in->from->sgid_index,
		.local_gid = in->from->local_gid,
		.remote_gid = in->from->remote_gid,
	};

	if (!ibcm_mad_pack(reply, mad.data))
		mad_send(in->dev, &mad);
}

static void answer_stray(const struct arrival *in)
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

/* Requests of datagram services name no node: the address they come from does. */
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

/* The header of annex A11 must name the address the request came to. */
static int arrival_ip(struct arrival *in)
{
	struct sockaddr_storage dst;
	union ibv_gid gid;
	int r = ibcm_ip_unpack(in->mad.private_data, in->mad.private_len, &in->ip);

	if (r < 0)
		return r;
	ip_to_sockaddr(&in->ip, &in->ip.dst, 0, 0, &dst);
	ibcm_addr_to_gid((struct sockaddr *)&dst, &gid);
	return memcmp(&gid, &in->from->local_gid, sizeof(gid)) ? -EADDRNOTAVAIL : 0;
}

static void request_event(struct ibcm_id *listener, struct ibcm_id *child, const struct arrival *in)
{
	const struct ibcm_req *req = &in->mad.req;
	struct cm_event *ev = ibcm_event_request(listener, child);

	if (!ev) {
		ibcm_request_refuse(child);
		return;
	}
	copy_private(ev, &in->mad, IBCM_IP_LEN);
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

	if (!child || ibcm_table_add(child, manager.prefix) < 0) {
		free(child); /* the peer tries again */
		return;
	}
	child->step = STEP_CONNECT;
	child_addresses(child, listener, in);
	ibcm_state_arrive(&child->conn, &in->mad);
	child->conn.remote_guid = arrival_guid(in);
	ibcm_table_add_peer(child);
	request_event(listener, child, in);
}

/* The peer's QP is connected already, as we see it: one of the two is mistaken, and both end. */
static bool request_is_stale(const struct arrival *in)
{
	struct ibcm_id *old;
	struct ibcm_out out = {};

	if (in->mad.type != IBCM_REQ)
		return false;
	old = ibcm_table_find_qpn(in->mad.req.qpn, in->mad.req.ca_guid);
	if (!old || old->conn.state == IBCM_IDLE)
		return false;
	answer_rej(in, IBCM_REJ_STALE_CONN);
	ibcm_state_disconnect(&old->conn, ibcm_now(), &out);
	ibcm_run(old, &out, NULL);
	return true;
}

static void request_arrived(struct arrival *in)
{
	struct ibcm_id *known = ibcm_table_find_peer(in->mad.local_id, arrival_guid(in)), *listener;
	struct ibcm_out out = {};

	if (known) {
		ibcm_state_message(&known->conn, &in->mad, ibcm_now(), &out);
		ibcm_run(known, &out, &in->mad);
		return;
	}
	if (request_is_stale(in))
		return;
	listener = arrival_ip(in) < 0 ? NULL
				      : listener_find(arrival_service(in), &in->from->local_gid,
						      in->ip.family);
	if (!listener)
		answer_stray(in);
	else if (listener->ud != (in->mad.type == IBCM_SIDR_REQ))
		answer_rej(in, IBCM_REJ_INVALID_TRANSPORT);
	else if (listener->waiting < listener->backlog)
		request_accept(listener, in);
	/* else the program is behind: the peer will ask again */
}

void ibcm_request_refuse(struct ibcm_id *child)
{
	struct ibcm_out out = {};

	ibcm_events_drop(child, NULL);
	ibcm_state_destroy(&child->conn, ibcm_now(), &out);
	child->detached = true;
	ibcm_run(child, &out, NULL);
}

/* --- in: answers --- */

/* A REJ for want of an answer may come from someone who does not know our id. */
static struct ibcm_id *rejected_find(const struct ibcm_mad *mad)
{
	uint64_t guid;

	if (mad->type != IBCM_REJ || mad->rej.reason != IBCM_REJ_TIMEOUT ||
	    mad->rej.info_length < sizeof(guid))
		return NULL;
	memcpy(&guid, mad->rej.info, sizeof(guid));
	return ibcm_table_find_peer(mad->local_id, be64toh(guid));
}

/* Only the peer itself speaks for the connection. */
static bool comes_from_peer(const struct ibcm_id *iid, const struct arrival *in)
{
	const struct ibcm_mad *mad = &in->mad;

	if (memcmp(&iid->remote_gid, &in->from->remote_gid, sizeof(iid->remote_gid)))
		return false;
	return mad->type == IBCM_SIDR_REP || !iid->conn.remote_id || !mad->local_id ||
	       mad->local_id == iid->conn.remote_id;
}

static void answer_arrived(struct arrival *in)
{
	struct ibcm_id *iid =
		in->mad.remote_id ? ibcm_table_find(in->mad.remote_id) : rejected_find(&in->mad);
	struct ibcm_out out = {};

	if (!iid || iid->conn.state == IBCM_IDLE || !comes_from_peer(iid, in)) {
		answer_stray(in);
		return;
	}
	ibcm_state_message(&iid->conn, &in->mad, ibcm_now(), &out);
	if (in->mad.type == IBCM_REP && out.has_event)
		ibcm_table_add_peer(iid);
	ibcm_run(iid, &out, &in->mad);
}

/* --- in: news --- */

static bool gid_is_here(const union ibv_gid *gid)
{
	struct ibv_gid_entry entries[64];
	struct ibcm_dev *dev;

	LIST_FOREACH(dev, &manager.devs, entry) {
		ssize_t n = ibv_query_gid_table(dev->verbs, entries, ARRAY_SIZE(entries), 0);

		for (ssize_t i = 0; i < n; i++)
			if (!memcmp(&entries[i].gid, gid, sizeof(*gid)))
				return true;
	}
	return false;
}

static void peer_gone(struct ibcm_id *iid, void *arg)
{
	const uint8_t *prefix = arg;
	struct ibcm_out out = {};

	if (iid->conn.remote_id >> 24 != *prefix || !gid_is_here(&iid->remote_gid))
		return;
	ibcm_state_peer_gone(&iid->conn, ibcm_now(), &out);
	ibcm_run(iid, &out, NULL);
}

static void mad_arrived(struct ibcm_dev *dev, const struct verbs_gsi_mad *from)
{
	struct arrival in = { .dev = dev, .from = from };
	uint8_t gone = from->gone;

	if (gone)
		ibcm_table_each(peer_gone, &gone);
	else if (ibcm_mad_unpack(from->data, &in.mad) < 0)
		return;
	else if (in.mad.type == IBCM_REQ || in.mad.type == IBCM_SIDR_REQ)
		request_arrived(&in);
	else
		answer_arrived(&in);
}

static void dev_receive(struct ibcm_dev *dev)
{
	struct verbs_gsi_mad mad;

	ibcm_lock();
	for (int i = 0; i < BATCH && !verbs_gsi_recv(dev->verbs, &mad); i++)
		mad_arrived(dev, &mad);
	ibcm_unlock();
}

/* --- the thread --- */

static void deadlines_run(uint64_t now)
{
	struct ibcm_id *iid;

	while ((iid = ibcm_heap_first()) && iid->conn.deadline <= now) {
		struct ibcm_out out = {};

		ibcm_state_timeout(&iid->conn, now, &out);
		ibcm_run(iid, &out, NULL);
	}
}

/* Milliseconds until something is due; -1 never. */
static int thread_prepare(void)
{
	struct ibcm_id *first;
	uint64_t now = ibcm_now();
	int timeout = -1;

	ibcm_lock();
	manager.wakes_at = 0;
	deadlines_run(now);
	unsent_retry();
	first = ibcm_heap_first();
	if (!TAILQ_EMPTY(&manager.unsent))
		timeout = RETRY_MS;
	else if (first)
		timeout = min_of((first->conn.deadline - now) / 1000000 + 1, (uint64_t)60000);
	manager.wakes_at = timeout < 0 ? UINT64_MAX : now + timeout * 1000000ull;
	ibcm_unlock();
	return timeout;
}

static void *thread_main(void *arg)
{
	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(manager.epoll, events, EVENTS, thread_prepare());
		uint64_t rung;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				dev_receive(events[i].data.ptr);
			else
				(void)!read(manager.wake, &rung, sizeof(rung));
		}
	}
	return NULL;
}

static int thread_start(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t all, old;
	pthread_t id;
	int r;

	manager.epoll = epoll_create1(EPOLL_CLOEXEC);
	manager.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (manager.epoll < 0 || manager.wake < 0 ||
	    epoll_ctl(manager.epoll, EPOLL_CTL_ADD, manager.wake, &event))
		return -errno;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV); /* the provider's to recover from */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&id, NULL, thread_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r < 0)
		return r;
	pthread_setname_np(id, "rdma_cm");
	pthread_detach(id);
	manager.pid = getpid();
	return 0;
}

/* --- devices --- */

static int dev_new(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	struct ibcm_dev *dev = calloc(1, sizeof(*dev));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = dev };
	int r = dev ? 0 : -ENOMEM;

	if (!r)
		r = cm_device_open(cm);
	if (!r)
		r = verbs_gsi_open(cm->verbs, &dev->fd, &manager.prefix);
	if (!r && epoll_ctl(manager.epoll, EPOLL_CTL_ADD, dev->fd, &event))
		r = -errno;
	if (r < 0) {
		free(dev);
		return r;
	}
	dev->cm = cm;
	dev->verbs = cm->verbs;
	ibcm_lock();
	LIST_INSERT_HEAD(&manager.devs, dev, entry);
	ibcm_unlock();
	*ret_dev = dev;
	return 0;
}

static int dev_get_locked(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	struct ibcm_dev *dev;
	int r = 0;

	if (!manager.pid)
		r = thread_start();
	else if (manager.pid != getpid())
		r = -EIO;
	if (r < 0) {
		log_err("rdma_cm: %s",
			r == -EIO ? "used before fork(), and now in the child: connections of "
				    "user-space devices are the parent's"
				  : strerror(-r));
		return r;
	}
	LIST_FOREACH(dev, &manager.devs, entry) {
		if (dev->cm != cm)
			continue;
		*ret_dev = dev;
		return 0;
	}
	return dev_new(cm, ret_dev);
}

int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	int r;

	pthread_mutex_lock(&manager.open_lock);
	r = dev_get_locked(cm, ret_dev);
	pthread_mutex_unlock(&manager.open_lock);
	return r;
}

/* One that does not open is left out. */
static int dev_get_one(struct cm_device *cm, void *arg)
{
	struct ibcm_dev **ret = arg;

	if (cm->user)
		ibcm_dev_get(cm, ret);
	return 0;
}

int ibcm_dev_get_all(struct ibcm_dev **ret_any)
{
	int r;

	*ret_any = NULL;
	r = cm_devices_each(dev_get_one, ret_any);
	return r < 0 ? r : *ret_any ? 0 : -ENODEV;
}

/* --- the end of the program --- */

static void say_goodbye(struct ibcm_id *iid, void *arg)
{
	struct ibcm_out out = {};

	if (!iid->dev)
		return;
	ibcm_state_exit(&iid->conn, ibcm_now(), &out);
	for (unsigned int i = 0; i < out.mads; i++)
		id_send(iid, out.mad[i]);
}

/* Peers hear of an exit that left connections open, as they do when the kernel cleans up. */
__attribute__((destructor)) static void goodbye(void)
{
	if (manager.pid != getpid() || pthread_mutex_trylock(&manager.lock))
		return;
	ibcm_table_each(say_goodbye, NULL);
	pthread_mutex_unlock(&manager.lock);
}
