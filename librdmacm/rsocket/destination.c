/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The peers of a socket, and the routes to them. An unused destination is a peer that the program
 * has never sent to. New unused destinations displace only other unused destinations. The least
 * recently used entry of the kind is dropped, because all of its contents can be obtained again.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"
#include "librdmacm/sockaddr.h"

#define USED_MAX	   4096
#define UNUSED_MAX	   512
#define RESOLVE_TIMEOUT_MS 2000
#define RETRY_NS	   1000000000ull
#define HOP_LIMIT	   64

static unsigned int bucket_of(const union ds_name *name)
{
	return ds_name_hash(name) % DS_BUCKETS;
}

struct ds_destination *ds_destination_known(struct rs_socket *s, const union ds_name *name)
{
	struct ds_destination *d;

	LIST_FOREACH(d, &s->ds->buckets[bucket_of(name)], of_bucket)
		if (ds_name_equal(&d->name, name))
			return d;
	return NULL;
}

/* ---- making and unmaking ---- */

static void resolve_end(struct rs_socket *s, struct ds_destination *d)
{
	if (!d->id)
		return;
	rdma_destroy_id(d->id);
	d->id = NULL;
	s->ds->resolving--;
}

static void uses_remove(struct ds_socket *ds, struct ds_destination *d)
{
	if (d->is_used) {
		TAILQ_REMOVE(&ds->used, d, of_use);
		ds->used_count--;
	} else {
		TAILQ_REMOVE(&ds->unused, d, of_use);
		ds->unused_count--;
	}
}

static void uses_insert(struct ds_socket *ds, struct ds_destination *d)
{
	if (d->is_used) {
		TAILQ_INSERT_HEAD(&ds->used, d, of_use);
		ds->used_count++;
	} else {
		TAILQ_INSERT_HEAD(&ds->unused, d, of_use);
		ds->unused_count++;
	}
}

static void destination_free(struct rs_socket *s, struct ds_destination *d)
{
	resolve_end(s, d);
	uses_remove(s->ds, d);
	LIST_REMOVE(d, of_bucket);
	if (s->ds->last == d)
		s->ds->last = NULL;
	if (d->ah)
		ibv_destroy_ah(d->ah);
	if (d->old_ah)
		ibv_destroy_ah(d->old_ah);
	free(d);
}

/*
 * Free the least recently used entry without sends under way. Keep the first entry, which is in
 * use.
 */
static void oldest_forget(struct rs_socket *s, bool used)
{
	struct ds_uses *uses = used ? &s->ds->used : &s->ds->unused;
	struct ds_destination *d = TAILQ_LAST(uses, ds_uses);

	while (d && d->sends)
		d = TAILQ_PREV(d, ds_uses, of_use);
	if (d && d != TAILQ_FIRST(uses))
		destination_free(s, d);
}

static void uses_trim(struct rs_socket *s)
{
	if (s->ds->used_count > USED_MAX)
		oldest_forget(s, true);
	if (s->ds->unused_count > UNUSED_MAX)
		oldest_forget(s, false);
}

static struct ds_destination *destination_new(struct rs_socket *s, const union ds_name *name,
					      struct ds_endpoint *e, bool is_used)
{
	struct ds_destination *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct ds_destination){ .name = *name, .endpoint = e, .is_used = is_used };
	LIST_INSERT_HEAD(&s->ds->buckets[bucket_of(name)], d, of_bucket);
	uses_insert(s->ds, d);
	uses_trim(s);
	return d;
}

void ds_destination_end_all(struct rs_socket *s)
{
	struct ds_destination *d;

	while ((d = TAILQ_FIRST(&s->ds->used)) || (d = TAILQ_FIRST(&s->ds->unused)))
		destination_free(s, d);
}

struct ds_destination *ds_destination_met(struct rs_socket *s, const union ds_name *name,
					  struct ds_endpoint *e)
{
	struct ds_destination *d = ds_destination_known(s, name);

	return d ? d : destination_new(s, name, e, false);
}

