/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of requests and completions of ionic. A request begins with its position. Positions, and
 * indices in completions, are little-endian. All other numbers are big-endian.
 */
#include "tests/adapters/lab/device/ionic.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	AT_OP = 8,
	AT_COUNT = 9,
	AT_FLAGS = 10,
	AT_KEY = 12,
	AT_BODY = 16,
	AT_LENGTH = 28,
	AT_LIST = 32,
	AT_BEHIND_LENGTHS = 64,
	SGE = 16,
	FLAG_FENCE = 1 << 0,
	FLAG_SOLICITED = 1 << 1,
	FLAG_INLINE = 1 << 2,
	FLAG_SIGNALED = 1 << 3,
	FLAG_COLOR = 1 << 4,
	LENGTHS_SHIFT = 12, /* place of the form of the lengths in front of a list */
	LENGTHS_32 = 1,
	LENGTHS_16 = 2,
	LENGTHS = 8, /* number of lengths of 32 bits; twice as many have 16 bits */
	BIND_WRITE = 1 << 1,
	BIND_READ = 1 << 2,
	BIND_ATOMIC = 1 << 3,
	BIND_ZERO_BASED = 1 << 5,
	BIND_WINDOW = 1 << 14,
	BIND_TYPE_2 = 1 << 15,
};

enum {
	CQE_COLOR = 1,
	CQE_ERROR = 2,
	TYPE_RECEIVE = 1,
	TYPE_MESSAGE = 2,
	TYPE_LOCAL = 3,
	STATUS_FLUSHED = 4,
	STATUS_OTHER = 13,
	OP_NONE = 0xff,
};

/* ---- requests */

/* Operations by their numbers in both versions of the format. */
static const struct {
	uint8_t first, second, opcode;
} operations[] = {
	{ 0, 0x20, IBV_WR_SEND },
	{ 1, 0xa0, IBV_WR_SEND_WITH_INV },
	{ 2, 0x60, IBV_WR_SEND_WITH_IMM },
	{ 3, 0x02, IBV_WR_RDMA_READ },
	{ 4, 0x21, IBV_WR_RDMA_WRITE },
	{ 5, 0x61, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ 6, 0x04, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ 7, 0x05, IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ 9, 0x07, IBV_WR_LOCAL_INV },
	{ 10, 0x08, IBV_WR_BIND_MW },
};

static uint8_t opcode_of(uint8_t op)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if ((ionic_is_old() ? operations[i].first : operations[i].second) == op)
			return operations[i].opcode;
	return OP_NONE;
}

static bool is_local(const struct object *qp, uint8_t opcode)
{
	return qp->qp_type == IBV_QPT_UD || opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

/* Read a list. The lengths in front repeat the lengths of the entries. A list of up to two entries
 * has no lengths in front. */
static int read_list(const uint8_t *wqe, uint32_t stride, bool spec, struct work *work)
{
	uint32_t count = wqe[AT_COUNT], form = get16(wqe + AT_FLAGS) >> LENGTHS_SHIFT;
	bool together = spec && count > 2;
	const uint8_t *at = wqe + (together ? AT_BEHIND_LENGTHS : AT_LIST);

	if (form != (!together		? 0u
		     : count <= LENGTHS ? (uint32_t)LENGTHS_32
					: (uint32_t)LENGTHS_16) ||
	    at + (size_t)count * SGE > wqe + stride)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++, at += SGE) {
		uint32_t length = get32(at + 8);

		if (together && length != (form == LENGTHS_32 ? get32(wqe + AT_LIST + 4 * i)
							      : get16(wqe + AT_LIST + 2 * i)))
			return -EINVAL;
		work->sge[i] = (struct ibv_sge){ get64(at), length, get32(at + 12) };
	}
	work->wr.num_sge = count;
	return 0;
}

static int check_total(const struct work *work, uint32_t total)
{
	uint64_t sum = 0;

	for (int i = 0; i < work->wr.num_sge; i++)
		sum += work->sge[i].length;
	return sum == total ? 0 : -EINVAL;
}

