/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, transitions, and the context that a query returns. */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/mlx5_wire.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	RST2INIT = 0x502,
	INIT2RTR,
	RTR2RTS,
	RTS2RTS,
	SQERR2RTS,
	TO_ERR,
	TO_RST = 0x50a,
	SQD2RTS = 0x50c,
	INIT2INIT = 0x50e,
	HAS_SRQ = 1, /* rq_type */
	PATH = 0x18,
	PATH_SIZE = 0x2c,
};

static struct hca_qp *qp_of(const struct hca_call *call)
{
	struct hca_qp *qp = call->number < HCA_QPS ? &hca.qps[call->number] : NULL;

	return qp && qp->used ? qp : NULL;
}

/* Numbers are used in turn, so that a late packet of a test finds no new queue pair. */
static struct hca_qp *spare_qp(void)
{
	static uint32_t next = HCA_FIRST_QP;

	for (uint32_t i = HCA_FIRST_QP; i < HCA_QPS; i++) {
		uint32_t n = next;

		next = next + 1 < HCA_QPS ? next + 1 : HCA_FIRST_QP;
		if (!hca.qps[n].used) {
			hca.qps[n] = (struct hca_qp){ 0 };
			hca.qps[n].object.number = n;
			if (n >= hca.qp_end)
				hca.qp_end = n + 1;
			return &hca.qps[n];
		}
	}
	return NULL;
}

static enum ibv_qp_type verbs_type(enum hca_qp_type type)
{
	switch (type) {
	case HCA_RC:
		return IBV_QPT_RC;
	case HCA_UC:
		return IBV_QPT_UC;
	case HCA_XRC:
		return IBV_QPT_XRC_SEND;
	default:
		return IBV_QPT_UD;
	}
}

/* Receives come first in the ring. The record has their counter and then that of sends. */
static void place_rings(struct hca_qp *qp, const struct hca_call *call)
{
	const uint8_t *c = call->in + QP_CONTEXT;
	volatile uint32_t *record = play_memory(get64(c + QPC_DBR_ADDR));
	uint8_t *base = hca_map_ring(call, COMMAND_PAGES, get(c, QPC_LOG_PAGE_SIZE),
				     get(c, QPC_PAGE_OFFSET), &qp->map);
	size_t receives = 0;

	if (!base)
		return;
	if (!get(c, QPC_RQ_TYPE)) {
		qp->object.rq = (struct queue){
			.base = base,
			.entries = 1u << get(c, QPC_LOG_RQ_SIZE),
			.stride = 16u << get(c, QPC_LOG_RQ_STRIDE),
			.record = record,
		};
		receives = (size_t)qp->object.rq.entries * qp->object.rq.stride;
	}
	if (!get(c, QPC_NO_SQ))
		qp->object.sq = (struct queue){
			.base = base + receives,
			.entries = 1u << get(c, QPC_LOG_SQ_SIZE),
			.stride = WQEBB,
			.record = record + 1,
		};
}

enum hca_status hca_create_qp(const struct hca_call *call)
{
	const uint8_t *c = call->in + QP_CONTEXT;
	struct hca_qp *qp = spare_qp();

	if (!qp)
		return HCA_NO_RESOURCES;
	qp->type = get(c, QPC_ST);
	qp->pd = get(c, QPC_PD);
	qp->send_cq = get(c, QPC_CQN_SND);
	qp->recv_cq = get(c, QPC_CQN_RCV);
	qp->has_srq = get(c, QPC_RQ_TYPE) == HAS_SRQ;
	qp->srq = get(c, QPC_SRQN);
	qp->xrcd = get(c, QPC_XRCD);
	qp->object.type = OBJECT_QP;
	qp->object.qp_type = verbs_type(qp->type);
	qp->object.state = IBV_QPS_RESET;
	qp->object.user_index = get(c, QPC_USER_INDEX);
	place_rings(qp, call);
	memcpy(qp->context, c, sizeof(qp->context));
	qp->used = true;
	put(call->out, COMMAND_NUMBER, qp->object.number);
	PLAY_LOG("queue pair 0x%x: type %u, PD %u, CQs 0x%x 0x%x, %u sends, %u receives\n",
		 qp->object.number, qp->type, qp->pd, qp->send_cq, qp->recv_cq,
		 qp->object.sq.entries, qp->object.rq.entries);
	return HCA_OK;
}

enum hca_status hca_destroy_qp(const struct hca_call *call)
{
	struct hca_qp *qp = qp_of(call);

	if (!qp)
		return HCA_BAD_RESOURCE;
	qp->used = false;
	wire_forget(qp);
	hca_unmap_ring(&qp->map);
	return HCA_OK;
}

static void copy(struct hca_qp *qp, const uint8_t *c, uint32_t field)
{
	put(qp->context, field, get(c, field));
}

static void copy_access(struct hca_qp *qp, const uint8_t *c)
{
	copy(qp, c, QPC_RRE);
	copy(qp, c, QPC_RWE);
	copy(qp, c, QPC_RAE);
}

