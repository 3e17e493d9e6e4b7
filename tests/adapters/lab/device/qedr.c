/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qedr: what the kernel driver of Marvell's FastLinQ adapters answers. The queues are memory of the
 * process, and a ring is as long as its pages. Doorbells go into one page. A process repeats each
 * of them in a page of the queue, so that the driver can ring again.
 *
 * "qedr" has RoCE. "qedr-dpm" also accepts requests through its registers, and "qedr-iwarp" does
 * this with iWARP. The model executes no such request, because a page of a queue does not show it.
 */
#include "tests/adapters/lab/device/qedr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/qedr-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	MAX_WR = 4096,
	MAX_CQE = 8191,
	LDPM_MOST = 8192,
	EDPM_PIECE = 64,
	EDPM_MOST = 256,
	OLD_CONTEXT = 40, /* bytes of the answer of Linux 5.4 */
	PAGES = 1 << 16,
	ICID_FIRST = 0x20,
	ICID_CQ = 7,
	MAP_DOORBELLS = 0x40000,
};
#define MAP_PAGES      0x10000000ull

#define F(member, how) FIELD(qedr_alloc_ucontext_req, member, how)
static const struct field context_fields[] = { F(context_flags, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(qedr_create_cq_ureq, member, how)
static const struct field cq_fields[] = { F(addr, 'p'), F(len, 'x'), { 0 } };
#undef F
/* A process chooses the value of qp_handle, which is an address in some libraries. */
#define F(member, how) FIELD(qedr_create_qp_ureq, member, how)
static const struct field qp_fields[] = {
	F(sq_addr, 'p'), F(sq_len, 'x'), F(rq_addr, 'p'), F(rq_len, 'x'), { 0 },
};
#undef F
#define F(member, how) FIELD(qedr_create_srq_ureq, member, how)
static const struct field srq_fields[] = {
	F(prod_pair_addr, 'p'),
	F(srq_addr, 'p'),
	F(srq_len, 'x'),
	{ 0 },
};
#undef F

/* Pages for doorbells, by their keys. */
static struct key {
	char name[24];
	struct object *object;
	struct qedr_page *page; /* the page in the object */
} keys[PAGES];
static uint32_t used;
static uint32_t granted; /* flags of the context's request */

static bool is_iwarp(void)
{
	return device->node_type == IBV_NODE_RNIC;
}

/* Return the key of a page that the process maps. 0: the driver rings no doorbells again. */
static uint64_t page_key(struct object *object, struct qedr_page *page, const char *what)
{
	struct key *key = &keys[used % PAGES];

	if (!(granted & QEDR_ALLOC_UCTX_DB_REC) || host_is("old-kernel"))
		return 0;
	*key = (struct key){ .object = object, .page = page };
	snprintf(key->name, sizeof(key->name), "%s-%s", object_name(object->type, object->handle),
		 what);
	return MAP_PAGES + (uint64_t)(used++ % PAGES) * host_page();
}

static int get_context(struct command *command)
{
	struct qedr_alloc_ucontext_resp response = {
		.db_pa = MAP_DOORBELLS,
		.db_size = host_page(),
		.max_send_wr = MAX_WR,
		.max_recv_wr = MAX_WR,
		.max_srq_wr = MAX_WR,
		.sges_per_send_wr = QEDR_SEND_SGES,
		.sges_per_recv_wr = QEDR_RECV_SGES,
		.sges_per_srq_wr = QEDR_RECV_SGES,
		.max_cqes = MAX_CQE,
	};
	struct qedr_alloc_ucontext_req q;

	command_request(command, &q, sizeof(q));
	granted = q.context_flags;
	if (is_iwarp())
		response.dpm_flags = QEDR_DPM_TYPE_IWARP_LEGACY;
	else if (device == &device_qedr_dpm)
		response.dpm_flags = QEDR_DPM_TYPE_ROCE_ENHANCED | QEDR_DPM_TYPE_ROCE_LEGACY |
				     (host_is("old-firmware") ? 0 : QEDR_DPM_TYPE_ROCE_EDPM_MODE);
	if (granted & QEDR_SUPPORT_DPM_SIZES) {
		response.dpm_flags |= QEDR_DPM_SIZES_SET;
		response.ldpm_limit_size = LDPM_MOST;
		response.edpm_trans_size = EDPM_PIECE;
		response.edpm_limit_size = EDPM_MOST;
	}
	command_reply(command, &response, host_answer(sizeof(response), OLD_CONTEXT));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	struct ibv_device_attr backend;

	attr->max_qp_wr = attr->max_srq_wr = MAX_WR;
	attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = QEDR_RECV_SGES;
	attr->max_cqe = MAX_CQE;
	attr->device_cap_flags &=
		~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_UD_IP_CSUM);
	if (is_iwarp())
		attr->device_cap_flags &= ~IBV_DEVICE_XRC;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach = 0;
	if (!model_on())
		return 0;
	model_query_device(&backend);
	if (attr->max_qp_wr > backend.max_qp_wr)
		attr->max_qp_wr = backend.max_qp_wr;
	if (attr->max_cqe > backend.max_cqe)
		attr->max_cqe = backend.max_cqe;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct qedr_alloc_pd_uresp response = { .pd_id = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static struct queue ring_of(uint64_t address, uint64_t bytes, uint32_t stride)
{
	return (struct queue){
		.base = bytes_pointer(address),
		.entries = bytes / stride,
		.stride = stride,
	};
}

static bool is_ring(uint64_t address, uint64_t bytes, uint64_t least)
{
	return address && !(address % host_page()) && bytes >= least && bytes <= UINT32_MAX;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct qedr_create_cq_uresp response = { .db_offset = QEDR_DB_CQ,
						 .icid = ICID_CQ + cq->ordinal };
	struct qedr_played_cq *played = calloc(1, sizeof(*played));
	struct qedr_create_cq_ureq q;
	int r;

	if (!played)
		return ENOMEM;
	cq->device = played;
	command_request(command, &q, sizeof(q));
	if (!*cqe || *cqe > MAX_CQE || !is_ring(q.addr, q.len, (*cqe + 1ull) * QEDR_CQE))
		return EINVAL;
	cq->ring = ring_of(q.addr, q.len, QEDR_CQE);
	*cqe = cq->ring.entries;
	r = model_create_cq(cq, *cqe);
	if (r)
		return r;
	trace_watch_object(cq, "ring", cq->ring.base, q.len);
	response.db_rec_addr = page_key(cq, &played->page, "page");
	command_reply(command, &response, sizeof(response));
	return 0;
}

uint16_t qedr_send_icid(const struct object *qp)
{
	return ((struct qedr_played_qp *)qp->device)->icid + (is_iwarp() ? 0 : 1);
}

static int is_too_much(const struct ib_uverbs_ex_create_qp *q)
{
	bool xrc = q->qp_type == IBV_QPT_XRC_SEND || q->qp_type == IBV_QPT_XRC_RECV;

	if ((q->qp_type != IBV_QPT_RC && (!xrc || is_iwarp())) || q->create_flags)
		return EOPNOTSUPP;
	return q->max_send_wr > MAX_WR || q->max_inline_data > QEDR_INLINE ||
			       q->max_send_sge > QEDR_RECV_SGES || q->max_recv_sge > QEDR_RECV_SGES
		       ? EINVAL
		       : 0;
}

static int rings_take(struct object *qp, const struct qedr_create_qp_ureq *d)
{
	struct qedr_played_qp *played = qp->device;
	bool sends = qp->qp_type != IBV_QPT_XRC_RECV, receives = qp->qp_type == IBV_QPT_RC;

	if (sends && !is_ring(d->sq_addr, d->sq_len, QEDR_ELEMENT * QEDR_SEND_ELEMENTS))
		return EINVAL;
	if (receives && !qp->srq && !is_ring(d->rq_addr, d->rq_len, QEDR_ELEMENT * QEDR_RECV_SGES))
		return EINVAL;
	qp->sq = ring_of(d->sq_addr, sends ? d->sq_len : 0, QEDR_ELEMENT);
	qp->rq = ring_of(d->rq_addr, receives && !qp->srq ? d->rq_len : 0, QEDR_ELEMENT);
	played->cookie = (uint64_t)d->qp_handle_hi << 32 | d->qp_handle_lo;
	played->unused = calloc(qp->sq.entries + 1, sizeof(*played->unused));
	return played->unused ? 0 : ENOMEM;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct qedr_played_qp *played = calloc(1, sizeof(*played));
	struct qedr_create_qp_uresp response = {
		.atomic_supported = !is_iwarp(),
		.sq_db_offset = QEDR_DB_SQ,
		.rq_db_offset = is_iwarp() ? QEDR_DB_RQ_IWARP : QEDR_DB_RQ,
		.rq_db2_offset = is_iwarp() ? QEDR_DB_RQ_FLAGS : 0,
	};
	struct qedr_create_qp_ureq d;
	int r = is_too_much(q);

	if (!played)
		return ENOMEM;
	qp->device = played;
	command_request(command, &d, sizeof(d));
	if (!r)
		r = rings_take(qp, &d);
	if (!r)
		r = model_create_qp(qp, q, qp->sq.entries / 2, qp->rq.entries);
	if (r) {
		free(played->unused);
		return r;
	}
	played->icid = ICID_FIRST + 2 * qp->ordinal;
	if (!model_on())
		qp->number = played->icid;
	response.qp_id = qp->number;
	response.rq_icid = played->icid;
	response.sq_icid = qedr_send_icid(qp);
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * QEDR_ELEMENT);
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * QEDR_ELEMENT);
	if (qp->sq.entries)
		response.sq_db_rec_addr = page_key(qp, &played->sq, "sq");
	if (qp->rq.entries)
		response.rq_db_rec_addr = page_key(qp, &played->rq, "rq");
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* A reset begins with request 0. A process writes its pages only when it posts. */
static void modified(struct object *qp, struct command *command)
{
	struct qedr_played_qp *played = qp->device;

	if (qp->state != IBV_QPS_RESET || !played)
		return;
	played->read = played->traced = (struct qedr_position){ 0 };
	if (model_on() && played->sq.word)
		*played->sq.word = 0;
	if (model_on() && played->rq.word)
		*played->rq.word = 0;
}

/* Addresses and sizes of packets belong to the kernel's connections with iWARP. */
static int transition(struct object *qp, struct ib_uverbs_modify_qp *q, struct command *command)
{
	return is_iwarp() && q->attr_mask & (IBV_QP_AV | IBV_QP_PATH_MTU) ? EINVAL : 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct qedr_played_srq *played = calloc(1, sizeof(*played));
	struct qedr_create_srq_uresp response = { 0 };
	struct qedr_create_srq_ureq d;
	int r;

	if (!played)
		return ENOMEM;
	srq->device = played;
	command_request(command, &d, sizeof(d));
	if (!q->max_wr || q->max_wr > MAX_WR || !d.prod_pair_addr || d.prod_pair_addr % 8 ||
	    !is_ring(d.srq_addr, d.srq_len, (uint64_t)q->max_wr * QEDR_ELEMENT))
		return EINVAL;
	srq->rq = ring_of(d.srq_addr, d.srq_len, QEDR_ELEMENT);
	played->pair = bytes_pointer(d.prod_pair_addr);
	r = model_create_srq(srq, q->max_wr, QEDR_RECV_SGES);
	if (r)
		return r;
	if (!srq->xrcd || !model_on())
		srq->number = srq->ordinal + 5;
	srq->number %= MODEL_SHORT_SRQS;
	trace_watch_object(srq, "ring", srq->rq.base, d.srq_len);
	trace_watch_object(srq, "pair", (const void *)played->pair, 8);
	response.srq_id = srq->number;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void destroy(struct object *object)
{
	struct qedr_played_qp *played = object->device;

	for (uint32_t i = 0; i < PAGES; i++)
		if (keys[i].object == object)
			keys[i].object = NULL;
	if (object->type == OBJECT_QP && played)
		free(played->unused);
}

static struct key *key_find(uint64_t offset)
{
	uint64_t n = (offset - MAP_PAGES) / host_page();

	return offset >= MAP_PAGES && n < used && n < PAGES ? &keys[n] : NULL;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	const struct key *key = key_find(offset);

	if (key) {
		snprintf(ret_name, size, "%s", key->name);
		return REGION_MEMORY;
	}
	snprintf(ret_name, size, "%s", offset == MAP_DOORBELLS ? "doorbells" : "no key");
	return REGION_REGISTERS;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	struct key *key = key_find(offset);

	if (key && key->object)
		key->page->word = at;
}

/* Forget a page that the process has unmapped before the object goes. */
static void unmapped(const void *at)
{
	for (uint32_t i = 0; i < used && i < PAGES; i++)
		if (keys[i].object && keys[i].page->word == at)
			keys[i].page->word = NULL;
}

/* Return the number of a request. Only receives of an SRQ complete in any order. */
static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return index;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

#define QEDR                                                                                    \
	.ibdev = "qedr0", .modalias = "pci:v00001077d00008070sv00001077sd00000000bc02sc00i00",  \
	.vendor_id = 0x1077, .part_id = 0x8070, .abi_version = QEDR_ABI_VERSION,                \
	.loose_modify = true, .short_srq_numbers = true, .link_layer = IBV_LINK_LAYER_ETHERNET, \
	.fields = { [REQUEST_CONTEXT] = context_fields,                                         \
		    [REQUEST_CQ] = cq_fields,                                                   \
		    [REQUEST_QP] = qp_fields,                                                   \
		    [REQUEST_SRQ] = srq_fields },                                               \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,         \
	.create_cq = create_cq, .create_qp = create_qp, .transition = transition,               \
	.modified = modified, .create_srq = create_srq, .destroy = destroy, .region = region,   \
	.mapped = mapped, .unmapped = unmapped, .stored = qedr_stored,                          \
	.next_send = qedr_next_send, .next_receive = qedr_next_receive, .room = qedr_room,      \
	.entry = qedr_entry, .complete = qedr_complete, .armed = qedr_armed,                    \
	.ignored = qedr_ignored, .undefined = qedr_undefined, .traced_id = traced_id,           \
	.traced_note = traced_note

const struct device device_qedr = {
	.name = "qedr",
	.node_type = IBV_NODE_CA,
	QEDR,
};

const struct device device_qedr_dpm = {
	.name = "qedr-dpm",
	.node_type = IBV_NODE_CA,
	QEDR,
};

const struct device device_qedr_iwarp = {
	.name = "qedr-iwarp",
	.node_type = IBV_NODE_RNIC,
	QEDR,
};
