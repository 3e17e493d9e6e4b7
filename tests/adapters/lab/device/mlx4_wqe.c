/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The work requests of mlx4. Each fills a slot. A bit in the first word of the slot marks a
 * request. */
#include "tests/adapters/lab/device/mlx4.h"

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
	OP_BIND = 0x18,
	OP_LOCAL_INV = 0x1b,
};

enum {
	COMPLETION = 0x0c,
	SOLICITED = 0x02,
	FENCE = 0x40,
	SIZE = 0x3f,
	INLINE_CHUNK = 64,
	ETHERNET_SL = 29,
	INFINIBAND_SL = 28,
};

static const uint32_t inline_bit = 1u << 31, no_data = 1u << 31, no_lkey = 0x100;

struct reader {
	const uint8_t *slot;
	uint32_t at, end; /* bytes of the slot */
};

/* Return the next bytes, or NULL if the request ends before. */
static const uint8_t *take(struct reader *r, uint32_t length)
{
	const uint8_t *at = r->slot + r->at;

	if (length > r->end - r->at)
		return NULL;
	r->at += length;
	return at;
}

static const struct mlx_opcode opcodes[] = {
	{ OP_SEND, IBV_WR_SEND },
	{ OP_SEND_IMM, IBV_WR_SEND_WITH_IMM },
	{ OP_SEND_INV, IBV_WR_SEND_WITH_INV },
	{ OP_WRITE, IBV_WR_RDMA_WRITE },
	{ OP_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ OP_READ, IBV_WR_RDMA_READ },
	{ OP_COMPARE_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ OP_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ OP_BIND, IBV_WR_BIND_MW },
	{ OP_LOCAL_INV, IBV_WR_LOCAL_INV },
};
enum {
	OPCODES = sizeof(opcodes) / sizeof(opcodes[0])
};

uint8_t mlx4_note_of(enum ibv_wr_opcode opcode)
{
	return mlx_note_of(opcodes, OPCODES, opcode);
}

static int read_address(struct reader *r, struct work *work)
{
	const uint8_t *av = take(r, 48);
	bool ethernet = device->link_layer == IBV_LINK_LAYER_ETHERNET;
	uint32_t word;

	if (!av || (av[0] & 3) != 1) /* there is one port */
		return -EINVAL;
	word = get32(av + 12);
	work->wr.wr.ud.remote_qpn = get32(av + 32) & INDEX_24;
	work->wr.wr.ud.remote_qkey = get32(av + 36);
	memset(&work->address, 0, sizeof(work->address));
	work->address.is_global = 1;
	work->address.port_num = 1;
	work->address.sl = word >> (ethernet ? ETHERNET_SL : INFINIBAND_SL);
	work->address.grh.traffic_class = word >> 20 & 0xff;
	work->address.grh.flow_label = word & 0xfffff;
	work->address.grh.sgid_index = av[9];
	work->address.grh.hop_limit = av[11];
	memcpy(work->address.grh.dgid.raw, av + 16, 16);
	return 0;
}

static int read_remote(struct reader *r, struct work *work)
{
	const uint8_t *segment = take(r, 16);

	if (!segment)
		return -EINVAL;
	work->wr.wr.rdma.remote_addr = get64(segment);
	work->wr.wr.rdma.rkey = get32(segment + 8);
	return 0;
}

static int read_atomic(struct reader *r, struct work *work)
{
	bool swap = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	const uint8_t *remote = take(r, 16), *value = take(r, 16);

	if (!remote || !value)
		return -EINVAL;
	work->wr.wr.atomic.remote_addr = get64(remote);
	work->wr.wr.atomic.rkey = get32(remote + 8);
	work->wr.wr.atomic.swap = swap ? get64(value) : 0;
	work->wr.wr.atomic.compare_add = get64(swap ? value + 8 : value);
	return 0;
}

static int read_bind(struct reader *r, struct work *work)
{
	const uint8_t *s = take(r, 32);
	uint32_t rights;

	if (!s)
		return -EINVAL;
	rights = get32(s);
	work->bind.mw_rkey = work->bind.new_rkey = get32(s + 8);
	work->bind.mr_lkey = get32(s + 12);
	work->bind.address = get64(s + 16);
	work->bind.length = get64(s + 24);
	work->bind.access = (rights >> 29 & 1 ? IBV_ACCESS_REMOTE_READ : 0) |
			    (rights >> 30 & 1 ? IBV_ACCESS_REMOTE_WRITE : 0) |
			    (rights >> 31 & 1 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
			    (s[4] >> 6 & 1 ? IBV_ACCESS_ZERO_BASED : 0);
	return 0;
}

/* Read inline data: it follows a word with its length and ends at the next 64 bytes. */
static int read_inline(struct reader *r, struct work *work, uint32_t length, uint32_t *filled)
{
	const uint8_t *data;

	r->at += 4;
	if (r->at > r->end || (r->at - 1) / INLINE_CHUNK != (r->at + length - 1) / INLINE_CHUNK ||
	    length > WORK_INLINE - *filled)
		return -EINVAL;
	data = take(r, length);
	if (!data)
		return -EINVAL;
	memcpy(work->data + *filled, data, length);
	*filled += length;
	return 0;
}

static int read_data(struct reader *r, struct work *work)
{
	uint32_t filled = 0, first;
	bool is_inline = false;
	int error;

	while (r->at + 4 <= r->end) {
		const uint8_t *segment = r->slot + r->at;

		first = get32(segment);
		/* A word with the inline bit begins inline data, if its length is not 0 or
		 * inline data precedes it. */
		if (first & inline_bit && (first != no_data || is_inline)) {
			/* The rest of the last 16 bytes is padding. */
			if (is_inline && r->at % INLINE_CHUNK)
				break;
			is_inline = true;
			error = read_inline(r, work, first & ~inline_bit, &filled);
			if (error)
				return error;
			continue;
		}
		if (is_inline)
			break;
		if (work->wr.num_sge == WORK_SGES || !take(r, SGE_SIZE))
			return -EINVAL;
		work->sge[work->wr.num_sge++] = (struct ibv_sge){
			.addr = get64(segment + 8),
			.length = first & ~no_data,
			.lkey = get32(segment + 4),
		};
	}
	if (!is_inline)
		return 0;
	work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = filled };
	work->wr.num_sge = 1;
	work->wr.send_flags |= IBV_SEND_INLINE;
	return 0;
}

