/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vmw_pvrdma: what the kernel driver of VMware's paravirtual adapter answers, and its rings. The
 * indexes of the rings are words in memory that both sides use. They count to twice the number of
 * entries. Numbers in memory are in the order of the processor, which is x86.
 */
#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/vmw_pvrdma-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	CQE_SIZE = 64,
	SEND_HEADER = 80,
	RECV_HEADER = 16,
	SGE_SIZE = 16,
	QP_TABLE = 1 << 14,
	MAX_WR = 1 << 14,
	MAX_SGE = 64,
	IDS = 1 << 16,
	HANDLES = 0x300, /* of QPs, which are not their numbers, begin here */
};

/* Words of a page in front of a ring: a queue of requests has both of a QP's rings there. */
enum {
	SQ_TAIL,
	SQ_HEAD,
	RQ_TAIL,
	RQ_HEAD,
};

#define F(member, how) FIELD(pvrdma_create_cq, member, how)
static const struct field cq_fields[] = { F(buf_addr, 'p'), F(buf_size, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(pvrdma_create_srq, member, how)
static const struct field srq_fields[] = { F(buf_addr, 'p'), F(buf_size, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(pvrdma_create_qp, member, how)
static const struct field qp_fields[] = {
	F(rbuf_addr, 'p'), F(sbuf_addr, 'p'), F(rbuf_size, 'x'), F(sbuf_size, 'x'), { 0 },
};
#undef F

static int get_context(struct command *command)
{
	const struct pvrdma_alloc_ucontext_resp response = { .qp_tab_size = QP_TABLE };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = attr->max_srq_wr = MAX_WR;
	attr->max_mw = 0;
	attr->device_cap_flags &= ~IBV_DEVICE_SRQ_RESIZE;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct pvrdma_alloc_pd_resp response = { .pdn = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

/* Take a ring behind a page; `record` is the index of its first word in that page. */
static int take_ring(struct queue *ring, uint64_t page, uint64_t size, uint32_t entries,
		     uint32_t stride, int record)
{
	if (page % host_page() || (uint64_t)entries * stride + host_page() > size ||
	    entries & (entries - 1))
		return EINVAL;
	*ring = (struct queue){
		.base = (uint8_t *)bytes_pointer(page) + host_page(),
		.entries = entries,
		.stride = stride,
		.record = (uint32_t *)bytes_pointer(page) + record,
	};
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const struct pvrdma_create_cq_resp response = { .cqn = cq->number };
	struct pvrdma_create_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	*cqe = bytes_power_of_two(*cqe);
	r = take_ring(&cq->ring, q.buf_addr, q.buf_size, *cqe, CQE_SIZE, RQ_TAIL);
	if (!r)
		r = model_create_cq(cq, *cqe);
	if (r)
		return r;
	trace_watch_object(cq, "buffer", bytes_pointer(q.buf_addr), q.buf_size);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static uint32_t handle_of(const struct object *qp)
{
	return HANDLES + qp->ordinal;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct pvrdma_create_qp_resp response;
	struct pvrdma_create_qp d;
	int r;

	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_RC && q->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (!q->max_send_wr || q->max_send_wr > MAX_WR || q->max_send_sge > MAX_SGE ||
	    q->max_recv_wr > MAX_WR || q->max_recv_sge > MAX_SGE || qp->ordinal >= QP_TABLE)
		return EINVAL;
	r = take_ring(&qp->sq, d.sbuf_addr, d.sbuf_size, q->max_send_wr,
		      bytes_power_of_two(SEND_HEADER + SGE_SIZE * q->max_send_sge), SQ_TAIL);
	if (r)
		return r;
	if (!q->is_srq) {
		uint32_t stride = bytes_power_of_two(RECV_HEADER + SGE_SIZE * q->max_recv_sge);

		if (!q->max_recv_wr || q->max_recv_wr & (q->max_recv_wr - 1) ||
		    (uint64_t)q->max_recv_wr * stride > d.rbuf_size)
			return EINVAL;
		qp->rq = (struct queue){
			.base = bytes_pointer(d.rbuf_addr),
			.entries = q->max_recv_wr,
			.stride = stride,
			.record = qp->sq.record + RQ_TAIL,
		};
	}
	q->max_inline_data = 0;
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	trace_watch_object(qp, "rq", bytes_pointer(d.rbuf_addr), d.rbuf_size);
	trace_watch_object(qp, "sq", bytes_pointer(d.sbuf_addr), d.sbuf_size);
	response = (struct pvrdma_create_qp_resp){ .qpn = qp->number, .qp_handle = handle_of(qp) };
	command_reply(command, &response, host_answer(sizeof(response), 0));
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	const struct pvrdma_create_srq_resp response = { .srqn = srq->number };
	uint32_t stride = bytes_power_of_two(RECV_HEADER + SGE_SIZE * q->max_sge);
	struct pvrdma_create_srq d;
	int r;

	command_request(command, &d, sizeof(d));
	if (!q->max_wr || q->max_wr > MAX_WR || q->max_sge > MAX_SGE)
		return EINVAL;
	r = take_ring(&srq->rq, d.buf_addr, d.buf_size, q->max_wr, stride, RQ_TAIL);
	if (r)
		return r;
	/* A request's slot is free as soon as the request was read, but its wr_id is needed
	 * later. */
	srq->device = calloc(IDS, sizeof(uint64_t));
	if (!srq->device)
		return ENOMEM;
	r = model_create_srq(srq, srq->rq.entries, q->max_sge);
	if (r)
		return r;
	trace_watch_object(srq, "buffer", bytes_pointer(d.buf_addr), d.buf_size);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s", offset ? "unknown" : "uar");
	return REGION_REGISTERS;
}

/* ---- work requests */

/* Return the slot of an index of a ring. The index is also the id of the request. */
static const uint8_t *slot_of(const struct queue *queue, uint32_t index)
{
	return queue->base + (size_t)(index & (queue->entries - 1)) * queue->stride;
}

static uint32_t get_32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t get_64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Return whether there is a request behind the ones that were read; negative: invalid index. */
static int is_there(const struct queue *queue)
{
	uint32_t mask = 2 * queue->entries - 1;
	uint32_t tail = __atomic_load_n(&queue->record[0], __ATOMIC_ACQUIRE);
	uint32_t count = (tail - queue->consumed) & mask;

	return tail & ~mask || count > queue->entries ? -EINVAL : !!count;
}

static void write_word(volatile uint32_t *word, uint32_t value)
{
	if (model_on())
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
	else
		trace_device_writes((void *)word, &value, sizeof(value));
}

/* Give requests up to this index back to the process. */
static void release(const struct queue *queue, uint32_t index)
{
	write_word(queue->record + 1, index & (2 * queue->entries - 1));
}

static int read_list(const struct queue *queue, const uint8_t *slot, uint32_t at, struct work *work)
{
	uint32_t count = get_32(slot + 8);

	if (count > (queue->stride - at) / SGE_SIZE || count > WORK_SGES)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++, at += SGE_SIZE)
		work->sge[i] = (struct ibv_sge){ get_64(slot + at), get_32(slot + at + 8),
						 get_32(slot + at + 12) };
	work->wr.num_sge = count;
	return 0;
}

static const uint8_t ibv_opcodes[] = {
	[PVRDMA_WR_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
	[PVRDMA_WR_RDMA_WRITE_WITH_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[PVRDMA_WR_SEND] = IBV_WR_SEND,
	[PVRDMA_WR_SEND_WITH_IMM] = IBV_WR_SEND_WITH_IMM,
	[PVRDMA_WR_RDMA_READ] = IBV_WR_RDMA_READ,
	[PVRDMA_WR_ATOMIC_CMP_AND_SWP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[PVRDMA_WR_ATOMIC_FETCH_AND_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	[PVRDMA_WR_LSO] = UINT8_MAX,
	[PVRDMA_WR_SEND_WITH_INV] = IBV_WR_SEND_WITH_INV,
	[PVRDMA_WR_RDMA_READ_WITH_INV] = UINT8_MAX,
	[PVRDMA_WR_LOCAL_INV] = IBV_WR_LOCAL_INV,
};

static int read_address(const uint8_t *at, struct work *work)
{
	const uint8_t *av = at + 8;

	if (get_32(av) >> 24 != 1 || !(av[24] & 0x80))
		return -EINVAL;
	work->wr.wr.ud.remote_qpn = get_32(at);
	work->wr.wr.ud.remote_qkey = get_32(at + 4);
	memset(&work->address, 0, sizeof(work->address));
	work->address.is_global = 1;
	work->address.port_num = 1;
	work->address.grh.traffic_class = get_32(av + 4) >> 20;
	work->address.grh.flow_label = get_32(av + 4) & 0xfffff;
	work->address.grh.sgid_index = av[25];
	work->address.grh.hop_limit = av[27];
	memcpy(work->address.grh.dgid.raw, av + 8, 16);
	return 0;
}

/* Read the part between the header's first words and the list. */
static int read_body(const struct object *qp, const uint8_t *slot, struct work *work)
{
	const uint8_t *body = slot + 32;

	switch (work->wr.opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		work->wr.wr.rdma.remote_addr = get_64(body);
		work->wr.wr.rdma.rkey = get_32(body + 8);
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		work->wr.wr.atomic.remote_addr = get_64(body);
		work->wr.wr.atomic.compare_add = get_64(body + 8);
		work->wr.wr.atomic.swap = get_64(body + 16);
		work->wr.wr.atomic.rkey = get_32(body + 24);
		return 0;
	default:
		return qp->qp_type == IBV_QPT_UD ? read_address(body, work) : 0;
	}
}

static int next_send(struct object *qp, struct work *work)
{
	uint32_t opcode;
	const uint8_t *slot;
	int r = is_there(&qp->sq);

	if (r <= 0)
		return r;
	slot = slot_of(&qp->sq, qp->sq.consumed);
	opcode = get_32(slot + 16);
	work->id = qp->sq.consumed;
	work->entries = 1;
	work->wr = (struct ibv_send_wr){
		.sg_list = work->sge,
		.send_flags = get_32(slot + 20),
	};
	if (opcode >= sizeof(ibv_opcodes) || ibv_opcodes[opcode] == UINT8_MAX)
		return -EOPNOTSUPP;
	if (work->wr.send_flags & ~(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED))
		return -EINVAL;
	work->wr.opcode = ibv_opcodes[opcode];
	memcpy(&work->wr.imm_data, slot + 24, 4); /* or the key */
	r = read_body(qp, slot, work);
	if (!r)
		r = read_list(&qp->sq, slot, SEND_HEADER, work);
	return r ? r : 1;
}

static int next_receive(struct object *queue, struct work *work)
{
	struct queue *rq = &queue->rq;
	uint64_t *wr_ids = queue->device;
	const uint8_t *slot;
	int r;

	/* An SRQ's requests complete in any order. */
	if (wr_ids)
		release(rq, rq->consumed);
	r = is_there(rq);
	if (r <= 0)
		return r;
	slot = slot_of(rq, rq->consumed);
	work->id = rq->consumed;
	work->entries = 1;
	if (wr_ids)
		wr_ids[work->id] = get_64(slot);
	r = read_list(rq, slot, RECV_HEADER, work);
	return r ? r : 1;
}

/* ---- completions */

static uint32_t in_ring(const struct object *cq)
{
	return (cq->produced - cq->ring.record[1]) & (2 * cq->ring.entries - 1);
}

static uint32_t room(struct object *cq)
{
	uint32_t used = in_ring(cq);

	return used < cq->ring.entries ? cq->ring.entries - used : 0;
}

static uint32_t cqe_opcode(enum ibv_wc_opcode opcode)
{
	switch (opcode) {
	case IBV_WC_LOCAL_INV:
		return PVRDMA_WC_LOCAL_INV;
	case IBV_WC_RECV:
		return PVRDMA_WC_RECV;
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return PVRDMA_WC_RECV_RDMA_WITH_IMM;
	default:
		return opcode;
	}
}

/* Return the request's wr_id and give its slot back to the process. */
static uint64_t take_request(const struct completion *c)
{
	struct object *srq = c->srq;
	const struct queue *queue = srq ? &srq->rq : c->receive ? &c->qp->rq : &c->qp->sq;
	uint64_t wr_id = get_64(slot_of(queue, c->id));

	if (srq && model_on())
		return ((uint64_t *)srq->device)[c->id];
	if (srq && c->id + 1u > srq->rq.consumed)
		srq->rq.consumed = c->id + 1;
	release(queue, srq ? srq->rq.consumed : c->id + 1u);
	return wr_id;
}

static void complete(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	bool inv = wc->wc_flags & IBV_WC_WITH_INV;
	const struct pvrdma_cqe cqe = {
		.wr_id = take_request(c),
		.qp = handle_of(c->qp),
		.opcode = wc->status ? 0 : cqe_opcode(wc->opcode),
		.status = wc->status,
		.byte_len = wc->byte_len,
		.imm_data = inv ? wc->invalidated_rkey : wc->imm_data,
		.src_qp = wc->src_qp,
		.wc_flags = (wc->wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM)) |
			    (inv ? PVRDMA_WC_WITH_INVALIDATE : 0),
		.vendor_err = wc->vendor_err,
		.pkey_index = wc->pkey_index,
		.slid = wc->slid,
		.sl = wc->sl,
		.dlid_path_bits = wc->dlid_path_bits,
		.port_num = 1,
	};
	void *slot = (void *)slot_of(&cq->ring, cq->produced);

	if (model_on())
		memcpy(slot, &cqe, sizeof(cqe));
	else
		trace_device_writes(slot, &cqe, sizeof(cqe));
	cq->produced++;
	write_word(&cq->ring.record[0], cq->produced & (2 * cq->ring.entries - 1));
}

/* A process arms a CQ by a store into the register of all CQs, and by no other means. The next
 * arming or the next poll overwrites it. Therefore a CQ counts as armed unless the process has
 * an event to read. */
static bool armed(struct object *cq, struct arm *ret_arm)
{
	*ret_arm = (struct arm){ .consumed = cq->produced - in_ring(cq) };
	return !event_is_unread(cq);
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return index;
}

static uint8_t traced_note(enum ibv_wr_opcode opcode)
{
	return 0;
}

/* The GIDs are link-local: with GIDs of IP addresses a plug-in asks the machine for neighbours. */
const struct device device_vmw_pvrdma = {
	.name = "vmw_pvrdma",
	.ibdev = "vmw_pvrdma0",
	.modalias = "pci:v000015ADd00000820sv000015ADsd00000820bc02sc80i00",
	.vendor_id = 0x15ad,
	.part_id = 0x0820,
	.abi_version = PVRDMA_UVERBS_ABI_VERSION,
	.node_type = IBV_NODE_CA,
	.link_layer = IBV_LINK_LAYER_ETHERNET,
	.lacks = IBV_PORT_IP_BASED_GIDS,
	.loose_modify = true,
	.fields = { [REQUEST_CQ] = cq_fields,
		    [REQUEST_QP] = qp_fields,
		    [REQUEST_SRQ] = srq_fields },
	.get_context = get_context,
	.query_device = query_device,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.create_srq = create_srq,
	.region = region,
	.next_send = next_send,
	.next_receive = next_receive,
	.room = room,
	.complete = complete,
	.armed = armed,
	.traced_id = traced_id,
	.traced_note = traced_note,
};
