/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlx4: ConnectX-3. Answers of its kernel driver, and completions. mlx4_wqe.c has its work
 * requests. */
#include "tests/adapters/lab/device/mlx4.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <rdma/mlx4-abi.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	CQE_MOST = (1 << 22) - 1,
	PAGE = 4096,
	CLOCK_PAGE = 3,
	CLOCK = 0x18, /* offset in the clock's page */
	BF_REG_SIZE = 512,
	QP_TABLE = 1 << 18,
	CQE_SIZE = 32,
	CQE_SIZE_LARGE = 64,
	MAX_WR = 16351,
	MAX_SGE = 32,
	MAX_SGE_RD = 30, /* the request of a read also has the remote address */
	MAX_SRQ_WR = 16383,
	MAX_SRQ_SGE = 31,
	DEVICE_ERROR = 0x22,
	XRC_RECEIVER = 1 << 23, /* of a completion's QPN */
};

#define F(member, how) FIELD(mlx4_ib_create_cq, member, how)
static const struct field cq_fields[] = { F(buf_addr, 'p'), F(db_addr, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(mlx4_ib_resize_cq, member, how)
static const struct field resize_fields[] = { F(buf_addr, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(mlx4_ib_create_qp, member, how)
static const struct field qp_fields[] = {
	F(buf_addr, 'p'),
	F(db_addr, 'p'),
	F(log_sq_bb_count, 'x'),
	F(log_sq_stride, 'x'),
	F(sq_no_prefetch, 'x'),
	F(inl_recv_sz, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx4_ib_create_qp_rss, member, how)
static const struct field table_fields[] = {
	F(rx_hash_fields_mask, 'x'),
	F(rx_hash_function, 'x'),
	F(comp_mask, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx4_ib_create_wq, member, how)
static const struct field wq_fields[] = {
	F(buf_addr, 'p'), F(db_addr, 'p'), F(log_range_size, 'x'), F(comp_mask, 'x'), { 0 },
};
#undef F
#define F(member, how) FIELD(mlx4_ib_create_srq, member, how)
static const struct field srq_fields[] = { F(buf_addr, 'p'), F(db_addr, 'p'), { 0 } };
#undef F

/* The older adapters on InfiniBand have completions of 32 bytes, and no register for requests. */
static bool is_old(void)
{
	return device == &device_mlx4_ib;
}

static int get_context(struct command *command)
{
	const struct mlx4_ib_alloc_ucontext_resp response = {
		.dev_caps = is_old() ? 0 : MLX4_USER_DEV_CAP_LARGE_CQE,
		.qp_tab_size = QP_TABLE,
		.bf_reg_size = is_old() || host_is("no-wc") ? 0 : BF_REG_SIZE,
		.bf_regs_per_page = is_old() ? 0 : host_page() / BF_REG_SIZE,
		.cqe_size = is_old() ? CQE_SIZE : CQE_SIZE_LARGE,
	};

	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	struct mlx4_uverbs_ex_query_device_resp response = {
		.response_length = sizeof(response),
		.max_inl_recv_sz = MAX_SGE * SGE_SIZE,
	};

	if (host_is("clock")) {
		response.comp_mask = MLX4_IB_QUERY_DEV_RESP_MASK_CORE_CLOCK_OFFSET;
		response.hca_core_clock_offset = PAGE + CLOCK;
	}
	attr->max_qp_wr = MAX_WR;
	attr->max_srq_wr = MAX_SRQ_WR;
	attr->max_sge = MAX_SGE;
	attr->max_sge_rd = MAX_SGE_RD;
	attr->max_srq_sge = MAX_SRQ_SGE;
	if (attr->max_cqe > CQE_MOST)
		attr->max_cqe = CQE_MOST;
	attr->device_cap_flags &= ~IBV_DEVICE_SRQ_RESIZE;
	if (!model_on())
		attr->device_cap_flags |= IBV_DEVICE_RAW_IP_CSUM;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void query_device_ex(struct ib_uverbs_ex_query_device_resp *ret)
{
	if (host_is("all-capabilities"))
		ret->raw_packet_caps = IBV_RAW_PACKET_CAP_SCATTER_FCS;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct mlx4_ib_alloc_pd_resp response = { .pdn = pd->number };

	command_reply(command, &response, sizeof(response));
	return 0;
}

static uint32_t cqe_size(void)
{
	return is_old() ? CQE_SIZE : CQE_SIZE_LARGE;
}

static bool is_ring(uint64_t base, uint32_t entries)
{
	return mlx_is_memory(bytes_pointer(base), (size_t)entries * cqe_size());
}

static void take_ring(struct object *cq, uint64_t base, uint32_t entries)
{
	cq->ring.base = bytes_pointer(base);
	cq->ring.entries = entries;
	cq->ring.stride = cqe_size();
	mlx4_disown(cq);
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * cq->ring.stride);
	trace_watch_object(cq, "record", (void *)cq->ring.record, 8);
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const struct mlx4_ib_create_cq_resp response = { .cqn = cq->number };
	struct mlx4_ib_create_cq q;
	uint32_t entries = bytes_power_of_two(*cqe + 1);
	int r;

	command_request(command, &q, sizeof(q));
	*cqe = entries - 1;
	if (!is_ring(q.buf_addr, entries) || !mlx_is_memory(bytes_pointer(q.db_addr), 8))
		return EFAULT;
	r = model_create_cq(cq, entries);
	if (r)
		return r;
	cq->ring.record = bytes_pointer(q.db_addr);
	/* The register carries an arming, which the next arming of any CQ overwrites. The record
	 * stays, but the first value that a process writes may equal its initial value. */
	cq->arm_seen = NEVER_ARMED;
	if (model_on())
		cq->ring.record[1] = NEVER_ARMED;
	take_ring(cq, q.buf_addr, entries);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	uint32_t entries = bytes_power_of_two(*cqe + 1);
	struct mlx4_cqe last = { 0 };
	struct mlx4_ib_resize_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	if (!*cqe || mlx_in_ring(cq) >= *cqe)
		return EINVAL;
	if (!is_ring(q.buf_addr, entries))
		return EFAULT;
	r = model_resize_cq(cq, entries);
	if (r)
		return r;
	mlx4_write_cqe(cq, &last, CQE_RESIZE, false);
	trace_unwatch(cq);
	take_ring(cq, q.buf_addr, entries);
	*cqe = entries - 1;
	return 0;
}

/* The queue with the larger slots is the first. */
static void find_rings(struct object *qp, const struct mlx4_ib_create_qp *d, uint32_t receives,
		       uint32_t receive_sges)
{
	uint32_t sends = 1u << d->log_sq_bb_count;

	qp->rq.stride = receives ? SGE_SIZE * receive_sges : 0;
	qp->rq.entries = receives;
	qp->sq.stride = 1u << d->log_sq_stride;
	qp->sq.entries = sends;
	qp->rq.base = qp->sq.base = bytes_pointer(d->buf_addr);
	if (qp->rq.stride > qp->sq.stride)
		qp->sq.base += (size_t)receives * qp->rq.stride;
	else
		qp->rq.base += (size_t)sends * qp->sq.stride;
	qp->rq.record = bytes_pointer(d->db_addr);
}

/* Grant the receives of a queue pair of this type: none of its own, or a ring with room. */
static int grant_receives(struct ib_uverbs_ex_create_qp *q, const struct mlx4_ib_create_qp *d)
{
	if (q->is_srq || q->qp_type == IBV_QPT_XRC_SEND || q->qp_type == IBV_QPT_XRC_RECV) {
		q->max_recv_wr = q->max_recv_sge = 0;
		return 0;
	}
	if (!q->max_recv_wr || !q->max_recv_sge || !d->db_addr)
		return EINVAL;
	q->max_recv_wr = bytes_power_of_two(q->max_recv_wr);
	q->max_recv_sge = bytes_power_of_two(q->max_recv_sge);
	return 0;
}

static bool has_type(uint32_t type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return true;
	default: /* only in a trace, because the model carries no frames of Ethernet */
		return type == IBV_QPT_RAW_PACKET && !model_on();
	}
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct mlx4_ib_create_qp d;
	int r;

	if (!has_type(q->qp_type))
		return EOPNOTSUPP;
	if (qp->table)
		return 0;
	command_request(command, &d, sizeof(d));
	if (q->qp_type == IBV_QPT_XRC_RECV)
		return model_create_qp(qp, q, 0, 0);
	if (d.log_sq_bb_count > 16 || d.log_sq_stride < 6 || d.log_sq_stride > 10 ||
	    q->max_recv_wr > MAX_WR || q->max_recv_sge > MAX_SGE)
		return EINVAL;
	r = grant_receives(q, &d);
	if (r)
		return r;
	find_rings(qp, &d, q->max_recv_wr, q->max_recv_sge);
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * qp->rq.stride);
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * qp->sq.stride);
	if (qp->rq.entries)
		trace_watch_object(qp, "record", (void *)qp->rq.record, 4);
	return 0;
}

/* The buffer also has a send queue of one slot, which is never used, behind or before the ring. */
static int create_wq(struct object *wq, struct ib_uverbs_ex_create_wq *q, struct command *command)
{
	struct mlx4_ib_create_qp place = { .log_sq_stride = 6 };
	struct mlx4_ib_create_wq d;

	if (model_on())
		return EOPNOTSUPP;
	command_request(command, &d, sizeof(d));
	if (!q->max_wr || q->max_wr > MAX_WR || !q->max_sge || q->max_sge > MAX_SGE)
		return EINVAL;
	q->max_wr = bytes_power_of_two(q->max_wr);
	q->max_sge = bytes_power_of_two(q->max_sge);
	place.buf_addr = d.buf_addr;
	place.db_addr = d.db_addr;
	find_rings(wq, &place, q->max_wr, q->max_sge);
	trace_watch_object(wq, "rq", wq->rq.base, (size_t)wq->rq.entries * wq->rq.stride);
	trace_watch_object(wq, "sq", wq->sq.base, wq->sq.stride);
	trace_watch_object(wq, "record", (void *)wq->rq.record, 4);
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct mlx4_ib_create_srq_resp response = { 0 };
	uint32_t stride = bytes_power_of_two(SRQ_HEADER + SGE_SIZE * q->max_sge);
	struct mlx4_ib_create_srq d;
	int r;

	command_request(command, &d, sizeof(d));
	srq->rq = (struct queue){
		.base = bytes_pointer(d.buf_addr),
		.entries = bytes_power_of_two(q->max_wr + 1),
		.stride = stride < 32 ? 32 : stride,
		.record = bytes_pointer(d.db_addr),
	};
	q->max_wr = srq->rq.entries - 1;
	r = model_create_srq(srq, srq->rq.entries, q->max_sge);
	if (r)
		return r;
	response.srqn = srq->number;
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)srq->rq.entries * srq->rq.stride);
	trace_watch_object(srq, "record", (void *)srq->rq.record, 4);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	static const char *const names[] = { "uar", "blueflame", "2", "clock" };
	uint64_t page = offset / host_page();

	snprintf(ret_name, size, "%s", page < 4 ? names[page] : "unknown");
	return page == 3 ? REGION_MEMORY : REGION_REGISTERS;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	uint32_t *counter = (void *)((char *)at + CLOCK);

	if (offset / host_page() != CLOCK_PAGE || length < host_page() || !host_is("clock"))
		return;
	mprotect(at, length, PROT_READ | PROT_WRITE);
	counter[0] = htobe32(0x12345678);
	counter[1] = htobe32(0x9abcdef0);
}

static void complete(struct object *cq, const struct completion *c)
{
	struct mlx4_cqe cqe =
		mlx4_completion(c, device->link_layer == IBV_LINK_LAYER_ETHERNET, cq->produced);

	mlx4_write_cqe(cq, &cqe, mlx4_cqe_opcode(c), !c->receive);
}

/* Only Ethernet uses the fields for VLAN and MAC address in a datagram's request. */
static unsigned ignored(const char *name, size_t offset)
{
	const struct object *qp;
	unsigned ordinal;
	char rest;

	if (sscanf(name, "qp%u.s%c", &ordinal, &rest) != 2 || rest != 'q')
		return 0;
	qp = object_at(OBJECT_QP, ordinal);
	return qp && qp->qp_type == IBV_QPT_UD && offset % qp->sq.stride == 0x30 ? 0xff00 : 0;
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return index;
}

/* With GIDs of IP addresses a plug-in asks the machine for MAC addresses of neighbours, which lo
 * does not have. Older GIDs contain the MAC address. */
#define COMMON                                                                                   \
	.ibdev = "mlx4_0", .modalias = "pci:v000015B3d00001003sv000015B3sd00000050bc02sc00i00",  \
	.vendor_id = 0x15b3, .part_id = 0x1003, .abi_version = MLX4_IB_UVERBS_ABI_VERSION,       \
	.node_type = IBV_NODE_CA, .xrc_bit = XRC_RECEIVER,                                       \
	.fields = { [REQUEST_CQ] = cq_fields, [REQUEST_RESIZE] = resize_fields,                  \
		    [REQUEST_QP] = qp_fields, [REQUEST_SRQ] = srq_fields,                        \
		    [REQUEST_WQ] = wq_fields, [REQUEST_QP_TABLE] = table_fields },               \
	.get_context = get_context, .query_device = query_device,                                \
	.query_device_ex = query_device_ex, .alloc_pd = alloc_pd, .create_cq = create_cq,        \
	.resize_cq = resize_cq, .create_qp = create_qp, .create_srq = create_srq,                \
	.create_wq = create_wq, .region = region, .mapped = mapped, .next_send = mlx4_next_send, \
	.next_receive = mlx4_next_receive, .room = mlx_room, .complete = complete,               \
	.armed = mlx4_armed, .traced_id = traced_id, .traced_note = mlx4_note_of

const struct device device_mlx4 = {
	.name = "mlx4",
	.link_layer = IBV_LINK_LAYER_ETHERNET,
	.lacks = IBV_PORT_IP_BASED_GIDS,
	COMMON,
};
const struct device device_mlx4_ib = {
	.name = "mlx4-ib",
	.link_layer = IBV_LINK_LAYER_INFINIBAND,
	.ignored = ignored,
	COMMON,
};
