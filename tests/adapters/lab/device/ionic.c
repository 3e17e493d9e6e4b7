/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ionic: the answers of the kernel driver of AMD Pensando's adapters. "ionic" has the second
 * version of requests and two pipelines, and holds copies of queues in memory of the device. A
 * copied request can contain its doorbell. "ionic-v1" has the first version, one pipeline, and no
 * such memory.
 */
#include "tests/adapters/lab/device/ionic.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	MAX_WR = 65535,
	MAX_SGE = 16,
	SGE = 16, /* bytes */
	MAX_CQE = 65535 - 100,
	CQ_SPARE = 100,
	STRIDE_MAX = 9, /* binary logarithm */
	OPCODES = 11,
	OLD_CONTEXT = 32, /* bytes of an answer without the clock */
	DOORBELLS_IN_PAGE = 0x80,
	SECOND_RING = 0x800000, /* bit in the number of the second pipeline's completion ring */
	MAP_DOORBELLS = 0x10000,
	MAP_CLOCK = 0x20000,
	MAP_COPIES_SHIFT = 24, /* offset of the first queue pair's copies */
	MAP_RECEIVES_SHIFT = 23,
	CLOCK_MULT = 1 << 20,
	CLOCK_SHIFT = 20,
};

#define Q(member)                                                                     \
	FIELD(ionic_cq_req, member.addr, 'p'), FIELD(ionic_cq_req, member.size, 'x'), \
		FIELD(ionic_cq_req, member.mask, 'x'),                                \
		FIELD(ionic_cq_req, member.depth_log2, 'x'),                          \
		FIELD(ionic_cq_req, member.stride_log2, 'x')
static const struct field cq_fields[] = {
	Q(cq[0]),
	Q(cq[1]),
	FIELD(ionic_cq_req, udma_mask, 'x'),
	{ 0 },
};
#undef Q
#define Q(member)                                                                     \
	FIELD(ionic_qp_req, member.addr, 'p'), FIELD(ionic_qp_req, member.size, 'x'), \
		FIELD(ionic_qp_req, member.mask, 'x'),                                \
		FIELD(ionic_qp_req, member.depth_log2, 'x'),                          \
		FIELD(ionic_qp_req, member.stride_log2, 'x')
#define F(member) FIELD(ionic_qp_req, member, 'x')
static const struct field qp_fields[] = {
	Q(sq), Q(rq), F(sq_spec), F(rq_spec), F(sq_cmb), F(rq_cmb), F(udma_mask), { 0 },
};
#undef Q
#undef F

bool ionic_is_old(void)
{
	return device == &device_ionic_v1;
}

static unsigned int pipelines(void)
{
	return ionic_is_old() ? 1 : IONIC_PIPELINES;
}

static uint32_t page_shift(void)
{
	return __builtin_ctzl(host_page());
}

static int get_context(struct command *command)
{
	const struct ionic_ctx_resp response = {
		.page_shift = page_shift(),
		.dbell_offset = MAP_DOORBELLS + DOORBELLS_IN_PAGE,
		.version = ionic_is_old() ? 1 : 2,
		.qp_opcodes = OPCODES,
		.admin_opcodes = OPCODES,
		.sq_qtype = IONIC_SQ_TYPE,
		.rq_qtype = IONIC_RQ_TYPE,
		.cq_qtype = IONIC_CQ_TYPE,
		.max_stride = STRIDE_MAX,
		.max_spec = ionic_is_old() ? MAX_SGE : IONIC_SPEC,
		.udma_count = pipelines(),
		.expdb_mask = ionic_is_old() ? 0 : 0xf,
		.expdb_qtypes = ionic_is_old() ? 0 : IONIC_EXPDB_SQ | IONIC_EXPDB_RQ,
		.phc_offset = ionic_is_old() ? 0 : MAP_CLOCK,
	};

	if (command->driver.in_len < sizeof(struct ionic_ctx_req))
		return EINVAL;
	command_reply(command, &response, host_answer(sizeof(response), OLD_CONTEXT));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = MAX_WR;
	attr->max_sge = attr->max_sge_rd = MAX_SGE;
	attr->max_cqe = MAX_CQE;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach = 0;
	attr->device_cap_flags &= ~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC);
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	return 0;
}

/* Return whether a ring begins at a page, and whether its size fits its other members. */
static bool is_ring(const struct ionic_qdesc *q)
{
	return q->addr && !(q->addr % host_page()) && q->depth_log2 && q->depth_log2 <= 16 &&
	       q->mask == (1u << q->depth_log2) - 1 &&
	       q->size >= 1ull << (q->depth_log2 + q->stride_log2);
}

