/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Find and read requests of hns. */
#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/hns.h"

#include <errno.h>
#include <stdlib.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	INSIDE = 2,	    /* segments within a request of a connection */
	INLINE_INSIDE = 32, /* bytes within a request of a connection */
	INLINE_UD = 8,	    /* bytes within the words of a datagram */
	AT_DATA = 32,
	AT_OPERANDS = 48,
	UNKNOWN = 0xff,
	DIRECT_INDEX_SHIFT = 15,
};

/* Bits of the first word. */
#define OWNER	   (1u << 7)
#define SIGNALED   (1u << 8)
#define FENCES	   (3u << 9)
#define SOLICITED  (1u << 11)
#define INLINE	   (1u << 12)
#define DIRECT	   (1u << 31)
#define INLINE_OUT (1u << 31) /* of word 4: inline data are in segments */
#define LIST_END   (1u << 31) /* length of the segment that ends a receive on HIP08 */
#define INDEX_MASK 0xffffff

static const uint8_t opcodes[HNS_OPS] = {
	[HNS_OP_SEND] = IBV_WR_SEND,
	[HNS_OP_SEND_INV] = IBV_WR_SEND_WITH_INV,
	[HNS_OP_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[HNS_OP_WRITE] = IBV_WR_RDMA_WRITE,
	[HNS_OP_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[HNS_OP_READ] = IBV_WR_RDMA_READ,
	[HNS_OP_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[HNS_OP_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static uint32_t word(const uint8_t *wqe, uint32_t number)
{
	return bytes_le32(wqe + 4 * number);
}

static struct ibv_sge read_segment(const uint8_t *at)
{
	return (struct ibv_sge){ bytes_le64(at + 8), bytes_le32(at), bytes_le32(at + 4) };
}

static const uint8_t *segment_at(const struct object *qp, uint32_t index)
{
	const struct hns_played_qp *played = qp->device;

	return played->segments + (size_t)(index & (played->segment_count - 1)) * HNS_SEGMENT;
}

static int read_list(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	const struct hns_played_qp *played = qp->device;
	uint32_t count = word(wqe, 3) >> 24, start = word(wqe, 4) & INDEX_MASK, total = 0;
	uint32_t inside = qp->qp_type == IBV_QPT_UD ? 0 : INSIDE;

	if (count > WORK_SGES || (count > inside && !played->segment_count))
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		work->sge[i] = read_segment(i < inside ? wqe + AT_DATA + i * HNS_SEGMENT
						       : segment_at(qp, start + i - inside));
		if (!work->sge[i].length)
			return -EINVAL;
		total += work->sge[i].length;
	}
	work->wr.num_sge = count;
	return total == word(wqe, 1) ? 0 : -EINVAL;
}

/* Read inline data from the unused bits in the words of a datagram. */
static uint32_t read_scattered(const uint8_t *wqe, uint8_t *to)
{
	const uint32_t words[] = { word(wqe, 1) >> 16, word(wqe, 3) >> 24,
				   word(wqe, 4) & INDEX_MASK, word(wqe, 5) & 0xffff };

	to[0] = words[0];
	to[1] = words[0] >> 8;
	to[2] = words[1];
	for (int i = 0; i < 3; i++)
		to[3 + i] = words[2] >> 8 * i;
	to[6] = words[3];
	to[7] = words[3] >> 8;
	return word(wqe, 1) & 0xffff;
}

/* Read inline data in the ring of segments. */
static int read_segments(const struct object *qp, const uint8_t *wqe, struct work *work,
			 uint32_t length)
{
	const struct hns_played_qp *played = qp->device;
	uint32_t start = word(wqe, 4) & INDEX_MASK, count = (length + 15) / HNS_SEGMENT;

	if (length > WORK_INLINE || word(wqe, 3) >> 24 != count || !played->segment_count)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		memcpy(work->data + i * HNS_SEGMENT, segment_at(qp, start + i), HNS_SEGMENT);
	return 0;
}

static int read_inline(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	bool datagram = qp->qp_type == IBV_QPT_UD;
	uint32_t length = word(wqe, 1);
	int r = 0;

	if (word(wqe, 4) & INLINE_OUT)
		r = read_segments(qp, wqe, work, length);
	else if (datagram)
		length = read_scattered(wqe, work->data);
	else
		memcpy(work->data, wqe + AT_DATA, INLINE_INSIDE);
	if (!(word(wqe, 4) & INLINE_OUT) && length > (datagram ? INLINE_UD : INLINE_INSIDE))
		return -EINVAL;
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return r;
}

static int read_atomic(const uint8_t *wqe, struct work *work)
{
	uint64_t first = bytes_le64(wqe + AT_OPERANDS);
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	work->wr.wr.atomic.rkey = word(wqe, 5);
	work->wr.wr.atomic.remote_addr = bytes_le64(wqe + 24);
	work->wr.wr.atomic.swap = swaps ? first : 0;
	work->wr.wr.atomic.compare_add = swaps ? bytes_le64(wqe + AT_OPERANDS + 8) : first;
	work->sge[0] = read_segment(wqe + AT_DATA);
	work->wr.num_sge = 1;
	return word(wqe, 3) >> 24 == 1 && work->sge[0].length == 8 ? 0 : -EINVAL;
}

/* Read the address of a datagram, all of which is in the request. */
static int read_address(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	uint32_t nine = word(wqe, 9), eight = word(wqe, 8);

	work->address = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.sl = nine >> 20 & 7,
		.grh = { .flow_label = nine & 0xfffff,
			 .sgid_index = wqe[46],
			 .hop_limit = eight >> 16 & 0xff,
			 .traffic_class = (eight >> 24) << 2 },
	};
	memcpy(work->address.grh.dgid.raw, wqe + 48, 16);
	work->wr.wr.ud.remote_qpn = word(wqe, 7) & INDEX_MASK;
	work->wr.wr.ud.remote_qkey = word(wqe, 6);
	if ((word(wqe, 3) & INDEX_MASK) != qp->pd->number || word(wqe, 5) >> 16 < 0xc000)
		return -EINVAL;
	return work->wr.opcode == IBV_WR_SEND || work->wr.opcode == IBV_WR_SEND_WITH_IMM ? 0
											 : -EINVAL;
}

static int read_body(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	uint32_t two = word(wqe, 2);
	int r = 0;

	if (work->wr.opcode == IBV_WR_SEND_WITH_INV)
		work->wr.invalidate_rkey = two;
	else
		work->wr.imm_data = htobe32(two);
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		work->wr.qp_type.xrc.remote_srqn = word(wqe, 3) & INDEX_MASK;
	if (work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    work->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return qp->qp_type == IBV_QPT_UD ? -EINVAL : read_atomic(wqe, work);
	if (qp->qp_type == IBV_QPT_UD) {
		r = read_address(qp, wqe, work);
	} else {
		work->wr.wr.rdma.rkey = word(wqe, 5);
		work->wr.wr.rdma.remote_addr = bytes_le64(wqe + 24);
	}
	if (r)
		return r;
	return word(wqe, 0) & INLINE ? read_inline(qp, wqe, work) : read_list(qp, wqe, work);
}

/* Return the number of entries that the process has posted and the device has not read. */
static int count_new(const struct queue *queue)
{
	uint32_t record = __atomic_load_n(queue->record, __ATOMIC_ACQUIRE);
	uint16_t count = record - queue->consumed;

	return record > UINT16_MAX || count > queue->entries ? -EINVAL : count;
}

/* Return whether a request that came through the page has its own index in the first word. */
static bool is_direct(const struct object *qp, uint32_t first)
{
	const struct hns_played_qp *played = qp->device;
	uint16_t index = first >> DIRECT_INDEX_SHIFT;

	return played->direct && index == (uint16_t)(qp->sq.consumed + 1);
}

int hns_next_send(struct object *qp, struct work *work)
{
	const struct queue *sq = &qp->sq;
	const uint8_t *wqe = sq->base + (size_t)(sq->consumed & (sq->entries - 1)) * HNS_WQE;
	uint32_t first, opcode, expected = sq->consumed & sq->entries ? 0 : OWNER;
	int there = count_new(sq), r;

	if (there <= 0)
		return there;
	first = word(wqe, 0);
	opcode = first & 0x1f;
	work->id = sq->consumed;
	work->entries = 1;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (first & SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (first & SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (first & FENCES ? IBV_SEND_FENCE : 0),
	};
	if (opcode >= HNS_OPS || (first & OWNER) != expected ||
	    (first & DIRECT && !is_direct(qp, first)))
		return -EINVAL;
	work->wr.opcode = opcodes[opcode];
	r = read_body(qp, wqe, work);
	return r ? r : 1;
}

static void read_receive(const uint8_t *wqe, uint32_t sges, struct work *work)
{
	work->wr.num_sge = 0;
	for (uint32_t i = 0; i < sges && i < WORK_SGES; i++, wqe += HNS_SEGMENT) {
		struct ibv_sge sge = read_segment(wqe);

		if (sge.length == LIST_END && !sge.lkey)
			return;
		if (sge.length)
			work->sge[work->wr.num_sge++] = sge;
	}
}

/* Find the next posted index of a shared queue. Return: whether there is one. */
static bool take_index(struct object *srq, uint32_t *ret_index)
{
	const struct hns_played_srq *played = srq->device;
	uint32_t *at = &played->indices[srq->rq.consumed & (srq->rq.entries - 1)];
	uint32_t index = le32toh(__atomic_load_n(at, __ATOMIC_ACQUIRE));

	if (played->record ? count_new(&srq->rq) <= 0 : index == (uint32_t)HNS_FREE)
		return false;
	if (index >= srq->rq.entries)
		return false;
	if (!played->record)
		__atomic_store_n(at, HNS_FREE, __ATOMIC_RELEASE);
	*ret_index = index;
	return true;
}

int hns_next_receive(struct object *queue, struct work *work)
{
	const struct queue *rq = &queue->rq;
	uint32_t index = rq->consumed & (rq->entries - 1);

	if (queue->type == OBJECT_SRQ ? !take_index(queue, &index) : count_new(rq) <= 0)
		return 0;
	work->id = index;
	work->entries = 1;
	read_receive(rq->base + (size_t)index * rq->stride, rq->stride / HNS_SEGMENT, work);
	return 1;
}

/* Return the number of a receive in a trace. For a shared queue this is its place in the buffer. */
uint16_t hns_traced_id(const struct object *qp, bool receive, uint32_t index)
{
	const struct object *srq = receive ? qp->srq : NULL;
	const struct hns_played_srq *played = srq ? srq->device : NULL;

	return played ? le32toh(played->indices[index & (srq->rq.entries - 1)]) : index;
}

uint8_t hns_traced_note(enum ibv_wr_opcode opcode)
{
	for (uint8_t i = 0; i < HNS_OPS; i++)
		if (opcodes[i] == opcode)
			return i;
	return HNS_OP_SEND;
}