/* The path replaces all of the old one except port and P_Key, which the driver need not repeat. */
static void copy_path(struct hca_qp *qp, const uint8_t *c)
{
	uint32_t port = get(qp->context, QPC_VHCA_PORT_NUM),
		 pkey = get(qp->context, QPC_PKEY_INDEX);

	memcpy(qp->context + PATH, c + PATH, PATH_SIZE);
	if (!get(c, QPC_VHCA_PORT_NUM))
		put(qp->context, QPC_VHCA_PORT_NUM, port);
	if (!get(c, QPC_PKEY_INDEX))
		put(qp->context, QPC_PKEY_INDEX, pkey);
}

/* Take the fields of the context that each transition needs. */
static void take_required(struct hca_qp *qp, const uint8_t *c, uint32_t opcode)
{
	static const uint32_t init[] = { QPC_PKEY_INDEX, QPC_VHCA_PORT_NUM, QPC_PM_STATE,
					 QPC_Q_KEY };
	static const uint32_t rtr[] = { QPC_MTU,	  QPC_LOG_MSG_MAX, QPC_REMOTE_QPN,
					QPC_NEXT_RCV_PSN, QPC_MIN_RNR_NAK, QPC_LOG_RRA_MAX };
	static const uint32_t rts[] = { QPC_ACK_TIMEOUT, QPC_RETRY_COUNT, QPC_RNR_RETRY,
					QPC_NEXT_SEND_PSN, QPC_LOG_SRA_MAX };

	switch (opcode) {
	case RST2INIT:
	case INIT2INIT:
		for (size_t i = 0; i < sizeof(init) / sizeof(init[0]); i++)
			copy(qp, c, init[i]);
		copy_access(qp, c);
		break;
	case INIT2RTR:
		for (size_t i = 0; i < sizeof(rtr) / sizeof(rtr[0]); i++)
			copy(qp, c, rtr[i]);
		copy_path(qp, c);
		if (get(c, QPC_RRE) | get(c, QPC_RWE) | get(c, QPC_RAE))
			copy_access(qp, c);
		qp->receiving.psn = get(c, QPC_NEXT_RCV_PSN);
		break;
	case RTR2RTS:
		for (size_t i = 0; i < sizeof(rts) / sizeof(rts[0]); i++)
			copy(qp, c, rts[i]);
		qp->sending.first = get(c, QPC_NEXT_SEND_PSN);
		break;
	}
}

/* The mask of a transition has a bit for each field that it may bring. */
static void take_optional(struct hca_qp *qp, const uint8_t *c, uint32_t mask)
{
	static const struct {
		uint32_t bit, field;
	} optional[] = {
		{ 1, QPC_RRE },	  { 2, QPC_RAE },	  { 3, QPC_RWE },
		{ 5, QPC_Q_KEY }, { 6, QPC_MIN_RNR_NAK },
	};

	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (mask >> optional[i].bit & 1)
			copy(qp, c, optional[i].field);
}

static void reset(struct hca_qp *qp)
{
	qp->object.state = IBV_QPS_RESET;
	qp->object.sq.consumed = qp->object.rq.consumed = 0;
	qp->waiting_since = 0;
	wire_forget(qp);
}

void hca_qp_error(struct hca_qp *qp)
{
	if (qp->object.state != IBV_QPS_ERR && qp->has_srq)
		hca_event_of(HCA_EVENT_LAST_WQE, qp->object.number);
	qp->object.state = IBV_QPS_ERR;
}

enum hca_status hca_modify_qp(const struct hca_call *call)
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
		{ SQD2RTS, IBV_QPS_SQD, IBV_QPS_RTS },
		{ SQERR2RTS, IBV_QPS_SQE, IBV_QPS_RTS },
	};
	const uint8_t *c = call->in + QP_CONTEXT;
	struct hca_qp *qp = qp_of(call);

	if (!qp)
		return HCA_BAD_RESOURCE;
	if (call->opcode == TO_RST)
		reset(qp);
	else if (call->opcode == TO_ERR)
		hca_qp_error(qp);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].opcode != call->opcode)
			continue;
		if (qp->object.state != steps[i].from)
			return HCA_BAD_QP_STATE;
		take_required(qp, c, call->opcode);
		take_optional(qp, c, get(call->in, QP_OPT_PARAM_MASK));
		qp->object.qkey = get(qp->context, QPC_Q_KEY);
		qp->object.state = steps[i].to;
	}
	return HCA_OK;
}

enum hca_status hca_query_qp(const struct hca_call *call)
{
	static const uint8_t states[] = {
		[IBV_QPS_RESET] = 0, [IBV_QPS_INIT] = 1, [IBV_QPS_RTR] = 2, [IBV_QPS_RTS] = 3,
		[IBV_QPS_SQE] = 4,   [IBV_QPS_SQD] = 5,	 [IBV_QPS_ERR] = 6,
	};
	struct hca_qp *qp = qp_of(call);

	if (!qp)
		return HCA_BAD_RESOURCE;
	memcpy(call->out + QP_CONTEXT, qp->context, sizeof(qp->context));
	put(call->out + QP_CONTEXT, QPC_STATE, states[qp->object.state]);
	put(call->out + QP_CONTEXT, QPC_HW_SQ_WQEBB_COUNTER, qp->object.sq.consumed);
	return HCA_OK;
}
