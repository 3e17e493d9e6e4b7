/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is certainly wrong with a request on a queue pair. Only rules that hold on every device and
 * kernel are here, and the limits a device declares, so that nothing a kernel would accept is
 * refused; what else a device may not like is looked at after its refusal (qp_explain.c).
 */
#include "libibverbs/qp.h"

#define QP_INIT_KNOWN	(((uint32_t)IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1)
#define QP_MODIFY_KNOWN (((uint32_t)IBV_QP_DEST_QPN << 1) - 1 + (uint32_t)IBV_QP_RATE_LIMIT)

_cold_ static int refuse_create(struct ibv_context *ctx, const char *verb, int r, const char *why)
{
	verbs_err(ctx, "%s: %s", verb, why);
	return r;
}

static bool type_is_known(enum ibv_qp_type type)
{
	return qp_state_rules(type) || type == IBV_QPT_DRIVER;
}

/* A handle is a number of one context: in another one it names some other object, or nothing. */
static bool is_foreign(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	return (attr->send_cq && attr->send_cq->context != ctx) ||
	       (attr->recv_cq && attr->recv_cq->context != ctx) ||
	       (attr->srq && attr->srq->context != ctx) || attr->pd->context != ctx;
}

static bool lacks_cq(const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_DRIVER || attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		return false;
	return !attr->send_cq || (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND);
}

static bool is_too_large(const struct ibv_qp_init_attr_ex *attr,
			 const struct ibv_device_attr *device)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (limit_exceeded(cap->max_send_wr, device->max_qp_wr) ||
	    limit_exceeded(cap->max_send_sge, device->max_sge))
		return true;
	return !attr->srq && (limit_exceeded(cap->max_recv_wr, device->max_qp_wr) ||
			      limit_exceeded(cap->max_recv_sge, device->max_sge));
}

int qp_check_create(struct ibv_context *ctx, const char *verb,
		    const struct ibv_qp_init_attr_ex *attr, const struct ibv_device_attr *device)
{
	if (!comp_mask_ok(attr->comp_mask, QP_INIT_KNOWN))
		return refuse_create(ctx, verb, -EOPNOTSUPP, "comp_mask has unknown bits");
	if (!type_is_known(attr->qp_type))
		return refuse_create(ctx, verb, -EINVAL,
				     "qp_type is none of RC, UC, UD, RAW_PACKET, XRC_SEND, "
				     "XRC_RECV, DRIVER");
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return refuse_create(ctx, verb, -EOPNOTSUPP,
				     "XRC receive queue pairs are not supported");
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return refuse_create(ctx, verb, -EINVAL,
				     "no protection domain: comp_mask needs IBV_QP_INIT_ATTR_PD");
	if (lacks_cq(attr))
		return refuse_create(ctx, verb, -EINVAL,
				     attr->send_cq ? "recv_cq is NULL" : "send_cq is NULL");
	if (is_foreign(ctx, attr))
		return refuse_create(
			ctx, verb, -EINVAL,
			"the PD, CQs and SRQ must all be of one context (open device)");
	if (device && is_too_large(attr, device)) {
		qp_explain_create(ctx, verb, attr, -EINVAL);
		return -EINVAL;
	}
	return 0;
}

const struct qp_rules *qp_rules_of(const struct verbs_qp *qp)
{
	if (qp->qp.context->device->transport_type != IBV_TRANSPORT_IB ||
	    qp->comp_mask & VERBS_QP_SOURCE_QPN)
		return NULL;
	return qp_state_rules(qp->qp.qp_type);
}

/*
 * What a look at the values finds. The look is all that the good case pays: it calls nothing and
 * remembers nothing; everything else is done after it found something.
 */
enum mistake {
	FINE,
	TIMEOUT_RANGE,
	RETRY_CNT_RANGE,
	RNR_RETRY_RANGE,
	MIN_RNR_TIMER_RANGE,
	DEST_RD_ATOMIC_RANGE,
	RD_ATOMIC_RANGE,
	PORT_NOT_KNOWN, /* no mistake yet: nobody has asked the port */
	PKEY_INDEX_RANGE,
	OTHER_PORT,
	NO_GRH,
	SGID_INDEX_RANGE,
	NO_MTU,
	MTU_ABOVE_ACTIVE,
};

#define NEEDS_NUMBERS                                                                  \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MAX_QP_RD_ATOMIC)
#define NEEDS_PORT (IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_AV | IBV_QP_PATH_MTU)

