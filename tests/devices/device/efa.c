/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * efa: datagrams, plain (UD) and reliable (SRD). Every queue is mapped from the device; the send
 * queue is device memory. All numbers are little-endian.
 */
#include "tests/devices/device/device.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/efa-abi.h>
#include "tests/devices/model/model.h"
#include "tests/devices/shim/trace.h"

enum {
	PAGE = 4096,
	SUB_CQS = 2, /* of each CQ: one for sends, one for receives */
	LLQ_OFFSET = 0x200,
	RQ_DOORBELL = 0x10,
	SQ_DOORBELL = 0x20,
	CQ_DOORBELL = 0x40,
	WQE = 64,
	RECEIVE = 16, /* a descriptor of the receive queue */
	UNKNOWN_AH = 0xffff,
};

/* The meaning of a mapping's offset: the kind in bits 32 and up, the object below. */
enum kind {
	MAP_CQ = 1,
	MAP_CQ_DOORBELL,
	MAP_RQ,
	MAP_RQ_DOORBELL,
	MAP_SQ_DOORBELL,
	MAP_LLQ
};

/* A send, and where its parts are. */
enum {
	OP_SEND,
	HAS_IMM = 1 << 4,
	INLINE = 1 << 5
};
enum {
	RECEIVE_FIRST = 1 << 30,
	RECEIVE_LAST = 1u << 31
};

/* A CQ's own: completions written into each part. */
struct parts {
	uint32_t produced[SUB_CQS];
};