static struct queue queue_of(const struct ionic_qdesc *q)
{
	return (struct queue){
		.base = bytes_pointer(q->addr),
		.entries = (uint32_t)q->mask + 1,
		.stride = 1u << q->stride_log2,
	};
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	static const char *const names[] = { "buffer", "buffer1" };
	struct ionic_played_cq *played = calloc(1, sizeof(*played));
	struct ionic_cq_resp response = { 0 };
	struct ionic_cq_req q;
	int r;

	if (!played)
		return ENOMEM;
	cq->device = played;
	command_request(command, &q, sizeof(q));
	if (!*cqe || *cqe > MAX_CQE || !q.udma_mask || q.udma_mask >> pipelines())
		return EINVAL;
	for (unsigned int i = 0; i < pipelines(); i++) {
		if (!(q.udma_mask >> i & 1))
			continue;
		if (!is_ring(&q.cq[i]) || q.cq[i].stride_log2 != 5 ||
		    q.cq[i].mask < *cqe + CQ_SPARE)
			return EINVAL;
		played->rings[i] = queue_of(&q.cq[i]);
		cq->ring = played->rings[i];
		trace_watch_object(cq, names[i], cq->ring.base, q.cq[i].size);
		response.cqid[i] = cq->number | (i ? SECOND_RING : 0);
	}
	played->mask = response.udma_mask = q.udma_mask;
	r = model_create_cq(cq, 2 * cq->ring.entries);
	if (r)
		return r;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* ---- queue pairs */

/* Choose a pipeline that both completion queues have. Return: whether there is one. */
static bool pipeline_choose(const struct object *qp, unsigned int mask, unsigned int *ret_pipeline)
{
	static unsigned int turn;

	mask = mask ?: ~0u;
	mask &= ((const struct ionic_played_cq *)qp->send_cq->device)->mask;
	mask &= ((const struct ionic_played_cq *)qp->recv_cq->device)->mask;
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++) {
		*ret_pipeline = turn++ % IONIC_PIPELINES;
		if (mask >> *ret_pipeline & 1)
			return true;
	}
	return false;
}

/* Answer a request for memory of the device. */
static int copy_grant(struct ionic_played_ring *ring, uint8_t asked, uint8_t *ret_granted)
{
	bool gives = !ionic_is_old() && !host_is("no-wc");

	*ret_granted = 0;
	if (asked & IONIC_CMB_REQUIRE && !gives)
		return ENOMEM;
	if (!(asked & IONIC_CMB_ENABLE) || !gives)
		return 0;
	ring->in_device = true;
	ring->express = asked & IONIC_CMB_EXPDB;
	*ret_granted =
		(asked & (IONIC_CMB_ENABLE | IONIC_CMB_REQUIRE | IONIC_CMB_EXPDB)) |
		(asked & IONIC_CMB_UC && !(asked & IONIC_CMB_WC) ? IONIC_CMB_UC : IONIC_CMB_WC);
	return 0;
}

static uint64_t copies_of(const struct object *qp, bool receives)
{
	return (uint64_t)(qp->ordinal + 1) << MAP_COPIES_SHIFT | (uint64_t)receives
									 << MAP_RECEIVES_SHIFT;
}

static int rings_take(struct object *qp, const struct ionic_qp_req *q,
		      struct ionic_qp_resp *response)
{
	struct ionic_played_qp *played = qp->device;
	int r = copy_grant(&played->sq, q->sq_cmb, &response->sq_cmb);

	if (!r)
		r = copy_grant(&played->rq, q->rq_cmb, &response->rq_cmb);
	if (r)
		return r;
	if (response->sq_cmb)
		response->sq_cmb_offset = copies_of(qp, false);
	if (response->rq_cmb)
		response->rq_cmb_offset = copies_of(qp, true);
	played->sq.spec = q->sq_spec > 2;
	played->rq.spec = q->rq_spec > 2;
	qp->sq = queue_of(&q->sq);
	qp->rq = queue_of(&q->rq);
	played->message_of = calloc(qp->sq.entries, sizeof(*played->message_of));
	played->local = calloc(qp->sq.entries, sizeof(*played->local));
	return played->message_of && played->local ? 0 : ENOMEM;
}

