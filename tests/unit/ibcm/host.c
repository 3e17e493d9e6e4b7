/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/dispatch.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/path.h"
#include "librdmacm/ibcm/pending.h"
#include "librdmacm/ibcm/port.h"
#include "librdmacm/ibcm/probe.h"
#include "librdmacm/ibcm/table.h"
#include "librdmacm/ibcm/wake.h"
#include "librdmacm/id.h"
#include "tests/unit/ibcm/host.h"

struct host host;

/* --- called by dispatch.c and its neighbours: lock.c, device.c, local.c, port.c, the device --- */

void ibcm_lock(void)
{
}

void ibcm_unlock(void)
{
}

uint64_t ibcm_now(void)
{
	return host.now;
}

uint32_t ibcm_random(void)
{
	host.random = host.random * 1103515245 + 12345;
	return host.random >> 8 ^ host.random << 16;
}

uint16_t ibcm_prefix(void)
{
	return HOST_PREFIX;
}

void ibcm_wake(void)
{
}

void ibcm_wake_by(uint64_t deadline)
{
}

void ibcm_interfaces_begin(void)
{
}

const struct ibcm_loop ibcm_loop;

void ibcm_devices_serve(const struct ibcm_loop *loop)
{
}

struct ibcm_dev *ibcm_dev_first(void)
{
	return &host.dev;
}

bool ibcm_is_child(void)
{
	return false;
}

int ibcm_child_refuse(void)
{
	return -EIO;
}

void ibcm_port_drop(struct ibcm_id *iid)
{
}

void ibcm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *ret_gid)
{
	union ibv_gid gid = {};

	if (addr->sa_family == AF_INET) {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	} else {
		memcpy(gid.raw, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	}
	*ret_gid = gid;
}

bool ibcm_gid_is_ipv4(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid->raw);
}

struct ibv_ah_attr ibcm_ah_attr(const struct ibcm_id *iid)
{
	return (struct ibv_ah_attr){};
}

int cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg)
{
	return fn(&host.cm, arg);
}

void cm_log(enum log_level level, const struct cm_id *id, const char *fmt, ...)
{
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	return "event";
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	*entry = (struct ibv_gid_entry){ .gid = host.gid };
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	entries[0] = (struct ibv_gid_entry){ .gid = host.gid };
	return 1;
}

int verbs_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	unsigned int at = host.sent_count++ % HOST_SENT;

	if (ibcm_mad_unpack(mad->data, &host.sent[at].mad) < 0)
		abort(); /* every message that leaves must be readable */
	host.sent[at].to = mad->remote_gid;
	host.sent[at].traffic_class = mad->traffic_class;
	return 0;
}

int verbs_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd)
{
	if (host.peers_are_here)
		return -ENOENT;
	host.probed++;
	return verbs_gsi_send(ctx, mad);
}

int verbs_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on)
{
	return 0;
}

int verbs_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote)
{
	return host.peers_are_here ? -ENOENT : 0;
}

int verbs_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad)
{
	host.word = (struct ibcm_mad){};
	host.word_class = mad ? mad->traffic_class : 0;
	return mad ? ibcm_mad_unpack(mad->data, &host.word) : 0;
}

int ibcm_wake_watch_errors(int fd, void *what)
{
	return 0;
}

void ibcm_wake_unwatch(int fd)
{
}

int verbs_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	host.offered++;
	return host.others_listen ? 0 : host.others_unknown ? -EAGAIN : -ENOENT;
}

/* --- the host --- */

union ibv_gid host_gid(uint8_t last)
{
	return (union ibv_gid){
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = last }
	};
}

void host_begin(void)
{
	int fd;

	host = (struct host){ /* messages of another host are forgotten by then */
			      .gid = host_gid(1),
			      .now = host.now + 60000000000,
			      .random = 1,
			      .peers_are_here = true
	};
	strcpy(host.device.name, "host0");
	host.cm = (struct cm_device){ .device = &host.device, .verbs = &host.ctx, .user = true };
	host.dev = (struct ibcm_dev){ .cm = &host.cm, .verbs = &host.ctx, .fd = -1 };
	if (ibcm_open_channel(&host.channel, &fd) < 0)
		abort();
	host.channel.ibcm_fd = fd;
}

struct ibcm_id *host_listen(int backlog)
{
	struct ibcm_id *iid = ibcm_id_new(host.channel.ibcm, RDMA_PS_TCP, false);
	struct sockaddr_in *src = (struct sockaddr_in *)&iid->src;

