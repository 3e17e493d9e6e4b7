/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC queues of mana. Requests consist of units of 32 bytes. Registers are shared by all queues, so
 * that in run mode the last store hides earlier ones. Therefore the device looks at the head of a
 * request, and clears it when it has read the request. It also compares a send with the last send
 * that the process has noted behind the ring (the rollback block).
 */
#include "tests/adapters/lab/device/mana.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	SLOT = 16,
	SEND_HEAD = 32,
	RECV_HEAD = 16,
	UNITS_MASK = (1 << 27) - 1,
	SGES_MAX = 30,
	READ_SGES_MAX = 15,
	CHECK_NUMBER = 1 << 30,
	OOB_RECV = 2,
	OOB_SEND = 6,
	OOB_SEND_LARGE = 7,
	RIGHT = 3,
	NEVER = -1, /* no send was noted yet */
};

enum {
	TYPE_SEND = 2,
	TYPE_SEND_IMM = 3,
	TYPE_WRITE = 5,
	TYPE_WRITE_IMM = 6,
	TYPE_READ = 7,
};

enum {
	CQE_SEND = 3,
	CQE_SEND_IMM = 4,
	CQE_SEND_INV = 5,
	CQE_WRITE_IMM = 6,
	CQE_ACKNOWLEDGED = 7,
	CQE_ERROR = 34,
	CQE_IS_SEND = 1 << 24,
	CQE_PHASE_SHIFT = 29,
	CQE_QUEUE = 60, /* offset of the last word */
};

/* ---- rings */

/* Return the place of byte @at of the request that begins with unit @unit. */
static uint8_t *ring_at(const struct queue *ring, uint32_t unit, uint32_t at)
{
	return ring->base + ((unit * MANA_UNIT + at) & (ring->entries * MANA_UNIT - 1));
}

static uint32_t head_of(const struct queue *ring, uint32_t unit)
{
	uint32_t raw =
		__atomic_load_n((uint32_t *)(void *)ring_at(ring, unit, 4), __ATOMIC_ACQUIRE);

	return le32toh(raw);
}

static void head_clear(const struct queue *ring, uint32_t unit)
{
	memset(ring_at(ring, unit, 4), 0, 4);
}

static struct ibv_sge sge_at(const struct queue *ring, uint32_t unit, uint32_t at)
{
	const uint8_t *from = ring_at(ring, unit, at);

	return (struct ibv_sge){ bytes_le64(from), bytes_le32(from + 12), bytes_le32(from + 8) };
}

static uint32_t sges_of(uint32_t head)
{
	return head & 0xff;
}

static uint32_t oob_of(uint32_t head)
{
	return head >> 8 & 7;
}

/* Return the units of a send, whose number of elements includes the padding. */
static uint32_t send_units(uint32_t head)
{
	return 1 + (sges_of(head) + (oob_of(head) == OOB_SEND_LARGE)) / 2;
}

static uint32_t recv_units(uint32_t head)
{
	return sges_of(head) / 2 + 1;
}

/*
 * Read @count elements. If there is only one entry, it may be empty. Then the request has no data.
 */
