/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transitions of a queue pair. Each transport has a table of the required and allowed
 * attributes for each pair of states.
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

#define TAKES(must, may)                                                     \
	{                                                                    \
		.required = (must), .allowed = (must) | (may) | IBV_QP_STATE \
	}

/* Transitions to RESET from every state, and to ERR from every state but RESET. They take only the
 * state. */
#define LEAVE(may)                                                                            \
	[IBV_QPS_RESET]                                                                       \
		[IBV_QPS_RESET] = TAKES(0, may),                                              \
 [IBV_QPS_INIT][IBV_QPS_RESET] = TAKES(0, may), [IBV_QPS_RTR][IBV_QPS_RESET] = TAKES(0, may), \
 [IBV_QPS_RTS][IBV_QPS_RESET] = TAKES(0, may), [IBV_QPS_SQD][IBV_QPS_RESET] = TAKES(0, may),  \
 [IBV_QPS_SQE][IBV_QPS_RESET] = TAKES(0, may), [IBV_QPS_ERR][IBV_QPS_RESET] = TAKES(0, may),  \
 [IBV_QPS_INIT][IBV_QPS_ERR] = TAKES(0, may), [IBV_QPS_RTR][IBV_QPS_ERR] = TAKES(0, may),     \
 [IBV_QPS_RTS][IBV_QPS_ERR] = TAKES(0, may), [IBV_QPS_SQD][IBV_QPS_ERR] = TAKES(0, may),      \
 [IBV_QPS_SQE][IBV_QPS_ERR] = TAKES(0, may), [IBV_QPS_ERR][IBV_QPS_ERR] = TAKES(0, may)

static const struct qp_rules rules_rc = { {
	LEAVE(0),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(BEGIN | ACCESS, 0),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, BEGIN | ACCESS),
	[IBV_QPS_INIT][IBV_QPS_RTR] = TAKES(PATH | RESPOND, ALT | ACCESS | IBV_QP_PKEY_INDEX),
	[IBV_QPS_RTR][IBV_QPS_RTS] = TAKES(REQUEST | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
					   CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER),
	[IBV_QPS_RTS][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, SQD_NOTE),
	[IBV_QPS_SQD][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER),
	[IBV_QPS_SQD][IBV_QPS_SQD] =
		TAKES(0, BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | REQUEST | RESPOND | ACCESS | MIGRATE),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, 0),
} };

static const struct qp_rules rules_uc = { {
	LEAVE(0),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(BEGIN | ACCESS, 0),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, BEGIN | ACCESS),
	[IBV_QPS_INIT][IBV_QPS_RTR] = TAKES(PATH, ALT | ACCESS | IBV_QP_PKEY_INDEX),
	[IBV_QPS_RTR][IBV_QPS_RTS] = TAKES(IBV_QP_SQ_PSN, CUR | ACCESS | MIGRATE),
	[IBV_QPS_RTS][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, SQD_NOTE),
	[IBV_QPS_SQD][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE),
	/* The address vector is not allowed, because the kernel adds the port to it here and then
	 * refuses the port. */
	[IBV_QPS_SQD][IBV_QPS_SQD] = TAKES(0, IBV_QP_PKEY_INDEX | ACCESS | MIGRATE),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS),
} };

static const struct qp_rules rules_ud = { {
	LEAVE(0),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(BEGIN | IBV_QP_QKEY, 0),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, BEGIN | IBV_QP_QKEY),
	[IBV_QPS_INIT][IBV_QPS_RTR] = TAKES(0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
	[IBV_QPS_RTR][IBV_QPS_RTS] = TAKES(IBV_QP_SQ_PSN, CUR | IBV_QP_QKEY),
	[IBV_QPS_RTS][IBV_QPS_RTS] = TAKES(0, CUR | IBV_QP_QKEY),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, SQD_NOTE),
	[IBV_QPS_SQD][IBV_QPS_RTS] = TAKES(0, CUR | IBV_QP_QKEY),
	[IBV_QPS_SQD][IBV_QPS_SQD] = TAKES(0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, CUR | IBV_QP_QKEY),
} };

