/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests and completions of qedr, which are little-endian, apart from inline data. A request
 * takes two elements, and one for each entry of its list or each 16 bytes of its data. A doorbell
 * has the number of requests since the last reset.
 */
#include "tests/adapters/lab/device/qedr.h"

#include <errno.h>
#include <stdio.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	SEND_MOST = 2 + QEDR_SEND_SGES, /* elements that a request can have */
	ATOMIC_ELEMENTS = 4,
	AT_TYPE = 12,
	AT_FLAGS = 13,
	AT_SIZE = 14,
	AT_SIZE_BEFORE = 15,
	FLAG_SIGNALED = 1,
	FLAG_FENCE = 2,
	FLAG_SOLICITED = 8,
	FLAG_INLINE = 16,
	OP_SEND = 0,
	OP_SEND_IMM = 1,
	OP_SEND_INV = 2,
	OP_WRITE = 3,
	OP_WRITE_IMM = 4,
	OP_READ = 5,
	OP_CMP_SWAP = 6,
	OP_FETCH_ADD = 7,
	OPS = 8,
	KEY_BITS = 26, /* key bits of a receive */
	DPM_PACKET = 1 << 6,
	ARM_ALL = 0x10,
	ARM_SOLICITED = 0x08,
	CQE_SENT = 0,
	CQE_RECEIVED = 1,
	CQE_SRQ = 2,
	CQE_XRC = 3,
	CQE_INV = 1 << 3,
	CQE_IMM = 1 << 4,
	CQE_WRITE = 1 << 5,
	COOKIES = 256, /* in an entry of a scenario: 1 is the first queue pair */
};

