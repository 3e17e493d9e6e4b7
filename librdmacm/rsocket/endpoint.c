/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pair of one local address, with its memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "librdmacm/rsocket/datagram.h"

#define PLACES_MIN	   16
#define POLL_BATCH	   16
#define REPOST_AT	   16
#define WR_RECEIVE	   (1ull << 63)
#define RESOLVE_TIMEOUT_MS 2000

/* ---- making and unmaking ---- */

static int cm_result(int r)
{
	return r < 0 ? -errno : 0;
}

/*
 * Find the device that has the address. A bound loopback address belongs to no device. Therefore
 * resolve the route from the address to itself.
 */
static int device_find(struct ds_endpoint *e)
{
	union ds_name local = e->local;
	int r;

	ds_name_set_port(&local, 0);
	r = cm_result(rdma_create_id(NULL, &e->id, e, RDMA_PS_UDP));
	if (r == 0)
		r = cm_result(rdma_bind_addr(e->id, &local.any));
	if (r == 0 && !e->id->verbs) {
		ds_name_set_port(&local, ds_name_port(&e->local));
		r = cm_result(rdma_resolve_addr(e->id, NULL, &local.any, RESOLVE_TIMEOUT_MS));
	}
	return r == 0 && !e->id->verbs ? -ENODEV : r;
}

static int port_ask(struct ds_endpoint *e)
{
	struct ibv_port_attr port;

	if (ibv_query_port(e->id->verbs, e->id->port_num, &port))
		return -EIO;
	e->is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	e->mtu = 128u << port.active_mtu;
	return 0;
}

static unsigned int places(uint32_t buffer, uint32_t queue, unsigned int most)
{
	unsigned int count = min_of(buffer / DS_MESSAGE_MAX, queue);

	return min_of(max_of(count, (unsigned int)PLACES_MIN), most);
}

static int memory_create(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_device_attr attr;
	unsigned int most;

	if (ibv_query_device(e->id->verbs, &attr))
		return -EIO;
	most = max_of(min_of(attr.max_qp_wr, attr.max_cqe / 2), PLACES_MIN);
	e->receives = places(s->rbuf_size, s->rq_size, most);
	e->sends = places(s->sbuf_size, s->sq_size, most);
	e->memory_size = (size_t)e->receives * DS_RECEIVE_SIZE + (size_t)e->sends * DS_MESSAGE_MAX;
	e->messages = calloc(e->receives, sizeof(*e->messages));
	e->idle = calloc(e->receives, sizeof(*e->idle));
	e->whom = calloc(e->sends, sizeof(*e->whom));
	/* Map separate pages, because the pages of a memory region are not copied into children. */
	e->memory = mmap(NULL, e->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (e->memory == MAP_FAILED)
		e->memory = NULL;
	if (!e->messages || !e->idle || !e->whom || !e->memory)
		return -ENOMEM;
	e->mr = ibv_reg_mr(e->id->pd, e->memory, e->memory_size, IBV_ACCESS_LOCAL_WRITE);
	return e->mr ? 0 : -errno;
}

static int queue_create(struct rs_socket *s, struct ds_endpoint *e)
{
	struct epoll_event watch = { .events = EPOLLIN };

	e->comp = ibv_create_comp_channel(e->id->verbs);
	if (!e->comp)
		return -errno;
	if (fcntl(e->comp->fd, F_SETFL, fcntl(e->comp->fd, F_GETFL) | O_NONBLOCK) < 0 ||
	    epoll_ctl(s->file.fd, EPOLL_CTL_ADD, e->comp->fd, &watch) < 0)
		return -errno;
	e->cq = ibv_create_cq(e->id->verbs, e->sends + e->receives, e, e->comp, 0);
	return e->cq ? 0 : -errno;
}

static int qp_create(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = {
			.max_send_wr = e->sends,
			.max_recv_wr = e->receives,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = min_of(s->inline_size, (uint32_t)DS_MESSAGE_MAX),
		},
		.qp_type = IBV_QPT_UD,
	};

	if (rdma_create_qp(e->id, NULL, &attr) < 0)
		return -errno;
	e->inline_size = attr.cap.max_inline_data;
	return 0;
}

static int receives_post(struct rs_socket *s, struct ds_endpoint *e);

static int endpoint_create(struct rs_socket *s, struct ds_endpoint *e)
{
	int r = device_find(e);

	if (r == 0)
		r = port_ask(e);
	if (r == 0)
		r = memory_create(s, e);
	if (r == 0)
		r = queue_create(s, e);
	if (r == 0)
		r = qp_create(s, e);
	if (r < 0)
		return r;
	e->header_size = ds_put_header(e->header, &e->local);
	for (unsigned int i = 0; i < e->receives; i++)
		e->idle[e->idle_count++] = i;
	r = receives_post(s, e);
	/* Another thread may already sleep. */
	e->armed = true;
	return r < 0 ? r : -ibv_req_notify_cq(e->cq, 0);
}

