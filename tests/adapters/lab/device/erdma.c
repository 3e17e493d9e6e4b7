/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * erdma: what the kernel driver of Alibaba's elastic adapter answers, and its rings. A send takes
 * one to four blocks of 32 bytes. Doorbell records in memory repeat the values of the registers.
 * Requests are little-endian, completions big-endian.
 *
 * "erdma" speaks iWARP and has a page of doorbells of its own. "erdma-roce" is an adapter of
 * newer kernels, whose doorbell is an entry of a shared page. Run mode needs it, because the
 * backend makes connections as RoCE does.
 */
#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/erdma-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	BLOCK = 32,
	CQE_SIZE = 32,
	RECORD = 16,
	BLOCKS_MAX = 4, /* blocks of a request */
	MAX_WR = 8192,
	MAX_SGE = 6,
	MAX_INLINE = 96,
	MAX_CQE = 1 << 20,
	QPN_MASK = (1 << 20) - 1, /* of a request; completions have all bits */
	RECORD_RQ = 2,		  /* the second word of 64 bits */
	MAP_SEND = 0x10000,
	MAP_RECEIVE = 0x20000,
	MAP_CQ = 0x30000,
	ARM = 1u << 31,
	ARM_SOLICITED = 1 << 30,
	ARM_SEEN = 1 << 8, /* of arm_seen, which begins as 0 */
};

enum {
	OP_WRITE = 0,
	OP_READ = 1,
	OP_SEND = 2,
	OP_SEND_IMM = 3,
	OP_RECEIVE = 4,
	OP_RECEIVE_WRITE_IMM = 5,
	OP_WRITE_IMM = 9,
	OP_RECEIVE_SEND_IMM = 12,
	OP_SEND_INV = 13,
	OP_CMP_SWAP = 17,
	OP_FETCH_ADD = 18,
	OPS = 19,
};

/* In traces the next queue pair gets the number of the one that was destroyed last. */
static uint32_t free_number;

/* The number of a posted request, and the block where it begins. */
struct position {
	uint32_t index, block;
};

#define F(member, how) FIELD(erdma_ureq_create_cq, member, how)
static const struct field cq_fields[] = {
	F(db_record_va, 'p'), F(qbuf_va, 'p'), F(qbuf_len, 'x'), F(rsvd0, 's'), { 0 },
};
#undef F
#define F(member, how) FIELD(erdma_ureq_create_qp, member, how)
static const struct field qp_fields[] = {
	F(db_record_va, 'p'), F(qbuf_va, 'p'), F(qbuf_len, 'x'), F(rsvd0, 's'), { 0 },
};
#undef F

static bool is_roce(void)
{
	return device->node_type == IBV_NODE_CA;
}

