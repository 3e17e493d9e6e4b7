/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats of bnxt_re: the words of requests and of completions. */
#include "tests/adapters/lab/device/bnxt_re.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	SLOT = 16,
	MAX_SGE = 6,
	MAX_INLINE = 96,
	ROOM = 64, /* free places to look for */
	TYPE_SEND = 0,
	TYPE_SEND_IMM = 1,
	TYPE_WRITE = 4,
	TYPE_WRITE_IMM = 5,
	TYPE_READ = 6,
	TYPE_CMP_SWAP = 8,
	TYPE_FETCH_ADD = 11,
	TYPES = 12,
	TYPE_RECEIVE = 0x80,
	UNKNOWN = 0xff,
	FLAG_SIGNALED = 1,
	FLAG_FENCE = 4,
	FLAG_SOLICITED = 8,
	FLAG_INLINE = 16,
	CQE_SEND = 0,
	CQE_RECEIVE = 1,
	CQE_RECEIVE_UD = 2,
	CQE_TERM = 14,
	RECEIVED_SRQ = 1,
	RECEIVED_IMM = 2,
	RECEIVED_WRITE_IMM = 8,
	RECEIVED_IPV6 = 2 << 4,
	GENERAL_ERROR = 0x3f, /* a status for errors without a status of their own */
	FLUSHES = 8,	      /* status of a receive that ends all posted receives */
};

/* ---- requests */

