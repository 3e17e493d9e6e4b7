/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hns: the answers of the kernel driver of Kunpeng's adapters. All numbers in memory are
 * little-endian, except doorbell records, which have the byte order of the processor.
 *
 * "hns" is HIP09 on a kernel that grants a context no features, and "hns-full" is HIP09 on a kernel
 * that grants long lists and fills in all members of its answers. "hns-hip08" is the older adapter,
 * which has no datagrams. In traces it has no doorbell records.
 */
#include "tests/adapters/lab/device/hns.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PART = 0xa222,
	PAGE = 4096, /* alignment of the parts of a buffer, for each page size of the system */
	HARDWARE_OLD = 0x100,
	HARDWARE = 0x130,
	NUMBERS = 1 << 24,
	MAX_WR = 32768,
	MAX_SGE = 64,
	OLD_RECEIVE_SGES =
		128, /* The driver of HIP08 lets a process reserve an entry of a receive. */
	MAX_SRQ_WR = 32767,
	MAX_CQE = 1 << 22,
	MAX_INLINE = 1024,
	RECEIVES_LEAST = 64,
	STRIDE_SHIFT = 6,
	REQUEST_CQ_LEAST = 20,
	OLD_CONTEXT = 8, /* bytes of answers of Linux 5.4 */
	OLD_QP = 8,
	TC_DSCP = 1,
	PRIORITY = 5,
	MAP_UAR = 0,
	MAP_DIRECT = 0x100000,
	DIRECT_PAGE = 0x10000,
};