static int get_context(struct command *command)
{
	const struct erdma_uresp_alloc_ctx response = {
		.dev_id = 0x107f,
		.sdb_type = is_roce(),
		.sdb_offset = is_roce() ? 3 : 0,
		.sdb = MAP_SEND,
		.rdb = MAP_RECEIVE,
		.cdb = MAP_CQ,
	};

	if (command->driver.out_len < sizeof(response))
		return EINVAL;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = MAX_WR;
	/* The kernel reports the smaller of the sizes of sends and receives. */
	attr->max_sge = 1;
	attr->max_sge_rd = 1;
	attr->max_cqe = MAX_CQE;
	attr->device_cap_flags &= ~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC);
	attr->max_mw = attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = attr->max_ah = 0;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach = 0;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct erdma_uresp_create_cq response = { .cq_id = cq->number };
	struct erdma_ureq_create_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	if (*cqe > MAX_CQE)
		return EINVAL;
	*cqe = bytes_power_of_two(*cqe);
	if (q.qbuf_va % PAGE || (uint64_t)*cqe * CQE_SIZE > q.qbuf_len || q.db_record_va % 8)
		return EINVAL;
	cq->ring = (struct queue){
		.base = bytes_pointer(q.qbuf_va),
		.entries = *cqe,
		.stride = CQE_SIZE,
		.record = bytes_pointer(q.db_record_va),
	};
	r = model_create_cq(cq, *cqe);
	if (r)
		return r;
	if (!model_on())
		memset(bytes_pointer(q.db_record_va), 0, RECORD);
	trace_watch_object(cq, "buffer", cq->ring.base, q.qbuf_len);
	trace_watch_object(cq, "record", bytes_pointer(q.db_record_va), 8);
	response.num_cqe = *cqe;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static bool is_too_much(const struct ib_uverbs_ex_create_qp *q)
{
	return !q->max_send_wr || q->max_send_wr > MAX_WR || !q->max_recv_wr ||
	       q->max_recv_wr > MAX_WR || q->max_send_sge > MAX_SGE || q->max_recv_sge > 1 ||
	       q->max_inline_data > MAX_INLINE;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct erdma_uresp_create_qp response;
	struct erdma_ureq_create_qp d;
	uint32_t *record;
	uint8_t *base;
	int r;

	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_RC || q->is_srq)
		return EOPNOTSUPP;
	if (is_too_much(q))
		return EINVAL;
	response = (struct erdma_uresp_create_qp){
		.num_sqe = bytes_power_of_two(q->max_send_wr * BLOCKS_MAX),
		.num_rqe = bytes_power_of_two(q->max_recv_wr),
	};
	response.rq_offset = (response.num_sqe * BLOCK + PAGE - 1) & ~(PAGE - 1);
	if (d.qbuf_va % PAGE || d.db_record_va % 8 ||
	    (uint64_t)response.rq_offset + response.num_rqe * BLOCK > d.qbuf_len)
		return EINVAL;
	if (free_number && !model_on())
		qp->number = free_number;
	free_number = 0;
	qp->device = calloc(1, sizeof(struct position));
	if (!qp->device)
		return ENOMEM;
	base = bytes_pointer(d.qbuf_va);
	record = bytes_pointer(d.db_record_va);
	qp->sq = (struct queue){ base, response.num_sqe, BLOCK, record };
	qp->rq = (struct queue){ base + response.rq_offset, response.num_rqe, BLOCK,
				 record + RECORD_RQ };
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	/* Other plug-ins do not initialise them, and traces must not depend on their former
	 * contents. */
	if (!model_on()) {
		memset(base, 0, d.qbuf_len);
		memset(record, 0, RECORD);
	}
	trace_watch_object(qp, "sq", base, response.num_sqe * BLOCK);
	trace_watch_object(qp, "rq", qp->rq.base, response.num_rqe * BLOCK);
	trace_watch_object(qp, "record", record, RECORD);
	response.qp_id = qp->number;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void destroy(struct object *object)
{
	if (object->type == OBJECT_QP)
		free_number = object->number;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s",
		 offset == MAP_SEND	 ? "sdb"
		 : offset == MAP_RECEIVE ? "rdb"
		 : offset == MAP_CQ	 ? "cdb"
					 : "unknown");
	return REGION_REGISTERS;
}

/* ---- work requests */

static uint8_t *block_at(const struct queue *queue, uint32_t index)
{
	return queue->base + (size_t)(index & (queue->entries - 1)) * BLOCK;
}

static uint32_t blocks_of(const uint8_t *header)
{
	return (bytes_le64(header) >> 52 & 7) + 1;
}

/* Return the number of entries that the process has posted and the device has not read; negative:
 * an impossible index. */
static int count_new(const struct queue *queue)
{
	uint32_t record = __atomic_load_n(&queue->record[0], __ATOMIC_ACQUIRE);
	uint16_t count = le32toh(record) - queue->consumed;

	return count > queue->entries ? -EINVAL : count;
}

/* Copy the blocks of a request, which may go round the end of the ring. */
static int copy_request(const struct queue *sq, int there, uint8_t *ret, struct work *work)
{
	uint32_t count = blocks_of(block_at(sq, sq->consumed));

	if (count > BLOCKS_MAX || (int)count > there)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		memcpy(ret + i * BLOCK, block_at(sq, sq->consumed + i), BLOCK);
	work->entries = count;
	return 0;
}

static const struct {
	uint8_t opcode; /* enum ibv_wr_opcode */
	uint8_t data;	/* offset of the list; 0: no such operation */
} operations[OPS] = {
	[OP_WRITE] = { IBV_WR_RDMA_WRITE, 32 },
	[OP_WRITE_IMM] = { IBV_WR_RDMA_WRITE_WITH_IMM, 32 },
	[OP_READ] = { IBV_WR_RDMA_READ, 12 },
	[OP_SEND] = { IBV_WR_SEND, 16 },
	[OP_SEND_IMM] = { IBV_WR_SEND_WITH_IMM, 16 },
	[OP_SEND_INV] = { IBV_WR_SEND_WITH_INV, 16 },
	[OP_CMP_SWAP] = { IBV_WR_ATOMIC_CMP_AND_SWP, 48 },
	[OP_FETCH_ADD] = { IBV_WR_ATOMIC_FETCH_AND_ADD, 48 },
};

