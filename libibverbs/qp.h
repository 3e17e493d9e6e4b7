/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs, among their files:
 *
 *   qp.c          life cycle
 *   qp_state.c    required and allowed attributes of each transition
 *   qp_check.c    checks for all devices, and checks of the kernel for its devices
 *   qp_explain.c  messages about refused requests
 */
#ifndef LIBIBVERBS_QP_H
#define LIBIBVERBS_QP_H

#include "libibverbs/explain.h"

#define QP_STATES (IBV_QPS_ERR + 1)

/* The rules of one transport. */
struct qp_rules {
	struct {
		uint32_t required;
		/* further allowed attributes, and IBV_QP_STATE; 0: there is no such transition */
		uint32_t allowed;
	} to[QP_STATES][QP_STATES]; /* [from][to] */
};

/* NULL for types whose transitions the provider defines. */
extern const struct qp_rules *const qp_state_rules_of_type[IBV_QPT_XRC_RECV + 1];

static inline const struct qp_rules *qp_state_rules(enum ibv_qp_type type)
{
	return type < ARRAY_SIZE(qp_state_rules_of_type) ? qp_state_rules_of_type[type] : NULL;
}

/* One transition, without IBV_QP_STATE. If both masks are 0, it takes no attributes. */
struct qp_transition {
	bool valid;
	uint32_t required;
	uint32_t optional;
};

/* Return the rule of @type, which must have rules, for the transition from @cur to @next. Both are
 * below QP_STATES. */
struct qp_transition qp_state_transition(enum ibv_qp_type type, enum ibv_qp_state cur,
					 enum ibv_qp_state next);

/*
 * Return whether the rules allow to modify a QP in @cur. @attr has the new state if @mask has
 * IBV_QP_STATE.
 * Source: IBTA vol. 1, 11.2.5.2 "modify queue pair"; the core of the Linux kernel applies the same.
 */
static inline bool qp_rules_allow(const struct qp_rules *rules, enum ibv_qp_state cur,
				  const struct ibv_qp_attr *attr, uint32_t mask)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : cur;

	if (unlikely(cur >= QP_STATES || next >= QP_STATES))
		return false;
	mask |= IBV_QP_STATE;
	return !(rules->to[cur][next].required & ~mask) && !(mask & ~rules->to[cur][next].allowed);
}

bool qp_state_allows(enum ibv_qp_type type, enum ibv_qp_state cur, const struct ibv_qp_attr *attr,
		     uint32_t mask);

/* Return the possible states of a QP that was last seen in @cur, because errors change the state.
 */
uint32_t qp_state_candidates(enum ibv_qp_state cur);

/* qp_check.c: checks before the device is called. Return: 0 or a negative errno, whose cause is
 * logged. */
int qp_check_create(struct ibv_context *ctx, const char *verb,
		    const struct ibv_qp_init_attr_ex *attr);
int qp_check_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask);
/* Return the rules for its transitions; NULL on iWARP and for types of vendors. */
const struct qp_rules *qp_rules_of(const struct verbs_qp *qp);

bool qp_port_exists(struct ibv_context *ctx, uint8_t port_num);

/* Return the port of the request or of an earlier request; 0: unknown. */
static inline uint8_t qp_port_of(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
				 uint32_t mask)
{
	if (mask & IBV_QP_PORT)
		return attr->port_num;
	return qp->port_num || !(mask & IBV_QP_AV) ? qp->port_num : attr->ah_attr.port_num;
}

/* Return whether the transition to RTR names another port than that of INIT, which is not allowed.
 */
static inline bool qp_is_on_other_port(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
				       uint32_t mask)
{
	return mask & IBV_QP_AV && qp->port_num && attr->ah_attr.port_num != qp->port_num &&
	       mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR;
}

/* qp_explain.c */
const char *qp_type_str(enum ibv_qp_type type);
const char *qp_state_str(enum ibv_qp_state state);

/* Append "; missing A, B; not allowed: C" for a QP in @cur. */
_cold_ void qp_explain_transition(struct text *why, enum ibv_qp_type type, enum ibv_qp_state cur,
				  const struct ibv_qp_attr *attr, uint32_t mask);
/* Log a refusal by the library with the cause in @why. Return: @r. */
_cold_ int qp_explain_refusal(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			      const struct text *why, int r);
/* Warn if messages longer than the MTU of the port will not arrive. */
_cold_ void qp_explain_mtu(struct verbs_qp *qp, const struct ibv_qp_attr *attr);
/* Log why the device refused. */
_cold_ void qp_explain_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			      int r);
_cold_ void qp_explain_create(struct ibv_context *ctx, const char *verb,
			      const struct ibv_qp_init_attr_ex *attr, int r);

#endif
