/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mthca: InfiniHost. Answers of its kernel driver, and completions. mthca_wqe.c has its work
 * requests.
 *
 * "mthca" is the later adapter, which has its memory in the host and reads doorbell records there.
 * "mthca-tavor" has memory of its own and no records: its requests form linked lists, and only
 * registers announce them.
 */
#include "tests/adapters/lab/device/mthca.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <rdma/mthca-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	CQE_SIZE = 32,
	CQE_MOST = (1 << 17) - 1,
	MOST_WR = (1 << 16) - 1,
	MAX_SGE = 30,
	MAX_REQUEST = 1008, /* bytes: the largest size that fits into 6 bits */
	QP_TABLE = 1 << 16,
	UARC_SIZE = 1 << 16,
	RECORDS = 512,	 /* records of a page */
	HARDWARE = 0x80, /* owner of a completion */
	ROOM_MOST = 64,
	OP_ERROR_RECEIVE = 0xfe,
	OP_ERROR_SEND = 0xff,
	/* opcodes of the wire in completions of receives */
	OP_RECEIVE = 0x04,
	OP_RECEIVE_IMM = 0x05,
	OP_RECEIVE_WRITE_IMM = 0x0b,
};

struct mthca_cqe {
	uint32_t my_qpn, my_ee, rqpn;
	uint16_t sl_path, rlid;
	union {
		uint32_t immediate;
		struct {
			uint8_t syndrome, vendor;
			uint16_t doorbells;
		} error;
	};
	uint32_t byte_count, wqe;
	uint8_t opcode, is_send, reserved, owner;
};
_Static_assert(sizeof(struct mthca_cqe) == CQE_SIZE, "");