static const uint8_t opcodes[TYPES] = {
	[TYPE_SEND] = IBV_WR_SEND,
	[TYPE_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[2] = UNKNOWN,
	[3] = UNKNOWN,
	[TYPE_WRITE] = IBV_WR_RDMA_WRITE,
	[TYPE_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[TYPE_READ] = IBV_WR_RDMA_READ,
	[7] = UNKNOWN,
	[TYPE_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[9] = UNKNOWN,
	[10] = UNKNOWN,
	[TYPE_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* Read the entries behind both headers. @total: the number of bytes that was announced. */
static int read_list(const uint8_t *wqe, uint32_t count, struct work *work, uint32_t total)
{
	const uint8_t *at = wqe + 2 * SLOT;
	uint32_t sum = 0;

	if (count > MAX_SGE)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++, at += SLOT) {
		work->sge[i] =
			(struct ibv_sge){ bytes_le64(at), bytes_le32(at + 12), bytes_le32(at + 8) };
		sum += work->sge[i].length;
	}
	work->wr.num_sge = count;
	return sum == total ? 0 : -EINVAL;
}

static int read_inline(const uint8_t *wqe, struct work *work, uint32_t length)
{
	if (length > MAX_INLINE)
		return -EINVAL;
	memcpy(work->data, wqe + 2 * SLOT, length);
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

/* Other plug-ins write the number to add where a comparison has its operand. */
static int read_atomic(const uint8_t *wqe, struct work *work, uint32_t slots)
{
	uint64_t first = bytes_le64(wqe + SLOT), second = bytes_le64(wqe + SLOT + 8);
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	work->wr.wr.atomic.rkey = bytes_le32(wqe + 4);
	work->wr.wr.atomic.remote_addr = bytes_le64(wqe + 8);
	work->wr.wr.atomic.swap = swaps ? first : 0;
	work->wr.wr.atomic.compare_add = swaps || !first ? second : first;
	return slots == 3 ? read_list(wqe, 1, work, bytes_le32(wqe + 2 * SLOT + 12)) : -EINVAL;
}

static int read_address(const uint8_t *wqe, struct work *work)
{
	const struct object *ah = object_by_number(OBJECT_AH, bytes_le32(wqe + SLOT + 4));

	if (!ah)
		return -EINVAL;
	work->address = ah->address;
	work->wr.wr.ud.remote_qpn = bytes_le32(wqe + SLOT);
	work->wr.wr.ud.remote_qkey = bytes_le32(wqe + 12);
	return 0;
}

/* Read the second header. */
static int read_target(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	work->wr.imm_data = htobe32(bytes_le32(wqe + 4));
	if (qp->qp_type == IBV_QPT_UD)
		return read_address(wqe, work);
	work->wr.wr.rdma.remote_addr = bytes_le64(wqe + SLOT);
	work->wr.wr.rdma.rkey = bytes_le32(wqe + SLOT + 8);
	return 0;
}

int bnxt_re_read_send(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	uint32_t head = bytes_le32(wqe), type = head & 0xff, slots = head >> 16 & 0xff;
	uint32_t flags = head >> 8 & 0xff, length = bytes_le32(wqe + 8);
	int r;

	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (flags & FLAG_SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (flags & FLAG_SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (flags & FLAG_FENCE ? IBV_SEND_FENCE : 0),
	};
	if (type >= TYPES || opcodes[type] == UNKNOWN || slots < 2 || slots > WQE / SLOT)
		return -EINVAL;
	work->wr.opcode = opcodes[type];
	if (type >= TYPE_CMP_SWAP)
		return read_atomic(wqe, work, slots);
	r = read_target(qp, wqe, work);
	if (r)
		return r;
	return flags & FLAG_INLINE ? read_inline(wqe, work, length)
				   : read_list(wqe, slots - 2, work, length);
}

int bnxt_re_read_receive(const uint8_t *wqe, struct work *work)
{
	uint32_t head = bytes_le32(wqe), slots = head >> 16 & 0xff;

	if ((head & 0xff) != TYPE_RECEIVE || slots < 3 || slots > WQE / SLOT)
		return -EINVAL;
	work->id = bytes_le32(wqe + 8);
	read_list(wqe, slots - 2, work, 0);
	/* A receive without memory has one entry with length 0. */
	if (slots == 3 && !work->sge[0].length)
		work->wr.num_sge = 0;
	return 0;
}

/* ---- completions */

static uint8_t *cqe_at(const struct object *cq, uint32_t index)
{
	return cq->ring.base + (size_t)(index & (cq->ring.entries - 1)) * CQE_SIZE;
}

static size_t handle_at(uint32_t info)
{
	uint32_t type = info >> 1 & 0xf;

	return type == CQE_SEND || type == CQE_TERM ? 0 : 8;
}

/* Return whether the process has polled the entry, which it then clears. */
static bool is_free(const struct object *cq, uint32_t index)
{
	const uint8_t *at = cqe_at(cq, index);

	return !__atomic_load_n(
		(const uint64_t *)(const void *)(at + handle_at(bytes_le32(at + 24))),
		__ATOMIC_ACQUIRE);
}

/* The last place stays free: an entry may need another one in front of it. */
uint32_t bnxt_re_room(struct object *cq)
{
	uint32_t most = cq->ring.entries < ROOM ? cq->ring.entries : ROOM, room = 0;

	while (room < most && is_free(cq, cq->produced + room))
		room++;
	return room ? room - 1 : 0;
}

static uint32_t unread(const struct object *cq)
{
	uint32_t count = 0;

	while (count < cq->ring.entries && !is_free(cq, cq->produced - 1 - count))
		count++;
	return count;
}

/* A process arms a CQ by a store into the register of all queues. Therefore a CQ counts as armed
 * unless the process has an event to read. */
bool bnxt_re_armed(struct object *cq, struct arm *ret_arm)
{
	*ret_arm = (struct arm){ .consumed = cq->produced - unread(cq) };
	return !event_is_unread(cq);
}

/* Write an entry into a trace. Its handle may be an address, which is not the same in each run. */
static void trace_entry(uint8_t *at, const uint8_t *cqe)
{
	size_t handle = handle_at(bytes_le32(cqe + 24)), rest = handle + sizeof(uint64_t);
	struct region *region = trace_find((uintptr_t)at);

	memcpy(at + handle, cqe + handle, sizeof(uint64_t));
	if (region && region->copy)
		memcpy(region->copy + (at + handle - region->at), cqe + handle, sizeof(uint64_t));
	if (handle)
		trace_device_writes(at, cqe, handle);
	trace_device_writes(at + rest, cqe + rest, CQE_SIZE - rest);
}

/* Write an entry whose word 6 lacks the phase bit. */
static void write_entry(struct object *cq, uint32_t *cqe)
{
	uint8_t *at = cqe_at(cq, cq->produced);
	uint32_t phase = cq->produced & cq->ring.entries ? 0 : 1;

	cqe[6] = htole32((le32toh(cqe[6]) & ~1u) | phase);
	cq->produced++;
	if (!model_on()) {
		trace_entry(at, (const uint8_t *)cqe);
		return;
	}
	memcpy(at, cqe, 24);
	memcpy(at + 28, &cqe[7], 4);
	__atomic_store_n((uint32_t *)(void *)(at + 24), cqe[6], __ATOMIC_RELEASE);
}

void bnxt_re_entry(struct object *cq, const void *bytes, size_t length)
{
	uint32_t cqe[CQE_SIZE / 4] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	write_entry(cq, cqe);
}

static uint32_t send_status(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_BAD_RESP_ERR] = 1,	[IBV_WC_LOC_LEN_ERR] = 2,
		[IBV_WC_LOC_QP_OP_ERR] = 3,	[IBV_WC_LOC_PROT_ERR] = 4,
		[IBV_WC_MW_BIND_ERR] = 5,	[IBV_WC_REM_INV_REQ_ERR] = 6,
		[IBV_WC_REM_ACCESS_ERR] = 7,	[IBV_WC_REM_OP_ERR] = 8,
		[IBV_WC_RNR_RETRY_EXC_ERR] = 9, [IBV_WC_RETRY_EXC_ERR] = 10,
		[IBV_WC_WR_FLUSH_ERR] = 11,
	};

	if (!status)
		return 0;
	return status < sizeof(of) && of[status] ? of[status] : GENERAL_ERROR;
}

static uint32_t receive_status(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_LOC_ACCESS_ERR] = 1, [IBV_WC_LOC_LEN_ERR] = 2, [IBV_WC_LOC_PROT_ERR] = 3,
		[IBV_WC_LOC_QP_OP_ERR] = 4,  [IBV_WC_MW_BIND_ERR] = 5, [IBV_WC_REM_INV_REQ_ERR] = 6,
		[IBV_WC_WR_FLUSH_ERR] = 7,
	};

	if (!status)
		return 0;
	if (model_on() && status == IBV_WC_WR_FLUSH_ERR)
		return FLUSHES;
	return status < sizeof(of) && of[status] ? of[status] : GENERAL_ERROR;
}

/* Write the entry of a send that completes all in front of number @behind. */
static void write_sent(struct object *cq, const struct bnxt_re_played *qp, uint16_t behind,
		       uint32_t status)
{
	uint32_t cqe[CQE_SIZE / 4] = {
		[2] = htole32(behind), [6] = htole32(CQE_SEND << 1 | status << 8)
	};

	memcpy(cqe, &qp->handle, sizeof(qp->handle));
	write_entry(cq, cqe);
}

/* Only the first failure has an entry, and it is that of the oldest send. */
static void complete_send(struct object *cq, const struct completion *c)
{
	struct bnxt_re_played *qp = c->qp->device;
	uint32_t status = send_status(c->wc->status);
	uint16_t behind = c->id + 1;

	if (qp->send_over && model_on())
		return;
	qp->send_over = status;
	if (status && c->id != qp->completed && model_on())
		write_sent(cq, qp, c->id, 0);
	qp->completed = behind == c->qp->sq.entries ? 0 : behind;
	write_sent(cq, qp, qp->completed, status);
}

static void complete_receive(struct object *cq, const struct completion *c)
{
	struct bnxt_re_played *qp = c->qp->device;
	const struct ibv_wc *wc = c->wc;
	uint32_t status = receive_status(wc->status), type, flags;
	uint32_t cqe[CQE_SIZE / 4] = { htole32(wc->byte_len), htole32(be32toh(wc->imm_data)) };

	if (qp->receive_over && !c->srq && model_on())
		return;
	qp->receive_over = status;
	type = c->qp->qp_type == IBV_QPT_UD ? CQE_RECEIVE_UD : CQE_RECEIVE;
	flags = (c->srq ? RECEIVED_SRQ : 0) | (wc->wc_flags & IBV_WC_WITH_IMM ? RECEIVED_IMM : 0) |
		(wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? RECEIVED_WRITE_IMM : 0) |
		(type == CQE_RECEIVE_UD ? RECEIVED_IPV6 : 0);
	memcpy(&cqe[2], &qp->handle, sizeof(qp->handle));
	cqe[6] = htole32(type << 1 | status << 8 | flags << 16);
	if (c->srq)
		cqe[7] = htole32(c->id);
	if (type == CQE_RECEIVE_UD) {
		cqe[5] = htole32((wc->src_qp & 0xffff) << 16);
		cqe[7] |= htole32(wc->src_qp >> 16 << 24);
	}
	write_entry(cq, cqe);
}

void bnxt_re_complete(struct object *cq, const struct completion *c)
{
	c->receive ? complete_receive(cq, c) : complete_send(cq, c);
}