#define F(member, how) FIELD(efa_ibv_alloc_ucontext_cmd, member, how)
static const struct field context_fields[] = { F(comp_mask, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(efa_ibv_create_cq, member, how)
static const struct field cq_fields[] = {
	F(comp_mask, 'x'), F(cq_entry_size, 'x'), F(num_sub_cqs, 'x'), F(flags, 'x'), { 0 },
};
#undef F
#define F(member, how) FIELD(efa_ibv_create_qp, member, how)
static const struct field qp_fields[] = {
	F(comp_mask, 'x'),	F(rq_ring_size, 'x'), F(sq_ring_size, 'x'),
	F(driver_qp_type, 'x'), F(flags, 'x'),	      { 0 },
};
#undef F

static uint64_t key(enum kind kind, const struct object *object)
{
	return (uint64_t)kind << 32 | (uint64_t)object->ordinal << 16;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static int get_context(struct command *command)
{
	struct efa_ibv_alloc_ucontext_resp response = {
		.cmds_supp_udata_mask =
			EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE | EFA_USER_CMDS_SUPP_UDATA_CREATE_AH,
		.sub_cqs_per_cq = SUB_CQS,
		.inline_buf_size = 32,
		.max_llq_size = 65536,
		.max_tx_batch = 64,
		.min_sq_wr = 16,
	};

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	struct efa_ibv_ex_query_device_resp response = {
		.max_sq_wr = 1024,
		.max_rq_wr = 4096,
		.max_sq_sge = 2,
		.max_rq_sge = 3,
		.device_caps =
			EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS | EFA_QUERY_DEVICE_CAPS_RNR_RETRY,
	};

	attr->max_qp = 256;
	attr->max_qp_wr = 4096;
	attr->max_sge = 2;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = attr->max_mw = 0;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->device_cap_flags = 0;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	struct efa_ibv_alloc_pd_resp response = { .pdn = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct efa_ibv_create_cq_resp response;
	struct efa_ibv_create_cq q;

	command_request(command, &q, sizeof(q));
	if ((q.cq_entry_size != 16 && q.cq_entry_size != 32) || q.num_sub_cqs != SUB_CQS || !*cqe)
		return EINVAL;
	cq->device = calloc(1, sizeof(struct parts));
	if (!cq->device)
		return ENOMEM;
	cq->ring.entries = *cqe;
	cq->ring.stride = q.cq_entry_size;
	response = (struct efa_ibv_create_cq_resp){
		.comp_mask = EFA_CREATE_CQ_RESP_DB_OFF,
		.q_mmap_key = key(MAP_CQ, cq),
		.q_mmap_size = pages((uint64_t)SUB_CQS * *cqe * q.cq_entry_size),
		.cq_idx = cq->number,
		.db_off = CQ_DOORBELL,
		.db_mmap_key = key(MAP_CQ_DOORBELL, cq),
	};
	command_reply(command, &response, sizeof(response));
	return model_create_cq(cq, *cqe);
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct efa_ibv_create_qp_resp response;
	struct efa_ibv_create_qp d;
	int r;

	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_UD &&
	    (q->qp_type != IBV_QPT_DRIVER || d.driver_qp_type != EFA_QP_DRIVER_TYPE_SRD))
		return EOPNOTSUPP;
	qp->sq.entries = d.sq_ring_size / WQE;
	qp->sq.stride = WQE;
	qp->rq.entries = d.rq_ring_size / RECEIVE;
	qp->rq.stride = RECEIVE;
	r = model_create_datagram(qp, q->qp_type != IBV_QPT_UD);
	if (r)
		return r;
	response = (struct efa_ibv_create_qp_resp){
		.rq_db_offset = RQ_DOORBELL,
		.sq_db_offset = SQ_DOORBELL,
		.llq_desc_offset = LLQ_OFFSET,
		.rq_mmap_key = key(MAP_RQ, qp),
		.rq_mmap_size = pages(d.rq_ring_size),
		.rq_db_mmap_key = key(MAP_RQ_DOORBELL, qp),
		.sq_db_mmap_key = key(MAP_SQ_DOORBELL, qp),
		.llq_desc_mmap_key = key(MAP_LLQ, qp),
		.send_sub_cq_idx = 0,
		.recv_sub_cq_idx = 1,
	};
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	struct efa_ibv_create_ah_resp response = { .efa_address_handle = ah->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	static const char *const names[] = {
		"unknown", "cq", "cq-doorbell", "rq", "rq-doorbell", "sq-doorbell", "llq",
	};
	unsigned kind = offset >> 32;

	snprintf(ret_name, size, "%s%u-%s", kind <= MAP_CQ_DOORBELL ? "cq" : "qp",
		 (unsigned)(offset >> 16 & 0xffff), names[kind <= MAP_LLQ ? kind : 0]);
	return kind == MAP_CQ || kind == MAP_RQ ? REGION_MEMORY : REGION_REGISTERS;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	uint32_t ordinal = offset >> 16 & 0xffff;
	enum kind kind = offset >> 32;
	struct object *object = object_at(kind <= MAP_CQ_DOORBELL ? OBJECT_CQ : OBJECT_QP, ordinal);

	if (!object)
		return;
	switch (kind) {
	case MAP_CQ:
		object->ring.base = at;
		break;
	case MAP_CQ_DOORBELL:
		object->ring.record = (uint32_t *)((char *)at + CQ_DOORBELL);
		break;
	case MAP_RQ:
		object->rq.base = at;
		break;
	case MAP_RQ_DOORBELL:
		object->rq.record = (uint32_t *)((char *)at + RQ_DOORBELL);
		break;
	case MAP_SQ_DOORBELL:
		object->sq.record = (uint32_t *)((char *)at + SQ_DOORBELL);
		break;
	case MAP_LLQ:
		object->sq.base = (uint8_t *)at + LLQ_OFFSET;
		break;
	}
}

static void forget(struct queue *queue, const void *at)
{
	const void *page = (const void *)((uintptr_t)queue->record & ~(uintptr_t)(PAGE - 1));

	if (queue->base == at || queue->base == (const uint8_t *)at + LLQ_OFFSET)
		queue->base = NULL;
	if (page == at)
		queue->record = NULL;
}

static void unmapped(const void *at)
{
	struct object *object;

	for (uint32_t i = 0; i < object_count(OBJECT_CQ); i++) {
		object = object_at(OBJECT_CQ, i);
		if (object)
			forget(&object->ring, at);
	}
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		object = object_at(OBJECT_QP, i);
		if (object) {
			forget(&object->sq, at);
			forget(&object->rq, at);
		}
	}
}

static uint16_t get_16(const uint8_t *at)
{
	return at[0] | at[1] << 8;
}

static uint32_t get_32(const uint8_t *at)
{
	return get_16(at) | (uint32_t)get_16(at + 2) << 16;
}

/* A buffer: length, key, address in two halves. */
static struct ibv_sge sge_at(const uint8_t *at)
{
	return (struct ibv_sge){
		.length = get_32(at),
		.lkey = get_32(at + 4) & 0xffffff,
		.addr = get_32(at + 8) | (uint64_t)get_32(at + 12) << 32,
	};
}

static int read_buffers(const uint8_t *wqe, struct work *work)
{
	uint16_t length = get_16(wqe + 6);

	if (!(wqe[2] & INLINE)) {
		if (length > 2)
			return -EINVAL;
		for (int i = 0; i < length; i++)
			work->sge[i] = sge_at(wqe + 32 + 16 * i);
		work->wr.num_sge = length;
		return 0;
	}
	if (length > 32)
		return -EINVAL;
	memcpy(work->data, wqe + 32, length);
	work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = length };
	work->wr.num_sge = 1;
	work->wr.send_flags |= IBV_SEND_INLINE;
	return 0;
}

static int next_send(struct object *qp, struct work *work)
{
	uint16_t index = qp->sq.consumed;
	const struct object *ah;
	const uint8_t *wqe;

	if (!qp->sq.base || !qp->sq.record || (uint16_t)*qp->sq.record == index)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	wqe = qp->sq.base + (size_t)(index & (qp->sq.entries - 1)) * WQE;
	work->wr = (struct ibv_send_wr){ .sg_list = work->sge, .send_flags = IBV_SEND_SIGNALED };
	work->id = get_16(wqe);
	work->note = wqe[2] & 0xf;
	work->entries = 1;
	ah = object_by_number(OBJECT_AH, get_16(wqe + 12));
	/* Each round of the ring has the other phase; a request is one descriptor. */
	if ((wqe[2] & 0xf) != OP_SEND || (wqe[3] & 1) != (qp->sq.consumed / qp->sq.entries & 1) ||
	    !ah)
		return -EINVAL;
	work->address = ah->address;
	work->wr.opcode = wqe[2] & HAS_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	work->wr.imm_data = htobe32(get_32(wqe + 8));
	work->wr.wr.ud.remote_qpn = get_16(wqe + 4);
	work->wr.wr.ud.remote_qkey = get_32(wqe + 16);
	return read_buffers(wqe, work) ?: 1;
}

static int next_receive(struct object *qp, struct work *work)
{
	struct queue *rq = &qp->rq;
	const uint8_t *descriptor;
	uint32_t control;

	if (!rq->base || !rq->record || (uint16_t)*rq->record == (uint16_t)rq->consumed)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	work->wr.num_sge = 0;
	work->cursor = 0;
	for (work->entries = 0; work->entries < 16;) {
		descriptor =
			rq->base +
			(size_t)((rq->consumed + work->entries++) & (rq->entries - 1)) * RECEIVE;
		control = get_32(descriptor + 12);
		if (control & RECEIVE_FIRST)
			work->id = get_16(descriptor + 8);
		work->sge[work->wr.num_sge++] = (struct ibv_sge){
			.addr = get_32(descriptor) | (uint64_t)get_32(descriptor + 4) << 32,
			.length = get_16(descriptor + 10),
			.lkey = control & 0xffffff,
		};
		if (control & RECEIVE_LAST)
			return 1;
	}
	return -EINVAL;
}

/* The process tells little of what it has seen: a CQ is as large as its queues need. */
static uint32_t room(struct object *cq)
{
	return cq->ring.base ? cq->ring.entries : 0;
}

static uint8_t status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_WR_FLUSH_ERR:
		return 1;
	case IBV_WC_LOC_QP_OP_ERR:
		return 2;
	case IBV_WC_LOC_PROT_ERR:
		return 5;
	case IBV_WC_LOC_LEN_ERR:
		return 6;
	case IBV_WC_REM_ACCESS_ERR:
		return 7;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return 10;
	case IBV_WC_REM_INV_REQ_ERR:
		return 11;
	case IBV_WC_RESP_TIMEOUT_ERR:
		return 13;
	default:
		return 8;
	}
}

