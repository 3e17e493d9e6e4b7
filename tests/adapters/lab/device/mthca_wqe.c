/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The work requests of mthca. Opcode, size and fence of a request are in the first segment of the
 * request before it. */
#include "tests/adapters/lab/device/mthca.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"

enum {
	OP_WRITE = 0x08,
	OP_WRITE_IMM = 0x09,
	OP_SEND = 0x0a,
	OP_SEND_IMM = 0x0b,
	OP_READ = 0x10,
	OP_COMPARE_SWAP = 0x11,
	OP_FETCH_ADD = 0x12,
	OP_MASK = 0x1f,
	/* of the third word */
	SIGNALED = 0x08,
	SOLICITED = 0x02,
	ALWAYS = 0x01,
	GLOBAL = 0x80,
	GIDS_OF_PORT = 32,
};

static const uint32_t inline_bit = 1u << 31;

static const struct mlx_opcode opcodes[] = {
	{ OP_SEND, IBV_WR_SEND },
	{ OP_SEND_IMM, IBV_WR_SEND_WITH_IMM },
	{ OP_WRITE, IBV_WR_RDMA_WRITE },
	{ OP_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ OP_READ, IBV_WR_RDMA_READ },
	{ OP_COMPARE_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ OP_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD },
};
enum {
	OPCODES = sizeof(opcodes) / sizeof(opcodes[0])
};

uint8_t mthca_note_of(enum ibv_wr_opcode opcode)
{
	return mlx_note_of(opcodes, OPCODES, opcode);
}

/* A request in the ring. */
struct request {
	const uint8_t *wqe;
	uint32_t size; /* bytes */
	uint32_t at;   /* bytes read so far */
};

/* Return the next bytes, or NULL if the request ends before. */
static const uint8_t *take(struct request *r, uint32_t length)
{
	const uint8_t *at = r->wqe + r->at;

	if (length > r->size - r->at)
		return NULL;
	r->at += length;
	return at;
}

static uint8_t *slot_at(const struct queue *queue, uint32_t slot)
{
	return queue->base + (size_t)slot * queue->stride;
}

static uint32_t word_at(const uint8_t *at)
{
	return be32toh(__atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE));
}

/* The third word of a posted request is not 0 until the model has read the request. */
static bool is_new(const uint8_t *wqe)
{
	return word_at(wqe + 8);
}

/*
 * Find the link to the request in @slot. Without records a process that posts a whole ring at once
 * replaces the request that has the link. An adapter knows the link from the doorbell. The model
 * takes opcode and size from the link behind the request. Return: whether the request is posted.
 */
static bool link_find(const struct queue *queue, uint32_t slot, uint32_t place,
		      struct mthca_link *ret)
{
	const uint8_t *wqe = slot_at(queue, slot);
	const uint8_t *before = slot_at(queue, (slot + queue->entries - 1) % queue->entries);

	if (mthca_has_records() && be32toh(*queue->record) == (queue->consumed & 0xffff))
		return false;
	*ret = (struct mthca_link){ .ee_nds = word_at(before + 4), .nda_op = get32(before) };
	if (mthca_has_records() || ret->ee_nds & SIZE_MASK)
		return true;
	if (before == wqe || !is_new(before) || !is_new(wqe))
		return false;
	ret->ee_nds = word_at(wqe + 4) | DBD;
	ret->nda_op = place | (get32(wqe) & OP_MASK);
	return ret->ee_nds & SIZE_MASK;
}

/* Mark a request as read. The only request of a ring has its own link. */
static void mark_read(const struct queue *queue, uint32_t slot)
{
	uint8_t *wqe = slot_at(queue, slot);

	if (mthca_has_records())
		return;
	memset(wqe + 8, 0, 4);
	if (queue->entries == 1)
		memset(wqe + 4, 0, 4);
}

/* Find the vector of an address: a part of the request, or memory of the process. */
static const uint8_t *vector_find(const struct object *qp, const uint8_t *segment)
{
	const struct object *mr;
	uint64_t address;

	if (mthca_has_records())
		return segment;
	address = get64(segment + 8);
	mr = object_by_number(OBJECT_MR, get32(segment + 4));
	return mr && mr->pd == qp->pd && address >= mr->iova &&
			       address - mr->iova + 32 <= mr->length
		       ? bytes_pointer(address)
		       : NULL;
}