static inline enum mistake look_at_numbers(const struct verbs_qp *qp,
					   const struct ibv_qp_attr *attr, uint32_t mask)
{
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    limit_exceeded(attr->max_dest_rd_atomic, qp->most_dest_rd_atomic))
		return DEST_RD_ATOMIC_RANGE;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    limit_exceeded(attr->max_rd_atomic, qp->most_rd_atomic))
		return RD_ATOMIC_RANGE;
	if (mask & IBV_QP_TIMEOUT && attr->timeout > 31)
		return TIMEOUT_RANGE;
	if (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7)
		return RETRY_CNT_RANGE;
	if (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7)
		return RNR_RETRY_RANGE;
	if (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31)
		return MIN_RNR_TIMER_RANGE;
	return FINE;
}

static inline enum mistake look_at_address(const struct verbs_qp *qp,
					   const struct ibv_qp_attr *attr, uint32_t mask,
					   const struct verbs_port_facts *port)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;

	if (qp->port_num && ah->port_num != qp->port_num && mask & IBV_QP_STATE &&
	    attr->qp_state == IBV_QPS_RTR)
		return OTHER_PORT;
	if (!ah->is_global)
		return port->link_layer == IBV_LINK_LAYER_ETHERNET ? NO_GRH : FINE;
	return port->gid_tbl_len && ah->grh.sgid_index >= port->gid_tbl_len ? SGID_INDEX_RANGE
									    : FINE;
}

static inline enum mistake look_at_path(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
					uint32_t mask, const struct verbs_port_facts *port)
{
	enum mistake found = FINE;

	if (mask & IBV_QP_PKEY_INDEX && port->pkey_tbl_len &&
	    attr->pkey_index >= port->pkey_tbl_len)
		return PKEY_INDEX_RANGE;
	if (mask & IBV_QP_AV)
		found = look_at_address(qp, attr, mask, port);
	if (found || !(mask & IBV_QP_PATH_MTU))
		return found;
	if (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)
		return NO_MTU;
	return attr->path_mtu > port->active_mtu ? MTU_ABOVE_ACTIVE : FINE;
}

/* The port a request is about; 0: it does not say, and neither did one before. */
static inline uint8_t port_of(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			      uint32_t mask)
{
	if (mask & IBV_QP_PORT)
		return attr->port_num;
	return qp->port_num || !(mask & IBV_QP_AV) ? qp->port_num : attr->ah_attr.port_num;
}

static inline enum mistake look(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
				uint32_t mask)
{
	struct verbs_port_facts port;

	if (mask & NEEDS_NUMBERS) {
		enum mistake found = look_at_numbers(qp, attr, mask);

		if (unlikely(found))
			return found;
	}
	if (!(mask & NEEDS_PORT))
		return FINE;
	if (unlikely(!verbs_port_recall(qp->qp.context, port_of(qp, attr, mask), &port)))
		return PORT_NOT_KNOWN;
	return look_at_path(qp, attr, mask, &port);
}

static inline bool state_is_fine(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
				 uint32_t mask)
{
	enum ibv_qp_state cur = mask & IBV_QP_CUR_STATE ? attr->cur_qp_state : qp->qp.state;

	return qp_rules_allow(qp->rules, cur, attr, mask);
}

/*
 * Refused only when the QP could be modified so in none of the states it may be in by now. A change
 * within the state is left to the device: some take attributes there that the rules do not have.
 */
static int check_state(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	bool asserted = mask & IBV_QP_CUR_STATE;
	enum ibv_qp_state cur = asserted ? attr->cur_qp_state : qp->qp.state;
	uint32_t candidates = asserted ? 0 : qp_state_candidates(cur);
	struct text why = {};

	if (!(mask & IBV_QP_STATE) || state_is_fine(qp, attr, mask))
		return 0;
	for (int state = 0; state < QP_STATES; state++)
		if (candidates & (1 << state) && qp_rules_allow(qp->rules, state, attr, mask))
			return 0;
	qp_explain_transition(&why, qp->qp.qp_type, cur, attr, mask);
	return qp_explain_refusal(qp, attr, mask, &why, -EINVAL);
}

