/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ocrdma: what the kernel driver of Emulex's OneConnect answers. The queues are memory of the
 * kernel, which a process maps by their addresses. Each object has a page of doorbells of its own,
 * so that a store into another page is found. The real driver names the same page for all.
 *
 * "ocrdma" is a Skyhawk: it has shared receive queues and a page for requests of which the process
 * writes a copy, and the process clears completions. "ocrdma-gen1" is an older adapter, with other
 * doorbells and completions that have a phase bit.
 *
 * The driver always writes the number of an address handle into entry 0 of a table, even if the
 * process asks for another entry. With old-kernel in DEVICES_HOST it writes the entry that was
 * asked for.
 */
#include "tests/adapters/lab/device/ocrdma.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ocrdma-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	MAX_WR = 4095,
	CQES = 8192,
	CQES_TRACED = 256, /* so that a trace goes round */
	NUMBERS = 2048,	   /* of queue pairs that a completion can name */
	FIRST_TRACED = 0x20,
	AH_TABLE = 8192,
	AH_VLAN = 1u << 31,
	AH_TYPE_SHIFT = 29,
	DOORBELLS = 4096,
	DPP_CREDIT = 2,
	DPP_OFFSET = 3, /* offset in requests */
	PLACES = 4096,
	PLACE_SHIFT = 22,
	PLACE_FIRST = 0x10000000,
};

enum what {
	AH_ENTRIES,
	CQ_RING,
	SQ_RING,
	RQ_RING,
	REGISTERS,
};

static struct place {
	char name[24];
	struct object *object;
	enum what what;
} places[PLACES];
static uint64_t used;
/* The table of the context that was opened last. Domains remember it as their rq.base. */
static uint8_t *ah_table;
static const struct object *ahs[OC_AHS];

static const struct field cq_fields[] = {
	FIELD(ocrdma_create_cq_ureq, dpp_cq, 'x'),
	{ 0 },
};
static const struct field qp_fields[] = {
	FIELD(ocrdma_create_qp_ureq, enable_dpp_cq, 'x'),
	FIELD(ocrdma_create_qp_ureq, dpp_cq_id, 'x'),
	FIELD(ocrdma_create_qp_ureq, rsvd1, 's'),
	{ 0 },
};

static bool is_gen1(void)
{
	return device->part_id == 0xe220;
}

bool oc_changes_phase(void)
{
	return is_gen1();
}

/* Return the address of a new piece of memory. */
static uint64_t place_new(enum what what, struct object *object, const char *name)
{
	struct place *place = &places[used % PLACES];

	*place = (struct place){ .object = object, .what = what };
	snprintf(place->name, sizeof(place->name), "%s%s%s",
		 object ? object_name(object->type, object->handle) : "", object ? "-" : "", name);
	return PLACE_FIRST + (used++ << PLACE_SHIFT);
}

static struct place *place_find(uint64_t address)
{
	uint64_t n = (address - PLACE_FIRST) >> PLACE_SHIFT;

	return address < PLACE_FIRST || n >= used || address % (1 << PLACE_SHIFT)
		       ? NULL
		       : &places[n % PLACES];
}

static uint32_t whole_pages(size_t bytes)
{
	return (bytes + host_page() - 1) / host_page() * host_page();
}

static int get_context(struct command *command)
{
	struct ocrdma_alloc_ucontext_resp response = {
		.dev_id = 1,
		.wqe_size = OC_WQE,
		.max_inline_data = OC_INLINE,
		.dpp_wqe_size = 2 * OC_WQE,
		.ah_tbl_len = whole_pages(AH_TABLE),
		.rqe_size = OC_RQE,
		.fw_ver = "11.1.215.0",
	};

	used = 0;
	response.ah_tbl_page = place_new(AH_ENTRIES, NULL, "ah");
	command_reply(command, &response, sizeof(response));
	return 0;
}

