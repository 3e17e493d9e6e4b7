/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: transitions, and the context that a query returns. The first transition describes
 * the queue pair. */
#include "tests/hosts/vm/pci/mlx4.h"

#include <string.h>
#include "tests/adapters/lab/device/mlx4.h"
#include "tests/hosts/vm/pci/icm.h"
#include "tests/hosts/vm/pci/play.h"

/* Commands. */
enum {
	RST2INIT = 0x19,
	INIT2RTR,
	RTR2RTS,
	RTS2RTS,
	SQERR2RTS,
	TO_ERR,
	RTS2SQD,
	SQD2RTS = 0x20,
	TO_RST,
	INIT2INIT = 0x2d,
	SQD2SQD = 0x38,
};
/* The context, which follows a mask of optional fields and a word. */
enum {
	CONTEXT = 8,
	CONTEXT_SIZE = 0xf8,
	FLAGS = 0x0,
	PD = 0x4,
	MTU = 0x8,
	RQ_SIZE = 0x9,
	SQ_SIZE = 0xa,
	REMOTE_QPN = 0x14,
	PATH = 0x18,
	PATH_PKEY = PATH + 0x3,
	PATH_GRH = PATH + 0x5,
	PATH_LID = PATH + 0x6,
	PATH_TIMEOUT = PATH + 0x8,
	PATH_GID = PATH + 0x9,
	PATH_PORT = PATH + 0x20,
	PATH_SIZE = 0x2c,
	PARAMS_1 = 0x70,
	SEND_PSN = 0x78,
	SEND_CQ = 0x7c,
	PARAMS_2 = 0x90,
	RECV_PSN = 0x94, /* and the time of RNR NAKs */
	XRCD = 0x98,
	RECV_CQ = 0x9c,
	RECORD = 0xa0,
	QKEY = 0xa8,
	SRQ = 0xac,
	LOG_PAGE = 0xc8,
	TABLE = 0xcb,
};
/* Types of queue pairs. */
enum {
	TYPE_RC,
	TYPE_UC,
	TYPE_UD = 3,
	TYPE_XRC = 6,
	TYPE_MLX, /* queue pairs of management */
};
enum {
	HAS_SRQ = 1 << 24,
	RIGHT_ATOMIC = 1 << 13,
	RIGHT_WRITE = 1 << 14,
	RIGHT_READ = 1 << 15,
	RNR_FOREVER = 7,
};

static uint32_t special_base;

/* Two numbers for QP 0 of two ports, and two for QP 1. */
enum hcr_status hca_special_qps(struct hcr_call *call)
{
	special_base = call->modifier & 0xffffff;
	return HCR_OK;
}

static enum loop_special special_of(uint32_t number)
{
	if (!special_base || number < special_base || number > special_base + 3)
		return LOOP_COMMON;
	return number < special_base + 2 ? LOOP_QP0 : LOOP_QP1;
}

static enum ibv_qp_type verbs_type(uint32_t type)
{
	switch (type) {
	case TYPE_RC:
		return IBV_QPT_RC;
	case TYPE_UC:
		return IBV_QPT_UC;
	case TYPE_XRC:
		return IBV_QPT_XRC_SEND;
	default:
		return IBV_QPT_UD;
	}
}

/* The queue with the larger slots is the first. A queue pair without receives has no record. */
static bool place_rings(struct loop_qp *qp, const uint8_t *c)
{
	uint64_t record = get64(c + RECORD);
	struct queue *sq = &qp->object.sq, *rq = &qp->object.rq;
	uint8_t *base;

	if (qp->object.number & HCA_XRC_QP)
		return true;
	sq->entries = 1u << (c[SQ_SIZE] >> 3 & 0xf);
	sq->stride = 16u << (c[SQ_SIZE] & 7);
	if (record && !qp->has_srq) {
		rq->entries = 1u << (c[RQ_SIZE] >> 3 & 0xf);
		rq->stride = 16u << (c[RQ_SIZE] & 7);
		rq->record = play_memory(record);
	}
	base = icm_map_ring(
		(uint64_t)c[TABLE] << 32 | get32(c + TABLE + 1), (c[LOG_PAGE] & 0x3f) + 12,
		(size_t)sq->entries * sq->stride + (size_t)rq->entries * rq->stride, &qp->map);
	if (!base)
		return false;
	sq->base = base + (rq->stride > sq->stride ? (size_t)rq->entries * rq->stride : 0);
	if (rq->entries)
		rq->base = base + (rq->stride > sq->stride ? 0 : (size_t)sq->entries * sq->stride);
	return true;
}