static int read_one(struct work *work, uint64_t address, uint32_t length, uint32_t lkey)
{
	work->sge[0] = (struct ibv_sge){ address, length, lkey };
	work->wr.num_sge = 1;
	return 0;
}

static int read_list(struct work *work, const uint8_t *at, uint32_t count, uint32_t total)
{
	uint64_t sum = 0;

	if (count > MAX_SGE)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++, at += 16) {
		work->sge[i] =
			(struct ibv_sge){ bytes_le64(at), bytes_le32(at + 8), bytes_le32(at + 12) };
		sum += work->sge[i].length;
	}
	work->wr.num_sge = count;
	return sum == total ? 0 : -EINVAL;
}

static int read_inline(struct work *work, const uint8_t *at, uint32_t length, uint32_t total)
{
	if (length > MAX_INLINE || length != total)
		return -EINVAL;
	memcpy(work->data, at, length);
	work->wr.send_flags |= IBV_SEND_INLINE;
	return read_one(work, (uintptr_t)work->data, length, 0);
}

static int read_atomic(struct work *work, const uint8_t *at)
{
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	work->wr.wr.atomic.remote_addr = bytes_le64(at + 32);
	work->wr.wr.atomic.rkey = bytes_le32(at + 44);
	work->wr.wr.atomic.compare_add = bytes_le64(at + (swaps ? 24 : 16));
	if (swaps)
		work->wr.wr.atomic.swap = bytes_le64(at + 16);
	return read_one(work, bytes_le64(at + 48), bytes_le32(at + 56), bytes_le32(at + 60));
}

static int read_request(struct work *work, const uint8_t *at)
{
	uint64_t header = bytes_le64(at);
	uint32_t count = header >> 56, data = operations[header >> 27 & 31].data;

	if (work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    work->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return read_atomic(work, at);
	if (work->wr.opcode == IBV_WR_RDMA_READ) {
		work->wr.wr.rdma.remote_addr = bytes_le64(at + 32);
		work->wr.wr.rdma.rkey = bytes_le32(at + 44);
		return read_one(work, bytes_le64(at + 20), bytes_le32(at + 12),
				bytes_le32(at + 16));
	}
	memcpy(&work->wr.imm_data, at + 8, 4);
	if (work->wr.opcode == IBV_WR_SEND_WITH_INV)
		work->wr.invalidate_rkey = bytes_le32(at + 8);
	if (data == BLOCK) {
		work->wr.wr.rdma.rkey = bytes_le32(at + 16);
		work->wr.wr.rdma.remote_addr = bytes_le64(at + 20);
	}
	return header >> 25 & 1 ? read_inline(work, at + data, count, bytes_le32(at + 12))
				: read_list(work, at + data, count, bytes_le32(at + 12));
}

static int next_send(struct object *qp, struct work *work)
{
	uint8_t request[BLOCKS_MAX * BLOCK];
	int there = count_new(&qp->sq), r;
	uint64_t header;

	if (there <= 0)
		return there;
	work->id = qp->sq.consumed;
	work->entries = 1;
	r = copy_request(&qp->sq, there, request, work);
	if (r)
		return r;
	header = bytes_le64(request);
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (header >> 22 & 1 ? IBV_SEND_SIGNALED : 0) |
			      (header >> 23 & 1 ? IBV_SEND_SOLICITED : 0) |
			      (header >> 24 & 1 ? IBV_SEND_FENCE : 0),
	};
	if ((header >> 27 & 31) >= OPS || !operations[header >> 27 & 31].data ||
	    (header >> 32 & QPN_MASK) != (qp->number & QPN_MASK) ||
	    (uint16_t)header != (uint16_t)(qp->sq.consumed + work->entries))
		return -EINVAL;
	work->wr.opcode = operations[header >> 27 & 31].opcode;
	r = read_request(work, request);
	return r ? r : 1;
}

static int next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	const uint8_t *entry = block_at(rq, rq->consumed);
	int there = count_new(rq);

	if (there <= 0)
		return there;
	work->id = rq->consumed;
	work->entries = 1;
	if ((uint16_t)bytes_le32(entry) != (uint16_t)(rq->consumed + 1))
		return -EINVAL;
	read_one(work, bytes_le64(entry + 16), bytes_le32(entry + 24), bytes_le32(entry + 28));
	work->wr.num_sge = work->sge[0].length ? 1 : 0;
	return 1;
}

/* ---- completions */

