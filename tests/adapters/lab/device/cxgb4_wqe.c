/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests and completions of Chelsio's adapters. They are big-endian, apart from indexes that only
 * the process reads. A request takes slots of 64 bytes, and begins with its length in units of 16.
 */
#include "tests/adapters/lab/device/cxgb4.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	WR_WRITE = 0x14,
	WR_SEND = 0x15,
	WR_READ = 0x16,
	WR_RECV = 0x17,
	WR_WRITE_SEND = 0x21,
	WR_BYTES = CX_SEND_SLOTS * CX_SLOT,
	FLAG_COMPLETION = 1,
	FLAG_SOLICITED = 4,
	FLAG_FENCE = 8,
	FLAG_IMM = 0x40,
	SEND_WITH_INV = 4,
	DATA_LIST = 0x83,
	DATA_INLINE = 0x81,
	INLINE_MOST = 280,
	MAX_SGE = 17,
	MAX_RECV_SGE = 4,
	KEY_OF_NOTHING = 2, /* of a read without data */
	TYPE_SQ = 1 << 4,
	OP_WRITE = 0,
	OP_READ_RESPONSE = 2,
	OP_SEND = 3,
	OP_SEND_INV = 4,
	OP_WRITE_IMM = 8,
	STATUS_SHIFT = 5,
	QP_SHIFT = 12,

	DOORBELL_COPY = 64, /* a whole request */
	SEGMENT = 128,
};

/* ---- requests */

static uint32_t slots_of(const uint8_t *request)
{
	return (request[7] * 16 + CX_SLOT - 1) / CX_SLOT;
}

static const uint8_t *slot_at(const struct queue *queue, uint32_t slot)
{
	return queue->base + (size_t)(slot % queue->entries) * queue->stride;
}

/* Return the number of slots that the process has filled and the device has not read; negative: a
 * slot that does not exist. */
static int count_new(const struct queue *queue)
{
	uint16_t posted;

	if (!queue->base)
		return 0;
	posted = __atomic_load_n((uint16_t *)(void *)(cx_status(queue) + CX_AT_POSTED),
				 __ATOMIC_ACQUIRE);
	if (posted >= queue->entries)
		return -EINVAL;
	return (posted + queue->entries - queue->consumed % queue->entries) % queue->entries;
}

/* Copy a request, which may go round the end of the ring. */
static int copy_request(const struct queue *queue, uint8_t *ret, struct work *work)
{
	int there = count_new(queue);
	uint32_t slots;

	if (there <= 0)
		return there;
	slots = slots_of(slot_at(queue, queue->consumed));
	if (!slots || slots > CX_SEND_SLOTS || (int)slots > there)
		return -EINVAL;
	for (uint32_t i = 0; i < slots; i++)
		memcpy(ret + i * CX_SLOT, slot_at(queue, queue->consumed + i), CX_SLOT);
	work->entries = slots;
	memcpy(&work->id, ret + 2, sizeof(work->id));
	return 1;
}

static int read_list(struct work *work, const uint8_t *at, uint32_t max_sge)
{
	uint32_t count = get16(at + 2);

	if (at[0] != DATA_LIST || count > max_sge)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		work->sge[i] = (struct ibv_sge){ get64(at + 16 + 16 * i), get32(at + 12 + 16 * i),
						 get32(at + 8 + 16 * i) };
	work->wr.num_sge = count;
	return 0;
}