static void complete(struct object *cq, const struct completion *c)
{
	struct parts *parts = cq->device;
	uint32_t part = c->receive, n = parts->produced[part], first;
	uint8_t *at = cq->ring.base +
		      ((size_t)part * cq->ring.entries + n % cq->ring.entries) * cq->ring.stride;
	bool immediate = c->receive && c->wc->wc_flags & IBV_WC_WITH_IMM;
	uint16_t words[] = { c->qp->number, c->wc->byte_len, c->receive ? c->wc->slid : 0,
			     c->wc->src_qp };
	uint8_t cqe[32] = { 0 };

	if (!cq->ring.base)
		return;
	parts->produced[part]++;
	memcpy(cqe, &c->id, sizeof(c->id));
	cqe[2] = status_of(c->wc->status);
	cqe[3] = (~(n / cq->ring.entries) & 1) | (c->receive ? 2 : 1) << 1 | immediate << 3;
	memcpy(cqe + 4, words, c->receive ? sizeof(words) : sizeof(words[0]));
	if (immediate)
		memcpy(cqe + 12, &(uint32_t){ be32toh(c->wc->imm_data) }, sizeof(uint32_t));
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(at, cqe, cq->ring.stride);
		return;
	}
	memcpy(at + sizeof(first), cqe + sizeof(first), cq->ring.stride - sizeof(first));
	memcpy(&first, cqe, sizeof(first));
	__atomic_store_n((uint32_t *)at, first, __ATOMIC_RELEASE);
}

