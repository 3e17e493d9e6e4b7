/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The work requests of mlx5, as they lie in its rings. */
#include "tests/adapters/lab/device/mlx5_steering.h"
#include "tests/adapters/lab/model/frame.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	OP_SEND_INV = 0x01,
	OP_WRITE = 0x08,
	OP_WRITE_IMM = 0x09,
	OP_SEND = 0x0a,
	OP_SEND_IMM = 0x0b,
	OP_READ = 0x10,
	OP_COMPARE_SWAP = 0x11,
	OP_FETCH_ADD = 0x12,
	OP_UMR = 0x25,
	OP_NOP = 0x00,
	OP_ARGUMENT = 0x2c,
};

enum {
	COMPLETION = 0x08,
	SOLICITED = 0x02,
	FENCE = 0x80,
	FENCE_MODE = 0xe0,
	UMR_CHECK_QPN = 0x08,
	MKEY_FREE = 0x40,
	ETHERNET_START = 2, /* bytes of the frame in the segment of Ethernet */
	INSERTS_TAG = 0x8000,
};

static const uint32_t inline_bit = 1u << 31, no_lkey = 0x100;

/* A request is read from here on; it may wrap at any 16 bytes. */
struct reader {
	const struct queue *queue;
	uint32_t at, end; /* bytes, free-running as the ring's index is */
};

static const uint8_t *byte_at(const struct reader *r, uint32_t at)
{
	return r->queue->base + at % (r->queue->entries * WQEBB);
}

/* Return the next segment of 16 bytes. */
static const uint8_t *next_16(struct reader *r)
{
	const uint8_t *segment = byte_at(r, r->at);

	r->at += 16;
	return segment;
}

/* 0 is no opcode here. */
static const struct mlx_opcode opcodes[] = {
	{ OP_SEND, IBV_WR_SEND },
	{ OP_SEND_IMM, IBV_WR_SEND_WITH_IMM },
	{ OP_SEND_INV, IBV_WR_SEND_WITH_INV },
	{ OP_WRITE, IBV_WR_RDMA_WRITE },
	{ OP_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ OP_READ, IBV_WR_RDMA_READ },
	{ OP_COMPARE_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ OP_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ OP_UMR, IBV_WR_BIND_MW },
	{ OP_UMR, IBV_WR_LOCAL_INV },
	{ OP_COPY, IBV_WR_RDMA_WRITE },	    /* the same, behind a copy */
	{ OP_NOP, IBV_WR_RDMA_WRITE },	    /* a write of 0 bytes, because a NOP only completes */
	{ OP_ARGUMENT, IBV_WR_RDMA_WRITE }, /* the same, behind a write of the device itself */
	{ OP_TAG, IBV_WR_RDMA_WRITE },	    /* executed here */
};
enum {
	OPCODES = sizeof(opcodes) / sizeof(opcodes[0])
};

uint8_t mlx5_note_of(enum ibv_wr_opcode opcode)
{
	return mlx_note_of(opcodes, OPCODES, opcode);
}

static unsigned send_flags(uint8_t bits)
{
	return (bits & COMPLETION ? IBV_SEND_SIGNALED : 0) |
	       (bits & SOLICITED ? IBV_SEND_SOLICITED : 0) |
	       ((bits & FENCE_MODE) == FENCE ? IBV_SEND_FENCE : 0);
}

static void read_address(struct reader *r, struct work *work)
{
	const uint8_t *keys = next_16(r), *grh = next_16(r), *gid = next_16(r);
	uint32_t word = get32(grh + 12);

	work->dc.key = get64(keys);
	work->dc.target = get32(keys + 8) & INDEX_24;
	memset(&work->address, 0, sizeof(work->address));
	work->address.is_global = 1;
	work->address.port_num = 1;
	work->address.sl = keys[12] >> 1 & 7;
	work->address.grh.traffic_class = grh[10];
	work->address.grh.hop_limit = grh[11];
	work->address.grh.sgid_index = word >> 20 & 0xff;
	work->address.grh.flow_label = word & 0xfffff;
	memcpy(work->address.grh.dgid.raw, gid, 16);
}

static void read_datagram(struct reader *r, struct work *work)
{
	read_address(r, work);
	work->wr.wr.ud.remote_qkey = work->dc.key >> 32;
	work->wr.wr.ud.remote_qpn = work->dc.target;
}

static void read_remote(struct reader *r, struct work *work)
{
	const uint8_t *segment = next_16(r);

	work->wr.wr.rdma.remote_addr = get64(segment);
	work->wr.wr.rdma.rkey = get32(segment + 8);
}

