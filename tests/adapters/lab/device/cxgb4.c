/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cxgb4: what the kernel driver of Chelsio's adapters answers. The queues are memory of the kernel
 * or of the adapter, which a process maps by keys: a key is valid once, and for one length.
 *
 * "cxgb4" is a T6 with iWARP, "cxgb4-t5" a T5, and "cxgb4-t4" a T4, which has completions of 32
 * bytes and send queues in its own memory. "cxgb4-verbs" is a T6 whose queue pairs are connected by
 * verbs. Run mode needs it, because the backend makes connections as RoCE does. No such adapter
 * exists.
 */
#include "tests/adapters/lab/device/cxgb4.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/cxgb4-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	MAX_WR = 8188,
	MAX_CQE = 65518,
	MAX_INLINE = 280,
	MAX_SEND_SGE = 17,
	MAX_RECV_SGE = 4,
	NUMBERS = 1 << 20, /* of queue pairs that a completion can name */
	QUEUES = 1 << 15,
	FIRST_NUMBER = 0x400,
	KEYS = 4096,
	WORKAROUND = 128, /* bytes behind a send queue for a workaround of on-chip queues */
};

enum what {
	STATUS,
	CQ_RING,
	SQ_RING,
	RQ_RING,
	SRQ_RING,
	REGISTERS,
};

static struct key {
	char name[24];
	struct object *object;
	enum what what;
	size_t length;
} keys[KEYS];
static uint64_t used;

/* In traces the next queue pair gets the number of the one that was destroyed last. */
static uint32_t free_number;

static const struct field cq_fields[] = { FIELD(c4iw_create_cq, flags, 'x'), { 0 } };

static uint64_t key_of(enum what what, struct object *object, size_t length, const char *name)
{
	struct key *key = &keys[used % KEYS];

	*key = (struct key){ .object = object, .what = what, .length = length };
	snprintf(key->name, sizeof(key->name), "%s%s%s",
		 object ? object_name(object->type, object->handle) : "", object ? "-" : "", name);
	return used++ * host_page();
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + host_page() - 1) / host_page() * host_page();
}

