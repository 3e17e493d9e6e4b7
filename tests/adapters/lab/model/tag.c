/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/tag.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUFFERS = 32,
	BUFFER_SIZE = 32768,
};

struct headers {
	struct ibv_tmh tmh;
	struct ibv_rvh rvh;
};

/* @enabled: the process knew of all messages without a match when it added this receive, or later
 */
struct entry {
	bool listed, enabled;
	uint64_t serial, tag, mask;
	struct ibv_sge sge;
	struct headers fetched; /* the message whose data are being fetched, */
	uint32_t qp_num;	/* and where it came from */
};

struct arrival {
	unsigned buffer;
	uint32_t qp_num, length;
};

struct tags {
	struct ibv_mr *mr;
	uint16_t last;
	uint64_t serial;
	uint16_t unexpected, handled;
	struct entry entries[TAGS_MOST + 1];
	unsigned in, out;
	struct arrival waiting[BUFFERS];
	uint8_t buffers[BUFFERS][BUFFER_SIZE];
};

static struct tags *tags_of(const struct object *srq)
{
	return srq->device;
}

static void post_buffer(struct object *srq, unsigned i)
{
	struct tags *t = tags_of(srq);
	const struct work work = { .id = i };
	struct ibv_sge sge = { (uintptr_t)t->buffers[i], BUFFER_SIZE, t->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = model_wr_id(srq, true, &work),
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	ibv_post_srq_recv(srq->backend.srq, &wr, &bad);
}

int model_create_tags(struct object *srq)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = BUFFERS, .max_sge = 1 } };
	struct tags *t = calloc(1, sizeof(*t));

	if (!t)
		return ENOMEM;
	srq->device = t; /* freed with the object */
	t->mr = ibv_reg_mr(srq->pd->backend.pd, t->buffers, sizeof(t->buffers),
			   IBV_ACCESS_LOCAL_WRITE);
	srq->backend.srq = t->mr ? ibv_create_srq(srq->pd->backend.pd, &attr) : NULL;
	if (!srq->backend.srq)
		return errno;
	for (unsigned i = 0; i < BUFFERS; i++)
		post_buffer(srq, i);
	return 0;
}

void model_destroy_tags(struct object *srq)
{
	ibv_dereg_mr(tags_of(srq)->mr);
}

/* ---- the list */

void model_tag_add(struct object *srq, uint16_t next, uint64_t tag, uint64_t mask,
		   const struct ibv_sge *sge)
{
	struct tags *t = tags_of(srq);

	if (next > TAGS_MOST)
		return;
	t->entries[t->last] = (struct entry){
		.listed = true,
		.enabled = t->handled == t->unexpected,
		.serial = t->serial++,
		.tag = tag,
		.mask = mask,
		.sge = *sge,
	};
	t->last = next;
}

bool model_tag_remove(struct object *srq, uint16_t index)
{
	struct tags *t = tags_of(srq);
	bool listed = index <= TAGS_MOST && t->entries[index].listed;

	if (listed)
		t->entries[index].listed = false;
	return listed;
}

void model_tag_sync(struct object *srq, uint16_t handled)
{
	struct tags *t = tags_of(srq);

	t->handled = handled;
	for (unsigned i = 0; i <= TAGS_MOST; i++)
		t->entries[i].enabled |= handled == t->unexpected;
}

uint16_t model_tag_unexpected(const struct object *srq)
{
	return tags_of(srq)->unexpected;
}

static struct entry *find(struct tags *t, uint64_t tag)
{
	struct entry *first = NULL;

	for (unsigned i = 0; i <= TAGS_MOST; i++) {
		struct entry *e = &t->entries[i];

		if (e->listed && e->enabled && (tag & e->mask) == (e->tag & e->mask) &&
		    (!first || e->serial < first->serial))
			first = e;
	}
	return first;
}

/* ---- completions */

static void complete(struct object *srq, struct tagged what)
{
	what.srq = srq;
	what.unexpected = tags_of(srq)->unexpected;
	device->tagged(srq->recv_cq, &what);
}

static uint16_t index_of(const struct tags *t, const struct entry *e)
{
	return e - t->entries;
}

/* Return the wr_id with which the model posts a request of the SRQ to one of its queue pairs. */
static uint64_t own_id(const struct object *srq, uint16_t id, uint8_t note)
{
	const struct work work = { .id = id, .note = note };

	return model_wr_id(srq, false, &work);
}