static void read_atomic(struct reader *r, struct work *work)
{
	uint64_t remote = work->wr.wr.rdma.remote_addr;
	uint32_t rkey = work->wr.wr.rdma.rkey;
	const uint8_t *segment = next_16(r);
	bool swap = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	work->wr.wr.atomic.remote_addr = remote;
	work->wr.wr.atomic.rkey = rkey;
	work->wr.wr.atomic.swap = swap ? get64(segment) : 0;
	work->wr.wr.atomic.compare_add = get64(swap ? segment + 8 : segment);
}

/* Read the number of the peer's SRQ, which precedes all segments but those of keys. */
static void read_xrc(struct reader *r, struct work *work)
{
	work->wr.qp_type.xrc.remote_srqn = get32(next_16(r)) & INDEX_24;
}

/* Describe bytes of the ring itself as memory that a request reads, in two pieces if they wrap. */
static void point_into_ring(const struct reader *r, struct work *work, uint32_t at, uint32_t length)
{
	uint32_t size = r->queue->entries * WQEBB;
	uint32_t whole = size - at % size < length ? size - at % size : length;

	work->sge[work->wr.num_sge++] =
		(struct ibv_sge){ .addr = (uintptr_t)byte_at(r, at), .length = whole };
	if (whole < length)
		work->sge[work->wr.num_sge++] = (struct ibv_sge){ .addr = (uintptr_t)r->queue->base,
								  .length = length - whole };
}

/* Read inline data: it follows a word with its length and ends at the next 16 bytes. */
static int read_inline(struct reader *r, struct work *work, uint32_t length, uint32_t *filled)
{
	if (length > r->end - r->at - 4 || length > WORK_INLINE - *filled)
		return -EINVAL;
	for (uint32_t i = 0; i < length; i++)
		work->data[(*filled)++] = *byte_at(r, r->at + 4 + i);
	if (length)
		point_into_ring(r, work, r->at + 4, length);
	r->at += (4 + length + 15) & ~15u;
	return 0;
}

/* @filled: bytes of inline data. If the request has other data too, all of it is described as
 * memory, and the inline bytes as memory of the ring. */
static int data_finish(const struct object *qp, struct work *work, uint32_t filled, bool mixed)
{
	uint32_t size = qp->sq.entries * WQEBB, key;

	if (!mixed) {
		work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = filled };
		work->wr.num_sge = 1;
		work->wr.send_flags |= IBV_SEND_INLINE;
		return 0;
	}
	key = model_ring_key((struct object *)qp, qp->sq.base, size);
	if (!key)
		return -ENOMEM;
	for (int i = 0; i < work->wr.num_sge; i++) {
		if (work->sge[i].addr - (uintptr_t)qp->sq.base < size)
			work->sge[i].lkey = key;
	}
	return 0;
}

/* Return the backend's key for NOWHERE, and every other key unchanged. */
static uint32_t lkey_of(const struct object *owner, uint32_t lkey)
{
	return lkey == NOWHERE && owner->pd && mlx5_is_full() ? model_null_lkey(owner->pd) : lkey;
}

/* Read one data segment. Negative: the segment is malformed or not allowed. */
static int add_data(const struct object *owner, const uint8_t *segment, struct work *work)
{
	uint32_t length = get32(segment), key = get32(segment + 4);
	const struct mlx5_list *list = mlx5_find_list(key);

	if (list)
		return mlx5_use_list(list, get64(segment + 8), length, work);
	work->sge[work->wr.num_sge++] = (struct ibv_sge){
		.addr = get64(segment + 8),
		.length = length,
		.lkey = lkey_of(owner, key),
	};
	return 0;
}

static int read_data(struct reader *r, const struct object *qp, struct work *work)
{
	uint32_t filled = 0, first;
	bool is_inline = false, mixed = false;
	const uint8_t *segment;
	int error;

	while (r->at < r->end) {
		segment = byte_at(r, r->at);
		first = get32(segment);
		if (work->wr.num_sge >= WORK_SGES - 1)
			return -EINVAL;
		if (first & inline_bit) {
			is_inline = true;
			error = read_inline(r, work, first & ~inline_bit, &filled);
			if (error)
				return error;
			continue;
		}
		mixed = true;
		error = add_data(qp, segment, work);
		if (error)
			return error;
		r->at += SGE_SIZE;
	}
	return is_inline ? data_finish(qp, work, filled, mixed) : 0;
}