#define F(member, how) FIELD(hns_roce_ib_alloc_ucontext, member, how)
static const struct field context_fields[] = { F(config, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(hns_roce_ib_create_cq, member, how)
static const struct field cq_fields[] = {
	F(buf_addr, 'p'),
	F(db_addr, 'p'),
	F(cqe_size, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(hns_roce_ib_create_qp, member, how)
static const struct field qp_fields[] = {
	F(buf_addr, 'p'),
	F(db_addr, 'p'),
	F(log_sq_bb_count, 'x'),
	F(log_sq_stride, 'x'),
	F(sq_no_prefetch, 's'),
	F(pageshift, 's'),
	F(sdb_addr, 'p'),
	F(comp_mask, 's'),
	F(create_flags, 's'),
	F(cong_type_flags, 's'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(hns_roce_ib_create_srq, member, how)
static const struct field srq_fields[] = {
	F(buf_addr, 'p'), F(db_addr, 'p'), F(que_addr, 'p'), F(req_cap_flags, 's'), { 0 },
};
#undef F

static uint32_t granted; /* features of all contexts of a process */

static bool is_full(void)
{
	return device == &device_hns_full;
}

bool hns_is_old(void)
{
	return device == &device_hns_hip08;
}

static int get_context(struct command *command)
{
	struct hns_roce_ib_alloc_ucontext_resp response = {
		.qp_tab_size = NUMBERS,
		.cqe_size = hns_is_old() ? 32 : 64,
		.srq_tab_size = NUMBERS,
	};
	struct hns_roce_ib_alloc_ucontext q;

	command_request(command, &q, sizeof(q));
	if (is_full()) {
		granted = q.config & HNS_ROCE_EXSGE_FLAGS;
		response.config = granted;
		response.max_inline_data = granted & HNS_ROCE_EXSGE_FLAGS ? MAX_INLINE : 0;
		response.congest_type = 1 << HNS_ROCE_CREATE_QP_FLAGS_DCQCN |
					1 << HNS_ROCE_CREATE_QP_FLAGS_LDCP |
					1 << HNS_ROCE_CREATE_QP_FLAGS_DIP;
	}
	/* Linux 5.4 has only completions of 32 bytes. */
	if (host_is("old-kernel"))
		response.cqe_size = 0;
	command_reply(command, &response, host_answer(sizeof(response), OLD_CONTEXT));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->hw_ver = hns_is_old() ? HARDWARE_OLD : HARDWARE;
	attr->max_qp_wr = MAX_WR;
	attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = MAX_SGE;
	attr->max_srq_wr = MAX_SRQ_WR;
	attr->max_cqe = MAX_CQE;
	attr->device_cap_flags &=
		~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	attr->max_mw = 0;
	if (hns_is_old())
		attr->max_ah = 0;
	if (model_on()) {
		struct ibv_device_attr backend;

		model_query_device(&backend);
		if (attr->max_qp_wr > backend.max_qp_wr)
			attr->max_qp_wr = backend.max_qp_wr;
		if (attr->max_sge > backend.max_sge)
			attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = backend.max_sge;
		if (attr->max_cqe > backend.max_cqe)
			attr->max_cqe = backend.max_cqe;
	}
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct hns_roce_ib_alloc_pd_resp response = { .pdn = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static bool has_records(void)
{
	return model_on() || !hns_is_old();
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const struct hns_roce_ib_create_cq_resp response = {
		.cqn = cq->number,
		.cap_flags = has_records() ? HNS_ROCE_CQ_FLAG_RECORD_DB : 0,
	};
	struct hns_roce_ib_create_cq q;
	uint32_t entries = bytes_power_of_two(*cqe < 64 ? 64 : *cqe);
	int r;

	command_request(command, &q, sizeof(q));
	if (command->driver.in_len < REQUEST_CQ_LEAST || host_is("old-kernel"))
		q.cqe_size = 32;
	if (!*cqe || *cqe > MAX_CQE || q.buf_addr % PAGE || q.db_addr % 4 ||
	    (q.cqe_size != 32 && (q.cqe_size != 64 || hns_is_old())))
		return EINVAL;
	*cqe = entries - 1;
	cq->ring = (struct queue){
		.base = bytes_pointer(q.buf_addr),
		.entries = entries,
		.stride = q.cqe_size,
		.record = bytes_pointer(q.db_addr),
	};
	r = model_create_cq(cq, entries);
	if (r)
		return r;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * q.cqe_size);
	trace_watch_object(cq, "record", bytes_pointer(q.db_addr), 4);
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* ---- queue pairs */

static uint32_t max_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Return the segments behind the ring of sends, which the kernel calculates as the library does. */
static uint32_t segments_of(const struct ib_uverbs_ex_create_qp *q, uint32_t sends)
{
	bool datagrams = q->qp_type == IBV_QPT_UD;
	uint32_t within = datagrams ? 0 : 2, each = datagrams ? 1 : 0, bytes;

	if (q->max_send_sge > within)
		each = q->max_send_sge - within;
	if (granted & HNS_ROCE_RSP_EXSGE_FLAGS) {
		bytes = q->max_inline_data ? bytes_power_of_two(q->max_inline_data) : 0;
		if (bytes > MAX_INLINE)
			bytes = MAX_INLINE;
		if (datagrams || bytes / HNS_SEGMENT > 2)
			each = max_of(each, bytes / HNS_SEGMENT);
		each = each ? bytes_power_of_two(each) : 0;
	}
	return each ? max_of(bytes_power_of_two(sends * each), 256) : 0;
}

static size_t whole(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static bool has_receives(const struct ib_uverbs_ex_create_qp *q)
{
	return !q->is_srq && q->qp_type != IBV_QPT_XRC_SEND && q->qp_type != IBV_QPT_XRC_RECV &&
	       q->max_recv_wr;
}

static int queues_take(struct object *qp, struct ib_uverbs_ex_create_qp *q,
		       const struct hns_roce_ib_create_qp *d)
{
	struct hns_played_qp *played = qp->device;
	uint32_t sends = 1u << (d->log_sq_bb_count & 31);
	uint8_t *at = bytes_pointer(d->buf_addr);

	if (d->log_sq_stride != STRIDE_SHIFT || sends > MAX_WR || sends < q->max_send_wr ||
	    d->buf_addr % PAGE || q->max_send_sge > MAX_SGE || d->sdb_addr % 4 || d->db_addr % 4)
		return EINVAL;
	played->segment_count = segments_of(q, sends);
	qp->sq = (struct queue){ at, sends, HNS_WQE, bytes_pointer(d->sdb_addr) };
	at += whole((size_t)sends * HNS_WQE);
	played->segments = at;
	at += whole((size_t)played->segment_count * HNS_SEGMENT);
	if (!has_receives(q)) {
		q->max_recv_wr = q->max_recv_sge = 0;
		return 0;
	}
	if (q->max_recv_wr > MAX_WR || !q->max_recv_sge ||
	    q->max_recv_sge > (hns_is_old() ? OLD_RECEIVE_SGES : MAX_SGE))
		return EINVAL;
	q->max_recv_wr = bytes_power_of_two(max_of(q->max_recv_wr, RECEIVES_LEAST));
	q->max_recv_sge = bytes_power_of_two(q->max_recv_sge);
	qp->rq = (struct queue){ at, q->max_recv_wr, HNS_SEGMENT * q->max_recv_sge,
				 bytes_pointer(d->db_addr) };
	return 0;
}

static bool has_type(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV ||
	       (type == IBV_QPT_UD && !hns_is_old());
}

static void watch(struct object *qp)
{
	const struct hns_played_qp *played = qp->device;

	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * HNS_WQE);
	trace_watch_object(qp, "segments", played->segments,
			   (size_t)played->segment_count * HNS_SEGMENT);
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * qp->rq.stride);
	trace_watch_object(qp, "sq_record", (void *)qp->sq.record, 4);
	trace_watch_object(qp, "rq_record", (void *)qp->rq.record, qp->rq.entries ? 4 : 0);
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct hns_played_qp *played = calloc(1, sizeof(*played));
	struct hns_roce_ib_create_qp_resp response = {
		.cap_flags = has_records()
				     ? HNS_ROCE_QP_CAP_RQ_RECORD_DB | HNS_ROCE_QP_CAP_SQ_RECORD_DB |
					       HNS_ROCE_QP_CAP_OWNER_DB
				     : 0,
	};
	struct hns_roce_ib_create_qp d;
	int r;

	if (!played)
		return ENOMEM;
	qp->device = played;
	if (!has_type(q->qp_type))
		return EOPNOTSUPP;
	command_request(command, &d, sizeof(d));
	if (d.create_flags || d.pageshift ||
	    d.comp_mask & ~(uint64_t)HNS_ROCE_CREATE_QP_MASK_CONGEST_TYPE)
		return EOPNOTSUPP;
	if (d.comp_mask && (!is_full() || d.cong_type_flags > HNS_ROCE_CREATE_QP_FLAGS_DIP ||
			    d.cong_type_flags == HNS_ROCE_CREATE_QP_FLAGS_HC3))
		return EOPNOTSUPP;
	r = queues_take(qp, q, &d);
	if (!r)
		r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	watch(qp);
	if (is_full() && !host_is("no-wc")) {
		played->direct = true;
		response.cap_flags |= HNS_ROCE_QP_CAP_DIRECT_WQE;
		response.dwqe_mmap_key = MAP_DIRECT + (uint64_t)qp->ordinal * DIRECT_PAGE;
	}
	command_reply(command, &response, host_answer(sizeof(response), OLD_QP));
	return 0;
}

/* Begin with index 0 after a reset. The adapter ignores the records then. */
static void modified(struct object *qp, struct command *command)
{
	struct hns_roce_ib_modify_qp_resp response = { .tc_mode = TC_DSCP, .priority = PRIORITY };

	if (is_full())
		command_reply(command, &response, sizeof(response));
	if (qp->state != IBV_QPS_RESET || !model_on())
		return;
	if (qp->sq.record)
		*qp->sq.record = 0;
	if (qp->rq.record)
		*qp->rq.record = 0;
}

/* ---- shared receive queues */

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct hns_played_srq *played = calloc(1, sizeof(*played));
	struct hns_roce_ib_create_srq_resp response = { 0 };
	struct hns_roce_ib_create_srq d;
	int r;

	if (!played)
		return ENOMEM;
	srq->device = played;
	command_request(command, &d, sizeof(d));
	if (!q->max_wr || !q->max_sge || d.buf_addr % PAGE || d.que_addr % PAGE || d.db_addr % 4)
		return EINVAL;
	q->max_wr = bytes_power_of_two(q->max_wr);
	q->max_sge = bytes_power_of_two(q->max_sge);
	played->indices = bytes_pointer(d.que_addr);
	played->record = is_full() && d.req_cap_flags & HNS_ROCE_SRQ_CAP_RECORD_DB;
	srq->rq = (struct queue){ bytes_pointer(d.buf_addr), q->max_wr, HNS_SEGMENT * q->max_sge,
				  bytes_pointer(d.db_addr) };
	r = model_create_srq(srq, q->max_wr, q->max_sge);
	if (r)
		return r;
	/* The register of all queues keeps only its last store. Therefore entries of the ring need
	 * a mark. */
	for (uint32_t i = 0; model_on() && i < q->max_wr; i++)
		played->indices[i] = HNS_FREE;
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)q->max_wr * srq->rq.stride);
	trace_watch_object(srq, "indices", played->indices, (size_t)q->max_wr * 4);
	if (d.db_addr)
		trace_watch_object(srq, "record", (void *)srq->rq.record, 4);
	response.srqn = srq->number;
	response.cap_flags = played->record ? HNS_ROCE_RSP_SRQ_CAP_RECORD_DB : 0;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* Create an address handle. A new kernel resolves the MAC address. */
static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	const struct hns_roce_ib_create_ah_resp response = {
		.dmac = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 },
		.priority = PRIORITY,
		.tc_mode = TC_DSCP,
	};

	if (hns_is_old())
		return EOPNOTSUPP;
	if (q->sl > 7)
		return EINVAL;
	if (is_full())
		command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	if (offset == MAP_UAR)
		snprintf(ret_name, size, "uar");
	else
		snprintf(ret_name, size, "direct%llu",
			 (unsigned long long)((offset - MAP_DIRECT) / DIRECT_PAGE));
	return REGION_REGISTERS;
}

#define HNS                                                                                    \
	.ibdev = "hns_0", .modalias = "pci:v000019E5d0000A222sv000019E5sd00000000bc02sc00i00", \
	.vendor_id = 0x19e5, .part_id = PART, .abi_version = 1, .node_type = IBV_NODE_CA,      \
	.link_layer = IBV_LINK_LAYER_ETHERNET, .loose_modify = true,                           \
	.fields = { [REQUEST_CONTEXT] = context_fields,                                        \
		    [REQUEST_CQ] = cq_fields,                                                  \
		    [REQUEST_QP] = qp_fields,                                                  \
		    [REQUEST_SRQ] = srq_fields },                                              \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,        \
	.create_cq = create_cq, .create_qp = create_qp, .modified = modified,                  \
	.create_srq = create_srq, .create_ah = create_ah, .region = region,                    \
	.next_send = hns_next_send, .next_receive = hns_next_receive, .room = hns_room,        \
	.entry = hns_entry, .complete = hns_complete, .armed = hns_armed,                      \
	.traced_id = hns_traced_id, .traced_note = hns_traced_note

const struct device device_hns = {
	.name = "hns",
	HNS,
};

const struct device device_hns_full = {
	.name = "hns-full",
	HNS,
};

const struct device device_hns_hip08 = {
	.name = "hns-hip08",
	HNS,
	.receive_sges = OLD_RECEIVE_SGES,
};