static void endpoint_free(struct ds_endpoint *e)
{
	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->memory)
		munmap(e->memory, e->memory_size);
	if (e->cq) {
		if (e->unacked)
			ibv_ack_cq_events(e->cq, e->unacked);
		ibv_destroy_cq(e->cq);
	}
	if (e->comp)
		ibv_destroy_comp_channel(e->comp);
	if (e->id)
		rdma_destroy_id(e->id);
	free(e->messages);
	free(e->idle);
	free(e->whom);
	free(e);
}

void ds_endpoint_destroy(struct rs_socket *s, struct ds_endpoint *e)
{
	LIST_REMOVE(e, of_socket);
	endpoint_free(e);
}

/* Replace errors that mean that RDMA fails as a whole, if another address has an endpoint. */
static int another_failed(struct rs_socket *s, int r)
{
	if (LIST_EMPTY(&s->ds->endpoints) || (r != -ENOMEM && r != -EPERM))
		return r;
	rs_err(s, "datagrams: no memory for a queue pair at another local address: %s",
	       strerror(-r));
	return -ENOBUFS;
}

int ds_endpoint_find(struct rs_socket *s, const union ds_name *local,
		     struct ds_endpoint **ret_endpoint)
{
	struct ds_endpoint *e;
	int r;

	LIST_FOREACH(e, &s->ds->endpoints, of_socket) {
		if (!ds_name_equal(&e->local, local))
			continue;
		*ret_endpoint = e;
		return e->dead ? -ENODEV : 0;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->local = *local;
	r = endpoint_create(s, e);
	if (r < 0) {
		endpoint_free(e);
		return another_failed(s, r);
	}
	LIST_INSERT_HEAD(&s->ds->endpoints, e, of_socket);
	*ret_endpoint = e;
	return 0;
}

/* ---- receiving ---- */

static uint8_t *receive_place(const struct ds_endpoint *e, unsigned int i)
{
	return e->memory + (size_t)i * DS_RECEIVE_SIZE;
}

/* Post all idle receives, in chains. */
static int receives_post(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_recv_wr chain[REPOST_AT], *bad;
	struct ibv_sge sges[REPOST_AT];

	while (e->idle_count) {
		unsigned int n = min_of(e->idle_count, (unsigned int)REPOST_AT);
		int r;

		for (unsigned int i = 0; i < n; i++) {
			unsigned int place = e->idle[e->idle_count - n + i];

			sges[i] = (struct ibv_sge){
				.addr = (uintptr_t)receive_place(e, place),
				.length = DS_RECEIVE_SIZE,
				.lkey = e->mr->lkey,
			};
			chain[i] = (struct ibv_recv_wr){
				.wr_id = WR_RECEIVE | place,
				.next = i + 1 < n ? &chain[i + 1] : NULL,
				.sg_list = &sges[i],
				.num_sge = 1,
			};
		}
		r = ibv_post_recv(e->id->qp, chain, &bad);
		if (r)
			return -r;
		e->idle_count -= n;
		e->posted_receives += n;
	}
	return 0;
}

static void receive_idle(struct rs_socket *s, struct ds_endpoint *e, unsigned int place)
{
	e->idle[e->idle_count++] = place;
	if (e->broken || e->idle_count < min_of((unsigned int)REPOST_AT, e->receives / 4))
		return;
	if (receives_post(s, e) < 0)
		e->broken = true;
}

void ds_endpoint_repost(struct rs_socket *s, struct ds_message *m)
{
	receive_idle(s, m->endpoint, m - m->endpoint->messages);
}

/* Set the link of a link-local sender to the link that its packet arrived on. */
static void link_set(union ds_name *sender, const union ds_name *local)
{
	if (sender->any.sa_family == AF_INET6 && local->any.sa_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&sender->v6.sin6_addr))
		sender->v6.sin6_scope_id = local->v6.sin6_scope_id;
}

/* Read the headers of a packet. Return: whether the socket takes the datagram. */
static bool packet_open(struct rs_socket *s, const struct ds_endpoint *e, const struct ibv_wc *wc,
			const uint8_t *packet, struct ds_message *m)
{
	uint32_t length = min_of(wc->byte_len, (uint32_t)DS_RECEIVE_SIZE);
	const uint8_t *start = packet + DS_GRH_SIZE;
	int header;

	if (length < DS_GRH_SIZE)
		return false;
	length -= DS_GRH_SIZE;
	header = ds_get_header(start, length, &m->from);
	if (header < 0 || m->from.any.sa_family != e->local.any.sa_family)
		return false;
	if (e->is_ethernet && wc->wc_flags & IBV_WC_GRH && !ds_is_sender(packet, &m->from)) {
		rs_debug(s, "a datagram that names another sender than it has: dropped");
		return false;
	}
	link_set(&m->from, &e->local);
	m->bytes = start + header;
	m->length = length - header;
	m->has_grh = wc->wc_flags & IBV_WC_GRH;
	ds_destination_heard(s, &m->from, wc->src_qp);
	return ds_is_welcome(s, &m->from);
}