static enum hcr_status make(const struct hcr_call *call)
{
	const uint8_t *c = hcr_in(call) + CONTEXT;
	uint32_t number = call->modifier & 0xffffff;
	struct loop_qp *qp = loop_new_qp(number);

	if (!qp)
		return HCR_LIMIT;
	memcpy(qp->context, c, CONTEXT_SIZE);
	qp->special = special_of(number);
	qp->pd = get32(c + PD) & 0xffffff;
	qp->send_cq = get32(c + SEND_CQ) & 0xffffff;
	qp->recv_cq = get32(c + RECV_CQ) & 0xffffff;
	qp->has_srq = get32(c + SRQ) & HAS_SRQ;
	qp->srq = get32(c + SRQ) & 0xffffff;
	qp->xrcd = get32(c + XRCD) & 0xffff;
	qp->object.qp_type = verbs_type(get32(c + FLAGS) >> 16 & 0xff);
	qp->object.was_init = true;
	if (!place_rings(qp, c))
		return HCR_ICM_ERROR;
	qp->used = true;
	PLAY_LOG("queue pair 0x%x: type %u, PD %u, CQs 0x%x 0x%x, %u sends of %u bytes, %u "
		 "receives of %u bytes\n",
		 number, get32(c + FLAGS) >> 16 & 0xff, qp->pd, qp->send_cq, qp->recv_cq,
		 qp->object.sq.entries, qp->object.sq.stride, qp->object.rq.entries,
		 qp->object.rq.stride);
	return HCR_OK;
}

static void copy(struct loop_qp *qp, const uint8_t *c, uint32_t at, uint32_t mask)
{
	put32(qp->context + at, (get32(qp->context + at) & ~mask) | (get32(c + at) & mask));
}

/* The path replaces all of the old one except P_Key and timeout. */
static void copy_path(struct loop_qp *qp, const uint8_t *c)
{
	uint8_t pkey = qp->context[PATH_PKEY], timeout = qp->context[PATH_TIMEOUT];

	memcpy(qp->context + PATH, c + PATH, PATH_SIZE);
	qp->context[PATH_PKEY] = pkey;
	qp->context[PATH_TIMEOUT] = timeout;
}

/* Take the fields of the context that each transition needs. */
static void take_required(struct loop_qp *qp, const uint8_t *c, uint32_t opcode)
{
	switch (opcode) {
	case INIT2RTR:
		copy_path(qp, c);
		qp->context[MTU] = c[MTU];
		copy(qp, c, REMOTE_QPN, 0xffffff);
		copy(qp, c, RECV_PSN, 0xffffffff);
		copy(qp, c, PARAMS_2, 7 << 21 | 1 << 4);
		copy(qp, c, SRQ, 0xffffffff);
		break;
	case RTR2RTS:
		copy(qp, c, PARAMS_1, 0xffffffff);
		copy(qp, c, SEND_PSN, 0xffffff);
		qp->context[PATH_TIMEOUT] = c[PATH_TIMEOUT];
		break;
	}
}

/* The mask of a transition has a bit for each field that it may bring. */
static void take_optional(struct loop_qp *qp, const uint8_t *c, uint32_t mask)
{
	static const struct {
		uint32_t bit, at, mask;
	} optional[] = {
		{ 1, PARAMS_2, RIGHT_READ },  { 2, PARAMS_2, RIGHT_ATOMIC },
		{ 3, PARAMS_2, RIGHT_WRITE }, { 5, QKEY, 0xffffffff },
		{ 6, RECV_PSN, 0x1f << 24 },  { 8, PARAMS_1, 7 << 21 },
		{ 9, PARAMS_2, 7 << 21 },     { 10, FLAGS, 3 << 11 },
		{ 12, PARAMS_1, 7 << 16 },    { 13, PARAMS_1, 7 << 13 },
	};

	if (mask >> 7 & 1)
		copy_path(qp, c);
	if (mask >> 4 & 1)
		qp->context[PATH_PKEY] = c[PATH_PKEY];
	if (mask >> 14 & 1)
		qp->context[PATH_TIMEOUT] = c[PATH_TIMEOUT];
	if (mask >> 16 & 1)
		qp->context[PATH_PORT] = c[PATH_PORT];
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (mask >> optional[i].bit & 1)
			copy(qp, c, optional[i].at, optional[i].mask);
}

