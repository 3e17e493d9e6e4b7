/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks of requests on a queue pair, in two parts.
 *
 * qp_check_create() and qp_check_modify() run before the device is called. They refuse only values
 * that do not fit into a kernel command. The device checks states, attributes, values and limits,
 * because drivers and newer kernels accept more than this library knows.
 *
 * verbs_check_modify_qp() makes the checks of the kernel for all of its devices. User-space devices
 * call it. For kernel devices it runs after a refusal, to explain it.
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

/* Return whether an object belongs to another context, where its handle is not valid. */
static bool is_foreign(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return verbs_is_foreign(ctx, attr->xrcd->context);
	if ((attr->send_cq && verbs_is_foreign(ctx, attr->send_cq->context)) ||
	    verbs_is_foreign(ctx, attr->pd->context))
		return true;
	if (attr->qp_type == IBV_QPT_XRC_SEND)
		return false;
	return (attr->recv_cq && verbs_is_foreign(ctx, attr->recv_cq->context)) ||
	       (attr->srq && verbs_is_foreign(ctx, attr->srq->context)) ||
	       (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE &&
		verbs_is_foreign(ctx, attr->rwq_ind_tbl->context));
}

static bool lacks_cq(const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_DRIVER || attr->qp_type == IBV_QPT_XRC_RECV ||
	    attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		return false;
	return !attr->send_cq || (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND);
}

int qp_check_create(struct ibv_context *ctx, const char *verb,
		    const struct ibv_qp_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, QP_INIT_KNOWN))
		return refuse_create(ctx, verb, -EOPNOTSUPP, "comp_mask has unknown bits");
	if (!type_is_known(attr->qp_type))
		return refuse_create(ctx, verb, -EINVAL,
				     "qp_type is none of RC, UC, UD, RAW_PACKET, XRC_SEND, "
				     "XRC_RECV, DRIVER");
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)
			return refuse_create(ctx, verb, -EINVAL,
					     "no XRC domain: comp_mask needs "
					     "IBV_QP_INIT_ATTR_XRCD");
	} else if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		return refuse_create(ctx, verb, -EINVAL,
				     "no protection domain: comp_mask needs IBV_QP_INIT_ATTR_PD");
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE && !attr->rwq_ind_tbl)
		return refuse_create(ctx, verb, -EINVAL, "rwq_ind_tbl is NULL");
	if (lacks_cq(attr))
		return refuse_create(ctx, verb, -EINVAL,
				     attr->send_cq ? "recv_cq is NULL" : "send_cq is NULL");
	if (is_foreign(ctx, attr))
		return refuse_create(
			ctx, verb, -EINVAL,
			attr->qp_type == IBV_QPT_XRC_RECV
				? "the XRC domain belongs to another context (open device)"
				: "the PD, CQs and SRQ must all be of one context (open device)");
	return 0;
}

const struct qp_rules *qp_rules_of(const struct verbs_qp *qp)
{
	if (qp->qp.context->device->transport_type != IBV_TRANSPORT_IB ||
	    qp->comp_mask & VERBS_QP_SOURCE_QPN)
		return NULL;
	return qp_state_rules(qp->qp.qp_type);
}

/* ---- before the device ---- */

/* Refuse values that do not fit into the kernel's shorter members and would be truncated. */
_cold_ static int refuse_wide(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	struct text why = {};

	if (mask & IBV_QP_PATH_MTU && attr->path_mtu > UINT8_MAX)
		text_add(&why, "; path_mtu %d is no enum ibv_mtu: 1024 bytes are IBV_MTU_1024",
			 attr->path_mtu);
	if (mask & IBV_QP_STATE && attr->qp_state > UINT8_MAX)
		text_add(&why, "; qp_state %d is no state", attr->qp_state);
	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state > UINT8_MAX)
		text_add(&why, "; cur_qp_state %d is no state", attr->cur_qp_state);
	return why.length ? qp_explain_refusal(qp, attr, mask, &why, -EINVAL) : 0;
}

_cold_ static int refuse_mask(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	struct text why = {};

	text_add(&why, "; attr_mask has unknown bits 0x%x", mask & ~QP_MODIFY_KNOWN);
	return qp_explain_refusal(qp, attr, mask, &why, -EOPNOTSUPP);
}

int qp_check_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (unlikely(mask & ~QP_MODIFY_KNOWN))
		return refuse_mask(qp, attr, mask);
	if (unlikely((attr->path_mtu | attr->qp_state | attr->cur_qp_state) > UINT8_MAX))
		return refuse_wide(qp, attr, mask);
	return 0;
}

/* ---- checks of the kernel ---- */

static bool state_is_fine(const struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	enum ibv_qp_state cur = mask & IBV_QP_CUR_STATE ? attr->cur_qp_state : qp->qp.state;

	return qp_rules_allow(qp->rules, cur, attr, mask);
}

/*
 * Return false only if the rules forbid the request in all states that the QP may be in by now. The
 * device checks changes without a transition, because some devices accept attributes that the rules
 * do not have.
 */
static bool state_is_possible(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			      uint32_t mask)
{
	uint32_t candidates = mask & IBV_QP_CUR_STATE ? 0 : qp_state_candidates(qp->qp.state);

	if (!(mask & IBV_QP_STATE) || state_is_fine(qp, attr, mask))
		return true;
	for (int state = 0; state < QP_STATES; state++)
		if (candidates & (1 << state) && qp_rules_allow(qp->rules, state, attr, mask))
			return true;
	return false;
}

bool qp_port_exists(struct ibv_context *ctx, uint8_t port_num)
{
	const struct ibv_device_attr_ex *device;

	return verbs_device_attr(ctx, &device) < 0 ||
	       (port_num && port_num <= device->phys_port_cnt_ex);
}

static bool has_port(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	struct ibv_context *ctx = qp->qp.context;

	return (!(mask & IBV_QP_PORT) || qp_port_exists(ctx, attr->port_num)) &&
	       (!(mask & IBV_QP_AV) || qp_port_exists(ctx, attr->ah_attr.port_num));
}

/* Check the address. Query the port if its attributes are not cached. */
static bool address_is_fine(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	struct verbs_port_facts port;

	if (qp_is_on_other_port(qp, attr, mask))
		return false;
	if (verbs_port_facts(qp->qp.context, qp_port_of(qp, attr, mask), false, &port) < 0)
		return true;
	if (!attr->ah_attr.is_global)
		return port.link_layer != IBV_LINK_LAYER_ETHERNET;
	return !port.gid_tbl_len || attr->ah_attr.grh.sgid_index < port.gid_tbl_len;
}

static bool values_are_fine(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	const struct ibv_device_attr *device = verbs_limits(qp->qp.context);

	if (mask & IBV_QP_TIMEOUT && attr->timeout > 31)
		return false;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && device &&
	    limit_exceeded(attr->max_rd_atomic, device->max_qp_init_rd_atom))
		return false;
	if (mask & IBV_QP_PATH_MTU && attr->path_mtu > IBV_MTU_4096)
		return false;
	return has_port(qp, attr, mask) && (!(mask & IBV_QP_AV) || address_is_fine(qp, attr, mask));
}

int verbs_check_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in)
{
	if (!qp->rules)
		return 0;
	if (!state_is_possible(qp, in->attr, in->mask) || !values_are_fine(qp, in->attr, in->mask))
		return -EINVAL;
	return 0;
}