static int read_address(struct request *r, const struct object *qp, struct work *work)
{
	const uint8_t *segment = take(r, UD_SIZE), *av;
	uint32_t word, interface;
	const char *type;

	av = segment ? vector_find(qp, segment) : NULL;
	/* There is one port. */
	if (!av || av[0] != 1 || (get32(av) & INDEX_24) != (qp->pd->number & INDEX_24) ||
	    av[9] >= GIDS_OF_PORT)
		return -EINVAL;
	word = get32(av + 12);
	work->wr.wr.ud.remote_qpn = get32(segment + 32) & INDEX_24;
	work->wr.wr.ud.remote_qkey = get32(segment + 36);
	memset(&work->address, 0, sizeof(work->address));
	work->address.is_global = 1;
	work->address.port_num = 1;
	work->address.sl = word >> 28;
	work->address.grh.traffic_class = word >> 20 & 0xff;
	work->address.grh.flow_label = word & 0xfffff;
	work->address.grh.sgid_index = av[9];
	work->address.grh.hop_limit = av[11];
	memcpy(work->address.grh.dgid.raw, av + 16, 16);
	if (!(av[5] & GLOBAL)) /* all ports of the host have the same GID */
		return -model_query_gid(0, &work->address.grh.dgid, &type, &interface);
	return 0;
}

static int read_remote(struct request *r, struct work *work)
{
	const uint8_t *segment = take(r, RADDR_SIZE);

	if (!segment)
		return -EINVAL;
	work->wr.wr.rdma.remote_addr = get64(segment);
	work->wr.wr.rdma.rkey = get32(segment + 8);
	return 0;
}

static int read_atomic(struct request *r, struct work *work)
{
	bool swap = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	const uint8_t *remote = take(r, RADDR_SIZE), *value = take(r, 16);

	if (!remote || !value)
		return -EINVAL;
	work->wr.wr.atomic.remote_addr = get64(remote);
	work->wr.wr.atomic.rkey = get32(remote + 8);
	work->wr.wr.atomic.swap = swap ? get64(value) : 0;
	work->wr.wr.atomic.compare_add = get64(swap ? value + 8 : value);
	return 0;
}

static int read_inline(struct request *r, struct work *work)
{
	uint32_t length = get32(r->wqe + r->at) & ~inline_bit;
	const uint8_t *data;

	r->at += 4;
	data = length <= WORK_INLINE ? take(r, length) : NULL;
	if (!data)
		return -EINVAL;
	memcpy(work->data, data, length);
	work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = length };
	work->wr.num_sge = 1;
	work->wr.send_flags |= IBV_SEND_INLINE;
	return 0;
}

/* A length of 0 means 2^31 bytes, which no region of a test has. */
static struct ibv_sge entry_of(const uint8_t *segment)
{
	return (struct ibv_sge){
		.addr = get64(segment + 8),
		.length = get32(segment) ?: 1u << 31,
		.lkey = get32(segment + 4),
	};
}

static int read_data(struct request *r, struct work *work)
{
	const uint8_t *segment;

	if (r->at < r->size && get32(r->wqe + r->at) & inline_bit)
		return read_inline(r, work);
	while (r->at < r->size) {
		segment = take(r, SGE_SIZE);
		if (!segment || work->wr.num_sge == WORK_SGES)
			return -EINVAL;
		work->sge[work->wr.num_sge++] = entry_of(segment);
	}
	return 0;
}