static const uint8_t opcodes[OPS] = {
	[OP_SEND] = IBV_WR_SEND,
	[OP_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[OP_SEND_INV] = IBV_WR_SEND_WITH_INV,
	[OP_WRITE] = IBV_WR_RDMA_WRITE,
	[OP_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[OP_READ] = IBV_WR_RDMA_READ,
	[OP_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[OP_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static uint8_t *element_at(const struct queue *queue, uint32_t index)
{
	return queue->base + (size_t)(index % queue->entries) * QEDR_ELEMENT;
}

static uint64_t page_word(const struct qedr_page *page)
{
	return page->word ? le64toh(__atomic_load_n(page->word, __ATOMIC_ACQUIRE)) : 0;
}

/* ---- requests */

/* Go to the request that begins at @element, if the one before has been executed. */
static void position_set(struct qedr_position *at, uint32_t element)
{
	if (at->element == element)
		return;
	at->size = element - at->element;
	at->element = element;
	at->index++;
}

/* Copy a request, which may go round the end of the ring. */
static int copy_request(const struct queue *sq, uint8_t *ret, struct work *work)
{
	uint32_t size = element_at(sq, sq->consumed)[AT_SIZE];

	if (size < 2 || size > SEND_MOST)
		return -EINVAL;
	for (uint32_t i = 0; i < size; i++)
		memcpy(ret + i * QEDR_ELEMENT, element_at(sq, sq->consumed + i), QEDR_ELEMENT);
	work->entries = size;
	return 0;
}

static void read_sge(struct ibv_sge *sge, const uint8_t *at)
{
	*sge = (struct ibv_sge){ bytes_le64(at + 4), bytes_le32(at), bytes_le32(at + 12) };
}

/* Each word of eight bytes is big-endian. */
static int read_inline(struct work *work, const uint8_t *at, uint32_t length)
{
	if (length > QEDR_INLINE || work->entries != 2 + (length + 15) / 16)
		return -EINVAL;
	for (uint32_t i = 0; i < length; i++)
		work->data[i] = at[i ^ 7];
	work->sge[0] = (struct ibv_sge){ (uintptr_t)work->data, length, 0 };
	work->wr.num_sge = 1;
	return 0;
}

static int read_list(struct work *work, const uint8_t *at, uint32_t length)
{
	uint64_t sum = 0;

	work->wr.num_sge = work->entries - 2;
	for (int i = 0; i < work->wr.num_sge; i++) {
		read_sge(&work->sge[i], at + i * QEDR_ELEMENT);
		sum += work->sge[i].length;
	}
	return sum == length ? 0 : -EINVAL;
}

static int read_atomic(struct work *work, const uint8_t *request)
{
	bool swaps = work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	uint64_t compare = bytes_le64(request + 32), swap = bytes_le64(request + 40);

	if (work->entries != ATOMIC_ELEMENTS)
		return -EINVAL;
	work->wr.wr.atomic.remote_addr = bytes_le64(request + 16);
	work->wr.wr.atomic.rkey = bytes_le32(request + 24);
	work->wr.wr.atomic.compare_add = swaps ? compare : swap;
	work->wr.wr.atomic.swap = swap;
	read_sge(&work->sge[0], request + 48);
	work->wr.num_sge = 1;
	return 0;
}

static int read_request(struct work *work, const uint8_t *request)
{
	uint32_t word = bytes_le32(request), length = bytes_le32(request + 4);

	switch (request[AT_TYPE]) {
	case OP_CMP_SWAP:
	case OP_FETCH_ADD:
		return read_atomic(work, request);
	case OP_SEND_INV:
		work->wr.invalidate_rkey = word;
		break;
	case OP_SEND_IMM:
		work->wr.imm_data = htobe32(word);
		break;
	case OP_WRITE_IMM:
		work->wr.imm_data = htobe32(word);
		/* fall through */
	case OP_WRITE:
	case OP_READ:
		work->wr.wr.rdma.remote_addr = bytes_le64(request + 16);
		work->wr.wr.rdma.rkey = bytes_le32(request + 24);
		break;
	default:
		break;
	}
	return work->wr.send_flags & IBV_SEND_INLINE ? read_inline(work, request + 32, length)
						     : read_list(work, request + 32, length);
}

int qedr_next_send(struct object *qp, struct work *work)
{
	struct qedr_played_qp *played = qp->device;
	uint8_t request[SEND_MOST * QEDR_ELEMENT], flags;
	uint16_t there;
	int r;

	/* A queue pair that was opened once more has no rings. */
	if (!qp->sq.entries)
		return 0;
	position_set(&played->read, qp->sq.consumed);
	there = (page_word(&played->sq) >> 16) - played->read.index;
	work->entries = 2;
	work->id = played->read.index;
	if (!there)
		return 0;
	if (there > qp->sq.entries / 2)
		return -EINVAL;
	r = copy_request(&qp->sq, request, work);
	if (r)
		return r;
	flags = request[AT_FLAGS];
	if (request[AT_TYPE] >= OPS || request[AT_SIZE_BEFORE] != played->read.size)
		return -EINVAL;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.opcode = opcodes[request[AT_TYPE]],
		.send_flags = (flags & FLAG_SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (flags & FLAG_FENCE ? IBV_SEND_FENCE : 0) |
			      (flags & FLAG_SOLICITED ? IBV_SEND_SOLICITED : 0) |
			      (flags & FLAG_INLINE ? IBV_SEND_INLINE : 0),
	};
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		work->wr.qp_type.xrc.remote_srqn =
			MODEL_SHORT_SRQ | (bytes_le32(request + 8) & (MODEL_SHORT_SRQS - 1));
	r = read_request(work, request);
	return r ? r : 1;
}

/* Read a receive of an SRQ: an element with the number of the request, and the list. */
static int next_shared(struct object *srq, struct work *work)
{
	struct qedr_played_srq *played = srq->device;
	uint32_t there =
		le32toh(__atomic_load_n(&played->pair[1], __ATOMIC_ACQUIRE)) - srq->rq.cursor;
	const uint8_t *head = element_at(&srq->rq, srq->rq.consumed);

	if (!there)
		return 0;
	if (there > srq->rq.entries || head[8] > QEDR_RECV_SGES)
		return -EINVAL;
	work->wr.num_sge = head[8];
	work->entries = 1u + head[8];
	work->id = srq->rq.cursor;
	work->cursor = srq->rq.cursor + 1;
	played->wr_ids[work->id] = bytes_le64(head);
	for (int i = 0; i < work->wr.num_sge; i++) {
		const uint8_t *at = element_at(&srq->rq, srq->rq.consumed + 1 + i);

		work->sge[i] =
			(struct ibv_sge){ bytes_le64(at), bytes_le32(at + 8), bytes_le32(at + 12) };
	}
	return 1;
}

int qedr_next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	const struct qedr_played_qp *played = queue->device;
	uint32_t count;
	uint16_t there;

	if (queue->type == OBJECT_SRQ)
		return next_shared(queue, work);
	there = (page_word(&played->rq) >> 16) - rq->cursor;
	if (!there)
		return 0;
	count = bytes_le32(element_at(rq, rq->consumed) + 12) >> KEY_BITS;
	if (there > rq->entries || !count || count > QEDR_RECV_SGES)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = element_at(rq, rq->consumed + i);
		uint32_t key = bytes_le32(at + 12);

		if (i && key >> KEY_BITS)
			return -EINVAL;
		work->sge[i] = (struct ibv_sge){ bytes_le64(at), bytes_le32(at + 8),
						 key & ((1u << KEY_BITS) - 1) };
	}
	/* A receive without a list has an entry of zeros. */
	work->wr.num_sge = count == 1 && !work->sge[0].addr && !work->sge[0].length ? 0 : count;
	work->entries = count;
	work->id = rq->cursor;
	work->cursor = rq->cursor + 1;
	return 1;
}

/* ---- completions */

uint32_t qedr_room(struct object *cq)
{
	const struct qedr_played_cq *played = cq->device;
	uint32_t unread = cq->produced - (uint32_t)(page_word(&played->page) >> 32);

	return unread < cq->ring.entries ? cq->ring.entries - unread : 0;
}

/* A process repeats the arming in its page with each poll. Therefore a CQ that was armed counts as
 * armed unless the process has an event to read. */
bool qedr_armed(struct object *cq, struct arm *ret_arm)
{
	const struct qedr_played_cq *played = cq->device;
	uint64_t word = page_word(&played->page);
	uint32_t flags = word >> 16 & (ARM_ALL | ARM_SOLICITED);

	*ret_arm = (struct arm){ .solicited = flags == ARM_SOLICITED, .consumed = word >> 32 };
	return flags && !event_is_unread(cq);
}

/* Write an entry whose byte of flags lacks the phase bit. */
static void write_entry(struct object *cq, uint8_t *cqe)
{
	uint8_t *at = cq->ring.base + (size_t)(cq->produced % cq->ring.entries) * QEDR_CQE;
	uint8_t phase = !(cq->produced / cq->ring.entries % 2);

	cqe[30] = (cqe[30] & ~1) | phase;
	cq->produced++;
	if (!model_on()) {
		/* The cookie may be an address. */
		trace_device_hides(at, cqe, QEDR_CQE);
		return;
	}
	memcpy(at, cqe, 30);
	at[31] = cqe[31];
	__atomic_store_n(&at[30], cqe[30], __ATOMIC_RELEASE);
}

static void put_16(uint8_t *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static void put_le32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put_le64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

void qedr_entry(struct object *cq, const void *bytes, size_t length)
{
	uint8_t cqe[QEDR_CQE] = { 0 };
	struct object *qp;
	uint64_t cookie;

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	cookie = bytes_le64(cqe + 8);
	if (cookie && cookie <= COOKIES && (cqe[30] >> 1 & 3) != CQE_XRC) {
		qp = object_at(OBJECT_QP, cookie - 1);
		put_le64(cqe + 8,
			 qp && qp->device ? ((struct qedr_played_qp *)qp->device)->cookie : 0);
	}
	write_entry(cq, cqe);
}

static uint8_t sent_status(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_BAD_RESP_ERR] = 1,	[IBV_WC_LOC_LEN_ERR] = 2,
		[IBV_WC_LOC_QP_OP_ERR] = 3,	[IBV_WC_LOC_PROT_ERR] = 4,
		[IBV_WC_MW_BIND_ERR] = 5,	[IBV_WC_REM_INV_REQ_ERR] = 6,
		[IBV_WC_REM_ACCESS_ERR] = 7,	[IBV_WC_REM_OP_ERR] = 8,
		[IBV_WC_RNR_RETRY_EXC_ERR] = 9, [IBV_WC_RETRY_EXC_ERR] = 10,
		[IBV_WC_WR_FLUSH_ERR] = 11,
	};

	return !status ? 0 : status < sizeof(of) && of[status] ? of[status] : 12;
}

static uint8_t received_status(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_LOC_ACCESS_ERR] = 1,	 [IBV_WC_LOC_LEN_ERR] = 2,
		[IBV_WC_LOC_QP_OP_ERR] = 3,	 [IBV_WC_LOC_PROT_ERR] = 4,
		[IBV_WC_MW_BIND_ERR] = 5,	 [IBV_WC_REM_INV_REQ_ERR] = 6,
		[IBV_WC_REM_INV_RD_REQ_ERR] = 6, [IBV_WC_WR_FLUSH_ERR] = 7,
	};

	return !status ? 0 : status < sizeof(of) && of[status] ? of[status] : 8;
}

