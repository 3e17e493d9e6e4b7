/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Execute a process's commands to mlx5's firmware. In run mode: RC queue pairs and SRQs. */
#include "tests/adapters/lab/device/mlx5_queue.h"

#include <errno.h>
#include <stdlib.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	OP_QUERY_HCA_CAP = 0x100,
	OP_CREATE_MKEY = 0x200,
	OP_CREATE_QP = 0x500,
	OP_RST2INIT = 0x502,
	OP_INIT2RTR,
	OP_RTR2RTS,
	OP_RTS2RTS,
	OP_2ERR = 0x507,
	OP_2RST = 0x50a,
	OP_QUERY_QP,
	OP_INIT2INIT = 0x50e,
	OP_CREATE_PSV = 0x600,
	OP_CREATE_DCT = 0x710,
	OP_DRAIN_DCT = 0x712,
	OP_QUERY_DCT,
	OP_QUERY_LAG = 0x842,
	OP_CREATE_RMP = 0x90c,
	OP_QUERY_COUNTER = 0x93b,
	OP_MODIFY_SQ = 0x905,
	OP_MODIFY_RQ = 0x909,
	OP_QUERY_GENERAL_OBJECT = 0xa02,
};

enum {
	OPT_LAG_PORT = 1 << 15,
	QPC = 0x18,
	DCTC = 0x10,
	DATA_IN_ORDER = 1 << 5,
	DCT_DATA_IN_ORDER = 1 << 2,
	SERVICE_DCI = 5, /* kind of queue pair; RC is 0 */
	WQ = 0x50,	 /* offset in CREATE_RMP */
	LOG_STRIDE_RQ = 4,
	MAX_SGE = 16,
	MAX_INLINE = 512,
	IDS_FROM = 0x500,
	IDS_OF_ONE = 16, /* ids of one object, because a command may create several */
};

/* A queue pair that sends to itself within the adapter. */
static const uint32_t loopback = 1u << 31;

static unsigned opcode_of(const struct firmware *f)
{
	return firmware_get(f, 0) >> 16;
}

/* ---- what the device can */

enum {
	CAP_GENERAL = 0,
	CAP_ODP = 2,
	CAP_ATOMIC = 3,
	CAP_QOS = 0xc,
	CAP_CRYPTO = 0x1a,
	CAP_GENERAL_2 = 0x20,
	OUT_OF_ORDER = 0x74, /* offset of the types of these queue pairs in the general group */
};

/* Programs that search a table of capabilities take a missing entry for an absent capability. */
static const struct capability {
	uint8_t group;
	uint16_t offset; /* offset in the answer */
	uint32_t bits;
} capabilities[] = {
	{ CAP_GENERAL, 0x14, 1u << 31 },		 /* a second group of capabilities */
	{ CAP_GENERAL, 0x1c, 1u << 29 | 30u << 16 },	 /* data in order; DMA of 2^30 bytes */
	{ CAP_GENERAL, 0x30, 1u << 23 },		 /* keys of entries of one size */
	{ CAP_GENERAL, 0x34, 4u << 16 | 1u << 29 | 4u }, /* reads of DC; extended contexts */
	{ CAP_GENERAL, 0x38, 1u << 14 | 1u << 13 | 1u << 12 | 1u << 23 | 1u << 24 }, /* transitions
			of RTS; DMA by the send queue; CRC32C and CRC64 */
	{ CAP_GENERAL, 0x48, 30u << 24 },    /* messages of 2^30 bytes */
	{ CAP_GENERAL, 0x4c, 1u << 15 | 1 }, /* blocks of 4048 bytes; completions of version 1 */
	{ CAP_GENERAL, 0x50, 1u << 5 },	     /* DC targets */
	/* atomics, which UMR does not change; QoS; signatures */
	{ CAP_GENERAL, 0x50, 1u << 1 | 1u << 23 | 1u << 4 | 1u << 8 },
	/* the choice of a port of a link aggregation; two ports */
	{ CAP_GENERAL, 0x5c, 1u << 7 | 2 },
	{ CAP_GENERAL, OUT_OF_ORDER, 1u << 11 | 1u << 13 }, /* RC and XRC */
	{ CAP_ODP, 0x30, 1u << 31 | 1u << 29 },		    /* sends and writes of DC */
	{ CAP_GENERAL, 0x80, 20u << 24 },		    /* RMPs */
	{ CAP_GENERAL, 0x8c, 1u << 13 },		    /* AES-XTS of many blocks */
	{ CAP_GENERAL, 0x90, 1u << (0x26 - 32) | 1u << (0x2c - 32) | 1u << (0x3a - 32) },
	{ CAP_GENERAL, 0x94, 1u << 0x0c | 1u << 0x1f },
	{ CAP_GENERAL, 0x9c, 1u << 22 },  /* crypto */
	{ CAP_GENERAL, 0xa0, 1u << 31 },  /* domain and type of a signature's error */
	{ CAP_GENERAL, 0xf8, 1u << 23 },  /* DMA by queue pairs */
	{ CAP_GENERAL_2, 0x20, 2u << 8 }, /* reserved QPNs by four */
	{ CAP_ATOMIC, 0x18, 1u << 30 },	  /* in the host's order */
	{ CAP_ATOMIC, 0x20, 3 },	  /* both operations */
	{ CAP_ATOMIC, 0x24, 8 },	  /* of 8 bytes */
	{ CAP_QOS, 0x10, 1u << 23 | 1u << 22 | 1u << 21 },
	{ CAP_QOS, 0x14, 1u << 30 },
	{ CAP_QOS, 0x30, (1u << 0 | 1u << 4) << 16 | 1 }, /* groups and queues; DWRR */
	{ CAP_CRYPTO, 0x10, 1u << 31 | 1u << 2 },
	{ CAP_CRYPTO, 0x14, 8u << 16 },
};