static int get_context(struct command *command)
{
	struct c4iw_alloc_ucontext_resp response = { 0 };

	used = 0;
	if (!host_is("no-status-page")) {
		response.status_page_key = key_of(STATUS, NULL, host_page(), "status");
		response.status_page_size = host_page();
	}
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	const unsigned int lacks = IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				   IBV_DEVICE_XRC | IBV_DEVICE_MANAGED_FLOW_STEERING;

	attr->max_qp = attr->max_cq = QUEUES;
	attr->max_qp_wr = attr->max_srq_wr = MAX_WR;
	attr->max_sge = MAX_RECV_SGE;
	attr->max_sge_rd = 1;
	attr->max_cqe = MAX_CQE;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->device_cap_flags &= ~lacks;
	attr->max_mw = attr->max_ah = 0;
	attr->max_srq_sge = MAX_RECV_SGE;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach = 0;
	if (device->part_id >> 12 < 6)
		attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct c4iw_alloc_pd_resp response = { .pdid = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static uint32_t qid_mask(void)
{
	return cx_is_t4() ? UINT32_MAX : 0x3f;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	uint32_t entries = (*cqe + 2 + 15) / 16 * 16, ring = 2 * entries;
	struct c4iw_create_cq_resp response = { .qid_mask = qid_mask() };
	struct c4iw_create_cq q;
	bool is_small;
	int r;

	command_request(command, &q, sizeof(q));
	if (*cqe < 1 || *cqe > MAX_CQE || q.flags & ~(uint32_t)C4IW_64B_CQE)
		return EINVAL;
	is_small = cx_is_t4() || !(q.flags & C4IW_64B_CQE);
	ring = ring < 64 ? 64 : ring > 65520 ? 65520 : ring;
	r = model_create_cq(cq, entries);
	if (r)
		return r;
	response.cqid = 2 * cq->ordinal + FIRST_NUMBER + 5;
	response.size = ring - 1;
	response.flags = is_small ? 0 : C4IW_64B_CQE;
	cq->ring.stride = is_small ? 32 : 64;
	cq->ring.entries = response.size;
	response.memsize = whole_pages((size_t)ring * cq->ring.stride);
	response.key = key_of(CQ_RING, cq, response.memsize, "queue");
	response.gts_key = key_of(REGISTERS, cq, host_page(), "gts");
	*cqe = entries - 2;
	command_reply(command, &response,
		      is_small ? offsetof(struct c4iw_create_cq_resp, flags) : sizeof(response));
	return 0;
}

static int is_too_much(const struct ib_uverbs_ex_create_qp *q)
{
	if (q->qp_type != IBV_QPT_RC || q->create_flags)
		return EOPNOTSUPP;
	if (q->max_send_wr > MAX_WR || (q->max_recv_wr > MAX_WR && !q->is_srq))
		return E2BIG;
	return q->max_inline_data > MAX_INLINE ? EINVAL : 0;
}

static uint32_t at_least_8(uint32_t wrs)
{
	return wrs + 1 < 8 ? 8 : wrs + 1;
}

/* Give out the keys of a queue pair, in the driver's order. */
static void qp_keys(struct object *qp, struct c4iw_create_qp_resp *response)
{
	if (response->flags & C4IW_QPF_ONCHIP)
		response->ma_sync_key = key_of(REGISTERS, qp, host_page(), "ma_sync");
	response->sq_key = key_of(SQ_RING, qp, response->sq_memsize, "sq");
	if (response->rq_size)
		response->rq_key = key_of(RQ_RING, qp, response->rq_memsize, "rq");
	response->sq_db_gts_key = key_of(REGISTERS, qp, host_page(), "sqdb");
	if (response->rq_size)
		response->rq_db_gts_key = key_of(REGISTERS, qp, host_page(), "rqdb");
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	uint32_t sq = at_least_8(q->max_send_wr), rq = q->is_srq ? 0 : at_least_8(q->max_recv_wr);
	uint32_t number = FIRST_NUMBER + 2 * (qp->ordinal % QUEUES);
	struct c4iw_create_qp_resp response = { .sq_size = sq, .rq_size = rq };
	struct cx_qp *cx;
	int r = is_too_much(q);

	if (!r)
		r = model_create_qp(qp, q, sq, rq);
	if (r)
		return r;
	cx = qp->device = calloc(1, sizeof(*cx) + sq * CX_SEND_SLOTS * sizeof(cx->unused[0]));
	if (!cx)
		return ENOMEM;
	if (!model_on())
		qp->number = free_number ? free_number : number;
	free_number = 0;
	number = cx->number = qp->number % NUMBERS;
	cx->on_chip = cx_is_t4();
	qp->sq = (struct queue){ .entries = sq * CX_SEND_SLOTS, .stride = CX_SLOT };
	qp->rq = (struct queue){ .entries = rq * CX_RECV_SLOTS, .stride = CX_SLOT };
	response.sqid = number;
	response.rqid = rq ? number + 1 : 0;
	response.qid_mask = qid_mask();
	response.flags = cx->on_chip ? C4IW_QPF_ONCHIP : C4IW_QPF_WRITE_W_IMM;
	response.sq_memsize = whole_pages(sq * CX_SEND_SLOTS * CX_SLOT + 320 + WORKAROUND);
	response.rq_memsize = rq ? whole_pages(rq * CX_RECV_SLOTS * CX_SLOT + 128) : 0;
	qp_keys(qp, &response);
	q->max_send_wr = sq - 1;
	q->max_recv_wr = rq - 1; /* UINT32_MAX with an SRQ, as the driver answers */
	q->max_inline_data = MAX_INLINE;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	uint32_t size = bytes_power_of_two(q->max_wr + 1 < 16 ? 16 : q->max_wr + 1);
	struct c4iw_create_srq_resp response = {
		.srqid = 2 * srq->ordinal + FIRST_NUMBER + 0x81,
		.srq_size = size,
		.rqt_abs_idx = CX_SRQ_FIRST,
		.qid_mask = qid_mask(),
	};
	int r;

	if (device->part_id >> 12 < 6)
		return EINVAL;
	if (q->srq_type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	if (q->max_wr > MAX_WR || q->max_sge > MAX_RECV_SGE)
		return E2BIG;
	r = model_create_srq(srq, size, q->max_sge);
	if (r)
		return r;
	srq->rq = (struct queue){ .entries = size * CX_RECV_SLOTS, .stride = CX_SLOT };
	response.srq_memsize = whole_pages(size * CX_RECV_SLOTS * CX_SLOT + CX_STATUS_BYTES);
	response.srq_key = key_of(SRQ_RING, srq, response.srq_memsize, "queue");
	response.srq_db_gts_key = key_of(REGISTERS, srq, host_page(), "db");
	q->max_wr = size - 1;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void destroy(struct object *object)
{
	if (object->type == OBJECT_QP && object->device)
		free_number = ((struct cx_qp *)object->device)->number;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	const struct key *key = &keys[offset / host_page() % KEYS];

	if (offset % host_page() || offset / host_page() >= used || key->length != length)
		snprintf(ret_name, size, "no key");
	else
		snprintf(ret_name, size, "%s", key->name);
	return key->what == REGISTERS ? REGION_REGISTERS : REGION_MEMORY;
}

/* Write the status page of the device: the ranges of numbers, whether the kernel rings doorbells,
 * and whether the firmware executes a write and a send in one request, which run mode cannot. */
static void status_write(uint8_t *page)
{
	const uint64_t numbers[] = { FIRST_NUMBER, NUMBERS - FIRST_NUMBER, FIRST_NUMBER,
				     NUMBERS - FIRST_NUMBER };
	const uint8_t bytes[2] = { host_is("kernel-doorbells"),
				   !model_on() && device->part_id >> 12 == 6 };

	trace_device_writes(page + 8, numbers, sizeof(numbers));
	trace_device_writes(page, bytes, sizeof(bytes));
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	struct key *key = &keys[offset / host_page() % KEYS];

	if (offset / host_page() >= used || key->length != length)
		return;
	switch (key->what) {
	case STATUS:
		status_write(at);
		break;
	case CQ_RING:
		key->object->ring.base = at;
		break;
	case SQ_RING:
		key->object->sq.base = at;
		break;
	case RQ_RING:
	case SRQ_RING:
		key->object->rq.base = at;
		break;
	case REGISTERS:
		break;
	}
}

/* Forget memory at @at: the process has destroyed the object, or unmapped its memory. */
static void unmapped(const void *at)
{
	static const enum object_type types[] = { OBJECT_CQ, OBJECT_QP, OBJECT_SRQ };

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		for (uint32_t i = 0; i < object_count(types[t]); i++) {
			struct object *object = object_at(types[t], i);

			if (object && object->ring.base == at)
				object->ring.base = NULL;
			if (object && object->sq.base == at)
				object->sq.base = NULL;
			if (object && object->rq.base == at)
				object->rq.base = NULL;
		}
	}
}

static void modified(struct object *qp, struct command *command)
{
	struct cx_qp *cx = qp->device;

	if (qp->state == IBV_QPS_RESET) {
		cx->received = cx->seen = cx->index = 0;
		cx->told = cx->erring = false;
	}
	if (qp->state != IBV_QPS_ERR)
		return;
	if (model_on())
		cx->erring = true;
	else
		cx_tell(qp);
}

static void tick(void)
{
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);
		struct cx_qp *cx = qp ? qp->device : NULL;

		if (cx && cx->erring && !cx->told)
			cx_tell(qp);
	}
}

/* A process arms a CQ by a store into the register that also has how far it has read. Therefore a
 * CQ counts as armed unless the process has an event to read. */
static bool armed(struct object *cq, struct arm *ret_arm)
{
	if (!cq->ring.base)
		return false;
	*ret_arm = (struct arm){ .consumed = cq->produced - cx_unread(cq) };
	return !event_is_unread(cq);
}

/* Return the index by which a completion names a request. Only receives of an SRQ have one. */
static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	if (receive)
		return qp->srq ? index % (qp->srq->rq.entries / CX_RECV_SLOTS) : 0;
	return index % (qp->sq.entries / CX_SEND_SLOTS);
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return opcode;
}