static bool is_possible(const struct ib_uverbs_ex_create_qp *q, const struct ionic_qp_req *d)
{
	return q->max_send_sge && q->max_recv_sge && q->max_send_sge <= MAX_SGE &&
	       q->max_recv_sge <= MAX_SGE && !q->is_srq && is_ring(&d->sq) && is_ring(&d->rq) &&
	       d->sq.stride_log2 <= STRIDE_MAX && d->rq.stride_log2 <= STRIDE_MAX &&
	       d->sq.mask >= q->max_send_wr && d->rq.mask >= q->max_recv_wr;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct ionic_played_qp *played = calloc(1, sizeof(*played));
	struct ib_uverbs_ex_create_qp whole = *q;
	struct ionic_qp_resp response = { 0 };
	struct ionic_qp_req d;
	int r;

	if (!played)
		return ENOMEM;
	qp->device = played;
	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_RC && q->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (!is_possible(q, &d) || d.udma_mask >> pipelines() ||
	    !pipeline_choose(qp, d.udma_mask, &played->pipeline))
		return EINVAL;
	r = rings_take(qp, &d, &response);
	/* A process may use each byte of a request. */
	whole.max_send_sge = qp->sq.stride / SGE;
	whole.max_recv_sge = qp->rq.stride / SGE;
	if (!r)
		r = model_create_qp(qp, &whole, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	if (model_on())
		ionic_forget(qp);
	trace_watch_object(qp, "sq", qp->sq.base, d.sq.size);
	trace_watch_object(qp, "rq", qp->rq.base, d.rq.size);
	response.qpid = qp->number;
	response.udma_idx = played->pipeline;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* The driver gets no data with a transition. */
static int transition(struct object *qp, struct ib_uverbs_modify_qp *q, struct command *command)
{
	return command->driver.in_len ? EINVAL : 0;
}

static void modified(struct object *qp, struct command *command)
{
	struct ionic_played_qp *played = qp->device;

	if (qp->state != IBV_QPS_RESET)
		return;
	played->walked = played->messages = 0;
	played->send_over = played->recv_over = false;
	if (model_on())
		ionic_forget(qp);
}

static void destroy(struct object *object)
{
	struct ionic_played_qp *played = object->device;

	if (object->type != OBJECT_QP || !played)
		return;
	free(played->message_of);
	free(played->local);
}

static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	const struct ionic_ah_resp response = { .ahid = ah->number };

	if (!q->is_global)
		return EINVAL;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* ---- mappings */

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	uint32_t ordinal = offset >> MAP_COPIES_SHIFT;

	if (ordinal)
		snprintf(ret_name, size, "%s%u",
			 offset >> MAP_RECEIVES_SHIFT & 1 ? "receives" : "sends", ordinal - 1);
	else
		snprintf(ret_name, size, "%s",
			 offset == MAP_DOORBELLS ? "doorbells"
			 : offset == MAP_CLOCK	 ? "clock"
						 : "unknown");
	return offset == MAP_CLOCK ? REGION_MEMORY : REGION_REGISTERS;
}

/* The clock counts nanoseconds. The page stays valid for more than a day. */
static void clock_write(struct ionic_clock_info *page)
{
	struct timespec now = { 0 };

	if (model_on())
		clock_gettime(CLOCK_REALTIME, &now);
	*page = (struct ionic_clock_info){
		.nsec = now.tv_sec * 1000000000ull + now.tv_nsec,
		.cycles = ionic_clock(0),
		.mult = CLOCK_MULT,
		.shift = CLOCK_SHIFT,
		.mask = IONIC_CLOCK_MASK,
	};
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	uint32_t ordinal = offset >> MAP_COPIES_SHIFT;
	struct object *qp = ordinal ? object_at(OBJECT_QP, ordinal - 1) : NULL;

	if (offset == MAP_CLOCK)
		clock_write(at);
	if (qp && qp->device)
		ionic_ring_mapped(qp, offset >> MAP_RECEIVES_SHIFT & 1, at);
}

static void unmapped(const void *at)
{
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);
		const struct ionic_played_qp *played = qp ? qp->device : NULL;

		if (played && played->sq.copy == at)
			ionic_ring_mapped(qp, false, NULL);
		if (played && played->rq.copy == at)
			ionic_ring_mapped(qp, true, NULL);
	}
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return index;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

#define IONIC(name_)                                                                              \
	.name = name_, .ibdev = "ionic_0",                                                        \
	.modalias = "pci:v00001DD8d00001003sv00001DD8sd00000000bc02sc00i00", .vendor_id = 0x1dd8, \
	.part_id = 0x1003, .driver_id = RDMA_DRIVER_IONIC, .abi_version = IONIC_ABI_VERSION,      \
	.node_type = IBV_NODE_CA, .link_layer = IBV_LINK_LAYER_ETHERNET, .loose_modify = true,    \
	.fields = { [REQUEST_CQ] = cq_fields, [REQUEST_QP] = qp_fields },                         \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,           \
	.create_cq = create_cq, .create_qp = create_qp, .transition = transition,                 \
	.modified = modified, .destroy = destroy, .create_ah = create_ah, .region = region,       \
	.mapped = mapped, .unmapped = unmapped, .next_send = ionic_next_send,                     \
	.next_receive = ionic_next_receive, .room = ionic_room, .entry = ionic_entry,             \
	.complete = ionic_complete, .armed = ionic_armed, .traced_id = traced_id,                 \
	.traced_note = traced_note

const struct device device_ionic = { IONIC("ionic") };
const struct device device_ionic_v1 = { IONIC("ionic-v1") };