static uint32_t cqes(void)
{
	return model_on() ? CQES : CQES_TRACED;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp = NUMBERS - FIRST_TRACED;
	attr->max_qp_wr = attr->max_srq_wr = MAX_WR;
	attr->max_sge = attr->max_srq_sge = OC_RECV_SGES;
	attr->max_sge_rd = OC_RECV_SGES;
	attr->max_cqe = cqes();
	attr->max_ah = OC_AHS;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->device_cap_flags |= IBV_DEVICE_MEM_MGT_EXTENSIONS;
	attr->device_cap_flags &=
		~(unsigned int)(IBV_DEVICE_XRC | IBV_DEVICE_MANAGED_FLOW_STEERING);
	if (is_gen1())
		attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	struct ocrdma_alloc_pd_uresp response = { .id = pd->number };
	uint64_t page;

	pd->rq.base = ah_table;
	if (!is_gen1()) {
		page = place_new(REGISTERS, pd, "dpp");
		response.dpp_enabled = 1;
		response.dpp_page_addr_hi = page >> 32;
		response.dpp_page_addr_lo = page;
	}
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct ocrdma_create_cq_uresp response = {
		.cq_id = 0x405 + cq->ordinal % 0x400,
		.num_pages = 1,
		.page_size = whole_pages((size_t)cqes() * OC_CQE),
		.max_hw_cqe = cqes(),
		.db_page_size = DOORBELLS,
		.phase_change = oc_changes_phase(),
	};
	int r;

	if (!*cqe || *cqe > cqes())
		return EINVAL;
	r = model_create_cq(cq, cqes());
	if (r)
		return r;
	cq->ring = (struct queue){ .entries = cqes(), .stride = OC_CQE };
	response.page_addr[0] = place_new(CQ_RING, cq, "ring");
	response.db_page_addr = place_new(REGISTERS, cq, "db");
	*cqe = 0; /* as the driver answers */
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	return !*cqe || *cqe > cqes() ? EINVAL : 0;
}

static bool is_number_used(uint32_t id)
{
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		const struct object *qp = object_at(OBJECT_QP, i);

		if (qp && qp->device && ((const struct oc_qp *)qp->device)->id == id)
			return true;
	}
	return false;
}

static uint32_t free_number(void)
{
	uint32_t id = FIRST_TRACED;

	while (is_number_used(id))
		id++;
	return id;
}