static int read_inline(const uint8_t *wqe, uint32_t stride, struct work *work, uint32_t length)
{
	if (length > stride - AT_LIST || wqe[AT_COUNT])
		return -EINVAL;
	memcpy(work->data, wqe + AT_LIST, length);
	work->wr.send_flags |= IBV_SEND_INLINE;
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

static int read_atomic(const uint8_t *wqe, struct work *work)
{
	uint64_t first = get64(wqe + 28), second = get64(wqe + 36);
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	work->wr.wr.atomic.remote_addr = get64(wqe + AT_BODY);
	work->wr.wr.atomic.rkey = get32(wqe + 24);
	work->wr.wr.atomic.swap = swaps ? first : 0;
	work->wr.wr.atomic.compare_add = swaps ? second : first;
	if (ionic_is_old())
		work->sge[0] =
			(struct ibv_sge){ get64(wqe + 48), get32(wqe + 56), get32(wqe + 60) };
	else
		work->sge[0] = (struct ibv_sge){ get64(wqe + 48), 8, get32(wqe + 44) };
	work->wr.num_sge = 1;
	return wqe[AT_COUNT] == 1 && work->sge[0].length == 8 ? 0 : -EINVAL;
}

/* The place of the count has the lowest byte of the new key. */
static int read_bind(const uint8_t *wqe, struct work *work)
{
	uint32_t old_key = get32(wqe + AT_KEY), flags = get16(wqe + 36);

	if (!(flags & BIND_WINDOW))
		return -EINVAL;
	work->bind.mw_rkey = old_key;
	work->bind.new_rkey = (old_key & ~0xffu) | wqe[AT_COUNT];
	work->bind.mr_lkey = get32(wqe + 32);
	work->bind.address = get64(wqe + AT_BODY);
	work->bind.start = flags & BIND_ZERO_BASED ? 0 : work->bind.address;
	work->bind.length = get64(wqe + 24);
	work->bind.access = (flags & BIND_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
			    (flags & BIND_READ ? IBV_ACCESS_REMOTE_READ : 0) |
			    (flags & BIND_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
			    (flags & BIND_ZERO_BASED ? IBV_ACCESS_ZERO_BASED : 0);
	return 0;
}

static int read_address(const uint8_t *wqe, struct work *work)
{
	const struct object *ah = object_by_number(OBJECT_AH, get32(wqe + AT_BODY));

	if (!ah)
		return -EINVAL;
	work->address = ah->address;
	work->wr.wr.ud.remote_qpn = get32(wqe + 20);
	work->wr.wr.ud.remote_qkey = get32(wqe + 24);
	return 0;
}

static int read_target(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	memcpy(&work->wr.imm_data, wqe + AT_KEY, sizeof(work->wr.imm_data));
	if (work->wr.opcode == IBV_WR_SEND_WITH_INV)
		work->wr.invalidate_rkey = get32(wqe + AT_KEY);
	if (qp->qp_type == IBV_QPT_UD)
		return read_address(wqe, work);
	work->wr.wr.rdma.remote_addr = get64(wqe + AT_BODY);
	work->wr.wr.rdma.rkey = get32(wqe + 24);
	return 0;
}

/* Read a send. A local request always completes, because the process waits for its completion. */
int ionic_read_send(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	const struct ionic_played_qp *played = qp->device;
	uint32_t flags = get16(wqe + AT_FLAGS), length = get32(wqe + AT_LENGTH);
	uint8_t opcode = opcode_of(wqe[AT_OP]);
	bool even_lap = !(qp->sq.consumed & qp->sq.entries);
	int r;

	if (opcode == OP_NONE || even_lap != !!(flags & FLAG_COLOR))
		return -EINVAL;
	if (is_local(qp, opcode))
		flags |= FLAG_SIGNALED;
	work->wr = (struct ibv_send_wr){
		.opcode = opcode,
		.sg_list = work->sge,
		.send_flags = (flags & FLAG_SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (flags & FLAG_SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (flags & FLAG_FENCE ? IBV_SEND_FENCE : 0),
	};
	switch (opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return read_atomic(wqe, work);
	case IBV_WR_LOCAL_INV:
		work->wr.invalidate_rkey = get32(wqe + AT_KEY);
		return 0;
	case IBV_WR_BIND_MW:
		return read_bind(wqe, work);
	default:
		break;
	}
	r = read_target(qp, wqe, work);
	if (!r && flags & FLAG_INLINE)
		return read_inline(wqe, qp->sq.stride, work, length);
	if (!r)
		r = read_list(wqe, qp->sq.stride, played->sq.spec, work);
	return r ? r : check_total(work, length);
}

int ionic_read_receive(const struct object *qp, const uint8_t *wqe, struct work *work)
{
	const struct ionic_played_qp *played = qp->device;
	int r = wqe[AT_OP] ? -EINVAL : read_list(wqe, qp->rq.stride, played->rq.spec, work);

	return r ? r : check_total(work, get32(wqe + AT_KEY));
}

void ionic_count_message(const struct object *qp, const uint8_t *wqe, uint32_t position)
{
	struct ionic_played_qp *played = qp->device;

	played->local[position] = is_local(qp, opcode_of(wqe[AT_OP]));
	if (!played->local[position])
		played->messages++;
	played->message_of[position] = played->messages;
}

/* ---- completions */

/* Return the room for completions. A process reports how far it has polled only through a register
 * of all queues. Each request has at most one completion, and a ring has room for all requests that
 * a correct program posts. */
uint32_t ionic_room(struct object *cq)
{
	return cq->ring.entries - 1;
}

/* A process arms a CQ by a store into the register of all CQs, when it polls or posts the next
 * time. Therefore a CQ counts as armed unless the process has an event to read. */
bool ionic_armed(struct object *cq, struct arm *ret_arm)
{
	*ret_arm = (struct arm){ .consumed = cq->announced };
	return !event_is_unread(cq);
}

/* Write an entry. The last word in @cqe has no color bit yet, which changes with each wrap. */
static void write_entry(struct object *cq, unsigned int pipeline, uint8_t *cqe)
{
	struct ionic_played_cq *played = cq->device;
	struct queue *ring = &played->rings[pipeline];
	uint32_t position = played->produced[pipeline]++;
	uint8_t *at;
	uint32_t last;

	if (!ring->base)
		return;
	at = ring->base + (size_t)(position & (ring->entries - 1)) * IONIC_CQE;
	cqe[IONIC_CQE - 1] |= position & ring->entries ? 0 : CQE_COLOR;
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(at, cqe, IONIC_CQE);
		return;
	}
	memcpy(&last, cqe + 28, sizeof(last));
	memcpy(at, cqe, 28);
	__atomic_store_n((uint32_t *)(void *)(at + 28), last, __ATOMIC_RELEASE);
}

void ionic_entry(struct object *cq, const void *bytes, size_t length)
{
	uint8_t cqe[IONIC_CQE] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	write_entry(cq, 0, cqe);
}

static uint32_t status_of(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_LOC_LEN_ERR] = 1,
		[IBV_WC_LOC_QP_OP_ERR] = 2,
		[IBV_WC_LOC_PROT_ERR] = 3,
		[IBV_WC_WR_FLUSH_ERR] = STATUS_FLUSHED,
		[IBV_WC_MW_BIND_ERR] = 5,
		[IBV_WC_BAD_RESP_ERR] = 6,
		[IBV_WC_LOC_ACCESS_ERR] = 7,
		[IBV_WC_REM_INV_REQ_ERR] = 8,
		[IBV_WC_REM_ACCESS_ERR] = 9,
		[IBV_WC_REM_OP_ERR] = 10,
		[IBV_WC_RETRY_EXC_ERR] = 11,
		[IBV_WC_RNR_RETRY_EXC_ERR] = 12,
		[IBV_WC_GENERAL_ERR] = STATUS_OTHER,
	};

	return status < sizeof(of) && of[status] ? of[status] : STATUS_OTHER;
}

/* Write the last two words. */
static void tail_write(uint8_t *cqe, const struct object *qp, unsigned int type,
		       const struct ibv_wc *wc)
{
	put32(cqe + 24, wc->status ? status_of(wc->status) : wc->byte_len);
	put32(cqe + 28, qp->number << 8 | type << 5 | (wc->status ? CQE_ERROR : 0));
}

uint64_t ionic_clock(uint32_t completion)
{
	struct timespec now;

	if (!model_on())
		return 0x1000 + completion;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec * 1000000000ull + now.tv_nsec) & IONIC_CLOCK_MASK;
}

/* Write an index and the time. */
static void put_index(uint8_t *at, const struct object *cq, uint16_t index)
{
	uint64_t word = htole64(index | ionic_clock(cq->produced) << 16);

	memcpy(at, &word, sizeof(word));
}

/* Count the messages up to request number @index of a trace, in which the device reads no
 * requests. */
static void walk(const struct object *qp, uint16_t index)
{
	struct ionic_played_qp *played = qp->device;

	for (; (int16_t)(index - played->walked) >= 0; played->walked++) {
		uint32_t at = played->walked & (qp->sq.entries - 1);

		ionic_count_message(qp, qp->sq.base + (size_t)at * qp->sq.stride, at);
	}
}

/* Complete a send. After an error the process completes the later requests. The process also
 * completes a request that was only flushed. */
static void complete_send(struct object *cq, const struct completion *c)
{
	struct ionic_played_qp *played = c->qp->device;
	uint32_t position = c->id & (c->qp->sq.entries - 1);
	uint8_t cqe[IONIC_CQE] = { 0 };
	bool local;

	if (played->send_over && model_on())
		return;
	if (!model_on())
		walk(c->qp, c->id);
	played->send_over = c->wc->status;
	local = played->local[position] || c->wc->status == IBV_WC_WR_FLUSH_ERR;
	put_index(cqe + 16, cq, local ? position : 0);
	if (!local)
		put32(cqe + 4, played->message_of[position]);
	tail_write(cqe, c->qp, local ? TYPE_LOCAL : TYPE_MESSAGE, c->wc);
	write_entry(cq, played->pipeline, cqe);
}

static unsigned int received_op(const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return 3;
	return wc->wc_flags & IBV_WC_WITH_IMM ? 2 : wc->wc_flags & IBV_WC_WITH_INV ? 1 : 0;
}

static void complete_receive(struct object *cq, const struct completion *c)
{
	struct ionic_played_qp *played = c->qp->device;
	const struct ibv_wc *wc = c->wc;
	uint8_t cqe[IONIC_CQE] = { 0 };

	if (played->recv_over && model_on())
		return;
	played->recv_over = wc->status;
	put_index(cqe, cq, c->id & (c->qp->rq.entries - 1));
	put32(cqe + 8, (c->qp->qp_type == IBV_QPT_UD ? wc->src_qp : 0) | received_op(wc) << 24);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		put32(cqe + 20, wc->invalidated_rkey);
	else
		memcpy(cqe + 20, &wc->imm_data, sizeof(wc->imm_data));
	tail_write(cqe, c->qp, TYPE_RECEIVE, wc);
	write_entry(cq, played->pipeline, cqe);
}

void ionic_complete(struct object *cq, const struct completion *c)
{
	c->receive ? complete_receive(cq, c) : complete_send(cq, c);
}