static int list_read(struct work *work, const struct queue *ring, uint32_t unit, uint32_t at,
		     uint32_t count)
{
	if (count > SGES_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		work->sge[i] = sge_at(ring, unit, at + i * SLOT);
	work->wr.num_sge = count;
	if (count == 1 && work->sge[0].addr == 1 && !work->sge[0].lkey && !work->sge[0].length)
		work->wr.num_sge = 0;
	return 0;
}

static uint64_t list_length(const struct work *work)
{
	uint64_t length = 0;

	for (int i = 0; i < work->wr.num_sge; i++)
		length += work->sge[i].length;
	return length;
}

void mana_empty(struct object *qp)
{
	struct mana_played_qp *played = qp->device;

	memset(qp->sq.base, 0, (size_t)qp->sq.entries * MANA_UNIT);
	memset(qp->rq.base, 0, (size_t)qp->rq.entries * MANA_UNIT);
	memset(played->reads.base, 0, (size_t)played->reads.entries * MANA_UNIT);
	played->reads.consumed = played->sent.unit = played->received.unit = 0;
	played->failed[0] = played->failed[1] = false;
}

/* ---- sends */

static const enum ibv_wr_opcode opcodes[] = {
	[TYPE_SEND] = IBV_WR_SEND,	  [TYPE_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[TYPE_WRITE] = IBV_WR_RDMA_WRITE, [TYPE_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[TYPE_READ] = IBV_WR_RDMA_READ,
};

static bool is_type(uint32_t type)
{
	return (type >= TYPE_SEND && type <= TYPE_SEND_IMM) ||
	       (type >= TYPE_WRITE && type <= TYPE_READ);
}

/* Read the second entry of a read, which lies in the receive queue of the requester. */
static int read_read(struct mana_played_qp *played, struct work *work, uint32_t psn)
{
	struct queue *reads = &played->reads;
	uint32_t unit = reads->consumed, head = head_of(reads, unit);

	if (!sges_of(head) || sges_of(head) > READ_SGES_MAX || oob_of(head) != OOB_RECV ||
	    !(head & CHECK_NUMBER) || bytes_le64(ring_at(reads, unit, 8)) != psn)
		return -EINVAL;
	played->sent.read_units = recv_units(head);
	return list_read(work, reads, unit, RECV_HEAD, sges_of(head));
}

static int rdma_read(struct work *work, const struct queue *sq, uint32_t unit)
{
	uint64_t halves = bytes_le64(ring_at(sq, unit, 16));

	work->wr.wr.rdma.remote_addr = halves << 32 | halves >> 32;
	work->wr.wr.rdma.rkey = bytes_le32(ring_at(sq, unit, 24));
	return bytes_le32(ring_at(sq, unit, 28)) == list_length(work) ? 0 : -EINVAL;
}

static int request_read(struct object *qp, struct work *work, uint32_t unit, uint32_t head)
{
	uint32_t padding = bytes_le32(ring_at(&qp->sq, unit, 0)), at = SEND_HEAD;
	uint32_t word = bytes_le32(ring_at(&qp->sq, unit, 8)), type = word & 31;
	bool large = oob_of(head) == OOB_SEND_LARGE;
	int r;

	if (!is_type(type) || padding > 1 || padding >= sges_of(head) ||
	    large != (type == TYPE_WRITE_IMM) || (!large && oob_of(head) != OOB_SEND) ||
	    !(head & CHECK_NUMBER) != (type == TYPE_WRITE || type == TYPE_READ))
		return -EINVAL;
	work->wr.opcode = opcodes[type];
	work->wr.send_flags = (word >> 5 & 1 ? IBV_SEND_FENCE : 0) |
			      (word >> 6 & 1 ? IBV_SEND_SIGNALED : 0) |
			      (word >> 7 & 1 ? IBV_SEND_SOLICITED : 0);
	if (type == TYPE_SEND_IMM)
		work->wr.imm_data = htobe32(bytes_le32(ring_at(&qp->sq, unit, 16)));
	if (large) {
		work->wr.imm_data = htobe32(bytes_le32(ring_at(&qp->sq, unit, at)));
		at += SLOT;
	}
	r = type == TYPE_READ ? read_read(qp->device, work, word >> 8)
			      : list_read(work, &qp->sq, unit, at, sges_of(head) - padding);
	if (r || type < TYPE_WRITE)
		return r;
	return rdma_read(work, &qp->sq, unit);
}

/* Note the packets of a send. */
static void packets_note(struct mana_played_qp *played, uint16_t id, uint32_t first,
			 uint64_t length, uint32_t mtu)
{
	uint64_t packets = mtu && length ? (length + mtu - 1) / mtu : 1;

	played->first_psn[id] = first;
	played->last_psn[id] = (first + packets - 1) & MANA_NUMBER_MASK;
}

/* Clear the last request if the model has accepted it. */
static void sent_clear(struct object *qp)
{
	struct mana_played_qp *played = qp->device;
	struct queue *reads = &played->reads;

	if (played->sent.unit != (qp->sq.consumed & UNITS_MASK)) {
		head_clear(&qp->sq, played->sent.unit);
		if (played->sent.read_units)
			head_clear(reads, reads->consumed);
		reads->consumed = (reads->consumed + played->sent.read_units) & UNITS_MASK;
	}
	played->sent.unit = qp->sq.consumed & UNITS_MASK;
	played->sent.read_units = 0;
}

static void received_clear(struct object *queue)
{
	struct mana_played_qp *played = queue->device;

	if (played->received.unit != (queue->rq.consumed & UNITS_MASK))
		head_clear(&queue->rq, played->received.unit);
	played->received.unit = queue->rq.consumed & UNITS_MASK;
}

/* Return whether the process has announced the send that begins with unit @unit. */
static bool is_announced(const struct object *qp, uint32_t unit)
{
	const struct mana_played_qp *played = qp->device;
	uint32_t right = le32toh(__atomic_load_n(&played->rollback[RIGHT], __ATOMIC_ACQUIRE));

	return right != (uint32_t)NEVER && ((right - unit) & UNITS_MASK) < qp->sq.entries;
}

int mana_next_send(struct object *qp, struct work *work)
{
	struct mana_played_qp *played = qp->device;
	uint32_t unit = qp->sq.consumed & UNITS_MASK, head, psn;
	int r;

	sent_clear(qp);
	head = head_of(&qp->sq, unit);
	if (!head || !is_announced(qp, unit))
		return 0;
	work->wr = (struct ibv_send_wr){ .sg_list = work->sge };
	work->id = unit;
	work->note = 0;
	work->entries = send_units(head);
	psn = bytes_le32(ring_at(&qp->sq, unit, 8)) >> 8;
	r = request_read(qp, work, unit, head);
	packets_note(played, work->id, psn, list_length(work), head >> 16 & 0x3fff);
	if (r)
		return r;
	return 1;
}

int mana_next_receive(struct object *queue, struct work *work)
{
	struct mana_played_qp *played = queue->device;
	uint32_t unit = queue->rq.consumed & UNITS_MASK, head;

	received_clear(queue);
	head = head_of(&queue->rq, unit);
	if (!head)
		return 0;
	if (oob_of(head) != OOB_RECV || !sges_of(head) || head & CHECK_NUMBER)
		return -EINVAL;
	work->id = unit;
	work->note = 0;
	work->entries = recv_units(head);
	played->start[work->id] = unit;
	return list_read(work, &queue->rq, unit, RECV_HEAD, sges_of(head)) ? -EINVAL : 1;
}

/* ---- completions */

/* The process reports only seldom how far it has polled. */
uint32_t mana_room(struct object *cq)
{
	return cq->ring.entries;
}

static void write_entry(struct object *cq, uint32_t *cqe)
{
	uint32_t entries = cq->ring.entries, round = 1 + cq->produced / entries;
	uint8_t *slot = cq->ring.base + (size_t)(cq->produced & (entries - 1)) * MANA_CQE;

	cqe[15] = htole32((le32toh(cqe[15]) & ~(7u << CQE_PHASE_SHIFT)) | round << CQE_PHASE_SHIFT);
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(slot, cqe, MANA_CQE);
		return;
	}
	memcpy(slot, cqe, CQE_QUEUE);
	__atomic_store_n((uint32_t *)(void *)(slot + CQE_QUEUE), cqe[15], __ATOMIC_RELEASE);
}

void mana_entry(struct object *cq, const void *bytes, size_t length)
{
	uint32_t cqe[MANA_CQE / 4] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	write_entry(cq, cqe);
}

static uint32_t cause_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_LEN_ERR:
		return 0x102;
	case IBV_WC_LOC_QP_OP_ERR:
		return 0x210;
	case IBV_WC_LOC_PROT_ERR:
		return 0x206;
	case IBV_WC_LOC_ACCESS_ERR:
		return 0x183;
	case IBV_WC_REM_INV_REQ_ERR:
		return 0x03;
	case IBV_WC_REM_ACCESS_ERR:
		return 0x162;
	case IBV_WC_REM_OP_ERR:
		return 0x163;
	case IBV_WC_WR_FLUSH_ERR:
		return 0x1c7;
	case IBV_WC_RETRY_EXC_ERR:
		return 0x1c6;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return 0x164;
	default:
		return 0x3ff;
	}
}

