/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bnxt_re: what the kernel driver of Broadcom's NetXtreme adapters answers, and their rings. Each
 * send and each receive takes 128 bytes: a header of two slots of 16 bytes, and a slot for each
 * entry. All numbers are little-endian.
 *
 * All queues have one register, which keeps the last store only. Therefore the device finds its
 * work in the rings. It overwrites the first word of each request that it has read. The process
 * writes that word with the request. A send has a second mark in the memory for packet numbers,
 * because other plug-ins write that after the request. The process clears each completion that it
 * has polled.
 */
#include "tests/adapters/lab/device/bnxt_re.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	CHIP = 0x1750,
	SPARE = 128, /* sends that are never used */
	PSN = 16,    /* bytes of a send in the memory for packet numbers */
	PSN_UNSEEN = 0xffffffff,
	MAX_WR = 16351,
	MAX_SGE = 6,
	MAX_INLINE = 96,
	MAX_CQE = 65535,
	AV_AT = 16, /* place of an address handle's number in the shared page */
	CONTEXTS = 16,
	/* Bytes of answers of Linux 5.4. */
	OLD_CONTEXT = 40,
	OLD_CQ = 16,
	OLD_SRQ = 4,
	MAP_SHARED_PAGE = 0,
	MAP_DOORBELLS = 0x10000,
};

/* The pages through which the driver hands out the numbers of address handles. */
static void *shared_pages[CONTEXTS];

#define F(member, how) FIELD(bnxt_re_cq_req, member, how)
static const struct field cq_fields[] = { F(cq_va, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(bnxt_re_resize_cq_req, member, how)
static const struct field resize_fields[] = { F(cq_va, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(bnxt_re_qp_req, member, how)
static const struct field qp_fields[] = {
	F(qpsva, 'p'), F(qprva, 'p'), F(comp_mask, 's'), F(sq_slots, 's'), { 0 },
};
#undef F
#define F(member, how) FIELD(bnxt_re_srq_req, member, how)
static const struct field srq_fields[] = { F(srqva, 'p'), { 0 } };
#undef F

static int get_context(struct command *command)
{
	const struct bnxt_re_uctx_resp response = {
		.dev_id = 1,
		.max_qp = 65536,
		.pg_size = host_page(),
		.cqe_sz = CQE_SIZE,
		.max_cqd = MAX_CQE,
		.comp_mask = BNXT_RE_UCNTX_CMASK_HAVE_CCTX | BNXT_RE_UCNTX_CMASK_HAVE_MODE,
		.chip_id0 = CHIP,
	};

	/* Linux 5.4 has no mode. */
	command_reply(command, &response, host_answer(sizeof(response), OLD_CONTEXT));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = attr->max_srq_wr = MAX_WR;
	attr->max_sge = attr->max_srq_sge = attr->max_sge_rd = MAX_SGE;
	attr->max_cqe = MAX_CQE;
	attr->max_mw = 0;
	attr->device_cap_flags &= ~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC);
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct bnxt_re_pd_resp response = {
		.pdid = pd->number,
		.dpi = 1,
		.dbr = MAP_DOORBELLS,
	};

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const struct bnxt_re_cq_resp response = { .cqid = cq->number, .phase = 1 };
	struct bnxt_re_cq_req q;
	uint32_t entries;
	int r;

	command_request(command, &q, sizeof(q));
	if (!*cqe || *cqe > MAX_CQE || q.cq_va % host_page())
		return EINVAL;
	entries = bytes_power_of_two(*cqe + 1);
	*cqe = entries - 1;
	cq->ring = (struct queue){
		.base = bytes_pointer(q.cq_va),
		.entries = entries,
		.stride = CQE_SIZE,
	};
	r = model_create_cq(cq, entries);
	if (r)
		return r;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * CQE_SIZE);
	command_reply(command, &response, host_answer(sizeof(response), OLD_CQ));
	return 0;
}

/* An entry ends the old ring. The process acknowledges that by a store into the register. */
static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const uint32_t end[CQE_SIZE / 4] = { [6] = htole32(CQE_CUT_OFF << 1 | 1 << 5) };
	struct bnxt_re_resize_cq_req q;
	uint32_t entries;
	int r;

	command_request(command, &q, sizeof(q));
	model_settle();
	if (!*cqe || *cqe > MAX_CQE || q.cq_va % host_page())
		return EINVAL;
	entries = bytes_power_of_two(*cqe + 1);
	r = model_resize_cq(cq, entries);
	if (r)
		return r;
	bnxt_re_entry(cq, end, sizeof(end));
	trace_unwatch(cq);
	cq->ring.base = bytes_pointer(q.cq_va);
	cq->ring.entries = entries;
	cq->produced = 0;
	*cqe = entries - 1;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * CQE_SIZE);
	return 0;
}

