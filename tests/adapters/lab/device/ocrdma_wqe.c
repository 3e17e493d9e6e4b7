/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests and completions of Emulex's OneConnect. They are words of 32 bits, little-endian.
 *
 * Nothing in memory says how many requests the process has posted, and a register keeps only the
 * last store. Therefore the model marks the entries that it has executed, in bits that no process
 * sets, and fills the words behind with a value that is unlikely in a request. A process replaces
 * all of them. It reads the opcode of a completed send in the ring, and the length of a read:
 * these stay.
 */
#include "tests/adapters/lab/device/ocrdma.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

/* The first word of a request. */
enum {
	OPCODE_MASK = 0x1f,
	OP_SEND = 0x00,
	OP_WRITE = 0x06,
	OP_READ = 0x0c,
	FLAG_SIGNALED = 1 << 5,
	FLAG_FENCE = 1 << 7,
	FLAG_SOLICITED = 1 << 9,
	FLAG_IMM = 1 << 10,
	FLAG_VLAN = 1 << 11,
	TYPE_SHIFT = 16,
	TYPE_MASK = 3,
	TYPE_INLINE = 0,
	TYPE_LIST = 1,
	SIZE_SHIFT = 18,
	SIZE_MASK = 0xff,
	SIZE_UNIT = 8,
};
#define EXECUTED   0xfc000000u
#define UNWRITTEN  0x9d5ac3f1u
#define RECV_FIXED (FLAG_SIGNALED | TYPE_LIST << TYPE_SHIFT)

/* Words of a request. */
enum {
	AT_TAG = 1,
	AT_IMM = 2,
	AT_LENGTH = 3,
	HEADER = 4,
	AT_REMOTE_LENGTH = 7, /* of a write and a read */
	SEGMENT = 4,	      /* words of an entry of a list */
	WORDS = OC_WQE / 4,
	LOOKS_MOST = 20000, /* after which an unfinished request is executed as it is */
};

/* The last word of a completion. */
enum {
	CQE_QPN = 2,
	CQE_FLAGS = 3,
	CQE_RECEIVE = 1 << 29,
	CQE_IMM = 1 << 28,
	CQE_WRITE_IMM = 1 << 27,
	CQE_STATUS_SHIFT = 16,
	CQE_UD_STATUS_SHIFT = 24,
};
#define CQE_VALID (1u << 31)

/* ---- requests */

static volatile uint32_t *slot_at(const struct queue *queue, uint32_t index)
{
	return (volatile uint32_t *)(void *)(queue->base +
					     (size_t)(index % queue->entries) * queue->stride);
}

static void slot_clear(const struct queue *queue, uint32_t index, uint32_t keeps)
{
	volatile uint32_t *slot = slot_at(queue, index);

	for (uint32_t i = 1; i < queue->stride / 4; i++)
		if (!(keeps >> i & 1))
			slot[i] = UNWRITTEN;
	slot[0] = htole32(EXECUTED | (le32toh(slot[0]) & OPCODE_MASK));
}

void oc_ring_clear(const struct queue *queue)
{
	if (!model_on() || !queue->base)
		return;
	for (uint32_t i = 0; i < queue->entries; i++)
		slot_clear(queue, i, 0);
}

/* Mark the requests that the backend has got since the last call. They are still in the ring,
 * because their completions come later. */
static void sweep(struct queue *queue, bool receives)
{
	for (; queue->cursor != queue->consumed; queue->cursor++) {
		uint32_t opcode = le32toh(slot_at(queue, queue->cursor)[0]) & OPCODE_MASK;
		bool is_read = !receives && opcode == OP_READ;

		slot_clear(queue, queue->cursor, is_read ? 1u << AT_REMOTE_LENGTH : 0);
	}
}

/* Copy a request if the process has begun it. Return whether it has. */
static bool slot_copy(struct queue *queue, bool receives, uint32_t *words)
{
	const volatile uint32_t *slot;

	if (!queue->base || !queue->entries)
		return false;
	sweep(queue, receives);
	slot = slot_at(queue, queue->consumed);
	words[0] = le32toh(slot[0]);
	if (words[0] & EXECUTED)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < queue->stride / 4; i++)
		words[i] = le32toh(slot[i]);
	return true;
}