/* The model signs no memory: only traces report this capability. */
static bool is_possible(const struct capability *capability)
{
	if (capability->group == CAP_ODP || capability->offset == OUT_OF_ORDER)
		return host_is("out-of-order");
	return !model_on() || capability->group != CAP_GENERAL || capability->offset != 0xa0;
}

static int query_caps(struct firmware *f)
{
	unsigned group = firmware_get(f, 4) >> 1 & 0x7fff;

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		if (capabilities[i].group == group && is_possible(&capabilities[i]))
			firmware_put(f, capabilities[i].offset, capabilities[i].bits);
	}
	mlx5_steering_caps(f, group);
	return 0;
}

int firmware_general(struct firmware *f)
{
	switch (opcode_of(f)) {
	case OP_QUERY_HCA_CAP:
		return query_caps(f);
	case OP_QUERY_LAG:
		/* no link aggregation: each port stands for itself */
		firmware_put(f, 0xc, 1 | 2u << 8);
		return 0;
	default:
		return mlx5_steering_general(f) ? 0 : firmware_status(f, FIRMWARE_BAD_OPCODE);
	}
}

/* ---- queues in memory of the process */

void *firmware_memory(uint32_t id, uint64_t offset, size_t length)
{
	struct object *object = object_by_number(OBJECT_PRIVATE, id);
	struct devx *devx = object ? devx_of(object) : NULL;

	if (!devx || devx->opcode || !devx->body || offset > devx->length ||
	    length > devx->length - offset)
		return NULL;
	return devx->body + offset;
}

void firmware_event(const struct object *of, int event)
{
	for (uint32_t i = 0; i < object_count(OBJECT_PRIVATE); i++) {
		const struct object *object = object_at(OBJECT_PRIVATE, i);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (devx && devx->of == of && event == IBV_EVENT_QP_LAST_WQE_REACHED)
			mlx5_devx_event(object, EVENT_SRQ_LAST_WQE);
	}
}

static int create_rmp(struct object *object, struct firmware *f)
{
	uint32_t sizes = firmware_get(f, WQ + 0x20);
	struct object *srq = object_new(OBJECT_SRQ);
	int r;

	if (!srq)
		return ENOMEM;
	srq->pd = object_by_number(OBJECT_PD, firmware_get(f, WQ + 8) & INDEX_24);
	srq->rq = (struct queue){
		.entries = 1u << (sizes & 0x1f),
		.stride = 1u << (sizes >> 16 & 0xf),
		.record =
			firmware_memory(firmware_get(f, WQ + 0x28), firmware_get(f, WQ + 0x14), 8),
		.cyclic = firmware_get(f, WQ) >> 28 & 1,
	};
	srq->rq.base = firmware_memory(firmware_get(f, WQ + 0x2c), 0,
				       (size_t)srq->rq.entries * srq->rq.stride);
	r = srq->pd && srq->rq.base && srq->rq.record
		    ? model_create_srq(srq, srq->rq.entries, MAX_SGE)
		    : firmware_status(f, FIRMWARE_BAD_PARAMETER);
	if (r) {
		object_free(srq);
		return r;
	}
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)srq->rq.entries * srq->rq.stride);
	trace_watch_object(srq, "record", (void *)srq->rq.record, 4);
	firmware_attach(object, srq);
	firmware_put(f, 8, srq->number);
	return 0;
}