/* ---- queues of requests */

/* Return the number of entries of a ring for @wanted entries. The kernel driver takes the next
 * power of 2, unless the adapter has less. */
static uint32_t ring_entries(uint32_t wanted, uint32_t most)
{
	uint32_t entries = bytes_power_of_two(wanted);

	return entries < most ? entries : most;
}

static uint8_t *wqe_at(const struct queue *queue, uint32_t index)
{
	return queue->base + (size_t)(index % queue->entries) * WQE;
}

static uint8_t *psn_at(const struct queue *sq, uint32_t index)
{
	return sq->base + (size_t)sq->entries * WQE + (size_t)(index % sq->entries) * PSN;
}

static void mark(uint8_t *at, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELEASE);
}

static uint32_t look(const uint8_t *at)
{
	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static void mark_all(const struct queue *queue, bool sends)
{
	for (uint32_t i = 0; i < queue->entries; i++) {
		mark(wqe_at(queue, i), 0);
		if (sends)
			mark(psn_at(queue, i) + 4, PSN_UNSEEN);
	}
}

static int queues_take(struct object *qp, const struct ib_uverbs_ex_create_qp *q,
		       const struct bnxt_re_qp_req *d)
{
	if (d->qpsva % host_page() || d->qprva % host_page() || (!q->is_srq && !d->qprva))
		return EINVAL;
	qp->sq = (struct queue){
		.base = bytes_pointer(d->qpsva),
		.entries = ring_entries(q->max_send_wr + 1 + SPARE, MAX_WR + 1 + SPARE),
		.stride = WQE,
	};
	if (!q->is_srq)
		qp->rq = (struct queue){
			.base = bytes_pointer(d->qprva),
			.entries = ring_entries(q->max_recv_wr + 1, MAX_WR + 1),
			.stride = WQE,
		};
	return 0;
}

static bool is_too_much(const struct ib_uverbs_ex_create_qp *q)
{
	return !q->max_send_wr || q->max_send_wr > MAX_WR || q->max_recv_wr > MAX_WR ||
	       q->max_send_sge > MAX_SGE || q->max_recv_sge > MAX_SGE ||
	       q->max_inline_data > MAX_INLINE;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct bnxt_re_played *played = calloc(1, sizeof(*played));
	struct bnxt_re_qp_resp response = {};
	struct bnxt_re_qp_req d;
	int r;

	if (!played)
		return ENOMEM;
	qp->device = played;
	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_RC && q->qp_type != IBV_QPT_UD &&
	    (q->qp_type != IBV_QPT_RAW_PACKET || model_on()))
		return EOPNOTSUPP;
	r = is_too_much(q) ? EINVAL : queues_take(qp, q, &d);
	if (r)
		return r;
	played->handle = d.qp_handle;
	q->max_inline_data = q->max_inline_data ? MAX_INLINE : 0;
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	if (model_on()) {
		mark_all(&qp->sq, true);
		mark_all(&qp->rq, false);
	}
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * WQE);
	trace_watch_object(qp, "psn", psn_at(&qp->sq, 0), (size_t)qp->sq.entries * PSN);
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * WQE);
	response.qpid = qp->number;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* An adapter forgets the requests of a queue pair that is reset. */
