/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests of irdma: one to eight quanta of 32 bytes, whose header is the fourth word of 64 bits.
 * Bit 63 of the header changes with each wrap of the ring. Therefore the device finds requests in
 * memory and needs no register.
 */
#include "tests/adapters/lab/device/irdma.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER = 24,
	FRAGMENT = 16,
	INLINE_FIRST = 8, /* bytes of inline data in the first quantum */
	INLINE_NEXT = 31, /* and in each other */
	INLINE_X722 = 16,
	SGES = 15,
	RIGHT_READ = 1 << 2,
	RIGHT_WRITE = 1 << 3,
	RIGHT_ATOMIC = 1 << 7,
};

static uint64_t get_64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static uint64_t look(const uint8_t *header)
{
	return le64toh(__atomic_load_n((const uint64_t *)(const void *)header, __ATOMIC_ACQUIRE));
}

static unsigned bits(uint64_t word, int from, int count)
{
	return word >> from & ((1ull << count) - 1);
}

static bool has_valid_fragments(void)
{
	return irdma_generation() > 1;
}

static uint32_t inline_quanta(uint32_t length)
{
	if (!has_valid_fragments())
		return length <= INLINE_X722 ? 1 : 2;
	return length <= INLINE_FIRST ? 1
				      : 1 + (length - INLINE_FIRST + INLINE_NEXT - 1) / INLINE_NEXT;
}

uint32_t irdma_quanta(const uint8_t *wqe)
{
	uint64_t header = get_64(wqe + HEADER);
	unsigned op = bits(header, 32, 6);

	if (op == IRDMA_OP_NOP || op == IRDMA_OP_BIND || op == IRDMA_OP_LOCAL_INV)
		return 1;
	if (bits(header, 57, 1))
		return inline_quanta(bits(header, 48, 8));
	return (bits(header, 38, 4) + 1) / 2 + 1;
}

/* ---- lists */

static struct ibv_sge fragment_at(const uint8_t *at)
{
	uint64_t second = get_64(at + 8);

	if (!has_valid_fragments())
		return (struct ibv_sge){ get_64(at), second, second >> 32 };
	return (struct ibv_sge){ get_64(at), second >> 32 & 0x7fffffff, second };
}

/* Read @count fragments; the first one may be in front of the header. A fragment of length 0 ends
 * the list. */
static int read_list(const uint8_t *wqe, uint32_t count, bool first_in_front, struct work *work)
{
	const uint8_t *at = wqe + (first_in_front ? 0 : IRDMA_QUANTUM);
	int used = 0;

	if (count > SGES)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		work->sge[i] = fragment_at(at);
		if (work->sge[i].addr || work->sge[i].length || work->sge[i].lkey)
			used = i + 1;
		at = i || !first_in_front ? at + FRAGMENT : wqe + IRDMA_QUANTUM;
	}
	work->wr.num_sge = used;
	return 0;
}

static void copy_inline(const uint8_t *wqe, uint32_t length, uint8_t *ret)
{
	uint32_t front = has_valid_fragments() ? INLINE_FIRST : INLINE_X722;
	uint32_t each = has_valid_fragments() ? INLINE_NEXT : IRDMA_QUANTUM, part;
	const uint8_t *at = wqe + (has_valid_fragments() ? 8 : 0);

	for (part = length < front ? length : front; length;
	     ret += part, length -= part, part = length < each ? length : each) {
		memcpy(ret, at, part);
		at = at < wqe + IRDMA_QUANTUM ? wqe + IRDMA_QUANTUM : at + IRDMA_QUANTUM;
	}
}