static int read_inline(struct work *work, const uint8_t *at)
{
	uint32_t length = get32(at + 4);

	if (length > INLINE_MOST)
		return -EINVAL;
	memcpy(work->data, at + 8, length);
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

/* Read the data of a send or a write. Check the sum of the lengths of its entries, and the length
 * of the request. */
static int read_data(struct work *work, const uint8_t *request)
{
	const uint8_t *at = request + 32;
	bool is_inline = at[0] == DATA_INLINE;
	int r = is_inline ? read_inline(work, at) : read_list(work, at, MAX_SGE);
	uint64_t sum = 0, bytes;

	if (r)
		return r;
	for (int i = 0; i < work->wr.num_sge; i++)
		sum += work->sge[i].length;
	bytes = 40 + (is_inline ? sum : 16u * (unsigned int)work->wr.num_sge);
	return sum == get32(request + 16) && request[7] == (bytes + 15) / 16 ? 0 : -EINVAL;
}

static int read_read(struct work *work, const uint8_t *request)
{
	if (request[7] != 3 || request[1])
		return -EINVAL;
	work->wr.opcode = IBV_WR_RDMA_READ;
	work->wr.send_flags |= IBV_SEND_SIGNALED; /* each read is answered */
	work->wr.wr.rdma.rkey = get32(request + 32);
	work->wr.wr.rdma.remote_addr = get64(request + 36);
	work->sge[0] =
		(struct ibv_sge){ get64(request + 20), get32(request + 28), get32(request + 16) };
	work->wr.num_sge = work->sge[0].lkey == KEY_OF_NOTHING && !work->sge[0].length ? 0 : 1;
	return 0;
}

static int read_request(struct work *work, const uint8_t *request)
{
	switch (request[0]) {
	case WR_READ:
		return read_read(work, request);
	case WR_WRITE:
		work->wr.opcode =
			request[1] & FLAG_IMM ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
		memcpy(&work->wr.imm_data, request + 8, 4);
		work->wr.wr.rdma.rkey = get32(request + 20);
		work->wr.wr.rdma.remote_addr = get64(request + 24);
		return read_data(work, request);
	case WR_SEND:
		work->wr.opcode = get32(request + 8) == SEND_WITH_INV ||
						  get32(request + 8) == SEND_WITH_INV + 2
					  ? IBV_WR_SEND_WITH_INV
					  : IBV_WR_SEND;
		work->wr.invalidate_rkey = get32(request + 12);
		return read_data(work, request);
	default:
		return -EINVAL;
	}
}

int cx_next_send(struct object *qp, struct work *work)
{
	uint8_t request[WR_BYTES];
	int r;

	work->entries = 1;
	r = copy_request(&qp->sq, request, work);
	if (r <= 0)
		return r;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (request[1] & FLAG_COMPLETION ? IBV_SEND_SIGNALED : 0) |
			      (request[1] & FLAG_SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (request[1] & FLAG_FENCE ? IBV_SEND_FENCE : 0),
	};
	r = read_request(work, request);
	return r ? r : 1;
}

int cx_next_receive(struct object *queue, struct work *work)
{
	uint8_t request[WR_BYTES];
	int r;

	work->entries = 1;
	r = copy_request(&queue->rq, request, work);
	if (r <= 0)
		return r;
	if (request[0] != WR_RECV || work->entries > CX_RECV_SLOTS)
		return -EINVAL;
	/* The adapter counts receives, and not their slots. */
	work->cursor = queue->rq.cursor + 1;
	work->id = queue->rq.cursor % (queue->rq.entries / CX_RECV_SLOTS);
	r = read_list(work, request + 8, MAX_RECV_SGE);
	return r ? r : 1;
}

/* ---- completions */

static void write_16(void *at, uint16_t value)
{
	memcpy(at, &value, sizeof(value));
}

uint32_t cx_unread(const struct object *cq)
{
	uint32_t entries = cq->ring.entries, next;

	next = __atomic_load_n((uint16_t *)(void *)(cx_status(&cq->ring) + CX_AT_CONSUMED),
			       __ATOMIC_ACQUIRE);
	return (cq->produced % entries + entries - next) % entries;
}

uint32_t cx_room(struct object *cq)
{
	return cq->ring.base ? cq->ring.entries - 1 - cx_unread(cq) : 0;
}

/* Write an entry whose last eight bytes lack the phase bit. */
static void write_entry(struct object *cq, uint8_t *cqe)
{
	uint32_t stride = cq->ring.stride;
	uint8_t *slot = cq->ring.base + (size_t)(cq->produced % cq->ring.entries) * stride;
	uint8_t phase = cq->produced / cq->ring.entries % 2 ? 0 : 0x80;
	uint64_t last;

	cqe[stride - 8] = (cqe[stride - 8] & 0x7f) | phase;
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(slot, cqe, stride);
		return;
	}
	memcpy(slot, cqe, stride - 8);
	memcpy(&last, cqe + stride - 8, 8);
	__atomic_store_n((uint64_t *)(void *)(slot + stride - 8), last, __ATOMIC_RELEASE);
}