static int read_body(struct request *r, const struct object *qp, struct work *work)
{
	int error = 0;

	if (qp->qp_type == IBV_QPT_UD)
		error = read_address(r, qp, work);
	else if (work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		 work->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		error = read_atomic(r, work);
	else if (work->wr.opcode != IBV_WR_SEND && work->wr.opcode != IBV_WR_SEND_WITH_IMM)
		error = read_remote(r, work);
	return error ? error : read_data(r, work);
}

/* Find the next request, and its third word. The process may replace a request of Tavor as soon as
 * it has completed. Therefore the model reads each request once, even if it posts it twice. */
static bool request_find(struct object *qp, uint32_t slot, struct mthca_link *ret,
			 uint32_t *ret_flags)
{
	struct mthca_chain *chain = qp->device;
	struct queue *sq = &qp->sq;

	if (chain && chain->taken == sq->consumed + 1) {
		*ret = chain->link;
		*ret_flags = chain->flags;
		return true;
	}
	if (!link_find(sq, slot, mthca_offset(qp, false, slot), ret))
		return false;
	*ret_flags = word_at(slot_at(sq, slot) + 8);
	if (!chain)
		return true;
	chain->joined[slot] = !(ret->ee_nds & DBD);
	chain->taken = sq->consumed + 1;
	chain->link = *ret;
	chain->flags = *ret_flags;
	mark_read(sq, slot);
	return true;
}

int mthca_next_send(struct object *qp, struct work *work)
{
	struct queue *sq = &qp->sq;
	uint32_t slot, flags, size;
	const uint8_t *wqe;
	struct mthca_link link;
	int opcode;

	if (!sq->entries || !qp->was_init)
		return 0;
	slot = sq->consumed % sq->entries;
	wqe = slot_at(sq, slot);
	if (!request_find(qp, slot, &link, &flags))
		return 0;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (flags & SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (flags & SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (link.ee_nds & FENCE ? IBV_SEND_FENCE : 0),
	};
	work->id = slot;
	work->note = link.nda_op & OP_MASK;
	work->entries = 1;
	size = (link.ee_nds & SIZE_MASK) * 16;
	opcode = mlx_find_opcode(opcodes, OPCODES, work->note);
	if (opcode < 0)
		return opcode;
	if ((link.nda_op & ~SIZE_MASK) != mthca_offset(qp, false, slot) || !(flags & ALWAYS) ||
	    size < NEXT_SIZE || size > sq->stride)
		return -EINVAL;
	work->wr.opcode = opcode;
	memcpy(&work->wr.imm_data, wqe + 12, 4);
	return read_body(&(struct request){ wqe, size, NEXT_SIZE }, qp, work) ?: 1;
}

static void read_scatter(const uint8_t *wqe, uint32_t size, struct work *work)
{
	work->wr.num_sge = 0;
	for (uint32_t at = NEXT_SIZE; at < size && work->wr.num_sge < WORK_SGES; at += SGE_SIZE) {
		if (!get32(wqe + at) && get32(wqe + at + 4) == LKEY_END)
			break;
		work->sge[work->wr.num_sge++] = entry_of(wqe + at);
	}
}

/* Free requests of an SRQ form a list, and the device follows its links. Links of Tavor lead to the
 * next request as soon as it is posted. */
static int next_shared(struct queue *rq, struct work *work)
{
	const uint8_t *at = slot_at(rq, rq->cursor);
	uint32_t next;

	if (mthca_has_records() ? (be32toh(*rq->record) & 0xffff) == (rq->consumed & 0xffff)
				: !(word_at(at + 4) & DBD))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	next = (get32(at) & ~SIZE_MASK) / rq->stride % rq->entries;
	work->id = mthca_has_records() ? rq->cursor : next;
	work->cursor = next;
	work->entries = 1;
	read_scatter(slot_at(rq, work->id), rq->stride, work);
	return 1;
}

int mthca_next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	struct mthca_link link;
	uint32_t slot;

	if (queue->type == OBJECT_SRQ)
		return next_shared(rq, work);
	slot = rq->consumed % rq->entries;
	if (queue->srq || !link_find(rq, slot, slot * rq->stride, &link))
		return 0;
	if ((link.ee_nds & SIZE_MASK) * 16 > rq->stride)
		return -EINVAL;
	work->id = slot;
	work->entries = 1;
	read_scatter(slot_at(rq, slot), (link.ee_nds & SIZE_MASK) * 16, work);
	mark_read(rq, slot);
	return 1;
}