static void complete_receive(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	const struct qedr_played_qp *played = c->qp ? c->qp->device : NULL;
	uint8_t cqe[QEDR_CQE] = { 0 }, type = CQE_RECEIVED;

	if (c->srq) {
		const struct qedr_played_srq *shared = c->srq->device;

		put_le64(cqe, shared->wr_ids[c->id]);
		type = c->srq->xrcd ? CQE_XRC : CQE_SRQ;
	}
	if (type == CQE_XRC)
		put_le32(cqe + 8, c->qp ? c->qp->number : wc->qp_num);
	else
		put_le64(cqe + 8, played->cookie);
	put_le32(cqe + 16,
		 wc->wc_flags & IBV_WC_WITH_INV ? wc->invalidated_rkey : be32toh(wc->imm_data));
	put_le32(cqe + 20, wc->byte_len);
	put_16(cqe + 28, type == CQE_XRC ? c->srq->number : c->id + 1);
	cqe[30] = type << 1 | (wc->wc_flags & IBV_WC_WITH_INV ? CQE_INV : 0) |
		  (wc->wc_flags & IBV_WC_WITH_IMM ? CQE_IMM : 0) |
		  (!wc->status && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? CQE_WRITE : 0);
	cqe[31] = received_status(wc->status);
	write_entry(cq, cqe);
}