static void queues_of(struct object *qp, const struct firmware *f)
{
	uint32_t sizes = firmware_get(f, QPC + 8);
	size_t rq_size;

	qp->rq = (struct queue){
		.entries = qp->srq ? 0 : 1u << (sizes >> 19 & 0xf),
		.stride = 1u << ((sizes >> 16 & 7) + LOG_STRIDE_RQ),
		.record = firmware_memory(firmware_get(f, QPC + 0xe4), firmware_get(f, QPC + 0xa4),
					  8),
	};
	rq_size = (size_t)qp->rq.entries * qp->rq.stride;
	qp->sq = (struct queue){
		.entries = 1u << (sizes >> 11 & 0xf),
		.stride = WQEBB,
		.record = qp->rq.record ? qp->rq.record + 1 : NULL,
	};
	qp->rq.base = firmware_memory(firmware_get(f, 0x108), 0,
				      rq_size + (size_t)qp->sq.entries * WQEBB);
	qp->sq.base = qp->rq.base ? qp->rq.base + rq_size : NULL;
}

static int create_qp(struct object *object, struct firmware *f)
{
	struct ib_uverbs_ex_create_qp q = { .qp_type = IBV_QPT_RC,
					    .max_send_sge = MAX_SGE,
					    .max_inline_data = MAX_INLINE };
	uint32_t srqn = firmware_get(f, QPC + 0xac), service = firmware_get(f, QPC) >> 16 & 0xff;
	struct object *qp = object_new(OBJECT_QP);
	int r;

	if (!qp)
		return ENOMEM;
	qp->dc = service == SERVICE_DCI ? DC_INITIATOR : DC_NONE;
	qp->qp_type = qp->dc ? IBV_QPT_DRIVER : IBV_QPT_RC;
	qp->pd = object_by_number(OBJECT_PD, firmware_get(f, QPC + 4) & INDEX_24);
	qp->send_cq = object_by_number(OBJECT_CQ, firmware_get(f, QPC + 0x7c) & INDEX_24);
	qp->recv_cq = object_by_number(OBJECT_CQ, firmware_get(f, QPC + 0x9c) & INDEX_24);
	qp->user_index = firmware_get(f, QPC + 0x10) & INDEX_24;
	if (srqn >> 24 & 7)
		qp->srq = object_by_number(OBJECT_SRQ, srqn & INDEX_24);
	queues_of(qp, f);
	r = (!service || qp->dc) && qp->pd && qp->send_cq && qp->recv_cq && qp->rq.base &&
			    qp->rq.record && (qp->srq || !(srqn >> 24 & 7))
		    ? (qp->dc ? model_create_dc(qp)
			      : model_create_qp(qp, &q, qp->sq.entries, qp->rq.entries))
		    : firmware_status(f, FIRMWARE_BAD_PARAMETER);
	if (r) {
		object_free(qp);
		return r;
	}
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * WQEBB);
	trace_watch_object(qp, "record", (void *)qp->rq.record, 8);
	firmware_attach(object, qp);
	firmware_put(f, 8, qp->number);
	return 0;
}

/* Create a DC target, which can receive at once. */
static int create_dct(struct object *object, struct firmware *f)
{
	struct object *qp = object_new(OBJECT_QP);
	int r;

	if (!qp)
		return ENOMEM;
	qp->qp_type = IBV_QPT_DRIVER;
	qp->dc = DC_TARGET;
	qp->dc_key = (uint64_t)firmware_get(f, DCTC + 0x20) << 32 | firmware_get(f, DCTC + 0x24);
	qp->pd = object_by_number(OBJECT_PD, firmware_get(f, DCTC + 0x18) & INDEX_24);
	qp->recv_cq = object_by_number(OBJECT_CQ, firmware_get(f, DCTC + 8) & INDEX_24);
	qp->srq = object_by_number(OBJECT_SRQ, firmware_get(f, DCTC + 0x14) & INDEX_24);
	qp->user_index = firmware_get(f, DCTC + 4) & INDEX_24;
	r = qp->pd && qp->recv_cq && qp->srq ? model_create_dc(qp)
					     : firmware_status(f, FIRMWARE_BAD_PARAMETER);
	if (!r)
		r = qp_modify(qp, &(struct ib_uverbs_modify_qp){ .attr_mask = IBV_QP_STATE,
								 .qp_state = IBV_QPS_INIT });
	if (r) {
		model_destroy(qp);
		object_free(qp);
		return r;
	}
	qp->state = IBV_QPS_RTR;
	firmware_attach(object, qp);
	firmware_put(f, 8, qp->number);
	return 0;
}