/* A register keeps the last store only, and a store that reports polling may follow a store that
 * arms at once. Both carry the number of events that the process has read. Therefore a CQ counts
 * as armed as long as no event is on its way. */
static bool armed(struct object *cq, struct arm *ret_arm)
{
	if (!cq->ring.record || (*cq->ring.record >> 29 & 3) != (cq->events & 3) ||
	    cq->arm_seen == cq->events + 1)
		return false;
	cq->arm_seen = cq->events + 1;
	*ret_arm = (struct arm){ .consumed = cq->announced };
	return true;
}

/* The request's id is the first word of what is stored in the send queue. */
static void stored(const char *name, size_t offset, const uint8_t *bytes, size_t length)
{
	struct object *qp;
	unsigned ordinal;

	if (sscanf(name, "qp%u-llq", &ordinal) != 1 || offset < LLQ_OFFSET || offset % WQE ||
	    length < 2)
		return;
	qp = object_at(OBJECT_QP, ordinal);
	if (qp)
		qp->sq.cursor = get_16(bytes);
}

/* A receive's id is in the n-th first descriptor. */
static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	if (!receive)
		return qp->sq.cursor;
	for (uint32_t i = 0; i < qp->rq.entries; i++) {
		const uint8_t *descriptor = qp->rq.base + (size_t)i * RECEIVE;

		if (get_32(descriptor + 12) & RECEIVE_FIRST && !index--)
			return get_16(descriptor + 8);
	}
	return 0;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return OP_SEND;
}

const struct device device_efa = {
	.name = "efa",
	.ibdev = "efa_0",
	.modalias = "pci:v00001D0Fd0000EFA1sv00001D0Fsd0000EFA1bc02sc00i00",
	.vendor_id = 0x1d0f,
	.part_id = 0xefa1,
	.abi_version = 1,
	.node_type = 7,
	.link_layer = IBV_LINK_LAYER_UNSPECIFIED,
	.short_numbers = true,
	.gid_base = 1, /* there is one GID, and datagrams come from the address of IPv4 */
	.fields = { [REQUEST_CONTEXT] = context_fields,
		    [REQUEST_CQ] = cq_fields,
		    [REQUEST_QP] = qp_fields },
	.get_context = get_context,
	.query_device = query_device,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.create_ah = create_ah,
	.region = region,
	.mapped = mapped,
	.unmapped = unmapped,
	.stored = stored,
	.next_send = next_send,
	.next_receive = next_receive,
	.room = room,
	.complete = complete,
	.armed = armed,
	.traced_id = traced_id,
	.traced_note = traced_note,
};