void cx_entry(struct object *cq, const void *bytes, size_t length)
{
	uint8_t cqe[CX_SLOT] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	write_entry(cq, cqe);
}

static uint32_t cqe_status(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_LOC_ACCESS_ERR:
		return 4;
	case IBV_WC_LOC_PROT_ERR:
		return 2;
	case IBV_WC_LOC_LEN_ERR:
		return 6;
	case IBV_WC_MW_BIND_ERR:
		return 7;
	case IBV_WC_WR_FLUSH_ERR:
		return 0xc;
	default:
		return 0x1f;
	}
}

static uint32_t cqe_opcode(const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;

	if (!c->receive)
		return wc->opcode == IBV_WC_RDMA_READ	 ? OP_READ_RESPONSE
		       : wc->opcode == IBV_WC_RDMA_WRITE ? OP_WRITE
							 : OP_SEND;
	return !wc->status && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? OP_WRITE_IMM
	       : wc->wc_flags & IBV_WC_WITH_INV			      ? OP_SEND_INV
								      : OP_SEND;
}

void cx_complete(struct object *cq, const struct completion *c)
{
	struct cx_qp *cx = c->qp->device;
	const struct ibv_wc *wc = c->wc;
	bool read = !c->receive && wc->opcode == IBV_WC_RDMA_READ;
	uint8_t cqe[CX_SLOT] = { 0 };

	/* A process flushes requests by itself. The device only reports the failure. */
	if (model_on() && wc->status)
		cx->erring = true;
	if (model_on() && wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	put32(cqe, cx->number << QP_SHIFT | cqe_status(wc->status) << STATUS_SHIFT |
			   (c->receive || read ? 0 : TYPE_SQ) | cqe_opcode(c));
	put32(cqe + 4, wc->byte_len);
	if (c->receive) {
		if (wc->wc_flags & IBV_WC_WITH_INV)
			put32(cqe + 8, wc->invalidated_rkey);
		put32(cqe + 12, ++cx->received);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			memcpy(cqe + 16, &wc->imm_data, 4);
		if (c->srq)
			put32(cqe + 20, CX_SRQ_FIRST + c->id);
	} else {
		write_16(cqe + 14, c->id);
	}
	write_entry(cq, cqe);
}

static void set_error(const struct queue *queue)
{
	const uint8_t one = 1;

	if (queue->base)
		trace_device_writes(cx_status(queue) + CX_AT_ERROR, &one, 1);
}

/* Do what the kernel does when a queue pair has failed: mark the queue pair and both completion
 * queues, and generate events. */
void cx_tell(struct object *qp)
{
	struct cx_qp *cx = qp->device;

	cx->told = true;
	set_error(qp->rq.base ? &qp->rq : &qp->sq);
	set_error(&qp->send_cq->ring);
	if (qp->recv_cq != qp->send_cq)
		set_error(&qp->recv_cq->ring);
	if (!model_on())
		return;
	event_completion(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		event_completion(qp->recv_cq);
}

/* ---- bytes that the device ignores */

/* Return whether a region such as "qp0-sq" belongs to a queue pair. *@ret_qp: NULL: it was
 * destroyed. */
static bool is_of_qp(const char *region, const char *suffix, struct object **ret_qp)
{
	unsigned int ordinal;
	char name[8];

	*ret_qp = NULL;
	if (sscanf(region, "qp%u-%7s", &ordinal, name) != 2 || strcmp(name, suffix))
		return false;
	*ret_qp = object_at(OBJECT_QP, ordinal);
	return true;
}

/* Return the mask of the 16 bytes at @offset of a request. The word behind the immediate data of a
 * write is unused, and so is the rest of the last unit of inline data. A process writes whole slots
 * into the adapter's memory. */
static unsigned unused_of(const uint8_t *request, uint32_t offset, bool on_chip)
{
	uint32_t end = 16 * request[7];

	if ((request[0] == WR_SEND || request[0] == WR_WRITE) && request[32] == DATA_INLINE)
		end = 40 + get32(request + 36);
	else if (!on_chip)
		end = UINT32_MAX;
	if (offset >= end)
		return 0xffff;
	if (end - offset < 16)
		return 0xffff << (end - offset) & 0xffff;
	return !offset && request[0] == WR_WRITE ? 0xf000 : 0;
}

/* Walk over requests from @cx->seen on, each with the index that follows the one before. Write the
 * masks of their slots, at most of @slots. Return the number of slots. */
static uint32_t walk(const struct object *qp, uint16_t *index, uint32_t slots)
{
	struct cx_qp *cx = qp->device;
	uint32_t at = 0;

	while (at < slots) {
		const uint8_t *request = slot_at(&qp->sq, cx->seen + at);
		uint32_t count = slots_of(request);
		uint16_t number;

		memcpy(&number, request + 2, sizeof(number));
		if (!count || count > CX_SEND_SLOTS || number != *index)
			break;
		for (uint32_t i = 0; i < 4 * count; i++)
			cx->unused[(cx->seen + at + i / 4) % qp->sq.entries][i % 4] =
				unused_of(request, 16 * i, cx->on_chip);
		*index = (*index + (request[0] == WR_WRITE_SEND ? 2 : 1)) %
			 (qp->sq.entries / CX_SEND_SLOTS);
		at += count;
	}
	return at;
}

/* A trace calls this for all bytes of a region, from the first to the last. */
unsigned cx_ignored(const char *region, size_t offset)
{
	static const struct cx_qp *looked; /* NULL: the region is not a ring of sends */
	static bool gone;		   /* the queue pair was destroyed */
	static size_t length;
	struct object *qp;
	uint16_t index;

	if (!offset) {
		gone = is_of_qp(region, "sq", &qp) && !qp;
		looked = qp && qp->sq.base ? qp->device : NULL;
		if (looked) {
			length = qp->sq.entries * CX_SLOT;
			index = looked->index;
			walk(qp, &index, qp->sq.entries);
		}
	}
	if (gone)
		return 0xffff;
	return looked && offset < length ? looked->unused[offset / CX_SLOT][offset % CX_SLOT / 16]
					 : 0;
}

static bool is_copy(const char *region, size_t offset)
{
	return !cx_is_t4() && offset % SEGMENT >= DOORBELL_COPY && strstr(region, "db");
}

unsigned cx_undefined(const char *region, size_t offset, const uint8_t *bytes)
{
	static uint8_t request[CX_SLOT]; /* as far as it was stored */
	uint32_t at = offset % SEGMENT - DOORBELL_COPY;

	if (!is_copy(region, offset))
		return 0;
	if (!at)
		memset(request, 0, sizeof(request));
	memcpy(request + at, bytes, 8);
	if (at % 16 == 0)
		memcpy(request + at + 8, bytes + 8, 8);
	return unused_of(request, at / 16 * 16, true) >> at % 16;
}

void cx_stored(const char *region, size_t offset, const uint8_t *bytes, size_t length)
{
	struct object *qp;
	struct cx_qp *cx;
	uint32_t slots = 1;

	if (is_copy(region, offset) && offset % SEGMENT != DOORBELL_COPY)
		return;
	if (!is_copy(region, offset))
		slots = bytes_le32(bytes) & (cx_is_t4() ? 0x3fff : 0x1fff);
	if (!is_of_qp(region, "sqdb", &qp) || !qp)
		return;
	cx = qp->device;
	cx->seen = (cx->seen + walk(qp, &cx->index, slots)) % qp->sq.entries;
}