static int read_inline(const uint8_t *wqe, uint64_t header, struct work *work)
{
	uint32_t length = bits(header, 48, 8);

	copy_inline(wqe, length, work->data);
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

/* ---- sends */

static int read_address(const uint8_t *wqe, uint64_t header, struct work *work)
{
	const struct object *ah = object_by_number(OBJECT_AH, bits(header, 0, 17));

	if (!ah)
		return -EINVAL;
	work->address = ah->address;
	work->wr.wr.ud.remote_qkey = get_64(wqe + 16);
	work->wr.wr.ud.remote_qpn = bits(get_64(wqe + 16), 32, 24);
	return 0;
}

static int read_data(const struct object *qp, const uint8_t *wqe, uint64_t header,
		     struct work *work)
{
	bool immediate = bits(header, 47, 1);
	uint32_t count = bits(header, 38, 4) + 1 - immediate;
	int r = 0;

	if (qp->qp_type == IBV_QPT_UD) {
		r = read_address(wqe, header, work);
	} else if (work->wr.opcode == IBV_WR_SEND_WITH_INV) {
		work->wr.invalidate_rkey = header;
	} else {
		work->wr.wr.rdma.remote_addr = get_64(wqe + 16);
		work->wr.wr.rdma.rkey = header;
	}
	if (r)
		return r;
	if (immediate)
		work->wr.imm_data = htobe32(get_64(wqe));
	if (bits(header, 57, 1))
		return read_inline(wqe, header, work);
	return read_list(wqe, count, !immediate, work);
}

static int read_atomic(const uint8_t *wqe, uint64_t header, struct work *work)
{
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	if (irdma_generation() < 3)
		return -EINVAL;
	work->sge[0] = (struct ibv_sge){ get_64(wqe), 8, get_64(wqe + 8) };
	work->wr.num_sge = 1;
	work->wr.wr.atomic.remote_addr = get_64(wqe + 16);
	work->wr.wr.atomic.rkey = header;
	work->wr.wr.atomic.swap = swaps ? get_64(wqe + 32) : 0;
	work->wr.wr.atomic.compare_add = get_64(wqe + (swaps ? 40 : 32));
	return 0;
}

static int read_bind(const uint8_t *wqe, uint64_t header, struct work *work)
{
	uint64_t keys = get_64(wqe + 8);
	unsigned rights = bits(header, 48, 8);

	if (!has_valid_fragments())
		keys = keys << 32 | keys >> 32;
	work->bind.mw_rkey = work->bind.new_rkey = keys;
	work->bind.mr_lkey = keys >> 32;
	work->bind.address = get_64(wqe);
	work->bind.length = get_64(wqe + 16);
	work->bind.access = (rights & RIGHT_READ ? IBV_ACCESS_REMOTE_READ : 0) |
			    (rights & RIGHT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
			    (rights & RIGHT_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
			    (bits(header, 53, 1) ? 0 : IBV_ACCESS_ZERO_BASED);
	return 0;
}

/* Return the operation of verbs, or -1. */
static int opcode_of(uint64_t header)
{
	bool immediate = bits(header, 47, 1);

	switch (bits(header, 32, 6)) {
	case IRDMA_OP_WRITE:
	case IRDMA_OP_WRITE_SOLICITED:
		return immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	case IRDMA_OP_READ:
		return IBV_WR_RDMA_READ;
	case IRDMA_OP_SEND:
	case IRDMA_OP_SEND_SOLICITED:
		return immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	case IRDMA_OP_SEND_INV:
	case IRDMA_OP_SEND_INV_SOLICITED:
		return IBV_WR_SEND_WITH_INV;
	case IRDMA_OP_BIND:
		return IBV_WR_BIND_MW;
	case IRDMA_OP_LOCAL_INV:
		return IBV_WR_LOCAL_INV;
	case IRDMA_OP_FETCH_ADD:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	case IRDMA_OP_CMP_SWAP:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	default:
		return -1;
	}
}

static bool is_solicited(unsigned op)
{
	return op == IRDMA_OP_SEND_SOLICITED || op == IRDMA_OP_SEND_INV_SOLICITED ||
	       op == IRDMA_OP_WRITE_SOLICITED;
}

static int read_send(const struct object *qp, const uint8_t *wqe, uint64_t header,
		     struct work *work)
{
	int opcode = opcode_of(header);

	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (bits(header, 62, 1) ? IBV_SEND_SIGNALED : 0) |
			      (bits(header, 60, 1) ? IBV_SEND_FENCE : 0) |
			      (is_solicited(bits(header, 32, 6)) ? IBV_SEND_SOLICITED : 0),
	};
	if (opcode < 0)
		return -EINVAL;
	work->wr.opcode = opcode;
	switch (opcode) {
	case IBV_WR_BIND_MW:
		return read_bind(wqe, header, work);
	case IBV_WR_LOCAL_INV:
		work->wr.invalidate_rkey =
			has_valid_fragments() ? get_64(wqe + 8) : get_64(wqe + 8) >> 32;
		return 0;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return read_atomic(wqe, header, work);
	default:
		return read_data(qp, wqe, header, work);
	}
}

/* Whether the request at this free-running position was posted. */
static bool is_posted(const struct queue *queue, uint32_t position)
{
	const uint8_t *wqe =
		queue->base + (size_t)(position & (queue->entries - 1)) * queue->stride;

	return look(wqe + HEADER) >> 63 == !(position & queue->entries);
}

/* Requests that only fill a chunk of the ring belong to the request behind them. */
int irdma_next_send(struct object *qp, struct work *work)
{
	struct queue *sq = &qp->sq;
	const uint8_t *wqe;
	uint32_t at = sq->consumed;
	uint64_t header;
	int r;

	for (;; at++) {
		if (!is_posted(sq, at))
			return 0;
		wqe = sq->base + (size_t)(at & (sq->entries - 1)) * IRDMA_QUANTUM;
		header = get_64(wqe + HEADER);
		if (bits(header, 32, 6) != IRDMA_OP_NOP)
			break;
	}
	work->id = at & (sq->entries - 1);
	work->note = bits(header, 32, 6);
	work->entries = at - sq->consumed + irdma_quanta(wqe);
	if (irdma_quanta(wqe) > IRDMA_QUANTA_MOST || work->id + irdma_quanta(wqe) > sq->entries)
		return -EINVAL;
	r = read_send(qp, wqe, header, work);
	return r ? r : 1;
}

/* ---- receives */

int irdma_next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	uint32_t place = rq->consumed & (rq->entries - 1);
	const uint8_t *wqe = rq->base + (size_t)place * rq->stride;
	struct irdma_played_srq *srq = queue->type == OBJECT_SRQ ? queue->device : NULL;
	int r;

	if (!is_posted(rq, rq->consumed))
		return 0;
	work->id = srq ? rq->consumed : place;
	work->entries = 1;
	work->wr = (struct ibv_send_wr){ .sg_list = work->sge };
	if (srq)
		srq->wr_ids[work->id] = get_64(wqe + 16);
	r = read_list(wqe, bits(get_64(wqe + HEADER), 38, 4) + 1, true, work);
	return r ? r : 1;
}

/* ---- traces */

/* Follow the ring to the request of this number. */
static uint16_t send_first(const struct object *qp, uint32_t index)
{
	struct irdma_played_qp *played = qp->device;

	while (played->known <= index && is_posted(&qp->sq, played->behind)) {
		uint32_t place = played->behind & (qp->sq.entries - 1);
		const uint8_t *wqe = qp->sq.base + (size_t)place * IRDMA_QUANTUM;
		bool silent = bits(get_64(wqe + HEADER), 32, 6) == IRDMA_OP_NOP;

		if (!silent)
			played->first[played->known++ % IRDMA_IDS] = place;
		played->behind += irdma_quanta(wqe);
	}
	return played->first[index % IRDMA_IDS];
}

uint16_t irdma_traced_id(const struct object *qp, bool receive, uint32_t index)
{
	struct irdma_played_srq *srq = receive && qp->srq ? qp->srq->device : NULL;
	const struct queue *rq = srq ? &qp->srq->rq : &qp->rq;

	if (!receive)
		return send_first(qp, index);
	if (!srq)
		return index & (rq->entries - 1);
	srq->wr_ids[index % IRDMA_IDS] =
		get_64(rq->base + (size_t)(index & (rq->entries - 1)) * rq->stride + 16);
	return index;
}

uint8_t irdma_traced_note(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IRDMA_OP_WRITE;
	case IBV_WR_RDMA_READ:
		return IRDMA_OP_READ;
	case IBV_WR_SEND_WITH_INV:
		return IRDMA_OP_SEND_INV;
	case IBV_WR_BIND_MW:
		return IRDMA_OP_BIND;
	case IBV_WR_LOCAL_INV:
		return IRDMA_OP_LOCAL_INV;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IRDMA_OP_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IRDMA_OP_CMP_SWAP;
	default:
		return IRDMA_OP_SEND;
	}
}