#define F(member, how) FIELD(mthca_create_cq, member, how)
static const struct field cq_fields[] = {
	F(lkey, 'x'),
	F(pdn, 'x'),
	F(arm_db_page, 'p'),
	F(set_db_page, 'p'),
	F(arm_db_index, 'x'),
	F(set_db_index, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mthca_resize_cq, member, how)
static const struct field resize_fields[] = { F(lkey, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mthca_create_qp, member, how)
static const struct field qp_fields[] = {
	F(lkey, 'x'),
	F(reserved, 's'),
	F(sq_db_page, 'p'),
	F(rq_db_page, 'p'),
	F(sq_db_index, 'x'),
	F(rq_db_index, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mthca_create_srq, member, how)
static const struct field srq_fields[] = {
	F(lkey, 'x'),
	F(db_index, 'x'),
	F(db_page, 'p'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mthca_reg_mr, member, how)
static const struct field region_fields[] = { F(mr_attrs, 'x'), F(reserved, 's'), { 0 } };
#undef F

bool mthca_has_records(void)
{
	return device == &device_mthca;
}

static int get_context(struct command *command)
{
	const struct mthca_alloc_ucontext_resp response = {
		.qp_tab_size = QP_TABLE,
		.uarc_size = mthca_has_records() ? UARC_SIZE : 0,
	};

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = attr->max_srq_wr = MOST_WR;
	attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = MAX_SGE;
	attr->max_cqe = CQE_MOST;
	attr->device_cap_flags &=
		~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
		  IBV_DEVICE_XRC | IBV_DEVICE_MEM_MGT_EXTENSIONS);
	attr->max_mw = 0;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const uint32_t number = pd->number;

	command_reply(command, &number, sizeof(number));
	return 0;
}

/* Remember where a region begins, because queues are named by their regions. */
static int reg_mr(struct object *mr, const struct ib_uverbs_reg_mr *q, struct command *command)
{
	uint64_t *start = malloc(sizeof(*start));

	if (!start)
		return ENOMEM;
	*start = q->start;
	mr->device = start;
	/* A page of addresses of datagrams. */
	if (!mthca_has_records() && q->start == q->hca_va && !q->access_flags)
		trace_watch_object(mr, "addresses", bytes_pointer(q->start), q->length);
	return 0;
}

/* Return the memory of a queue; NULL: its region does not have this @length. */
static uint8_t *queue_memory(uint32_t lkey, uint64_t length)
{
	const struct object *mr = object_by_number(OBJECT_MR, lkey);

	if (!mr || !mr->device || mr->length != length)
		return NULL;
	return bytes_pointer(*(const uint64_t *)mr->device);
}

/* Return a record; NULL: the page or the index is not valid. */
static volatile uint32_t *record_at(uint64_t page, uint32_t index)
{
	uint8_t *at = bytes_pointer(page);

	if (page % 4096 || index >= UARC_SIZE / 8 || !mlx_is_memory(at, 4096))
		return NULL;
	return (volatile uint32_t *)(at + index % RECORDS * 8);
}

static void watch_record(const struct object *object, const char *what, volatile uint32_t *record)
{
	trace_watch_object(object, what, (const void *)record, 8);
}

/* ---- completion queues */

/* cq->ring.cursor is the number of completions before the one in the first place of the ring. */
static uint8_t *entry_at(const struct object *cq, uint32_t n)
{
	return cq->ring.base + (size_t)((n - cq->ring.cursor) & (cq->ring.entries - 1)) * CQE_SIZE;
}

static int take_ring(struct object *cq, uint32_t lkey, uint32_t entries)
{
	uint8_t *base = queue_memory(lkey, (uint64_t)entries * CQE_SIZE);

	if (!base)
		return EINVAL;
	cq->ring.base = base;
	cq->ring.entries = entries;
	cq->ring.stride = CQE_SIZE;
	trace_watch_object(cq, "buffer", base, (size_t)entries * CQE_SIZE);
	return 0;
}

static int take_records(struct object *cq, const struct mthca_create_cq *q)
{
	volatile uint32_t *set = record_at(q->set_db_page, q->set_db_index);

	if (!mthca_has_records())
		return 0;
	cq->ring.record = record_at(q->arm_db_page, q->arm_db_index);
	if (!set || !cq->ring.record)
		return EINVAL;
	watch_record(cq, "set", set);
	watch_record(cq, "arm", cq->ring.record);
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const uint32_t number = cq->number, entries = bytes_power_of_two(*cqe + 1);
	struct mthca_create_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	if (!*cqe)
		return EINVAL;
	*cqe = entries - 1;
	r = take_ring(cq, q.lkey, entries);
	if (!r)
		r = take_records(cq, &q);
	if (!r)
		r = model_create_cq(cq, entries);
	if (r)
		return r;
	command_reply(command, &number, sizeof(number));
	return 0;
}

static uint32_t waiting(const struct object *cq)
{
	uint32_t n = 0;

	while (n < cq->ring.entries && !(entry_at(cq, cq->produced - n - 1)[31] & HARDWARE))
		n++;
	return n;
}

/*
 * Tavor counts entries modulo the size of the ring, and goes on at the same place of a larger one.
 */
static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	uint32_t entries = bytes_power_of_two(*cqe + 1), old = cq->ring.entries, place;
	struct mthca_resize_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	if (!*cqe || waiting(cq) >= entries)
		return EINVAL;
	r = model_resize_cq(cq, entries);
	if (r)
		return r;
	trace_unwatch(cq);
	if (!mthca_has_records() && entries > old) {
		place = (cq->produced - cq->ring.cursor) & (old - 1);
		cq->ring.cursor = cq->produced - place;
	}
	*cqe = entries - 1;
	return take_ring(cq, q.lkey, entries);
}

/* ---- queue pairs */

static uint32_t at_least(uint32_t value, uint32_t least)
{
	return value < least ? least : value;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
	return value > most ? most : value;
}

static uint32_t granted(uint32_t requests)
{
	return requests && mthca_has_records() ? bytes_power_of_two(requests) : requests;
}

static bool is_too_much(const struct ib_uverbs_ex_create_qp *q, uint32_t extra)
{
	return q->max_send_wr > MOST_WR || q->max_recv_wr > MOST_WR || q->max_send_sge > MAX_SGE ||
	       q->max_recv_sge > MAX_SGE ||
	       q->max_inline_data > MAX_REQUEST - NEXT_SIZE - extra - 4;
}

/* Compute the size of both rings, as the driver does. @extra: bytes between header and list */
static int size_rings(struct object *qp, const struct ib_uverbs_ex_create_qp *q, uint32_t extra)
{
	uint32_t segments = at_least((q->max_inline_data + 4 + 15) / SGE_SIZE, q->max_send_sge);
	uint32_t send = at_least(segments * SGE_SIZE + extra, q->qp_type == IBV_QPT_RC ? 48 : 32);
	uint32_t receive = NEXT_SIZE + SGE_SIZE * q->max_recv_sge;

	send += NEXT_SIZE;
	if (send > MAX_REQUEST || receive > MAX_REQUEST)
		return EINVAL;
	qp->sq.stride = bytes_power_of_two(at_least(send, WQE_MIN));
	qp->rq.stride = bytes_power_of_two(at_least(receive, WQE_MIN));
	qp->sq.entries = q->max_send_wr;
	qp->rq.entries = q->max_recv_wr;
	return 0;
}

uint32_t mthca_offset(const struct object *qp, bool receive, uint32_t slot)
{
	uint32_t receives = qp->rq.entries * qp->rq.stride;

	if (receive)
		return slot * qp->rq.stride;
	return (receives + qp->sq.stride - 1) / qp->sq.stride * qp->sq.stride +
	       slot * qp->sq.stride;
}

static int find_rings(struct object *qp, const struct mthca_create_qp *d)
{
	uint32_t length = mthca_offset(qp, false, qp->sq.entries);
	uint8_t *base = queue_memory(d->lkey, length);

	trace_line("# send stride %u, receive stride %u, %u bytes", qp->sq.stride, qp->rq.stride,
		   length);
	if (!base)
		return EINVAL;
	qp->rq.base = base;
	qp->sq.base = base + mthca_offset(qp, false, 0);
	if (!mthca_has_records())
		return 0;
	qp->sq.record = record_at(d->sq_db_page, d->sq_db_index);
	qp->rq.record = record_at(d->rq_db_page, d->rq_db_index);
	return qp->sq.record && qp->rq.record ? 0 : EINVAL;
}

static int chain_new(struct object *qp)
{
	struct mthca_chain *chain;

	if (mthca_has_records())
		return 0;
	chain = calloc(1, sizeof(*chain) + qp->sq.entries);
	if (!chain)
		return ENOMEM;
	chain->failed = NEVER_FAILED;
	qp->device = chain;
	return 0;
}

static void write_back(struct ib_uverbs_ex_create_qp *q, const struct object *qp, uint32_t extra)
{
	uint32_t data = at_most(qp->sq.stride, MAX_REQUEST) - NEXT_SIZE - extra;

	q->max_send_sge = at_most(data / SGE_SIZE, MAX_SGE);
	q->max_inline_data = data - 4;
	q->max_recv_sge =
		at_most((at_most(qp->rq.stride, MAX_REQUEST) - NEXT_SIZE) / SGE_SIZE, MAX_SGE);
}

static void watch_rings(const struct object *qp)
{
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * qp->rq.stride);
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * qp->sq.stride);
	if (!mthca_has_records())
		return;
	watch_record(qp, "rq-record", qp->rq.record);
	watch_record(qp, "sq-record", qp->sq.record);
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	uint32_t extra = q->qp_type == IBV_QPT_UD ? UD_SIZE : RADDR_SIZE;
	struct mthca_create_qp d;
	int r;

	command_request(command, &d, sizeof(d));
	if (q->qp_type != IBV_QPT_RC && q->qp_type != IBV_QPT_UC && q->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (is_too_much(q, extra))
		return EINVAL;
	q->max_send_wr = granted(q->max_send_wr);
	q->max_recv_wr = granted(q->max_recv_wr);
	r = size_rings(qp, q, extra);
	if (!r)
		r = find_rings(qp, &d);
	if (!r)
		r = chain_new(qp);
	if (r)
		return r;
	write_back(q, qp, extra);
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (!r)
		watch_rings(qp);
	return r;
}

/*
 * Clear the second and the third word of all requests, because a list starts again after a reset.
 */
static void cut(const struct queue *queue)
{
	for (uint32_t i = 0; model_on() && i < queue->entries; i++)
		memset(queue->base + (size_t)i * queue->stride + 4, 0, 8);
}

/* The backend finds peers by GIDs alone. All ports of the host have the same one. */
static void route(struct ib_uverbs_qp_dest *dest)
{
	uint32_t interface;
	const char *type;
	union ibv_gid gid;

	if (!model_on() || dest->is_global || model_query_gid(0, &gid, &type, &interface))
		return;
	dest->is_global = 1;
	dest->sgid_index = 0;
	dest->hop_limit = 1;
	memcpy(dest->dgid, gid.raw, sizeof(gid.raw));
}

static int transition(struct object *qp, struct ib_uverbs_modify_qp *q, struct command *command)
{
	struct mthca_chain *chain = qp->device;

	if (q->attr_mask & IBV_QP_AV)
		route(&q->dest);
	if (!(q->attr_mask & IBV_QP_STATE) || q->qp_state != IBV_QPS_RESET || !chain)
		return 0;
	chain->failed = NEVER_FAILED;
	chain->taken = 0;
	cut(&qp->sq);
	cut(&qp->rq);
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	const uint32_t number = srq->number, size = NEXT_SIZE + SGE_SIZE * q->max_sge;
	uint32_t entries = granted(q->max_wr + 1);
	struct mthca_create_srq d;
	int r;

	command_request(command, &d, sizeof(d));
	if (q->srq_type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	srq->rq = (struct queue){
		.entries = entries,
		.stride = bytes_power_of_two(at_least(size, WQE_MIN)),
	};
	srq->rq.base = queue_memory(d.lkey, (uint64_t)entries * srq->rq.stride);
	if (!srq->rq.base)
		return EINVAL;
	srq->rq.cursor = mthca_has_records() ? 0 : entries - 1;
	if (mthca_has_records()) {
		srq->rq.record = record_at(d.db_page, d.db_index);
		if (!srq->rq.record)
			return EINVAL;
	}
	q->max_wr = entries - 1;
	r = model_create_srq(srq, entries, q->max_sge);
	if (r)
		return r;
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)entries * srq->rq.stride);
	if (mthca_has_records())
		watch_record(srq, "record", srq->rq.record);
	command_reply(command, &number, sizeof(number));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s", offset ? "unknown" : "uar");
	return REGION_REGISTERS;
}