static unsigned access_of(uint8_t bits)
{
	return (bits & 0x40 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (bits & 0x20 ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (bits & 0x10 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (bits & 0x08 ? IBV_ACCESS_LOCAL_WRITE : 0);
}

/* Describe a key that the process assembles. Copy the request first, because it may wrap. */
static int read_list(const struct reader *r, struct mlx5_list *list, struct work *work)
{
	uint8_t bytes[64 * 16];
	size_t length = r->end - r->at;

	for (size_t i = 0; i < length && i < sizeof(bytes); i += 16)
		memcpy(bytes + i, byte_at(r, r->at + i), 16);
	return length > sizeof(bytes) ? -EINVAL : mlx5_describe_list(list, bytes, length, work);
}

/* Read a change of a memory key: a window is bound or unbound, or a key is invalidated. */
static int read_umr(struct reader *r, struct work *work, uint32_t old_key)
{
	const uint8_t *control = byte_at(r, r->at), *key = byte_at(r, r->at + 48),
		      *from = byte_at(r, r->at + 112);

	struct mlx5_list *list = mlx5_find_list(old_key);

	if (r->end - r->at < 112)
		return -EINVAL;
	work->bind.mr = NULL;
	work->bind.again = false;
	if (list && !(key[0] & MKEY_FREE)) {
		work->bind.mw_rkey = old_key;
		return read_list(r, list, work);
	}
	mlx5_forget_list(list);
	if (key[0] & MKEY_FREE && control[0] & UMR_CHECK_QPN) {
		work->wr.opcode = IBV_WR_LOCAL_INV;
		work->wr.invalidate_rkey = old_key;
		return 0;
	}
	work->bind.mw_rkey = old_key;
	work->bind.new_rkey = (old_key & ~0xffu) | (get32(key + 4) & 0xff);
	work->bind.access = 0;
	work->bind.address = work->bind.length = 0;
	if (key[0] & MKEY_FREE)
		return 0;
	work->bind.access = access_of(key[2]);
	if (r->end - r->at < 128)
		return -EINVAL;
	work->bind.start = get64(key + 16);
	work->bind.length = get64(key + 24);
	work->bind.qp = get32(key + 4) >> 8;
	work->bind.mr_lkey = get32(from + 4);
	work->bind.address = get64(from + 8);
	return 0;
}

/* Read a copy within memory: the device's own memory, then source and destination. */
static int read_copy(struct reader *r, const struct object *qp, struct work *work)
{
	if (r->end - r->at != 3 * SGE_SIZE)
		return -EINVAL;
	next_16(r);
	for (int i = 0; i < 2; i++) {
		const uint8_t *segment = next_16(r);

		work->sge[i] = (struct ibv_sge){
			.addr = get64(segment + 8),
			.length = get32(segment),
			.lkey = lkey_of(qp, get32(segment + 4)),
		};
	}
	work->copies = true;
	return 0;
}

/* Read a write of arguments: they follow three words of 16 bytes. */
static int read_argument(struct reader *r, uint32_t id)
{
	uint8_t bytes[ARGUMENT_SIZE];

	if (r->end - r->at != 48 + ARGUMENT_SIZE)
		return -EINVAL;
	for (uint32_t i = 0; i < ARGUMENT_SIZE; i++)
		bytes[i] = *byte_at(r, r->at + 48 + i);
	mlx5_argument_write(id, bytes);
	return 0;
}

/* Append bytes that the request names to the frame. */
static int frame_append(struct reader *r, const struct object *qp, struct work *work,
			uint32_t *filled)
{
	const uint8_t *segment = next_16(r);
	const struct ibv_sge sge = {
		.addr = get64(segment + 8),
		.length = get32(segment),
		.lkey = get32(segment + 4),
	};

	if (sge.length > FRAME_MOST - *filled)
		return -EINVAL;
	*filled += sge.length;
	return -model_gather(qp, &sge, work->data + *filled - sge.length);
}

/* Read a frame: the beginning may be in the segment of Ethernet and behind it. */
static int read_frame(struct reader *r, const struct object *qp, struct work *work)
{
	const uint8_t *ethernet = next_16(r);
	uint32_t start = get16(ethernet + 12), filled = 0, first;
	int error = 0;

	/* Checksums and segmentation by the adapter are not played. */
	if (start & INSERTS_TAG || ethernet[4] || get16(ethernet + 6))
		return -EOPNOTSUPP;
	if (start > WORK_INLINE ||
	    (start > ETHERNET_START && start - ETHERNET_START > r->end - r->at))
		return -EINVAL;
	for (; filled < start; filled++)
		work->data[filled] = filled < ETHERNET_START
					     ? ethernet[14 + filled]
					     : *byte_at(r, r->at + filled - ETHERNET_START);
	if (start > ETHERNET_START)
		r->at += (start - ETHERNET_START + 15) & ~15u;
	while (!error && r->at < r->end) {
		first = get32(byte_at(r, r->at));
		error = first & inline_bit ? read_inline(r, work, first & ~inline_bit, &filled)
					   : frame_append(r, qp, work, &filled);
	}
	work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = filled };
	work->wr.num_sge = 1;
	return error;
}

static int read_body(struct reader *r, const struct object *qp, struct work *work)
{
	if (work->note == OP_NOP)
		return 0;
	if (work->note == OP_ARGUMENT)
		return read_argument(r, be32toh(work->wr.imm_data));
	if (qp->qp_type == IBV_QPT_RAW_PACKET)
		return read_frame(r, qp, work);
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		read_xrc(r, work);
	if (qp->dc)
		read_address(r, work);
	switch (work->wr.opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		read_remote(r, work);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		read_remote(r, work);
		read_atomic(r, work);
		break;
	default:
		if (qp->qp_type == IBV_QPT_UD)
			read_datagram(r, work);
	}
	return read_data(r, qp, work);
}

int mlx5_next_send(struct object *qp, struct work *work)
{
	uint16_t posted = be32toh(*qp->sq.record), index = qp->sq.consumed;
	struct reader r = { &qp->sq, qp->sq.consumed * WQEBB, qp->sq.consumed * WQEBB + 16 };
	const uint8_t *control;
	uint16_t announced;
	uint32_t words;
	bool is_whole;
	int opcode;

	if (!qp->sq.entries || posted == index)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	control = next_16(&r);
	words = get32(control + 4) & 0x3f;
	r.end = r.at - 16 + words * 16;
	work->wr =
		(struct ibv_send_wr){ .sg_list = work->sge, .send_flags = send_flags(control[11]) };
	work->dc.target = 0;
	work->copies = work->executed = false;
	work->id = index;
	work->note = control[3];
	work->entries = words ? (words + 3) / 4 : 1;
	announced = posted - index;
	is_whole = work->entries <= announced;
	if (!is_whole)
		work->entries = announced;
	opcode = mlx_find_opcode(opcodes, OPCODES, control[3]);
	if (opcode < 0)
		return opcode;
	/* The control segment has its own index and the announced number of segments. */
	if ((get32(control) >> 8 & 0xffff) != index || get32(control + 4) >> 8 != qp->number ||
	    !is_whole)
		return -EINVAL;
	work->wr.opcode = opcode;
	if (control[3] == OP_TAG) {
		work->executed = true;
		return mlx5_tag_op(qp, byte_at(&r, r.at), r.end - r.at);
	}
	if (control[3] == OP_COPY)
		return read_copy(&r, qp, work) ?: 1;
	if (control[3] == OP_UMR)
		return read_umr(&r, work, get32(control + 12)) ?: 1;
	memcpy(&work->wr.imm_data, control + 12, 4);
	if (opcode == IBV_WR_SEND_WITH_INV)
		work->wr.invalidate_rkey = get32(control + 12);
	return read_body(&r, qp, work) ?: 1;
}

static void read_scatter(const struct object *queue, const uint8_t *segment, const uint8_t *end,
			 struct work *work)
{
	for (; segment < end && work->wr.num_sge < WORK_SGES; segment += SGE_SIZE) {
		if (get32(segment + 4) == no_lkey && !get32(segment))
			break;
		if (!get32(segment))
			continue;
		/* No key: a message that arrives does not find this address. */
		if (add_data(queue, segment, work))
			work->sge[work->wr.num_sge++] =
				(struct ibv_sge){ .length = 1, .lkey = get32(segment + 4) };
	}
}

/* The requests of an SRQ are a linked list: each names the request that the process takes next. */
int mlx5_next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	uint16_t posted = be32toh(*rq->record), index = rq->consumed;
	bool is_shared = queue->type == OBJECT_SRQ, is_list = is_shared && !rq->cyclic;
	const uint8_t *wqe;

	if (posted == index)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	work->id = (is_list ? rq->cursor : index) & (rq->entries - 1);
	wqe = rq->base + (size_t)work->id * rq->stride;
	work->wr.num_sge = 0;
	work->entries = 1;
	work->cursor = is_list ? (uint32_t)wqe[2] << 8 | wqe[3] : 0;
	read_scatter(queue, wqe + (is_shared ? SRQ_HEADER : 0), wqe + rq->stride, work);
	return 1;
}
