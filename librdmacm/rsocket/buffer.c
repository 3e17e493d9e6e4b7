/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"

#define DEVICE_BUFFERS_MAX 64

static atomic_uint device_buffers; /* number of device buffers of all sockets in this process */

/* Map separate pages, because the pages of a memory region are not copied into children. */
static void *pages_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int region_create(struct rs_socket *s, size_t size, int access, void **ret_memory,
			 struct ibv_mr **ret_mr)
{
	*ret_memory = pages_map(size);
	if (!*ret_memory)
		return -ENOMEM;
	*ret_mr = ibv_reg_mr(s->id->pd, *ret_memory, size, access);
	return *ret_mr ? 0 : -errno;
}

static void region_destroy(struct ibv_mr **mr, void *memory, size_t size)
{
	if (*mr)
		ibv_dereg_mr(*mr);
	*mr = NULL;
	if (memory)
		munmap(memory, size);
}

static size_t entries_size(const struct rs_socket *s)
{
	return RS_WIRE_ENTRIES * sizeof(*s->entries) +
	       s->mappings_max * sizeof(*s->entries_mappings);
}

/* Return the size of the memory that the peer cannot write to. */
static size_t own_size(const struct rs_socket *s)
{
	return s->sbuf_size + (s->sends_words ? rs_receives(s) * sizeof(*s->words) : 0);
}

/*
 * Allocate the receive buffer, if possible from the device, because peers write mostly to it. On
 * uroce a peer on the same host maps such memory. It may use up a descriptor, therefore only
 * DEVICE_BUFFERS_MAX sockets have it.
 */
static void *receive_memory(struct rs_socket *s)
{
	size_t size = ROUND_UP((size_t)s->rbuf_size, (size_t)sysconf(_SC_PAGESIZE));
	void *memory = NULL;

	if (atomic_fetch_add(&device_buffers, 1) < DEVICE_BUFFERS_MAX)
		memory = ibv_alloc_buf(s->id->pd, size, &s->rbuf_memory);
	if (memory)
		return memory;
	atomic_fetch_sub(&device_buffers, 1);
	s->rbuf_memory = NULL;
	return pages_map(size);
}

static int receive_create(struct rs_socket *s, int access)
{
	s->rbuf = receive_memory(s);
	if (!s->rbuf)
		return -ENOMEM;
	s->rmr = ibv_reg_mr(s->id->pd, s->rbuf, s->rbuf_size, access);
	return s->rmr ? 0 : -errno;
}

static void receive_destroy(struct rs_socket *s)
{
	region_destroy(&s->rmr, s->rbuf_memory ? NULL : s->rbuf, s->rbuf_size);
	if (!s->rbuf_memory)
		return;
	ibv_free_buf(s->rbuf_memory);
	s->rbuf_memory = NULL;
	atomic_fetch_sub(&device_buffers, 1);
}

static int memory_create(struct rs_socket *s)
{
	int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	int r = region_create(s, own_size(s), IBV_ACCESS_LOCAL_WRITE, (void **)&s->sbuf, &s->smr);

	if (r == 0)
		r = receive_create(s, remote);
	if (r == 0)
		r = region_create(s, entries_size(s), remote, (void **)&s->entries, &s->tmr);
	if (r == 0)
		s->entries_mappings = (void *)&s->entries[RS_WIRE_ENTRIES];
	if (r == 0)
		s->words = (void *)(s->sbuf + s->sbuf_size);
	return r;
}

/* Return the size of the send queue. On iWARP each message needs a write and a send. */
static unsigned int sends(const struct rs_socket *s)
{
	return s->sends_words ? 2 * s->sq_size : s->sq_size;
}

static int queue_create(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };

	s->comp = ibv_create_comp_channel(s->id->verbs);
	if (!s->comp)
		return -errno;
	if (fcntl(s->comp->fd, F_SETFL, fcntl(s->comp->fd, F_GETFL) | O_NONBLOCK) < 0 ||
	    epoll_ctl(s->file.fd, EPOLL_CTL_ADD, s->comp->fd, &watch) < 0)
		return -errno;
	s->cq = ibv_create_cq(s->id->verbs, sends(s) + rs_receives(s), s, s->comp, 0);
	return s->cq ? 0 : -errno;
}

static int qp_create(struct rs_socket *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {
			.max_send_wr = sends(s),
			.max_recv_wr = rs_receives(s),
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = s->inline_size,
		},
		.qp_type = IBV_QPT_RC,
	};

	if (rdma_create_qp(s->id, NULL, &attr) < 0)
		return -errno;
	s->inline_size = attr.cap.max_inline_data;
	return 0;
}