static void modified(struct object *qp, struct command *command)
{
	struct bnxt_re_played *played = qp->device;

	if (qp->state != IBV_QPS_RESET || !model_on())
		return;
	mark_all(&qp->sq, true);
	mark_all(&qp->rq, false);
	played->completed = 0;
	played->send_over = played->receive_over = false;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct bnxt_re_srq_resp response = { .srqid = srq->number };
	struct bnxt_re_srq_req d;
	int r;

	command_request(command, &d, sizeof(d));
	if (!q->max_wr || q->max_wr > MAX_WR || q->max_sge > MAX_SGE || d.srqva % host_page())
		return EINVAL;
	srq->rq = (struct queue){
		.base = bytes_pointer(d.srqva),
		.entries = ring_entries(q->max_wr + 1, MAX_WR + 1),
		.stride = WQE,
	};
	r = model_create_srq(srq, srq->rq.entries, q->max_sge);
	if (r)
		return r;
	if (model_on())
		mark_all(&srq->rq, false);
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)srq->rq.entries * WQE);
	command_reply(command, &response, host_answer(sizeof(response), OLD_SRQ));
	return 0;
}

/* The driver writes the number into the page before the command ends. */
static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	uint32_t number = ah->number;

	for (int i = 0; i < CONTEXTS; i++)
		if (shared_pages[i])
			trace_device_writes((char *)shared_pages[i] + AV_AT, &number,
					    sizeof(number));
	return q->is_global ? 0 : EINVAL;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s",
		 offset == MAP_SHARED_PAGE ? "shared"
		 : offset == MAP_DOORBELLS ? "doorbells"
					   : "unknown");
	return offset == MAP_SHARED_PAGE ? REGION_MEMORY : REGION_REGISTERS;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	for (int i = 0; offset == MAP_SHARED_PAGE && i < CONTEXTS; i++) {
		if (!shared_pages[i]) {
			shared_pages[i] = at;
			return;
		}
	}
}

static void unmapped(const void *at)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (shared_pages[i] == at)
			shared_pages[i] = NULL;
}

/* Forget the last executed request. The process cannot have posted another one in its place,
 * because a queue always has a free place there. */
static void forget_last(const struct queue *queue, bool sends)
{
	uint32_t last = queue->consumed % queue->entries + queue->entries - 1;

	if (sends)
		mark(psn_at(queue, last) + 4, PSN_UNSEEN);
	mark(wqe_at(queue, last), 0);
}

static int next_send(struct object *qp, struct work *work)
{
	const uint8_t *wqe = wqe_at(&qp->sq, qp->sq.consumed);
	int r;

	forget_last(&qp->sq, true);
	if (!look(wqe) || look(psn_at(&qp->sq, qp->sq.consumed) + 4) == PSN_UNSEEN)
		return 0;
	work->id = qp->sq.consumed % qp->sq.entries;
	work->entries = 1;
	r = bnxt_re_read_send(qp, wqe, work);
	return r ? r : 1;
}

static int next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	const uint8_t *wqe = wqe_at(rq, rq->consumed);
	int r;

	forget_last(rq, false);
	if (!look(wqe))
		return 0;
	work->entries = 1;
	r = bnxt_re_read_receive(wqe, work);
	/* Receives of an SRQ complete in any order, by their tags. */
	if (queue->type != OBJECT_SRQ)
		work->id = rq->consumed % rq->entries;
	return r ? r : 1;
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return index;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

const struct device device_bnxt_re = {
	.name = "bnxt_re",
	.ibdev = "bnxt_re_0",
	.modalias = "pci:v000014E4d00001750sv000014E4sd00002100bc02sc00i00",
	.vendor_id = 0x14e4,
	.part_id = CHIP,
	.abi_version = BNXT_RE_ABI_VERSION,
	.node_type = IBV_NODE_CA,
	.link_layer = IBV_LINK_LAYER_ETHERNET,
	.loose_modify = true,
	.fields = { [REQUEST_CQ] = cq_fields,
		    [REQUEST_RESIZE] = resize_fields,
		    [REQUEST_QP] = qp_fields,
		    [REQUEST_SRQ] = srq_fields },
	.get_context = get_context,
	.query_device = query_device,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.resize_cq = resize_cq,
	.create_qp = create_qp,
	.modified = modified,
	.create_srq = create_srq,
	.create_ah = create_ah,
	.region = region,
	.mapped = mapped,
	.unmapped = unmapped,
	.next_send = next_send,
	.next_receive = next_receive,
	.room = bnxt_re_room,
	.entry = bnxt_re_entry,
	.complete = bnxt_re_complete,
	.armed = bnxt_re_armed,
	.traced_id = traced_id,
	.traced_note = traced_note,
};