/* The sender may free its memory. */
static void send_fin(const struct object *srq, const struct object *qp, struct headers headers)
{
	struct ibv_sge sge = { (uintptr_t)&headers, sizeof(headers), 0 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = own_id(srq, 0, WORK_SILENT),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	headers.tmh.opcode = IBV_TMH_FIN;
	ibv_post_send(qp->backend.qp, &wr, &bad);
}

void model_tag_fetched(struct object *srq, uint16_t index, const struct ibv_wc *wc)
{
	struct tags *t = tags_of(srq);
	struct entry *e = &t->entries[index];
	const struct object *qp = object_by_number(OBJECT_QP, e->qp_num);

	complete(srq, (struct tagged){
			      .event = wc->status ? TAG_CANCELED : TAG_FETCHED,
			      .qp_num = e->qp_num,
			      .length = be32toh(e->fetched.rvh.len),
			      .index = index,
		      });
	if (!wc->status && qp)
		send_fin(srq, qp, e->fetched);
}

/* ---- delivery. Each function returns whether the message was delivered; if not, it waits. */

static void copy_to(const struct ibv_sge *sges, int count, const uint8_t *bytes, uint32_t length)
{
	for (int i = 0; i < count && length; i++) {
		uint32_t part = sges[i].length < length ? sges[i].length : length;

		memcpy((void *)(uintptr_t)sges[i].addr, bytes, part);
		bytes += part;
		length -= part;
	}
}

static bool to_queue(struct object *srq, const struct arrival *a, const uint8_t *bytes,
		     bool unexpected)
{
	static struct work work; /* large; under device_lock */

	if (device->next_receive(srq, &work) <= 0)
		return false;
	srq->rq.consumed += work.entries;
	srq->rq.cursor = work.cursor;
	copy_to(work.sge, work.wr.num_sge, bytes, a->length);
	tags_of(srq)->unexpected += unexpected;
	complete(srq, (struct tagged){
			      .event = unexpected ? TAG_UNEXPECTED : TAG_NONE,
			      .qp_num = a->qp_num,
			      .length = a->length,
			      .index = work.id,
		      });
	return true;
}

static bool fetch(struct object *srq, struct entry *e, const struct arrival *a,
		  const struct headers *headers)
{
	struct tags *t = tags_of(srq);
	const struct object *qp = object_by_number(OBJECT_QP, a->qp_num);
	struct tagged matched = {
		.event = TAG_MATCHED,
		.qp_num = a->qp_num,
		.length = be32toh(headers->rvh.len),
		.index = index_of(t, e),
		.header = &headers->tmh,
	};
	struct ibv_sge sge = { e->sge.addr, matched.length, e->sge.lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = own_id(srq, matched.index, 0),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { be64toh(headers->rvh.va), be32toh(headers->rvh.rkey) },
	};

	e->listed = false;
	e->fetched = *headers;
	e->qp_num = a->qp_num;
	complete(srq, matched);
	if (!qp || ibv_post_send(qp->backend.qp, &wr, &bad))
		model_tag_fetched(srq, matched.index,
				  &(struct ibv_wc){ .status = IBV_WC_GENERAL_ERR });
	return true;
}

static bool to_entry(struct object *srq, struct entry *e, const struct arrival *a,
		     const uint8_t *bytes, const struct headers *headers)
{
	struct tags *t = tags_of(srq);
	bool fits = be32toh(headers->rvh.len) <= e->sge.length;
	uint32_t skipped = sizeof(struct ibv_tmh);
	struct tagged whole = {
		.event = TAG_WHOLE,
		.qp_num = a->qp_num,
		.index = index_of(t, e),
		.header = &headers->tmh,
	};

	if (headers->tmh.opcode == IBV_TMH_RNDV) {
		if (fits)
			return fetch(srq, e, a, headers);
		/* The process continues, and finds the headers in its memory. */
		whole.event = TAG_SOFTWARE;
		skipped = 0;
	}
	e->listed = false;
	whole.length = a->length - skipped;
	copy_to(&e->sge, 1, bytes + skipped, whole.length);
	complete(srq, whole);
	return true;
}

static bool deliver(struct object *srq, const struct arrival *a)
{
	struct tags *t = tags_of(srq);
	const uint8_t *bytes = t->buffers[a->buffer];
	struct headers headers = { 0 };
	struct entry *e = NULL;
	bool tagged, rendezvous;

	memcpy(&headers, bytes, a->length < sizeof(headers) ? a->length : sizeof(headers));
	rendezvous = headers.tmh.opcode == IBV_TMH_RNDV && a->length >= sizeof(headers) &&
		     a->length <= TAG_HEADERS_MOST;
	tagged = rendezvous ||
		 (headers.tmh.opcode == IBV_TMH_EAGER && a->length >= sizeof(headers.tmh));
	if (tagged)
		e = find(t, be64toh(headers.tmh.tag));
	/* A message that exceeds the memory of its receive goes to the queue. */
	if (e && !rendezvous && a->length - sizeof(headers.tmh) > e->sge.length)
		e = NULL;
	return e ? to_entry(srq, e, a, bytes, &headers) : to_queue(srq, a, bytes, tagged);
}

bool model_tag_deliver(struct object *srq)
{
	struct tags *t = tags_of(srq);
	bool did = false;

	while (t->out != t->in && device->room(srq->recv_cq) >= 2) {
		const struct arrival *a = &t->waiting[t->out % BUFFERS];

		if (!deliver(srq, a))
			return did;
		post_buffer(srq, a->buffer);
		t->out++;
		did = true;
	}
	return did;
}

void model_tag_arrived(struct object *srq, const struct object *qp, unsigned buffer,
		       const struct ibv_wc *wc)
{
	struct tags *t = tags_of(srq);

	if (wc->status || !qp) {
		post_buffer(srq, buffer);
		return;
	}
	t->waiting[t->in++ % BUFFERS] = (struct arrival){ buffer, qp->number, wc->byte_len };
	model_tag_deliver(srq);
}
