/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transitions of a queue pair. One table a transport: for each pair of states the attributes it
 * must be given and those it may be given. Going to RESET, and to ERR from everywhere but RESET, is
 * the same for all and takes nothing.
 */
#include "libibverbs/qp.h"

/* Groups that recur below. */
#define PATH	 (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define BEGIN	 (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RESPOND	 (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define REQUEST	 (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define CUR	 IBV_QP_CUR_STATE
#define ACCESS	 IBV_QP_ACCESS_FLAGS
#define ALT	 IBV_QP_ALT_PATH
#define MIGRATE	 (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define SQD_NOTE IBV_QP_EN_SQD_ASYNC_NOTIFY

typedef struct qp_transition transition_table[QP_STATES][QP_STATES];

static const transition_table table_rc = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, BEGIN | ACCESS, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, BEGIN | ACCESS },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, PATH | RESPOND, ALT | ACCESS | IBV_QP_PKEY_INDEX },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, REQUEST | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
				       CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, SQD_NOTE },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0,
				       BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | REQUEST | RESPOND |
					       ACCESS | MIGRATE },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, 0 },
};

static const transition_table table_uc = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, BEGIN | ACCESS, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, BEGIN | ACCESS },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, PATH, ALT | ACCESS | IBV_QP_PKEY_INDEX },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, IBV_QP_SQ_PSN, CUR | ACCESS | MIGRATE },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, SQD_NOTE },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0, IBV_QP_AV | IBV_QP_PKEY_INDEX | ACCESS | MIGRATE },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, CUR | ACCESS },
};

static const transition_table table_ud = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, BEGIN | IBV_QP_QKEY, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, BEGIN | IBV_QP_QKEY },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, IBV_QP_SQ_PSN, CUR | IBV_QP_QKEY },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, CUR | IBV_QP_QKEY },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, SQD_NOTE },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, CUR | IBV_QP_QKEY },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, CUR | IBV_QP_QKEY },
};

static const transition_table table_raw_packet = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, IBV_QP_PORT, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, 0 },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, 0, 0 },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, 0, IBV_QP_RATE_LIMIT },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, IBV_QP_RATE_LIMIT },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, 0 },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, 0 },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0, 0 },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, 0 },
};

static const transition_table table_xrc_send = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, BEGIN | ACCESS, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, BEGIN | ACCESS },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, PATH, ALT | ACCESS | IBV_QP_PKEY_INDEX },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, REQUEST | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
				       CUR | ACCESS | MIGRATE },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, SQD_NOTE },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0,
				       BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | REQUEST | ACCESS |
					       MIGRATE },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, 0 },
};

static const transition_table table_xrc_recv = {
	[IBV_QPS_RESET][IBV_QPS_INIT] = { true, BEGIN | ACCESS, 0 },
	[IBV_QPS_INIT][IBV_QPS_INIT] = { true, 0, BEGIN | ACCESS },
	[IBV_QPS_INIT][IBV_QPS_RTR] = { true, PATH | RESPOND, ALT | ACCESS | IBV_QP_PKEY_INDEX },
	[IBV_QPS_RTR][IBV_QPS_RTS] = { true, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
				       CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS][IBV_QPS_SQD] = { true, 0, SQD_NOTE },
	[IBV_QPS_SQD][IBV_QPS_RTS] = { true, 0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_SQD][IBV_QPS_SQD] = { true, 0,
				       BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | RESPOND | ACCESS |
					       MIGRATE },
	[IBV_QPS_SQE][IBV_QPS_RTS] = { true, 0, 0 },
};

static const transition_table *const tables[] = {
	[IBV_QPT_RC] = &table_rc,
	[IBV_QPT_UC] = &table_uc,
	[IBV_QPT_UD] = &table_ud,
	[IBV_QPT_RAW_PACKET] = &table_raw_packet,
	[IBV_QPT_XRC_SEND] = &table_xrc_send,
	[IBV_QPT_XRC_RECV] = &table_xrc_recv,
};

bool qp_state_has_table(enum ibv_qp_type type)
{
	return type < ARRAY_SIZE(tables) && tables[type];
}

struct qp_transition qp_state_transition(enum ibv_qp_type type, enum ibv_qp_state cur,
					 enum ibv_qp_state next)
{
	if (next == IBV_QPS_RESET || (next == IBV_QPS_ERR && cur != IBV_QPS_RESET))
		return (struct qp_transition){ .valid = true };
	return (*tables[type])[cur][next];
}

uint32_t qp_state_mask(enum ibv_qp_type type, const struct ibv_qp_attr *attr, uint32_t mask)
{
	if (type == IBV_QPT_XRC_SEND)
		mask &= ~RESPOND;
	if (type == IBV_QPT_XRC_RECV)
		mask &= ~REQUEST;
	if (mask & IBV_QP_AV && !(mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR))
		mask |= IBV_QP_PORT;
	return mask;
}

bool qp_state_allows(enum ibv_qp_type type, enum ibv_qp_state cur, const struct ibv_qp_attr *attr,
		     uint32_t mask)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : cur;
	struct qp_transition t;

	if (cur >= QP_STATES || next >= QP_STATES)
		return false;
	/* States that change by themselves may be asserted; others are known to the caller. */
	if (mask & IBV_QP_CUR_STATE && (cur < IBV_QPS_RTR || cur > IBV_QPS_SQE))
		return false;
	t = qp_state_transition(type, cur, next);
	mask = qp_state_mask(type, attr, mask);
	return t.valid && (mask & t.required) == t.required &&
	       !(mask & ~(t.required | t.optional | IBV_QP_STATE));
}

uint32_t qp_state_candidates(enum ibv_qp_state cur)
{
	static const uint8_t candidates[QP_STATES] = {
		[IBV_QPS_RESET] = 1 << IBV_QPS_RESET,
		[IBV_QPS_INIT] = 1 << IBV_QPS_INIT | 1 << IBV_QPS_ERR,
		[IBV_QPS_RTR] = 1 << IBV_QPS_RTR | 1 << IBV_QPS_ERR,
		[IBV_QPS_RTS] = 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQE | 1 << IBV_QPS_ERR,
		[IBV_QPS_SQD] = 1 << IBV_QPS_SQD | 1 << IBV_QPS_SQE | 1 << IBV_QPS_ERR,
		[IBV_QPS_SQE] = 1 << IBV_QPS_SQE | 1 << IBV_QPS_ERR,
		[IBV_QPS_ERR] = 1 << IBV_QPS_ERR,
	};

	return cur < QP_STATES ? candidates[cur] : (1 << QP_STATES) - 1;
}