static uint32_t received_type(const struct ibv_wc *wc)
{
	return wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? CQE_WRITE_IMM
	       : wc->wc_flags & IBV_WC_WITH_INV	       ? CQE_SEND_INV
	       : wc->wc_flags & IBV_WC_WITH_IMM	       ? CQE_SEND_IMM
						       : CQE_SEND;
}

/* The device reports the first failure of a queue. The library flushes the rest. */
static void complete_failed(struct object *cq, const struct completion *c)
{
	struct mana_played_qp *played = c->qp->device;
	uint32_t cqe[MANA_CQE / 4] = { htole32(CQE_ERROR | cause_of(c->wc->status) << 8) };

	if (played->failed[c->receive])
		return;
	played->failed[c->receive] = model_on();
	if (!c->receive)
		cqe[2] = htole32(played->first_psn[c->id]);
	cqe[15] = htole32(c->receive ? played->numbers[MANA_RECV]
				     : played->numbers[MANA_SEND] | CQE_IS_SEND);
	write_entry(cq, cqe);
}

void mana_complete(struct object *cq, const struct completion *c)
{
	struct mana_played_qp *played = c->qp->device;
	uint32_t cqe[MANA_CQE / 4] = { 0 };

	if (c->wc->status) {
		complete_failed(cq, c);
		return;
	}
	if (c->receive) {
		cqe[0] = htole32(received_type(c->wc));
		cqe[1] = htole32(c->wc->byte_len);
		cqe[3] = htole32(c->wc->wc_flags & IBV_WC_WITH_INV ? c->wc->invalidated_rkey
								   : be32toh(c->wc->imm_data));
		cqe[4] = htole32(played->start[c->id] * MANA_UNIT);
		cqe[15] = htole32(played->numbers[MANA_RECV]);
	} else {
		cqe[0] = htole32(CQE_ACKNOWLEDGED);
		cqe[2] = htole32(played->last_psn[c->id]);
		cqe[15] = htole32(played->numbers[MANA_READS]);
	}
	write_entry(cq, cqe);
}