void qedr_complete(struct object *cq, const struct completion *c)
{
	const struct qedr_played_qp *played;
	uint8_t cqe[QEDR_CQE] = { 0 };

	if (c->receive) {
		complete_receive(cq, c);
		return;
	}
	played = c->qp->device;
	put_16(cqe, c->id + 1);
	put_le64(cqe + 8, played->cookie);
	cqe[30] = CQE_SENT << 1;
	cqe[31] = sent_status(c->wc->status);
	write_entry(cq, cqe);
}

/* ---- bytes that the device ignores */

/* Return the mask of the bytes of element @i of a request. Only queue pairs of XRC name an SRQ,
 * only some operations have a word of immediate data, and only one compares. Inline data begin at
 * the end of a word. */
static unsigned unused_of(const struct object *qp, const uint8_t *request, uint32_t i)
{
	static const uint16_t first[OPS] = {
		[OP_SEND] = 0x000f,	[OP_WRITE] = 0x000f,	 [OP_READ] = 0x000f,
		[OP_CMP_SWAP] = 0x00ff, [OP_FETCH_ADD] = 0x00ff,
	};
	uint32_t type = request[AT_TYPE] & (OPS - 1), length = bytes_le32(request + 4);
	unsigned mask = 0;

	if (!i)
		return first[type] | (qp->qp_type == IBV_QPT_XRC_SEND ? 0 : 0x0f00);
	if (type >= OP_CMP_SWAP)
		return i == 1 ? 0xf000 : i == 2 && type == OP_FETCH_ADD ? 0x00ff : 0;
	for (uint32_t k = 0; i > 1 && request[AT_FLAGS] & FLAG_INLINE && k < QEDR_ELEMENT; k++)
		if ((i - 2) * QEDR_ELEMENT + (k ^ 7) >= length)
			mask |= 1u << k;
	return mask;
}

