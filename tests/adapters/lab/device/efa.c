/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * efa: datagrams, plain (UD) and reliable (SRD). Every queue is mapped from the device; the send
 * queue is device memory. All numbers are little-endian.
 */
#include "tests/adapters/lab/device/efa_ring.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/efa-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	LLQ_OFFSET = 0x200,
	RQ_DOORBELL = 0x10,
	SQ_DOORBELL = 0x20,
	CQ_DOORBELL = 0x40,
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
	return (bytes + host_page() - 1) & ~(uint64_t)(host_page() - 1);
}

static int get_context(struct command *command)
{
	struct efa_ibv_alloc_ucontext_resp response = {
		.cmds_supp_udata_mask =
			EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE | EFA_USER_CMDS_SUPP_UDATA_CREATE_AH,
		.sub_cqs_per_cq = EFA_SUB_CQS,
		.inline_buf_size = 32,
		.max_llq_size = 65536,
		.max_tx_batch = 64,
		.min_sq_wr = 16,
	};

	command_reply(command, &response,
		      host_answer(sizeof(response),
				  offsetof(struct efa_ibv_alloc_ucontext_resp, max_tx_batch)));
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

	if (host_is("all-capabilities")) {
		response.device_caps |= EFA_QUERY_DEVICE_CAPS_RDMA_READ |
					EFA_QUERY_DEVICE_CAPS_RDMA_WRITE |
					EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID |
					EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV |
					EFA_QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID;
		response.max_rdma_size = 1 << 20;
	}
	attr->max_sge_rd = host_is("all-capabilities");
	attr->max_qp = 256;
	attr->max_qp_wr = 1024; /* the shorter one of both rings, as the driver reports it */
	attr->max_sge = 2;
	attr->hw_ver = 0xefa1;
	attr->max_mr_size = 1ull << 32;
	attr->max_cqe = 8192;
	/* The driver of Linux leaves what belongs to RDMA reads and atomics at 0. */
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = attr->max_res_rd_atom = 0;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = attr->max_mw = 0;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->device_cap_flags = 0;
	command_reply(command, &response,
		      host_answer(sizeof(response),
				  offsetof(struct efa_ibv_ex_query_device_resp, max_rdma_size)));
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
	if ((q.cq_entry_size != 16 && q.cq_entry_size != 32) || q.num_sub_cqs != EFA_SUB_CQS ||
	    !*cqe)
		return EINVAL;
	cq->device = calloc(1, sizeof(struct efa_parts));
	if (!cq->device)
		return ENOMEM;
	cq->ring.entries = *cqe;
	cq->ring.stride = q.cq_entry_size;
	response = (struct efa_ibv_create_cq_resp){
		.comp_mask = host_answer(EFA_CREATE_CQ_RESP_DB_OFF, 0),
		.q_mmap_key = key(MAP_CQ, cq),
		.q_mmap_size = pages((uint64_t)EFA_SUB_CQS * *cqe * q.cq_entry_size),
		.cq_idx = cq->number,
		.db_off = CQ_DOORBELL,
		.db_mmap_key = key(MAP_CQ_DOORBELL, cq),
	};
	command_reply(
		command, &response,
		host_answer(sizeof(response), offsetof(struct efa_ibv_create_cq_resp, db_off)));
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
	qp->sq.entries = d.sq_ring_size / EFA_WQE;
	qp->sq.stride = EFA_WQE;
	qp->rq.entries = d.rq_ring_size / EFA_RECEIVE;
	qp->rq.stride = EFA_RECEIVE;
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

static int next_send(struct object *qp, struct work *work)
{
	const struct object *ah;
	uint16_t number;
	int r = efa_ring_next_send(qp, work, &number);

	if (r <= 0)
		return r;
	ah = object_by_number(OBJECT_AH, number);
	if (!ah)
		return -EINVAL;
	work->address = ah->address;
	return r;
}

/* The process rarely reports which completions it has seen. Therefore a CQ is as large as its
 * queues need. */
static uint32_t room(struct object *cq)
{
	return cq->ring.base ? cq->ring.entries : 0;
}

static void complete(struct object *cq, const struct completion *c)
{
	uint8_t cqe[EFA_CQE], *at;

	if (!cq->ring.base)
		return;
	at = efa_ring_completion(cq, c, cqe);
	if (model_on())
		efa_ring_write(at, cqe, cq->ring.stride);
	else
		trace_device_writes(at, cqe, cq->ring.stride);
}

/* The request's id is the first word of what is stored in the send queue. */
static void stored(const char *name, size_t offset, const uint8_t *bytes, size_t length)
{
	struct object *qp;
	unsigned ordinal;

	if (sscanf(name, "qp%u-llq", &ordinal) != 1 || offset < LLQ_OFFSET || offset % EFA_WQE ||
	    length < 2)
		return;
	qp = object_at(OBJECT_QP, ordinal);
	if (qp)
		qp->sq.cursor = bytes_le16(bytes);
}

/* Return the id of receive number @index, which is in the first descriptor of the receive. */
static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	if (!receive)
		return qp->sq.cursor;
	for (uint32_t i = 0; i < qp->rq.entries; i++) {
		const uint8_t *descriptor = qp->rq.base + (size_t)i * EFA_RECEIVE;

		if (bytes_le32(descriptor + 12) & EFA_RECEIVE_FIRST && !index--)
			return bytes_le16(descriptor + 8);
	}
	return 0;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return EFA_OP_SEND;
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
	.next_receive = efa_ring_next_receive,
	.room = room,
	.complete = complete,
	.armed = efa_ring_armed,
	.traced_id = traced_id,
	.traced_note = traced_note,
};