static void packet_arrived(struct rs_socket *s, struct ds_endpoint *e, const struct ibv_wc *wc)
{
	unsigned int place = wc->wr_id & ~WR_RECEIVE;
	struct ds_message *m = &e->messages[place];

	e->posted_receives--;
	*m = (struct ds_message){ .endpoint = e };
	if (wc->status == IBV_WC_SUCCESS && packet_open(s, e, wc, receive_place(e, place), m))
		ds_deliver(s, m);
	else
		receive_idle(s, e, place);
}

/* ---- sending ---- */

uint8_t *ds_endpoint_place(struct ds_endpoint *e)
{
	uint8_t *place = e->memory + (size_t)e->receives * DS_RECEIVE_SIZE +
			 (size_t)(e->posted % e->sends) * DS_MESSAGE_MAX;

	memcpy(place, e->header, e->header_size);
	return place + e->header_size;
}

/* Send @length bytes of the next place. */
static int packet_send(struct ds_endpoint *e, struct ds_destination *d, uint32_t length,
		       bool signaled)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)ds_endpoint_place(e) - e->header_size,
		.length = length,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = e->posted,
		.sg_list = &sge,
		.num_sge = length ? 1 : 0,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = d->ah, .remote_qpn = d->qpn, .remote_qkey = RDMA_UDP_QKEY },
	}, *bad;
	int r;

	if (length <= e->inline_size)
		wr.send_flags |= IBV_SEND_INLINE;
	if (signaled)
		wr.send_flags |= IBV_SEND_SIGNALED;
	r = ibv_post_send(e->id->qp, &wr, &bad);
	if (r)
		return -r;
	e->whom[e->posted % e->sends] = d;
	d->sends++;
	e->posted++;
	e->unsignalled = signaled ? 0 : e->unsignalled + 1;
	return 0;
}

int ds_endpoint_send(struct rs_socket *s, struct ds_destination *d, uint32_t payload)
{
	struct ds_endpoint *e = d->endpoint;
	bool rare = ds_endpoint_room(e) <= max_of(e->sends / 4, 1u);
	int r = packet_send(e, d, e->header_size + payload,
			    rare || e->unsignalled + 1 >= RS_SIGNAL_INTERVAL);

	if (r < 0)
		e->broken = true;
	return r;
}

void ds_endpoint_mark(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ds_destination *d;

	if (!e->unsignalled || !ds_endpoint_room(e) || e->broken)
		return;
	d = e->whom[(e->posted - 1) % e->sends];
	if (d->ah && packet_send(e, d, 0, true) < 0)
		e->broken = true;
}

/* Complete all sends up to @number. */
static void sends_done(struct ds_endpoint *e, uint32_t number)
{
	if (number - e->done >= e->posted - e->done)
		return;
	while (e->done != number + 1) {
		e->whom[e->done % e->sends]->sends--;
		e->done++;
	}
}

/* ---- completions ---- */

static int qp_restart(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int mask, r = -ibv_modify_qp(e->id->qp, &attr, IBV_QP_STATE);

	attr.qp_state = IBV_QPS_INIT;
	if (r == 0)
		r = cm_result(rdma_init_qp_attr(e->id, &attr, &mask));
	if (r == 0)
		r = -ibv_modify_qp(e->id->qp, &attr, mask);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR };
	if (r == 0)
		r = -ibv_modify_qp(e->id->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (r == 0)
		r = -ibv_modify_qp(e->id->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return r == 0 ? receives_post(s, e) : r;
}

/*
 * Restart a queue pair that failed, with the same number, after all its receives have come back.
 * Datagrams may be lost until then.
 */
static void endpoint_mend(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int r;

	if (e->posted_receives) {
		ibv_modify_qp(e->id->qp, &attr, IBV_QP_STATE);
		return;
	}
	while (e->done != e->posted)
		sends_done(e, e->done);
	e->unsignalled = 0;
	e->broken = false;
	r = qp_restart(s, e);
	if (r == 0)
		return;
	rs_err(s, "datagrams: a queue pair that failed is not to be restarted: %s", strerror(-r));
	e->dead = true;
	s->error = ENODEV;
}

unsigned int ds_endpoint_poll(struct rs_socket *s, struct ds_endpoint *e)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int total = 0;
	int n;

	if (e->dead)
		return 0;
	do {
		n = ibv_poll_cq(e->cq, POLL_BATCH, wc);
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				e->broken = true;
			if (wc[i].wr_id & WR_RECEIVE)
				packet_arrived(s, e, &wc[i]);
			else
				sends_done(e, wc[i].wr_id);
		}
		if (n > 0)
			total += n;
	} while (n == POLL_BATCH);
	s->changes += total;
	if (unlikely(e->broken))
		endpoint_mend(s, e);
	return total;
}