/* Arming is a store into a register that all queues share. Therefore a queue counts as armed unless
 * the process has an event to read. */
bool mana_armed(struct object *cq, struct arm *ret_arm)
{
	*ret_arm = (struct arm){ .consumed = cq->announced };
	return !event_is_unread(cq);
}

/* ---- traces */

/* Return the bytes of a send. */
static uint64_t traced_length(const struct object *qp, uint32_t unit, uint32_t head)
{
	uint32_t type = bytes_le32(ring_at(&qp->sq, unit, 8)) & 31;
	uint64_t length = 0;

	if (type >= TYPE_WRITE)
		return bytes_le32(ring_at(&qp->sq, unit, 28));
	for (uint32_t i = 0; i < sges_of(head); i++)
		length += sge_at(&qp->sq, unit, SEND_HEAD + i * SLOT).length;
	return length;
}

/* Walk over the requests. They are still in the ring, because a scenario completes each request
 * before its place is used again. */
uint16_t mana_traced_id(const struct object *qp, bool receive, uint32_t index)
{
	struct mana_played_qp *played = qp->device;

	for (; receive && played->traced_receives <= index; played->traced_receives++) {
		uint32_t unit = played->traced_receive_unit;

		played->start[played->traced_receives % MANA_IDS] = unit & UNITS_MASK;
		played->traced_receive_unit += recv_units(head_of(&qp->rq, unit));
	}
	for (; !receive && played->traced_sends <= index; played->traced_sends++) {
		uint32_t unit = played->traced_send_unit, head = head_of(&qp->sq, unit);

		packets_note(played, played->traced_sends % MANA_IDS,
			     bytes_le32(ring_at(&qp->sq, unit, 8)) >> 8,
			     traced_length(qp, unit, head), head >> 16 & 0x3fff);
		played->traced_send_unit += send_units(head);
	}
	return index;
}

uint8_t mana_traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}