static const struct qp_rules rules_raw_packet = { {
	LEAVE(0),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(IBV_QP_PORT, 0),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, 0),
	[IBV_QPS_INIT][IBV_QPS_RTR] = TAKES(0, 0),
	[IBV_QPS_RTR][IBV_QPS_RTS] = TAKES(0, IBV_QP_RATE_LIMIT),
	[IBV_QPS_RTS][IBV_QPS_RTS] = TAKES(0, IBV_QP_RATE_LIMIT),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, 0),
	[IBV_QPS_SQD][IBV_QPS_RTS] = TAKES(0, 0),
	[IBV_QPS_SQD][IBV_QPS_SQD] = TAKES(0, 0),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, 0),
} };

/* Each half of XRC ignores attributes that only the other half needs. */

static const struct qp_rules rules_xrc_send = { {
	LEAVE(RESPOND),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(BEGIN | ACCESS, RESPOND),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, BEGIN | ACCESS | RESPOND),
	[IBV_QPS_INIT][IBV_QPS_RTR] = TAKES(PATH, ALT | ACCESS | IBV_QP_PKEY_INDEX | RESPOND),
	[IBV_QPS_RTR][IBV_QPS_RTS] =
		TAKES(REQUEST | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, CUR | ACCESS | MIGRATE | RESPOND),
	[IBV_QPS_RTS][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE | RESPOND),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, SQD_NOTE | RESPOND),
	[IBV_QPS_SQD][IBV_QPS_RTS] = TAKES(0, CUR | ACCESS | MIGRATE | RESPOND),
	[IBV_QPS_SQD][IBV_QPS_SQD] =
		TAKES(0, BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | REQUEST | ACCESS | MIGRATE | RESPOND),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, RESPOND),
} };

static const struct qp_rules rules_xrc_recv = { {
	LEAVE(REQUEST),
	[IBV_QPS_RESET][IBV_QPS_INIT] = TAKES(BEGIN | ACCESS, REQUEST),
	[IBV_QPS_INIT][IBV_QPS_INIT] = TAKES(0, BEGIN | ACCESS | REQUEST),
	[IBV_QPS_INIT][IBV_QPS_RTR] =
		TAKES(PATH | RESPOND, ALT | ACCESS | IBV_QP_PKEY_INDEX | REQUEST),
	[IBV_QPS_RTR][IBV_QPS_RTS] = TAKES(IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
					   CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER | REQUEST),
	[IBV_QPS_RTS][IBV_QPS_RTS] =
		TAKES(0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER | REQUEST),
	[IBV_QPS_RTS][IBV_QPS_SQD] = TAKES(0, SQD_NOTE | REQUEST),
	[IBV_QPS_SQD][IBV_QPS_RTS] =
		TAKES(0, CUR | ACCESS | MIGRATE | IBV_QP_MIN_RNR_TIMER | REQUEST),
	[IBV_QPS_SQD][IBV_QPS_SQD] =
		TAKES(0, BEGIN | IBV_QP_AV | IBV_QP_TIMEOUT | RESPOND | ACCESS | MIGRATE | REQUEST),
	[IBV_QPS_SQE][IBV_QPS_RTS] = TAKES(0, REQUEST),
} };

const struct qp_rules *const qp_state_rules_of_type[] = {
	[IBV_QPT_RC] = &rules_rc,
	[IBV_QPT_UC] = &rules_uc,
	[IBV_QPT_UD] = &rules_ud,
	[IBV_QPT_RAW_PACKET] = &rules_raw_packet,
	[IBV_QPT_XRC_SEND] = &rules_xrc_send,
	[IBV_QPT_XRC_RECV] = &rules_xrc_recv,
};

struct qp_transition qp_state_transition(enum ibv_qp_type type, enum ibv_qp_state cur,
					 enum ibv_qp_state next)
{
	const struct qp_rules *rules = qp_state_rules(type);

	return (struct qp_transition){
		.valid = rules->to[cur][next].allowed,
		.required = rules->to[cur][next].required,
		.optional = rules->to[cur][next].allowed &
			    ~(rules->to[cur][next].required | IBV_QP_STATE),
	};
}

bool qp_state_allows(enum ibv_qp_type type, enum ibv_qp_state cur, const struct ibv_qp_attr *attr,
		     uint32_t mask)
{
	return qp_rules_allow(qp_state_rules(type), cur, attr, mask);
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