static int read_body(struct reader *r, const struct object *qp, struct work *work)
{
	const uint8_t *key;
	int error = 0;

	switch (work->wr.opcode) {
	case IBV_WR_BIND_MW:
		return read_bind(r, work);
	case IBV_WR_LOCAL_INV:
		key = take(r, 32);
		if (!key)
			return -EINVAL;
		work->wr.invalidate_rkey = get32(key + 8);
		return 0;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		error = read_remote(r, work);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		error = read_atomic(r, work);
		break;
	default:
		if (qp->qp_type == IBV_QPT_UD)
			error = read_address(r, work);
	}
	return error ? error : read_data(r, work);
}

static unsigned send_flags(uint8_t bits, bool fence)
{
	return ((bits & COMPLETION) == COMPLETION ? IBV_SEND_SIGNALED : 0) |
	       (bits & SOLICITED ? IBV_SEND_SOLICITED : 0) | (fence ? IBV_SEND_FENCE : 0);
}

/* Whether the process has initialised the ring. Before the first request, the process has set
 * the owner bit of the last slot, which cannot hold a request yet. */
static bool is_ready(const struct object *qp)
{
	const uint8_t *last = qp->sq.base + (size_t)(qp->sq.entries - 1) * qp->sq.stride;

	return qp->was_init && (qp->sq.consumed || *last >> 7);
}

/* The doorbell names the queue that has news but not the number of requests: read the slots. The
 * owner bit changes with each round of the ring. */
int mlx4_next_send(struct object *qp, struct work *work)
{
	uint32_t index = qp->sq.consumed;
	const uint8_t *control;
	uint8_t owner;
	int opcode;

	if (!qp->sq.entries || !is_ready(qp))
		return 0;
	control = qp->sq.base + (size_t)(index & (qp->sq.entries - 1)) * qp->sq.stride;
	owner = __atomic_load_n(control, __ATOMIC_ACQUIRE) >> 7;
	if (owner != !!(index & qp->sq.entries))
		return 0;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = send_flags(control[11], control[7] & FENCE),
	};
	work->id = index;
	work->note = control[3] & 0x1f;
	work->entries = 1;
	opcode = mlx_find_opcode(opcodes, OPCODES, work->note);
	if (opcode < 0)
		return opcode;
	if ((control[7] & SIZE) * 16u < 16 || (control[7] & SIZE) * 16u > qp->sq.stride)
		return -EINVAL;
	work->wr.opcode = opcode;
	memcpy(&work->wr.imm_data, control + 12, 4);
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		work->wr.qp_type.xrc.remote_srqn = get32(control + 8) >> 8;
	if (opcode == IBV_WR_SEND_WITH_INV)
		work->wr.invalidate_rkey = get32(control + 12);
	return read_body(&(struct reader){ control, 16, (control[7] & SIZE) * 16 }, qp, work) ?: 1;
}

static void read_scatter(const uint8_t *segment, const uint8_t *end, struct work *work)
{
	for (; segment < end && work->wr.num_sge < WORK_SGES; segment += SGE_SIZE) {
		if (get32(segment + 4) == no_lkey && !get32(segment))
			break;
		if (!get32(segment))
			continue;
		work->sge[work->wr.num_sge++] = (struct ibv_sge){
			.addr = get64(segment + 8),
			.length = get32(segment),
			.lkey = get32(segment + 4),
		};
	}
}

/* The requests of an SRQ are a linked list: each names the request that the process takes next. */
int mlx4_next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	uint16_t posted = be32toh(*rq->record), index = rq->consumed;
	bool is_list = queue->type == OBJECT_SRQ;
	const uint8_t *wqe;

	if (posted == index)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	work->id = (is_list ? rq->cursor : index) & (rq->entries - 1);
	wqe = rq->base + (size_t)work->id * rq->stride;
	work->wr.num_sge = 0;
	work->entries = 1;
	work->cursor = is_list ? (uint32_t)wqe[2] << 8 | wqe[3] : 0;
	read_scatter(wqe + (is_list ? SRQ_HEADER : 0), wqe + rq->stride, work);
	return 1;
}