/*
 * Messages are written into the buffer. Therefore a receive needs no memory, except for one word on
 * iWARP.
 */
int rs_receives_post(struct rs_socket *s, unsigned int count)
{
	struct ibv_recv_wr chain[RS_REPOST_MAX] = {}, *bad;
	struct ibv_sge words[RS_REPOST_MAX];

	for (unsigned int i = 0; i + 1 < count; i++)
		chain[i].next = &chain[i + 1];
	for (unsigned int i = 0; s->sends_words && i < count; i++) {
		words[i].addr = (uintptr_t)&s->words[s->words_posted++ % rs_receives(s)];
		words[i].length = sizeof(*s->words);
		words[i].lkey = s->smr->lkey;
		chain[i].sg_list = &words[i];
		chain[i].num_sge = 1;
	}
	return ibv_post_recv(s->id->qp, chain, &bad);
}

static int receives_post(struct rs_socket *s)
{
	unsigned int left = rs_receives(s);

	while (left) {
		unsigned int count = min_of(left, (unsigned int)RS_REPOST_MAX);
		int r = rs_receives_post(s, count);

		if (r)
			return -r;
		left -= count;
	}
	return 0;
}

static void queues_fit_device(struct rs_socket *s)
{
	struct ibv_device_attr attr;
	unsigned int most = RS_QUEUE_MAX;
	int posts = s->sends_words ? 2 : 1;

	if (ibv_query_device(s->id->verbs, &attr) == 0) {
		most = min_of(most, (unsigned int)max_of(attr.max_qp_wr / posts - RS_RECEIVES_SPARE,
							 RS_QUEUE_MIN));
		most = min_of(most,
			      (unsigned int)max_of(attr.max_cqe / (1 + posts) - RS_RECEIVES_SPARE,
						   RS_QUEUE_MIN));
	}
	s->sq_size = min_of((unsigned int)s->sq_size, most);
	s->rq_size = min_of((unsigned int)s->rq_size, most);
}

int rs_buffer_create(struct rs_socket *s)
{
	int r;

	s->sends_words = s->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	queues_fit_device(s);
	s->slots = calloc(s->sq_size, sizeof(*s->slots));
	r = s->slots ? queue_create(s) : -ENOMEM;
	if (r == 0)
		r = qp_create(s);
	if (r == 0)
		r = memory_create(s);
	if (r == 0)
		r = receives_post(s);
	if (r < 0) {
		rs_err(s, "buffers of %u and %u bytes, queues of %u and %u: %s", s->sbuf_size,
		       s->rbuf_size, s->sq_size, s->rq_size, strerror(-r));
		return r;
	}
	s->in = (struct rs_credit_in){ .size = s->rbuf_size, .queue = s->rq_size };
	return 0;
}

void rs_buffer_destroy(struct rs_socket *s)
{
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	rs_iomap_destroy(s);
	region_destroy(&s->smr, s->sbuf, own_size(s));
	receive_destroy(s);
	region_destroy(&s->tmr, s->entries, entries_size(s));
	s->sbuf = s->rbuf = NULL;
	s->entries = NULL;
	if (s->cq) {
		if (s->unacked)
			ibv_ack_cq_events(s->cq, s->unacked);
		ibv_destroy_cq(s->cq);
	}
	if (s->comp)
		ibv_destroy_comp_channel(s->comp);
	s->cq = NULL;
	s->comp = NULL;
	free(s->slots);
	s->slots = NULL;
}

struct rs_wire_data rs_buffer_describe(const struct rs_socket *s)
{
	return (struct rs_wire_data){
		.credits = s->rq_size,
		.list = { (uintptr_t)s->entries, s->tmr->rkey, RS_WIRE_ENTRIES },
		.first = { (uintptr_t)s->rbuf, s->rmr->rkey, s->rbuf_size / 2 },
		.mappings = s->mappings_max,
		.ends = true,
	};
}

void rs_buffer_start(struct rs_socket *s, const struct rs_wire_data *peer)
{
	rs_credit_start(&s->out, &s->in, peer);
	s->peer_list = peer->list;
	s->peer_mappings = (struct rs_target){
		.addr = peer->list.addr + peer->list.length * sizeof(struct rs_wire_entry),
		.key = peer->list.key,
		.length = peer->mappings,
	};
	s->swapped = peer->swapped;
	s->peer_speaks = peer->speaks;
	s->peer_ends = peer->ends;
	/* Entry 0 of both lists is the memory that the private data of the connection named. */
	s->peer_entry = s->entry = 1;
	if (s->peer_entry == s->peer_list.length)
		s->peer_entry = 0;
}