/* Take what a pass over the rings needs out of the context. */
static void look(struct loop_qp *qp)
{
	const uint8_t *c = qp->context;
	uint32_t rights = get32(c + PARAMS_2);

	qp->access = (rights & RIGHT_READ ? LOOP_REMOTE_READ : 0) |
		     (rights & RIGHT_WRITE ? LOOP_REMOTE_WRITE : 0) |
		     (rights & RIGHT_ATOMIC ? LOOP_REMOTE_ATOMIC : 0);
	qp->remote_qpn = get32(c + REMOTE_QPN) & 0xffffff;
	qp->remote_lid = get16(c + PATH_LID);
	qp->rnr_forever = (get32(c + PARAMS_1) >> 13 & 7) == RNR_FOREVER;
	qp->object.qkey = get32(c + QKEY);
}

static enum hcr_status change(const struct hcr_call *call, struct loop_qp *qp)
{
	static const struct {
		uint32_t opcode;
		enum ibv_qp_state from, to;
	} steps[] = {
		{ RST2INIT, IBV_QPS_RESET, IBV_QPS_INIT },
		{ INIT2INIT, IBV_QPS_INIT, IBV_QPS_INIT },
		{ INIT2RTR, IBV_QPS_INIT, IBV_QPS_RTR },
		{ RTR2RTS, IBV_QPS_RTR, IBV_QPS_RTS },
		{ RTS2RTS, IBV_QPS_RTS, IBV_QPS_RTS },
		{ RTS2SQD, IBV_QPS_RTS, IBV_QPS_SQD },
		{ SQD2RTS, IBV_QPS_SQD, IBV_QPS_RTS },
		{ SQD2SQD, IBV_QPS_SQD, IBV_QPS_SQD },
		{ SQERR2RTS, IBV_QPS_SQE, IBV_QPS_RTS },
	};
	const uint8_t *in = hcr_in(call);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].opcode != call->opcode)
			continue;
		if (qp->object.state != steps[i].from)
			return HCR_BAD_QP_STATE;
		if (call->opcode != RST2INIT) {
			take_required(qp, in + CONTEXT, call->opcode);
			take_optional(qp, in + CONTEXT, get32(in));
		}
		look(qp);
		qp->object.state = steps[i].to;
		if (call->opcode == RTS2SQD && call->modifier >> 31)
			hca_event(LOOP_EVENT_SQ_DRAINED, qp->object.number);
		return HCR_OK;
	}
	return HCR_BAD_OPCODE;
}

enum hcr_status hca_modify_qp(struct hcr_call *call)
{
	struct loop_qp *qp = loop_qp(call->modifier & 0xffffff);
	enum hcr_status status;

	if (call->opcode == TO_RST) {
		if (qp)
			loop_forget_qp(qp);
		return HCR_OK;
	}
	if (call->opcode == RST2INIT) {
		status = qp ? HCR_BAD_QP_STATE : make(call);
		if (status)
			return status;
		qp = loop_qp(call->modifier & 0xffffff);
	}
	/* The driver also moves a queue pair that was never initialized. */
	if (!qp)
		return call->opcode == TO_ERR ? HCR_OK : HCR_BAD_QP_STATE;
	if (call->opcode != TO_ERR)
		return change(call, qp);
	loop_qp_error(qp);
	return HCR_OK;
}

enum hcr_status hca_query_qp(struct hcr_call *call)
{
	static const uint8_t states[] = {
		[IBV_QPS_RESET] = 0, [IBV_QPS_INIT] = 1, [IBV_QPS_RTR] = 2, [IBV_QPS_RTS] = 3,
		[IBV_QPS_SQE] = 4,   [IBV_QPS_SQD] = 5,	 [IBV_QPS_ERR] = 6,
	};
	struct loop_qp *qp = loop_qp(call->modifier & 0xffffff);
	uint8_t *out = memset(hcr_out(call), 0, CONTEXT + CONTEXT_SIZE);

	if (!qp)
		return HCR_OK;
	memcpy(out + CONTEXT, qp->context, CONTEXT_SIZE);
	put32(out + CONTEXT,
	      (get32(out + CONTEXT) & 0xfffffff) | (uint32_t)states[qp->object.state] << 28);
	return HCR_OK;
}