/* ---- transitions */

/* Return the rights of the peer. A transition need not change them. */
static unsigned access_of(const struct firmware *f)
{
	uint32_t bits = firmware_get(f, QPC + 0x90);

	return (bits & 1u << 15 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (bits & 1u << 14 ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (bits & 1u << 13 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static struct ib_uverbs_modify_qp to_init(const struct firmware *f)
{
	return (struct ib_uverbs_modify_qp){
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		.qp_state = IBV_QPS_INIT,
		.port_num = firmware_get(f, QPC + 0x3c) >> 16 & 0xff,
		.qp_access_flags = access_of(f),
	};
}

/* A queue pair of loopback has no address: its peer is on the same port. */
static void to_loopback(struct ib_uverbs_modify_qp *q)
{
	const char *type;
	uint32_t interface;
	union ibv_gid gid;

	if (model_query_gid(0, &gid, &type, &interface))
		return;
	memcpy(q->dest.dgid, gid.raw, sizeof(q->dest.dgid));
	q->dest.hop_limit = 64;
}

static struct ib_uverbs_modify_qp to_rtr(const struct firmware *f)
{
	uint32_t access = firmware_get(f, QPC + 0x90), receive = firmware_get(f, QPC + 0x94);
	struct ib_uverbs_modify_qp q = {
		.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			     IBV_QP_ACCESS_FLAGS,
		.qp_state = IBV_QPS_RTR,
		.path_mtu = firmware_get(f, QPC + 8) >> 29,
		.dest_qp_num = firmware_get(f, QPC + 0x14) & INDEX_24,
		.rq_psn = receive & INDEX_24,
		.min_rnr_timer = receive >> 24 & 0x1f,
		.max_dest_rd_atomic = 1u << (access >> 21 & 7),
		.qp_access_flags = access_of(f),
		.dest = { .is_global = 1,
			  .sgid_index = firmware_get(f, QPC + 0x20) >> 16 & 0xff,
			  .hop_limit = firmware_get(f, QPC + 0x20) & 0xff,
			  .port_num = 1 },
	};

	if (f->in_len >= QPC + 0x28 + sizeof(q.dest.dgid))
		memcpy(q.dest.dgid, f->in + QPC + 0x28, sizeof(q.dest.dgid));
	if (firmware_get(f, QPC + 0x18) & loopback)
		to_loopback(&q);
	if (!q.qp_access_flags)
		q.attr_mask &= ~(uint32_t)IBV_QP_ACCESS_FLAGS;
	return q;
}

static struct ib_uverbs_modify_qp to_rts(const struct firmware *f)
{
	uint32_t send = firmware_get(f, QPC + 0x70);

	return (struct ib_uverbs_modify_qp){
		.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		.qp_state = IBV_QPS_RTS,
		.timeout = firmware_get(f, QPC + 0x20) >> 27,
		.retry_cnt = send >> 16 & 7,
		.rnr_retry = send >> 13 & 7,
		.max_rd_atomic = 1u << (send >> 21 & 7),
		.sq_psn = firmware_get(f, QPC + 0x78) & INDEX_24,
	};
}

static int modify_qp(struct object *object, struct object *qp, struct firmware *f)
{
	struct ib_uverbs_modify_qp q = { .attr_mask = IBV_QP_STATE };
	int r;

	switch (opcode_of(f)) {
	case OP_RST2INIT:
		q = to_init(f);
		break;
	case OP_INIT2RTR:
		q = to_rtr(f);
		break;
	case OP_RTR2RTS:
		q = to_rts(f);
		break;
	case OP_DRAIN_DCT:
	case OP_2ERR:
		q.qp_state = IBV_QPS_ERR;
		break;
	case OP_2RST:
		q.qp_state = IBV_QPS_RESET;
		break;
	case OP_RTS2RTS:
		if (firmware_get(f, 0x10) & OPT_LAG_PORT)
			qp->lag_port = firmware_get(f, QPC) >> 24 & 0xf;
		return 0;
	case OP_INIT2INIT:
		return 0;
	default:
		return firmware_status(f, FIRMWARE_BAD_OPCODE);
	}
	r = qp_modify(qp, &q);
	if (r)
		return firmware_status(f, FIRMWARE_BAD_PARAMETER);
	/* In run mode the model reports this event. */
	if (q.qp_state == IBV_QPS_ERR && qp->srq && !model_on())
		mlx5_devx_event(object, EVENT_SRQ_LAST_WQE);
	return 0;
}

/* ---- objects */

/* An object without a queue keeps only the bytes of the command that created it. */
static int create_plain(struct object *object, struct firmware *f)
{
	uint32_t id = IDS_FROM + object->ordinal * IDS_OF_ONE;

	if (opcode_of(f) == OP_CREATE_PSV)
		firmware_put(f, 0x10, id);
	else
		firmware_put(f, 8, id);
	return 0;
}

int firmware_create(struct object *object, struct firmware *f)
{
	struct devx *devx = devx_of(object);
	int r;

	devx->opcode = opcode_of(f);
	switch (devx->opcode) {
	case OP_CREATE_RMP:
		r = create_rmp(object, f);
		break;
	case OP_CREATE_MKEY:
		r = model_on() && mlx5_is_alias(f)  ? mlx5_create_mkey(object, f)
		    : model_on() && mlx5_is_list(f) ? mlx5_create_list(object, f)
						    : create_plain(object, f);
		break;
	case OP_CREATE_DCT:
		r = create_dct(object, f);
		break;
	case OP_CREATE_QP:
		r = create_qp(object, f);
		break;
	default:
		r = mlx5_queue_create(object, f);
		if (r == EPROTONOSUPPORT)
			r = mlx5_steering_create(f) ? 0 : create_plain(object, f);
	}
	if (r)
		return r;
	devx->body = malloc(f->in_len);
	if (!devx->body)
		abort();
	memcpy(devx->body, f->in, f->in_len);
	devx->length = f->in_len;
	devx->id = get32(f->out + 8);
	return 0;
}

int firmware_destroy(struct object *object)
{
	struct object *of = devx_of(object)->of;
	int r;

	if (!of)
		return 0;
	r = object_in_use(of) ? EBUSY : model_destroy(of);
	if (r)
		return r;
	if (of->type == OBJECT_MW)
		mlx5_destroy_list(of);
	trace_unwatch(of);
	object_free(of);
	return 0;
}

static struct object *queue_of(struct object *object, enum object_type type)
{
	struct devx *devx = devx_of(object);
	struct object *of = devx ? devx->of : object;

	return of && of->type == type ? of : NULL;
}

int firmware_query(struct object *object, struct firmware *f)
{
	static const uint8_t states[] = {
		[IBV_QPS_INIT] = 1, [IBV_QPS_RTR] = 2, [IBV_QPS_RTS] = 3,
		[IBV_QPS_SQE] = 4,  [IBV_QPS_SQD] = 7, [IBV_QPS_ERR] = 6,
	};
	struct object *qp = queue_of(object, OBJECT_QP);
	struct devx *devx = devx_of(object);

	if (opcode_of(f) == OP_QUERY_QP) {
		if (!qp)
			return firmware_status(f, FIRMWARE_BAD_RESOURCE);
		firmware_put(f, QPC,
			     (uint32_t)states[qp->state] << 28 | (qp->lag_port ? qp->lag_port : 1u)
									 << 24);
		if (host_is("out-of-order"))
			firmware_put(f, QPC + 8, DATA_IN_ORDER);
		return 0;
	}
	if (opcode_of(f) == OP_QUERY_COUNTER)
		mlx5_counter_query(f);
	if (opcode_of(f) == OP_QUERY_DCT) {
		firmware_put(f, DCTC, host_is("out-of-order") ? DCT_DATA_IN_ORDER : 0);
		return 0;
	}
	if (opcode_of(f) == OP_QUERY_GENERAL_OBJECT && devx && devx->opcode) {
		size_t length = devx->length < f->out_len ? devx->length : f->out_len;

		memcpy(f->out + FIRMWARE_HEAD, devx->body + FIRMWARE_HEAD, length - FIRMWARE_HEAD);
		firmware_put(f, 8, IDS_FROM + object->ordinal * IDS_OF_ONE);
	}
	if (devx && devx->opcode)
		mlx5_object_query(devx, f);
	return 0;
}

int firmware_modify(struct object *object, struct firmware *f)
{
	struct object *qp = queue_of(object, OBJECT_QP), *wq = queue_of(object, OBJECT_WQ);

	if (opcode_of(f) == OP_MODIFY_SQ || opcode_of(f) == OP_MODIFY_RQ) {
		if (qp || wq)
			mlx5_queue_modify(qp ? qp : wq, f);
		return 0;
	}
	return qp ? modify_qp(object, qp, f) : 0;
}