static int qp_check(const struct ib_uverbs_ex_create_qp *q)
{
	if ((q->qp_type != IBV_QPT_RC && q->qp_type != IBV_QPT_UC && q->qp_type != IBV_QPT_UD) ||
	    q->create_flags)
		return EOPNOTSUPP;
	return q->max_send_wr > MAX_WR || (!q->is_srq && q->max_recv_wr > MAX_WR) ||
			       q->max_send_sge > OC_SEND_SGES || q->max_recv_sge > OC_RECV_SGES ||
			       q->max_inline_data > OC_INLINE
		       ? EINVAL
		       : 0;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct ocrdma_create_qp_uresp response = {
		.db_page_size = DOORBELLS,
		.num_sq_pages = 1,
		.num_wqe_allocated = bytes_power_of_two(q->max_send_wr + 1),
		.db_sq_offset = is_gen1() ? 0x60 : 0x1c0,
		.db_rq_offset = is_gen1() ? 0xe0 : 0x100,
		.db_shift = is_gen1() ? 16 : 24,
	};
	int r = qp_check(q);
	struct oc_qp *oc;

	if (r)
		return r;
	if (!q->is_srq) {
		response.num_rqe_allocated = bytes_power_of_two(q->max_recv_wr + 1);
		response.num_rq_pages = 1;
	}
	r = model_create_qp(qp, q, response.num_wqe_allocated, response.num_rqe_allocated);
	if (r)
		return r;
	response.qp_id = free_number();
	oc = qp->device = calloc(1, sizeof(*oc));
	if (!oc || response.qp_id >= NUMBERS)
		return ENOMEM;
	oc->id = response.qp_id;
	if (!model_on())
		qp->number = oc->id;
	response.sq_dbid = oc->id + 0x400;
	response.rq_dbid = oc->id + 0x80;
	qp->sq = (struct queue){ .entries = response.num_wqe_allocated, .stride = OC_WQE };
	qp->rq = (struct queue){ .entries = response.num_rqe_allocated, .stride = OC_RQE };
	response.sq_page_size = whole_pages(qp->sq.entries * OC_WQE);
	response.sq_page_addr[0] = place_new(SQ_RING, qp, "sq");
	if (!q->is_srq) {
		response.rq_page_size = whole_pages(qp->rq.entries * OC_RQE);
		response.rq_page_addr[0] = place_new(RQ_RING, qp, "rq");
	}
	response.db_page_addr = place_new(REGISTERS, qp, "db");
	if (!is_gen1()) {
		response.dpp_credit = DPP_CREDIT;
		response.dpp_offset = DPP_OFFSET;
	}
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	uint32_t count = bytes_power_of_two(q->max_wr + 1);
	struct ocrdma_create_srq_uresp response = {
		.rq_dbid = 0x55 + srq->ordinal % 0x100,
		.rq_page_size = count * OC_RQE,
		.num_rq_pages = 1,
		.db_page_size = DOORBELLS,
		.num_rqe_allocated = count,
		.db_rq_offset = 0x100,
		.db_shift = 24,
	};
	int r;

	if (is_gen1() || q->srq_type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	if (q->max_wr > MAX_WR || q->max_sge > OC_RECV_SGES)
		return EINVAL;
	r = model_create_srq(srq, count, q->max_sge);
	if (r)
		return r;
	srq->rq = (struct queue){ .entries = count, .stride = OC_RQE };
	response.rq_page_addr[0] = place_new(RQ_RING, srq, "ring");
	response.db_page_addr = place_new(REGISTERS, srq, "db");
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	uint32_t id = 0, entry = host_is("old-kernel") ? q->dlid : 0;

	if (!q->is_global)
		return EINVAL;
	while (id < OC_AHS && ahs[id])
		id++;
	if (id == OC_AHS)
		return EAGAIN;
	ahs[id] = ah;
	if (!ah->pd->rq.base || entry >= AH_TABLE / sizeof(uint32_t))
		return EINVAL;
	id = htole32((model_on() ? id : (id + OC_AH_BASE) | AH_VLAN) | 1u << AH_TYPE_SHIFT);
	trace_device_writes(ah->pd->rq.base + entry * sizeof(id), &id, sizeof(id));
	return 0;
}

const struct object *oc_ah(uint32_t id)
{
	return id < OC_AHS ? ahs[id] : NULL;
}

static void destroy(struct object *object)
{
	for (uint32_t i = 0; object->type == OBJECT_AH && i < OC_AHS; i++)
		if (ahs[i] == object)
			ahs[i] = NULL;
	/* A process may still map what the object had. */
	for (uint32_t i = 0; i < PLACES; i++) {
		if (places[i].object != object)
			continue;
		places[i].object = NULL;
		places[i].what = REGISTERS;
	}
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	const struct place *place = place_find(offset);

	snprintf(ret_name, size, "%s", place ? place->name : "no address");
	return place && place->what == REGISTERS ? REGION_REGISTERS : REGION_MEMORY;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	struct place *place = place_find(offset);

	if (!place)
		return;
	switch (place->what) {
	case AH_ENTRIES:
		ah_table = length >= AH_TABLE ? at : NULL;
		break;
	case CQ_RING:
		place->object->ring.base = at;
		break;
	case SQ_RING:
		place->object->sq.base = at;
		oc_ring_clear(&place->object->sq);
		break;
	case RQ_RING:
		place->object->rq.base = at;
		oc_ring_clear(&place->object->rq);
		break;
	case REGISTERS:
		break;
	}
}

/* Forget memory at @at: the process has destroyed the object, or unmapped its memory. */
static void unmapped(const void *at)
{
	static const enum object_type types[] = { OBJECT_CQ, OBJECT_QP, OBJECT_SRQ };

	if (at == ah_table)
		ah_table = NULL;
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
	struct oc_qp *oc = qp->device;

	if (qp->state != IBV_QPS_RESET)
		return;
	oc->retired = 0;
	oc->failed = false;
	oc->looks = qp->sq.cursor = 0;
	oc_ring_clear(&qp->sq);
	oc_ring_clear(&qp->rq);
}

/* The store by which a process arms a CQ may be replaced by the next store, which reports polled
 * entries. Therefore a CQ counts as armed unless the process has an event to read. */
static bool armed(struct object *cq, struct arm *ret_arm)
{
	if (!cq->ring.base)
		return false;
	*ret_arm = (struct arm){ .consumed = cq->produced - oc_unread(cq) };
	return !event_is_unread(cq);
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

#define OCRDMA(id)                                                                                 \
	.ibdev = "ocrdma0", .modalias = "pci:v000010DFd0000" id "sv000010DFsd00000000bc02sc00i00", \
	.vendor_id = 0x10df, .driver_id = 7, .abi_version = OCRDMA_ABI_VERSION,                    \
	.node_type = IBV_NODE_CA, .loose_modify = true, .link_layer = IBV_LINK_LAYER_ETHERNET,     \
	.fields = { [REQUEST_CQ] = cq_fields, [REQUEST_QP] = qp_fields },                          \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,            \
	.create_cq = create_cq, .resize_cq = resize_cq, .create_qp = create_qp,                    \
	.create_srq = create_srq, .create_ah = create_ah, .modified = modified,                    \
	.destroy = destroy, .region = region, .mapped = mapped, .unmapped = unmapped,              \
	.next_send = oc_next_send, .next_receive = oc_next_receive, .room = oc_room,               \
	.entry = oc_entry, .complete = oc_complete, .armed = armed, .traced_id = oc_traced_id,     \
	.traced_note = traced_note

const struct device device_ocrdma = {
	.name = "ocrdma",
	.part_id = 0x0720,
	OCRDMA("0720"),
};

const struct device device_ocrdma_gen1 = {
	.name = "ocrdma-gen1",
	.part_id = 0xe220,
	OCRDMA("E220"),
};