/* Walk over requests from @at on, each with the size of the one before, until @end. Write the masks
 * of their elements. */
static void walk(const struct object *qp, struct qedr_position *at, uint32_t end)
{
	struct qedr_played_qp *played = qp->device;
	uint32_t first = at->element;

	while ((uint16_t)at->index != end && at->element - first < qp->sq.entries) {
		uint8_t request[QEDR_ELEMENT];
		uint32_t size;

		memcpy(request, element_at(&qp->sq, at->element), sizeof(request));
		size = request[AT_SIZE];
		if (size < 2 || size > SEND_MOST || request[AT_SIZE_BEFORE] != at->size)
			return;
		for (uint32_t i = 0; i < size; i++)
			played->unused[(at->element + i) % qp->sq.entries] =
				unused_of(qp, request, i);
		at->element += size;
		at->size = size;
		at->index++;
	}
}

/* A trace calls this for all bytes of a region, from the first to the last. */
unsigned qedr_ignored(const char *region, size_t offset)
{
	static struct object *looked; /* NULL: the region is not a ring of sends */
	struct qedr_position at;
	unsigned int ordinal;
	char name[4];

	if (!offset) {
		looked = sscanf(region, "qp%u.%3s", &ordinal, name) == 2 && !strcmp(name, "sq")
				 ? object_at(OBJECT_QP, ordinal)
				 : NULL;
		if (looked) {
			at = ((struct qedr_played_qp *)looked->device)->traced;
			walk(looked, &at, UINT32_MAX);
		}
	}
	return looked ? ((struct qedr_played_qp *)looked->device)->unused[offset / QEDR_ELEMENT]
		      : 0;
}

/* The request that the process also stores into registers: its queue pair, or NULL, and its first
 * element in the ring. */
static struct {
	const struct object *qp;
	uint8_t request[QEDR_ELEMENT];
} through;

/* Words of eight bytes have the bytes of the ring in reverse. */
unsigned qedr_undefined(const char *region, size_t offset, const uint8_t *bytes)
{
	uint32_t word = offset / 8 - 1;
	unsigned mask, reverse = 0;

	if (!offset || offset >= QEDR_DB_SQ || !through.qp)
		return 0;
	mask = unused_of(through.qp, through.request, word / 2) >> word % 2 * 8;
	for (int i = 0; i < 8; i++)
		reverse |= (mask >> i & 1) << (7 - i);
	return reverse;
}

/* A doorbell of sends, or the first word of a request through registers. */
void qedr_stored(const char *region, size_t offset, const uint8_t *bytes, size_t length)
{
	bool first = !offset && length == sizeof(uint64_t);

	if (offset != QEDR_DB_SQ && !first)
		return;
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);
		struct qedr_played_qp *played = qp ? qp->device : NULL;

		if (!played || !qp->sq.entries || bytes_le16(bytes) != qedr_send_icid(qp))
			continue;
		through.qp = first && !(bytes[4] & DPM_PACKET) ? qp : NULL;
		memcpy(through.request, element_at(&qp->sq, played->traced.element), QEDR_ELEMENT);
		walk(qp, &played->traced, bytes_le16(bytes + 2));
	}
}