static uint32_t size_of(const uint32_t *words)
{
	return (words[0] >> SIZE_SHIFT & SIZE_MASK) * SIZE_UNIT / 4;
}

static bool is_inline(const uint32_t *words)
{
	return (words[0] >> TYPE_SHIFT & TYPE_MASK) == TYPE_INLINE;
}

static bool has_remote(const uint32_t *words)
{
	uint32_t opcode = words[0] & OPCODE_MASK;

	return opcode == OP_WRITE || opcode == OP_READ;
}

/* Return the word where the list or the inline data begin. */
static uint32_t data_at(const struct object *qp, const uint32_t *words)
{
	return HEADER + (qp->qp_type == IBV_QPT_UD ? SEGMENT : 0) +
	       (has_remote(words) ? SEGMENT : 0);
}

static uint64_t sum_of(const uint32_t *list, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += list[SEGMENT * i + 3];
	return sum;
}

/* Return whether the process has written all words up to @end. */
static bool is_written(const uint32_t *words, uint32_t end)
{
	for (uint32_t i = AT_LENGTH; i < end; i++)
		if (words[i] == UNWRITTEN)
			return false;
	return true;
}

static bool is_whole_send(const struct object *qp, const uint32_t *words)
{
	uint32_t size = size_of(words), at = data_at(qp, words);

	/* A read without data has no list. */
	if (size < at || (size == at && words[AT_LENGTH]) || size > WORDS ||
	    words[AT_LENGTH] == UNWRITTEN)
		return false;
	if (is_inline(words))
		return words[AT_LENGTH] <= OC_INLINE &&
		       is_written(words, at + words[AT_LENGTH] / 4);
	return is_written(words, size) &&
	       sum_of(words + at, (size - at) / SEGMENT) == words[AT_LENGTH];
}

/* Read a list, whose only entry may be empty. */
static void read_list(struct work *work, const uint32_t *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, list += SEGMENT)
		work->sge[i] =
			(struct ibv_sge){ (uint64_t)list[0] << 32 | list[1], list[3], list[2] };
	work->wr.num_sge = count == 1 && !work->sge[0].length ? 0 : (int)count;
}