/* "; <what is wrong>" */
static void explain_mistake(struct text *why, enum mistake mistake, const struct verbs_qp *qp,
			    const struct ibv_qp_attr *attr, uint8_t port_num,
			    const struct verbs_port_facts *port)
{
	switch (mistake) {
	case TIMEOUT_RANGE:
		text_add(why, "; timeout %u: 0 to 31, meaning 4.096 us * 2^timeout (0: never)",
			 attr->timeout);
		break;
	case RETRY_CNT_RANGE:
		text_add(why, "; retry_cnt %u: 0 to 7", attr->retry_cnt);
		break;
	case RNR_RETRY_RANGE:
		text_add(why, "; rnr_retry %u: 0 to 7 (7: for ever)", attr->rnr_retry);
		break;
	case MIN_RNR_TIMER_RANGE:
		text_add(why, "; min_rnr_timer %u: 0 to 31", attr->min_rnr_timer);
		break;
	case PKEY_INDEX_RANGE:
		text_add(why, "; pkey_index %u: port %u has P_Keys 0 to %u", attr->pkey_index,
			 port_num, port->pkey_tbl_len - 1);
		break;
	case OTHER_PORT:
		text_add(why, "; ah_attr.port_num %u: the queue pair is on port %u",
			 attr->ah_attr.port_num, qp->port_num);
		break;
	case NO_GRH:
		text_add(why, "; RoCE requires ah_attr.is_global = 1 with grh.dgid and "
			      "grh.sgid_index");
		break;
	case SGID_INDEX_RANGE:
		text_add(why, "; sgid_index %u: the port has GIDs 0 to %u",
			 attr->ah_attr.grh.sgid_index, port->gid_tbl_len - 1);
		break;
	case NO_MTU:
		text_add(why, "; path_mtu %d is no enum ibv_mtu", attr->path_mtu);
		break;
	case MTU_ABOVE_ACTIVE:
		text_add(why, "; path_mtu %u is above port %u's active_mtu %u",
			 128u << attr->path_mtu, port_num, 128u << port->active_mtu);
		break;
	case DEST_RD_ATOMIC_RANGE:
		explain_limit(why, "max_dest_rd_atomic", attr->max_dest_rd_atomic, "max_qp_rd_atom",
			      qp->most_dest_rd_atomic);
		break;
	case RD_ATOMIC_RANGE:
		explain_limit(why, "max_rd_atomic", attr->max_rd_atomic, "max_qp_init_rd_atom",
			      qp->most_rd_atomic);
		break;
	case PORT_NOT_KNOWN:
	case FINE:
		break;
	}
}

static int refuse(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
		  enum mistake mistake, const struct verbs_port_facts *port)
{
	struct text why = {};

	explain_mistake(&why, mistake, qp, attr, port_of(qp, attr, mask), port);
	return qp_explain_refusal(qp, attr, mask, &why, -EINVAL);
}

/* Only said of a port that could not be told otherwise. */
static int check_port_num(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			  uint8_t port_num)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (verbs_device_attr(qp->qp.context, &device) < 0)
		return 0;
	if (port_num && port_num <= device->phys_port_cnt_ex)
		return 0;
	text_add(&why, "; port_num %u: the device has ports 1 to %u", port_num,
		 device->phys_port_cnt_ex);
	return qp_explain_refusal(qp, attr, mask, &why, -EINVAL);
}

/* The active MTU follows the network device's: before a refusal for it the port is asked again. */
static int check_path(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	uint8_t port_num = port_of(qp, attr, mask);
	struct verbs_port_facts port;
	enum mistake found;
	int r;

	if (!(mask & NEEDS_PORT) || (!port_num && !(mask & (IBV_QP_PORT | IBV_QP_AV))))
		return 0;
	if (!verbs_port_recall(qp->qp.context, port_num, &port)) {
		r = check_port_num(qp, attr, mask, port_num);
		if (r < 0 || verbs_port_facts(qp->qp.context, port_num, true, &port) < 0)
			return r;
	}
	found = look_at_path(qp, attr, mask, &port);
	if (found == MTU_ABOVE_ACTIVE) {
		if (verbs_port_facts(qp->qp.context, port_num, true, &port) < 0 || !port.active_mtu)
			return 0;
		found = look_at_path(qp, attr, mask, &port);
	}
	return found ? refuse(qp, attr, mask, found, &port) : 0;
}

_cold_ static int check_again(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	struct text why = {};
	enum mistake found;
	int r;

	if (mask & ~QP_MODIFY_KNOWN) {
		text_add(&why, "; attr_mask has unknown bits 0x%x", mask & ~QP_MODIFY_KNOWN);
		return qp_explain_refusal(qp, attr, mask, &why, -EOPNOTSUPP);
	}
	r = check_state(qp, attr, mask);
	if (r < 0)
		return r;
	found = look_at_numbers(qp, attr, mask);
	return found ? refuse(qp, attr, mask, found, NULL) : check_path(qp, attr, mask);
}

int qp_check_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (!qp->rules)
		return 0;
	if (likely(state_is_fine(qp, attr, mask) && look(qp, attr, mask) == FINE))
		return 0;
	return check_again(qp, attr, mask);
}