/* ---- completions */

static uint32_t room(struct object *cq)
{
	uint32_t n = 0;

	while (n < ROOM_MOST && n < cq->ring.entries &&
	       __atomic_load_n(entry_at(cq, cq->produced + n) + 31, __ATOMIC_ACQUIRE) & HARDWARE)
		n++;
	return n;
}

/*
 * Write an entry. The owner byte comes last, because it tells the process that the entry is valid.
 */
static void entry(struct object *cq, const void *bytes, size_t length)
{
	uint8_t *slot = entry_at(cq, cq->produced++), cqe[CQE_SIZE] = { 0 };

	memcpy(cqe, bytes, length < CQE_SIZE ? length : CQE_SIZE);
	if (!model_on()) {
		trace_device_writes(slot, cqe, CQE_SIZE);
		return;
	}
	memcpy(slot, cqe, CQE_SIZE - 1);
	__atomic_store_n(slot + CQE_SIZE - 1, cqe[CQE_SIZE - 1], __ATOMIC_RELEASE);
}

static uint8_t received_as(const struct completion *c)
{
	if (c->wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return OP_RECEIVE_WRITE_IMM;
	return c->wc->wc_flags & IBV_WC_WITH_IMM ? OP_RECEIVE_IMM : OP_RECEIVE;
}

/* Return whether the entry of an earlier failure also stands for this request, because one doorbell
 * announced both. */
static bool is_told(const struct completion *c)
{
	struct mthca_chain *chain = c->qp->device;
	uint32_t before;

	if (!chain || c->receive || !model_on())
		return false;
	before = chain->failed;
	chain->failed = c->id;
	return before != NEVER_FAILED && (before + 1) % c->qp->sq.entries == c->id &&
	       chain->joined[c->id];
}

static void complete(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	uint32_t at = c->srq || (c->receive && c->qp->srq)
			      ? c->id * (c->srq ? c->srq : c->qp->srq)->rq.stride
			      : mthca_offset(c->qp, c->receive, c->id);
	struct mthca_cqe cqe = {
		.my_qpn = htobe32(c->qp->number),
		.rqpn = htobe32(wc->src_qp),
		.sl_path = htobe16((wc->sl & 15) << 12 | (wc->wc_flags & IBV_WC_GRH ? 0x80 : 0)),
		.rlid = htobe16(wc->slid),
		.immediate = wc->imm_data,
		.byte_count = htobe32(wc->byte_len),
		.wqe = htobe32(at),
		.opcode = c->receive ? received_as(c) : c->note,
		.is_send = c->receive ? 0 : 0x80,
	};

	if (wc->status) {
		if (is_told(c))
			return;
		cqe.error.syndrome = mlx_syndrome(wc->status);
		cqe.error.vendor = wc->vendor_err;
		cqe.error.doorbells = 0;
		cqe.opcode = c->receive ? OP_ERROR_RECEIVE : OP_ERROR_SEND;
	}
	entry(cq, &cqe, sizeof(cqe));
}

/* Read a record. A process that closes its context unmaps records of queues that it has not
 * destroyed. Return: whether the record is still there. */
static bool record_read(volatile uint32_t *record, uint64_t *ret)
{
	struct iovec here = { ret, sizeof(*ret) }, there = { (void *)record, sizeof(*ret) };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(*ret);
}

/* Without records only a register arms a queue, and the next store overwrites it. Therefore a queue
 * counts as armed unless the process has an event to read. */
static bool armed(struct object *cq, struct arm *ret_arm)
{
	uint32_t word, counter, seen;
	uint64_t raw;

	if (!mthca_has_records()) {
		*ret_arm = (struct arm){ .consumed = cq->produced - waiting(cq) };
		return !event_is_unread(cq);
	}
	if (!record_read(cq->ring.record, &raw))
		return false;
	word = be64toh(raw);
	counter = be64toh(raw) >> 32;
	seen = counter << 5 | (word & 31);
	if (!(word & 7) || seen == cq->arm_seen)
		return false;
	cq->arm_seen = seen;
	if ((word >> 3 & 3) != ((cq->events + 1) & 3))
		return false;
	*ret_arm = (struct arm){ .solicited = (word & 7) == 1, .consumed = counter };
	return true;
}

/* The address of an address vector differs in each run. */
static unsigned ignored(const char *name, size_t offset)
{
	const struct object *qp;
	unsigned ordinal;
	char rest;

	if (mthca_has_records() || sscanf(name, "qp%u.s%c", &ordinal, &rest) != 2 || rest != 'q')
		return 0;
	qp = object_at(OBJECT_QP, ordinal);
	return qp && qp->qp_type == IBV_QPT_UD && offset % qp->sq.stride == NEXT_SIZE ? 0xff00 : 0;
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	const struct queue *queue = receive ? &qp->rq : &qp->sq;

	if (receive && qp->srq)
		queue = &qp->srq->rq;
	return index % queue->entries;
}

#define MTHCA(id)                                                                                 \
	.ibdev = "mthca0",                                                                        \
	.modalias = "pci:v000015B3d0000" id "sv000015B3sd0000" id "bc0Csc06i00",                  \
	.vendor_id = 0x15b3, .abi_version = MTHCA_UVERBS_ABI_VERSION, .node_type = IBV_NODE_CA,   \
	.link_layer = IBV_LINK_LAYER_INFINIBAND, .loose_modify = true,                            \
	.fields = { [REQUEST_CQ] = cq_fields,                                                     \
		    [REQUEST_RESIZE] = resize_fields,                                             \
		    [REQUEST_QP] = qp_fields,                                                     \
		    [REQUEST_SRQ] = srq_fields,                                                   \
		    [REQUEST_REGION] = region_fields },                                           \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,           \
	.reg_mr = reg_mr, .create_cq = create_cq, .resize_cq = resize_cq, .create_qp = create_qp, \
	.transition = transition, .create_srq = create_srq, .region = region,                     \
	.next_send = mthca_next_send, .next_receive = mthca_next_receive, .room = room,           \
	.entry = entry, .ignored = ignored, .complete = complete, .armed = armed,                 \
	.traced_id = traced_id, .traced_note = mthca_note_of

const struct device device_mthca = {
	.name = "mthca",
	.part_id = 0x6274,
	MTHCA("6274"),
};
const struct device device_mthca_tavor = {
	.name = "mthca-tavor",
	.part_id = 0x5a44,
	MTHCA("5A44"),
};