	*src = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(HOST_PORT) };
	iid->id = &host.listener;
	iid->backlog = backlog;
	iid->dev = &host.dev;
	iid->step = STEP_LISTEN;
	ibcm_listener_add(iid);
	return iid;
}

void host_destroy(struct ibcm_id *iid)
{
	ibcm_id_end(iid);
}

void host_end(void)
{
	struct ibcm_id any = { .dev = &host.dev, .local.gid = host.gid };
	static const uint8_t data[IBCM_MAD_LEN];

	host.peers_are_here = true; /* then messages to other hosts are dropped */
	ibcm_probe_send(&any, data);

	ibcm_close_channel(&host.channel);
}

/* --- messages --- */

void host_arrive(const union ibv_gid *from, const struct ibcm_mad *mad)
{
	struct verbs_gsi_mad in = { .port_num = 1, .local_gid = host.gid, .remote_gid = *from };

	if (ibcm_mad_pack(mad, in.data) < 0)
		abort();
	ibcm_arrived(&host.dev, &in);
}

static void ip_of(const union ibv_gid *from, uint8_t data[IBCM_IP_LEN])
{
	struct ibcm_ip ip = { .family = AF_INET, .port = 4000 };

	memcpy(&ip.src, from->raw, sizeof(ip.src));
	memcpy(&ip.dst, host.gid.raw, sizeof(ip.dst));
	ibcm_ip_pack(&ip, data);
}

struct ibcm_mad host_req(const union ibv_gid *from, uint32_t id, uint32_t qpn, uint16_t port)
{
	struct ibcm_mad mad = {
		.type = IBCM_REQ,
		.tid = id,
		.local_id = id,
		.req = { .service_id = (uint64_t)RDMA_PS_TCP << 16 | port,
			 .ca_guid = HOST_GUID,
			 .qpn = qpn,
			 .responder_resources = 1,
			 .initiator_depth = 1,
			 .remote_response_timeout = HOST_TIMEOUT,
			 .local_response_timeout = HOST_TIMEOUT,
			 .max_cm_retries = 15,
			 .mtu = IBV_MTU_1024,
			 .primary = { .ack_timeout = HOST_TIMEOUT, .traffic_class = HOST_TOS } },
		.private_len = IBCM_IP_LEN,
	};

	ip_of(from, mad.private_data);
	return mad;
}

const struct ibcm_mad *host_last(void)
{
	static const struct ibcm_mad none;

	return host.sent_count ? &host.sent[(host.sent_count - 1) % HOST_SENT].mad : &none;
}

void host_pass(uint64_t ns)
{
	struct ibcm_id *iid;

	host.now += ns;
	ibcm_pending_run(host.now, ibcm_request_again);
	while ((iid = ibcm_heap_first()) && iid->conn.deadline <= host.now) {
		struct ibcm_out out = {};

		ibcm_state_timeout(&iid->conn, host.now, &out);
		ibcm_run(iid, &out, NULL);
	}
}

/* --- the program --- */

int host_event(struct cm_event *ret_event)
{
	/* identifier of all children: tests only check that there is one */
	static struct cm_id any;

	if (ibcm_get_event(&host.channel, ret_event) < 0)
		return -1;
	if (ret_event->new_ibcm)
		ret_event->new_ibcm->id = &any;
	return ret_event->event.event;
}

int host_accept(struct ibcm_id *child, uint32_t qpn)
{
	struct ibcm_mad mad = { .type = IBCM_REP, .rep = { .ca_guid = 1, .qpn = qpn } };
	struct ibcm_out out = {};
	int r = ibcm_state_reply(&child->conn, &mad, host.now, &out);

	if (!r) {
		child->silent = false;
		ibcm_run(child, &out, NULL);
	}
	return r;
}

struct ibcm_id *host_connect(const union ibv_gid *from, uint32_t id, uint32_t qpn)
{
	struct ibcm_mad req = host_req(from, id, qpn, HOST_PORT), rtu = { .type = IBCM_RTU };
	struct ibcm_id *child;
	struct cm_event event;

	host_arrive(from, &req);
	if (host_event(&event) != RDMA_CM_EVENT_CONNECT_REQUEST)
		return NULL;
	child = event.new_ibcm;
	host_accept(child, qpn + 1);
	rtu.local_id = id;
	rtu.remote_id = child->conn.local_id;
	host_arrive(from, &rtu);
	return host_event(&event) == RDMA_CM_EVENT_ESTABLISHED ? child : NULL;
}