#define CXGB4(id)                                                                                  \
	.ibdev = "cxgb4_0", .modalias = "pci:v00001425d0000" id "sv00001425sd00000000bc02sc00i00", \
	.vendor_id = 0x1425, .abi_version = 3, .loose_modify = true,                               \
	.link_layer = IBV_LINK_LAYER_ETHERNET, .fields = { [REQUEST_CQ] = cq_fields },             \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,            \
	.create_cq = create_cq, .create_qp = create_qp, .create_srq = create_srq,                  \
	.modified = modified, .destroy = destroy, .region = region, .mapped = mapped,              \
	.unmapped = unmapped, .stored = cx_stored, .tick = tick, .next_send = cx_next_send,        \
	.next_receive = cx_next_receive, .room = cx_room, .entry = cx_entry,                       \
	.complete = cx_complete, .armed = armed, .ignored = cx_ignored, .undefined = cx_undefined, \
	.traced_id = traced_id, .traced_note = traced_note

const struct device device_cxgb4 = {
	.name = "cxgb4",
	.node_type = IBV_NODE_RNIC,
	.part_id = 0x6401,
	CXGB4("6401"),
};

const struct device device_cxgb4_t5 = {
	.name = "cxgb4-t5",
	.node_type = IBV_NODE_RNIC,
	.part_id = 0x5401,
	CXGB4("5401"),
};

const struct device device_cxgb4_t4 = {
	.name = "cxgb4-t4",
	.node_type = IBV_NODE_RNIC,
	.part_id = 0x4401,
	CXGB4("4401"),
};

const struct device device_cxgb4_verbs = {
	.name = "cxgb4-verbs",
	.node_type = IBV_NODE_CA,
	.part_id = 0x6401,
	CXGB4("6401"),
};