/* Find the source address of datagrams to @to: the socket's address, or the source of the route. */
static int local_find(struct rs_socket *s, const union ds_name *to, union ds_name *ret_local)
{
	struct sockaddr_storage addr;
	socklen_t size = ds_name_give(to, s->domain, &addr);
	_cleanup_close_ int fd = -1;
	union ds_name own;
	int r = ds_own_name(s, &own), on = 1;

	if (r < 0)
		return r;
	if (!ds_name_is_any(&own)) {
		*ret_local = own;
		return own.any.sa_family == to->any.sa_family ? 0 : -ENETUNREACH;
	}
	fd = socket(s->domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* Broadcasts are allowed here: the program's own socket checks the permission. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, size) < 0)
		return -errno;
	size = sizeof(addr);
	if (getsockname(fd, (struct sockaddr *)&addr, &size) < 0)
		return -errno;
	r = ds_name_take(&addr, size, ret_local);
	ds_name_set_port(ret_local, ds_name_port(&own));
	return r;
}

static void destination_use(struct rs_socket *s, struct ds_destination *d)
{
	uses_remove(s->ds, d);
	d->is_used = true;
	uses_insert(s->ds, d);
	s->ds->last = d;
	uses_trim(s);
}

int ds_destination_find(struct rs_socket *s, const union ds_name *name,
			struct ds_destination **ret_destination)
{
	struct ds_destination *d = s->ds->last;
	struct ds_endpoint *e;
	union ds_name local;
	int r;

	if (!d || !ds_name_equal(&d->name, name)) {
		d = ds_destination_known(s, name);
		if (d)
			destination_use(s, d);
	}
	if (!d) {
		r = local_find(s, name, &local);
		if (r < 0)
			return r;
		r = ds_endpoint_find(s, &local, &e);
		if (r < 0) {
			rs_err(s, "datagrams: a queue pair for the local address: %s",
			       strerror(-r));
			return r;
		}
		d = destination_new(s, name, e, true);
		if (!d)
			return -ENOMEM;
		s->ds->last = d;
	}
	if (d->endpoint->dead)
		return -ENODEV;
	*ret_destination = d;
	return 0;
}

/* Set the number. A new number may mean that another host has the address now. */
void ds_destination_set_qpn(struct ds_destination *d, uint32_t qpn)
{
	d->is_moved |= d->ah && d->qpn != qpn;
	d->qpn = qpn;
	d->heard = rs_now_ns();
}

void ds_destination_heard(struct rs_socket *s, const union ds_name *name, uint32_t qpn)
{
	struct ds_destination *d = ds_destination_known(s, name);

	if (d && d->qpn == qpn)
		d->heard = rs_now_ns();
}

/* ---- the route ---- */

void ds_destination_renew(struct ds_destination *d)
{
	if (d->old_ah && !d->sends) {
		ibv_destroy_ah(d->old_ah);
		d->old_ah = NULL;
	}
	if (!d->is_moved || d->old_ah)
		return;
	d->old_ah = d->ah;
	d->ah = NULL;
	d->is_moved = false;
	d->retry = 0;
}

void ds_destination_resolve(struct rs_socket *s, struct ds_destination *d)
{
	union ds_name local = d->endpoint->local;

	ds_destination_renew(d);
	if (d->id || d->ah || !d->qpn || rs_now_ns() < d->retry)
		return;
	d->retry = rs_now_ns() + RETRY_NS;
	if (!s->channel && rs_channel_create(s) < 0)
		return;
	if (rdma_create_id(s->channel, &d->id, d, RDMA_PS_UDP) < 0) {
		d->id = NULL;
		return;
	}
	s->ds->resolving++;
	ds_name_set_port(&local, 0);
	if (s->ds->tos >= 0)
		rdma_set_option(d->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &(uint8_t){ s->ds->tos },
				sizeof(uint8_t));
	if (rdma_resolve_addr(d->id, &local.any, &d->name.any, RESOLVE_TIMEOUT_MS) < 0)
		resolve_end(s, d);
}

/* Return the index of @gid, preferably one of RoCE v2. */
static int gid_index(struct ibv_context *verbs, uint8_t port, const union ibv_gid *gid)
{
	struct ibv_port_attr attr;
	int found = -ENOENT;

	if (ibv_query_port(verbs, port, &attr))
		return -EIO;
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(verbs, port, i, &entry, 0) ||
		    memcmp(&entry.gid, gid, sizeof(*gid)))
			continue;
		found = i;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	}
	return found;
}

static int ah_create(struct ds_destination *d)
{
	const struct rdma_cm_id *id = d->id;
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct ibv_ah_attr attr = { .port_num = id->port_num };
	unsigned int mtu;
	int index;

	if (!id->route.num_paths || id->verbs != d->endpoint->id->verbs)
		return -EHOSTUNREACH;
	attr.dlid = be16toh(path->dlid);
	attr.sl = path->sl;
	attr.static_rate = path->rate;
	if (d->endpoint->is_ethernet || path->hop_limit > 1) {
		index = gid_index(id->verbs, id->port_num, &path->sgid);
		if (index < 0)
			return index;
		attr.is_global = 1;
		attr.grh = (struct ibv_global_route){
			.dgid = path->dgid,
			.flow_label = be32toh(path->flow_label),
			.sgid_index = index,
			.hop_limit = path->hop_limit ? path->hop_limit : HOP_LIMIT,
			.traffic_class = path->traffic_class,
		};
	}
	d->ah = ibv_create_ah(d->endpoint->id->pd, &attr);
	mtu = min_of((unsigned int)path->mtu, (unsigned int)IBV_MTU_4096);
	d->mtu = min_of(d->endpoint->mtu, 128u << mtu);
	return d->ah ? 0 : -errno;
}

/* Log that datagrams to this destination leave UDP. */
static void route_log(struct rs_socket *s, struct ds_destination *d)
{
	char own[CM_ADDR_TEXT], peer[CM_ADDR_TEXT];

	if (log_enabled(LOG_LEVEL_INFO))
		rs_info(s, "datagrams: RDMA by %s from %s to %s",
			ibv_get_device_name(d->id->verbs->device),
			cm_addr_text(&d->endpoint->local.any, own),
			cm_addr_text(&d->name.any, peer));
}

static int event_apply(struct rs_socket *s, struct ds_destination *d, enum rdma_cm_event_type type)
{
	int r;

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(d->id, RESOLVE_TIMEOUT_MS) < 0 ? -errno : 1;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		r = ah_create(d);
		if (r == 0)
			route_log(s, d);
		return r;
	default:
		return -EHOSTUNREACH;
	}
}

void ds_destination_step(struct rs_socket *s)
{
	struct rdma_cm_event *event;

	while (s->ds->resolving && rdma_get_cm_event(s->channel, &event) == 0) {
		struct ds_destination *d = event->id->context;
		int r = event_apply(s, d, event->event);

		if (r < 0)
			rs_debug(s, "datagrams: %s: no way for RDMA: %s",
				 rdma_event_str(event->event), strerror(-r));
		rdma_ack_cm_event(event);
		if (r <= 0)
			resolve_end(s, d);
	}
}
