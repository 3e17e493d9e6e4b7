/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mana: what the kernel driver of Azure's adapter answers. Queues of raw Ethernet are in memory of
 * the program. The program drives them itself, and the model executes none of their requests. Queue
 * numbers are returned with the queue pair that uses the queues.
 *
 * "mana" is a device of Ethernet alone, whose driver knows no later fields of requests. "mana-rc"
 * has RC, too.
 */
#include "tests/adapters/lab/device/mana.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	TABLE_MAX = 64,
	PORTS = 1,
	VP_OFFSET = 0x30,
	MAX_CQE = 1 << 20,
	NUMBER_STEP = 4,       /* the lowest two bits of a number tell the type of a queue */
	SEND_NUMBERS = 0x4000, /* from the number of a receive queue to that of the send queue */
	OTHERS = 16,
	SIGNATURE = 0x4b424c52,
	RIGHT = 3,
};

#define F(member, how) FIELD(mana_ib_create_cq, member, how)
static const struct field cq_fields[] = { F(buf_addr, 'p'), F(flags, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mana_ib_create_qp, member, how)
static const struct field qp_fields[] = {
	F(sq_buf_addr, 'p'),
	F(sq_buf_size, 'x'),
	F(port, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mana_ib_create_wq, member, how)
static const struct field wq_fields[] = { F(wq_buf_addr, 'p'), F(wq_buf_size, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mana_ib_create_qp_rss, member, how)
#define KEY(n)                                                                                    \
	{                                                                                         \
		"rx_hash_key" #n, offsetof(struct mana_ib_create_qp_rss, rx_hash_key) + 8 * n, 8, \
			'x'                                                                       \
	}
static const struct field table_fields[] = {
	F(rx_hash_fields_mask, 'x'),
	F(rx_hash_function, 'x'),
	F(rx_hash_key_len, 'x'),
	KEY(0),
	KEY(1),
	KEY(2),
	KEY(3),
	KEY(4),
	F(port, 'x'),
	{ 0 },
};
#undef F

#define F(member, how) FIELD(mana_ib_create_rc_qp, member, how)
static const struct field rc_fields[] = {
	F(queue_buf[0], 'p'),  F(queue_buf[1], 'p'),  F(queue_buf[2], 'p'),
	F(queue_buf[3], 'p'),  F(queue_size[0], 'x'), F(queue_size[1], 'x'),
	F(queue_size[2], 'x'), F(queue_size[3], 'x'), { 0 },
};
#undef F

/* In traces the next queue pair gets the number of the one that was destroyed last. */
static uint32_t free_number;

enum {
	RECV_SGES = 15, /* buffers of the largest entry of a receive queue */
};

static bool has_rc(void)
{
	return device == &device_mana_rc;
}

static int get_context(struct command *command)
{
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = attr->max_cqe = 8192;
	/* The kernel names the smaller limit of sends and of receives. */
	if (has_rc())
		attr->max_sge = attr->max_sge_rd = RECV_SGES;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	return 0;
}

static bool is_ring(uint64_t address, uint32_t bytes)
{
	return address && address % MANA_PAGE == 0 && bytes >= MANA_PAGE && !(bytes & (bytes - 1));
}

static uint32_t cq_bytes(uint32_t cqe)
{
	uint32_t bytes = MANA_PAGE;

	while (bytes < cqe * MANA_CQE)
		bytes *= 2;
	return bytes;
}

static int create_rc_cq(struct object *cq, uint32_t cqe, uint64_t address, struct command *command)
{
	const struct mana_ib_create_cq_resp response = { .cqid = cq->number };
	int r;

	if (cqe > MAX_CQE || cqe & (cqe - 1))
		return EINVAL;
	cq->ring = (struct queue){ .base = bytes_pointer(address),
				   .entries = cqe,
				   .stride = MANA_CQE };
	r = model_create_cq(cq, cqe);
	if (r)
		return r;
	trace_watch_object(cq, "ring", cq->ring.base, cq_bytes(cqe));
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct mana_ib_create_cq q;

	command_request(command, &q, sizeof(q));
	if (!*cqe || !is_ring(q.buf_addr, MANA_PAGE) || q.flags & ~MANA_IB_CREATE_RNIC_CQ)
		return EINVAL;
	if (has_rc() && q.flags)
		return create_rc_cq(cq, *cqe, q.buf_addr, command);
	if (*cqe > 8192)
		return EINVAL;
	trace_watch_object(cq, "ring", (void *)(uintptr_t)q.buf_addr, cq_bytes(*cqe));
	return 0;
}

static int create_wq(struct object *wq, struct ib_uverbs_ex_create_wq *q, struct command *command)
{
	struct mana_ib_create_wq d;

	command_request(command, &d, sizeof(d));
	if (q->wq_type != IBV_WQT_RQ || !is_ring(d.wq_buf_addr, d.wq_buf_size))
		return EINVAL;
	trace_watch_object(wq, "ring", (void *)(uintptr_t)d.wq_buf_addr, d.wq_buf_size);
	return 0;
}

static int create_table_qp(struct object *qp, struct command *command)
{
	const struct object *table = qp->table;
	struct mana_ib_create_qp_rss_resp response = { .num_entries = table->member_count };
	struct mana_ib_create_qp_rss q;

	command_request(command, &q, sizeof(q));
	if (table->member_count > TABLE_MAX || !q.port || q.port > PORTS ||
	    q.rx_hash_function != MANA_IB_RX_HASH_FUNC_TOEPLITZ ||
	    q.rx_hash_key_len != sizeof(q.rx_hash_key))
		return EINVAL;
	for (uint32_t i = 0; i < table->member_count; i++) {
		response.entries[i].cqid = table->members[i]->recv_cq->number;
		response.entries[i].wqid = table->members[i]->number;
	}
	if (fault_of("TABLE_ANSWER")) /* a driver that forgets one */
		response.num_entries--;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static bool rc_is_wrong(const struct mana_ib_create_rc_qp *d)
{
	const uint32_t *rollback;

	for (int i = 0; i < MANA_QUEUES; i++)
		if (!is_ring(d->queue_buf[i],
			     d->queue_size[i] - (i == MANA_SEND ? MANA_ROLLBACK : 0)))
			return true;
	rollback =
		bytes_pointer(d->queue_buf[MANA_SEND] + d->queue_size[MANA_SEND] - MANA_ROLLBACK);
	return rollback[0] != SIGNATURE || rollback[1] != MANA_ROLLBACK || rollback[2] ||
	       rollback[3];
}

static void numbers_choose(struct object *qp)
{
	struct mana_played_qp *played = qp->device;
	uint32_t sends;

	if (!model_on())
		qp->number = free_number ? free_number : 0x1000 + NUMBER_STEP * qp->ordinal;
	free_number = 0;
	sends = (qp->number + SEND_NUMBERS) & MANA_NUMBER_MASK;
	played->numbers[MANA_SEND] = sends;
	played->numbers[MANA_SEND_RESPONDER] = sends | 1;
	played->numbers[MANA_READS] = qp->number | 1;
	played->numbers[MANA_RECV] = qp->number;
}

static struct queue ring_of(const struct mana_ib_create_rc_qp *d, int i)
{
	return (struct queue){ .base = bytes_pointer(d->queue_buf[i]),
			       .entries = d->queue_size[i] / MANA_UNIT,
			       .stride = MANA_UNIT };
}

/* Create the queue pair of the backend. Its number may follow one that rests, and then is no
 * multiple. */
static int create_backend(struct object *qp, const struct ib_uverbs_ex_create_qp *q)
{
	struct ibv_qp *others[OTHERS];
	int count = 0, r;

	do
		r = model_create_qp(qp, q, q->max_send_wr, q->max_recv_wr);
	while (!r && qp->backend.qp && qp->number % NUMBER_STEP && count < OTHERS &&
	       (others[count++] = qp->backend.qp));
	while (count--)
		ibv_destroy_qp(others[count]);
	return r ? r : model_on() && qp->number % NUMBER_STEP ? EAGAIN : 0;
}

static int create_rc_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q,
			struct command *command)
{
	static const char *const names[] = { "sq", "sq-responder", "reads", "rq" };
	struct mana_played_qp *played = calloc(1, sizeof(*played));
	struct mana_ib_create_rc_qp_resp response;
	struct mana_ib_create_rc_qp d;
	int r;

	qp->device = played;
	if (!played)
		return ENOMEM;
	command_request(command, &d, sizeof(d));
	if (q->is_srq || rc_is_wrong(&d))
		return EINVAL;
	qp->sq = ring_of(&d, MANA_SEND);
	qp->rq = ring_of(&d, MANA_RECV);
	played->reads = ring_of(&d, MANA_READS);
	played->rollback = (void *)(qp->sq.base + d.queue_size[MANA_SEND] - MANA_ROLLBACK);
	r = create_backend(qp, q);
	if (r)
		return r;
	numbers_choose(qp);
	for (int i = 0; i < MANA_QUEUES; i++) {
		trace_watch_object(qp, names[i], bytes_pointer(d.queue_buf[i]), d.queue_size[i]);
		response.queue_id[i] = played->numbers[i];
	}
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void destroy(struct object *object)
{
	if (object->type == OBJECT_QP && object->qp_type == IBV_QPT_RC)
		free_number = object->number;
}

/* Begin with empty rings after a reset. Report what has completed before the queue pair failed. */
static void modified(struct object *qp, struct command *command)
{
	struct mana_played_qp *played = qp->device;

	if (!model_on() || qp->qp_type != IBV_QPT_RC)
		return;
	if (qp->state == IBV_QPS_RESET)
		mana_empty(qp);
	else if (qp->state == IBV_QPS_RTR)
		played->rollback[RIGHT] = UINT32_MAX; /* no send was noted yet */
	else if (qp->state == IBV_QPS_ERR)
		model_settle();
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct mana_ib_create_qp_resp response;
	struct mana_ib_create_qp d;

	if (has_rc() && q->qp_type == IBV_QPT_RC)
		return create_rc_qp(qp, q, command);
	if (q->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (qp->table)
		return create_table_qp(qp, command);
	command_request(command, &d, sizeof(d));
	if (!d.port || d.port > PORTS || !is_ring(d.sq_buf_addr, d.sq_buf_size))
		return EINVAL;
	trace_watch_object(qp, "sq", (void *)(uintptr_t)d.sq_buf_addr, d.sq_buf_size);
	response = (struct mana_ib_create_qp_resp){
		.sqid = qp->number,
		.cqid = qp->send_cq->number,
		.tx_vp_offset = VP_OFFSET + qp->ordinal,
	};
	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, offset ? "unknown" : "doorbells");
	return REGION_REGISTERS;
}

#define MANA                                                                                    \
	.ibdev = "mana_0", .modalias = "pci:v00001414d000000BAsv00000000sd00000000bc02sc00i00", \
	.vendor_id = 0x1414, .part_id = 0x00ba, .driver_id = RDMA_DRIVER_MANA,                  \
	.abi_version = MANA_IB_UVERBS_ABI_VERSION, .node_type = IBV_NODE_CA,                    \
	.link_layer = IBV_LINK_LAYER_ETHERNET, .get_context = get_context,                      \
	.query_device = query_device, .alloc_pd = alloc_pd, .create_cq = create_cq,             \
	.create_qp = create_qp, .create_wq = create_wq, .region = region

const struct device device_mana = {
	.name = "mana",
	.fields = { [REQUEST_CQ] = cq_fields,
		    [REQUEST_QP] = qp_fields,
		    [REQUEST_QP_TABLE] = table_fields,
		    [REQUEST_WQ] = wq_fields },
	MANA,
};

const struct device device_mana_rc = {
	.name = "mana-rc",
	.fields = { [REQUEST_CQ] = cq_fields, [REQUEST_QP] = rc_fields },
	.loose_modify = true,
	.number_step = NUMBER_STEP,
	.destroy = destroy,
	.modified = modified,
	.next_send = mana_next_send,
	.next_receive = mana_next_receive,
	.room = mana_room,
	.entry = mana_entry,
	.complete = mana_complete,
	.armed = mana_armed,
	.traced_id = mana_traced_id,
	.traced_note = mana_traced_note,
	MANA,
};