static int read_data(struct work *work, const uint32_t *words, uint32_t at)
{
	uint32_t count = (size_of(words) - at) / SEGMENT, length = words[AT_LENGTH];

	if (!is_inline(words)) {
		if (count > OC_SEND_SGES || sum_of(words + at, count) != length)
			return -EINVAL;
		read_list(work, words + at, count);
		return 0;
	}
	if (length > OC_INLINE || at + (length + 3) / 4 > size_of(words))
		return -EINVAL;
	memcpy(work->data, words + at, length);
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

/* Read the destination of a datagram. */
static int read_address(struct work *work, const uint32_t *words)
{
	const uint32_t *ud = words + HEADER;
	const struct object *ah = oc_ah(ud[2]);

	if (!ah || words[0] & FLAG_VLAN || ud[3] != 1)
		return -EINVAL;
	work->wr.wr.ud.remote_qpn = ud[0];
	work->wr.wr.ud.remote_qkey = ud[1];
	work->address = ah->address;
	return 0;
}

static int read_opcode(const struct object *qp, struct work *work, const uint32_t *words)
{
	bool has_imm = words[0] & FLAG_IMM;

	switch (words[0] & OPCODE_MASK) {
	case OP_SEND:
		work->wr.opcode = has_imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		break;
	case OP_WRITE:
		work->wr.opcode = has_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
		break;
	case OP_READ:
		work->wr.opcode = IBV_WR_RDMA_READ;
		break;
	default:
		return -EINVAL;
	}
	if (has_imm)
		work->wr.imm_data = htobe32(words[AT_IMM]);
	if (qp->qp_type == IBV_QPT_UD)
		return has_remote(words) ? -EINVAL : read_address(work, words);
	if (has_remote(words)) {
		work->wr.wr.rdma.remote_addr = (uint64_t)words[HEADER] << 32 | words[HEADER + 1];
		work->wr.wr.rdma.rkey = words[HEADER + 2];
		if (words[AT_REMOTE_LENGTH] != words[AT_LENGTH])
			return -EINVAL;
	}
	return 0;
}

/* Return whether the process has written the request and then leaves it alone for a while: it may
 * write the first word in several steps. */
static bool is_settled(struct object *qp, const uint32_t *words)
{
	enum {
		SPINS = 200,
	};
	uint32_t again[WORDS];

	if (!is_whole_send(qp, words))
		return false;
	for (int i = 0; i < SPINS; i++)
		__asm__ volatile("" ::: "memory");
	return slot_copy(&qp->sq, false, again) && !memcmp(words, again, sizeof(again));
}

int oc_next_send(struct object *qp, struct work *work)
{
	struct oc_qp *oc = qp->device;
	uint32_t words[WORDS];
	int r;

	work->entries = 1;
	if (!slot_copy(&qp->sq, false, words))
		return 0;
	work->id = qp->sq.consumed % qp->sq.entries;
	if (!is_settled(qp, words) && ++oc->looks < LOOKS_MOST)
		return 0;
	oc->looks = 0;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = (words[0] & FLAG_SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (words[0] & FLAG_SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (words[0] & FLAG_FENCE ? IBV_SEND_FENCE : 0),
	};
	r = size_of(words) < data_at(qp, words) || size_of(words) > WORDS
		    ? -EINVAL
		    : read_opcode(qp, work, words);
	return r ? r : (r = read_data(work, words, data_at(qp, words))) ? r : 1;
}

int oc_next_receive(struct object *queue, struct work *work)
{
	uint32_t words[WORDS], size;

	work->entries = 1;
	if (!slot_copy(&queue->rq, true, words))
		return 0;
	work->cursor = queue->rq.cursor;
	size = size_of(words);
	if ((words[0] & RECV_FIXED) != RECV_FIXED || size <= HEADER || size > OC_RQE / 4 ||
	    words[AT_TAG] == UNWRITTEN || !is_written(words, size))
		return 0;
	work->id =
		queue->type == OBJECT_SRQ ? words[AT_TAG] : queue->rq.consumed % queue->rq.entries;
	read_list(work, words + HEADER, (size - HEADER) / SEGMENT);
	return 1;
}

/* ---- completions */

static volatile uint32_t *cqe_at(const struct object *cq, uint32_t index)
{
	return (volatile uint32_t *)(void *)(cq->ring.base +
					     (size_t)(index % cq->ring.entries) * OC_CQE);
}

/* The process clears the word with the number of the queue pair. */
static bool is_unread(const struct object *cq, uint32_t index)
{
	return __atomic_load_n(&cqe_at(cq, index)[CQE_QPN], __ATOMIC_ACQUIRE);
}

uint32_t oc_unread(const struct object *cq)
{
	uint32_t n = 0;

	while (n < cq->ring.entries && is_unread(cq, cq->produced - 1 - n))
		n++;
	return n;
}

/* A failure may need an entry for the requests before it. */
uint32_t oc_room(struct object *cq)
{
	enum {
		ROOM_MOST = 64,
	};
	uint32_t n = 0;

	while (cq->ring.base && n < ROOM_MOST && !is_unread(cq, cq->produced + n))
		n++;
	return n / 2;
}

static void write_entry(struct object *cq, const uint32_t *cqe)
{
	volatile uint32_t *slot = cqe_at(cq, cq->produced);
	bool odd_lap = oc_changes_phase() && cq->produced / cq->ring.entries % 2;
	uint32_t raw[OC_CQE / 4];

	for (int i = 0; i < OC_CQE / 4; i++)
		raw[i] = htole32(i < CQE_FLAGS ? cqe[i]
				 : odd_lap     ? cqe[i] & ~CQE_VALID
					       : cqe[i] | CQE_VALID);
	cq->produced++;
	if (!model_on()) {
		trace_device_writes((void *)(uintptr_t)slot, raw, OC_CQE);
		return;
	}
	for (int i = 0; i < CQE_FLAGS; i++)
		slot[i] = raw[i];
	__atomic_store_n(&slot[CQE_FLAGS], raw[CQE_FLAGS], __ATOMIC_RELEASE);
}

void oc_entry(struct object *cq, const void *bytes, size_t length)
{
	uint32_t cqe[OC_CQE / 4] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	for (size_t i = 0; i < OC_CQE / 4; i++)
		cqe[i] = le32toh(cqe[i]);
	write_entry(cq, cqe);
}

static uint32_t cqe_status(enum ibv_wc_status status)
{
	static const uint8_t statuses[] = {
		[IBV_WC_SUCCESS] = 0,	       [IBV_WC_LOC_LEN_ERR] = 1,
		[IBV_WC_LOC_QP_OP_ERR] = 2,    [IBV_WC_LOC_PROT_ERR] = 4,
		[IBV_WC_WR_FLUSH_ERR] = 5,     [IBV_WC_BAD_RESP_ERR] = 7,
		[IBV_WC_LOC_ACCESS_ERR] = 8,   [IBV_WC_REM_INV_REQ_ERR] = 9,
		[IBV_WC_REM_ACCESS_ERR] = 0xa, [IBV_WC_REM_OP_ERR] = 0xb,
		[IBV_WC_RETRY_EXC_ERR] = 0xc,  [IBV_WC_RNR_RETRY_EXC_ERR] = 0xd,
		[IBV_WC_REM_ABORT_ERR] = 0x10,
	};

	return status < sizeof(statuses) && (!status || statuses[status]) ? statuses[status] : 0x15;
}

/* Write the completion of a send. The process takes a failure for that of its oldest send.
 * Therefore the sends before it complete first. */
static void complete_send(struct object *cq, const struct completion *c)
{
	struct oc_qp *oc = c->qp->device;
	uint32_t entries = c->qp->sq.entries;
	uint32_t before = (c->id + entries - 1) % entries;

	if (c->wc->status && c->wc->status != IBV_WC_WR_FLUSH_ERR && oc->retired != c->id)
		write_entry(cq, (uint32_t[]){ before, 0, oc->id, 0 });
	oc->retired = (c->id + 1) % entries;
	write_entry(cq, (uint32_t[]){ c->id, c->wc->byte_len, oc->id,
				      cqe_status(c->wc->status) << CQE_STATUS_SHIFT });
}

static void complete_receive(struct object *cq, const struct completion *c)
{
	const struct oc_qp *oc = c->qp->device;
	const struct ibv_wc *wc = c->wc;
	bool is_ud = c->qp->qp_type == IBV_QPT_UD;
	uint32_t flags = CQE_RECEIVE;

	if (is_ud)
		flags |= (cqe_status(wc->status) & 7) << CQE_UD_STATUS_SHIFT |
			 (wc->src_qp & 0xffffff);
	else
		flags |= cqe_status(wc->status) << CQE_STATUS_SHIFT;
	if (!wc->status && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		flags |= CQE_WRITE_IMM;
	else if (!wc->status && wc->wc_flags & IBV_WC_WITH_IMM)
		flags |= CQE_IMM;
	write_entry(cq, (uint32_t[]){ be32toh(wc->imm_data),
				      is_ud ? wc->byte_len << 16 | wc->pkey_index : wc->byte_len,
				      (c->srq ? (uint32_t)c->id << 16 : 0) | oc->id, flags });
}

void oc_complete(struct object *cq, const struct completion *c)
{
	struct oc_qp *oc = c->qp->device;

	/* A process flushes requests by itself, after one failure or after it stopped the queue
	 * pair. */
	if (model_on() && c->wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (!cq->ring.base || (oc->failed && c->wc->status))
		return;
	if (model_on() && c->wc->status)
		oc->failed = true;
	if (c->receive)
		complete_receive(cq, c);
	else
		complete_send(cq, c);
}

/* A receive of an SRQ is named by the number that the process wrote into it. */
uint16_t oc_traced_id(const struct object *qp, bool receive, uint32_t index)
{
	if (!receive)
		return index % qp->sq.entries;
	if (!qp->srq)
		return index % qp->rq.entries;
	return qp->srq->rq.base ? le32toh(slot_at(&qp->srq->rq, index)[AT_TAG]) : 0;
}