/* The process never reports how far it has polled, except when it arms. */
static uint32_t room(struct object *cq)
{
	return cq->ring.entries;
}

static uint32_t cqe_opcode(const struct completion *c)
{
	static const uint8_t sent[] = {
		[IBV_WC_SEND] = OP_SEND,	   [IBV_WC_RDMA_WRITE] = OP_WRITE,
		[IBV_WC_RDMA_READ] = OP_READ,	   [IBV_WC_COMP_SWAP] = OP_CMP_SWAP,
		[IBV_WC_FETCH_ADD] = OP_FETCH_ADD,
	};
	const struct ibv_wc *wc = c->wc;

	if (c->receive)
		return wc->status				 ? OP_RECEIVE
		       : wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? OP_RECEIVE_WRITE_IMM
		       : wc->wc_flags & IBV_WC_WITH_IMM		 ? OP_RECEIVE_SEND_IMM
								 : OP_RECEIVE;
	return !wc->status && wc->opcode < sizeof(sent) ? sent[wc->opcode] : OP_SEND;
}

static uint32_t cqe_syndrome(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return 5;
	case IBV_WC_LOC_QP_OP_ERR:
		return 8;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return 11;
	case IBV_WC_WR_FLUSH_ERR:
		return 15;
	case IBV_WC_RETRY_EXC_ERR:
		return 16;
	default:
		return 1;
	}
}

/* Write an entry whose first word lacks the phase bit. */
static void write_entry(struct object *cq, uint32_t *cqe)
{
	uint8_t *slot = cq->ring.base + (size_t)(cq->produced & (cq->ring.entries - 1)) * CQE_SIZE;
	uint32_t first = htobe32((be32toh(cqe[0]) & ~(1u << 31)) |
				 (cq->produced & cq->ring.entries ? 0 : 1u << 31));

	cqe[0] = first;
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(slot, cqe, CQE_SIZE);
		return;
	}
	memcpy(slot + 4, &cqe[1], CQE_SIZE - 4);
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
}

static void entry(struct object *cq, const void *bytes, size_t length)
{
	uint32_t cqe[CQE_SIZE / 4] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	write_entry(cq, cqe);
}

static void complete(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	uint32_t cqe[CQE_SIZE / 4] = {
		htobe32(cqe_opcode(c) << 16 | (uint32_t)c->receive << 8 | cqe_syndrome(wc->status)),
		htobe32(c->id),
		htobe32(c->qp->number),
		htole32(be32toh(wc->imm_data)),
		htobe32(wc->byte_len),
	};

	write_entry(cq, cqe);
}

static bool armed(struct object *cq, struct arm *ret_arm)
{
	uint64_t record =
		le64toh(__atomic_load_n((volatile uint64_t *)cq->ring.record, __ATOMIC_ACQUIRE));
	uint32_t seen = record >> 56 | ARM_SEEN;

	if (!(record & ARM) || cq->arm_seen == seen)
		return false;
	cq->arm_seen = seen;
	*ret_arm = (struct arm){
		.solicited = record & ARM_SOLICITED,
		.consumed = cq->produced - ((cq->produced - (uint32_t)record) & 0xffffff),
	};
	return true;
}

/* Walk over the blocks of the requests, which are still there: a scenario completes a request
 * before the ring has gone round. */
static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	struct position *at = qp->device;

	if (receive)
		return index;
	for (; at->index < index; at->index++)
		at->block += blocks_of(block_at(&qp->sq, at->block));
	return at->block;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

#define ERDMA                                                                                    \
	.ibdev = "erdma_0", .modalias = "pci:v00001DEDd0000107Fsv00001DEDsd00000000bc02sc00i00", \
	.vendor_id = 0x1ded, .part_id = 0x107f, .abi_version = ERDMA_ABI_VERSION,                \
	.loose_modify = true, .link_layer = IBV_LINK_LAYER_ETHERNET,                             \
	.fields = { [REQUEST_CQ] = cq_fields, [REQUEST_QP] = qp_fields },                        \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,          \
	.create_cq = create_cq, .create_qp = create_qp, .destroy = destroy, .region = region,    \
	.next_send = next_send, .next_receive = next_receive, .room = room, .entry = entry,      \
	.complete = complete, .armed = armed, .traced_id = traced_id, .traced_note = traced_note

const struct device device_erdma = {
	.name = "erdma",
	.node_type = IBV_NODE_RNIC,
	ERDMA,
};

const struct device device_erdma_roce = {
	.name = "erdma-roce",
	.node_type = IBV_NODE_CA,
	ERDMA,
};
