/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is certainly wrong with a request on a queue pair. Only rules that hold on every device and
 * kernel are here, so that nothing a kernel would accept is refused; limits of a device are looked
 * at after its refusal (qp_explain.c). The good case costs table look-ups and the cached facts of
 * the port.
 */
#include <stdarg.h>
#include <stdio.h>

#include "libibverbs/qp.h"

#define QP_INIT_KNOWN	(((uint32_t)IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1)
#define QP_MODIFY_KNOWN (((uint32_t)IBV_QP_DEST_QPN << 1) - 1 + (uint32_t)IBV_QP_RATE_LIMIT)
#define QP_NEEDS_PORT	(IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_AV | IBV_QP_PATH_MTU)
#define QP_NEEDS_NUMBERS \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER)

_cold_ static int refuse_create(struct ibv_context *ctx, const char *verb, int r, const char *why)
{
	verbs_err(ctx, "%s: %s", verb, why);
	return r;
}

static bool type_is_known(enum ibv_qp_type type)
{
	return qp_state_has_table(type) || type == IBV_QPT_DRIVER;
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

int qp_check_create(struct ibv_context *ctx, const char *verb,
		    const struct ibv_qp_init_attr_ex *attr)
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
	return 0;
}

_printf_(4, 5) _cold_ static int refuse(struct verbs_qp *qp, const struct ibv_qp_attr *attr,
					uint32_t mask, const char *fmt, ...)
{
	struct text why = {};
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_add(&why, "; %s", text);
	return qp_explain_refusal(qp, attr, mask, &why, -EINVAL);
}

bool qp_is_checked(const struct verbs_qp *qp)
{
	return qp->qp.context->device->transport_type == IBV_TRANSPORT_IB &&
	       qp_state_has_table(qp->qp.qp_type) && !(qp->comp_mask & VERBS_QP_SOURCE_QPN);
}

/* Refused only when the QP could be modified so in none of the states it may be in by now. */
static int check_state(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	bool asserted = mask & IBV_QP_CUR_STATE;
	enum ibv_qp_state cur = asserted ? attr->cur_qp_state : qp->qp.state;
	struct text why = {};
	uint32_t candidates;

	if (likely(qp_state_allows(qp->qp.qp_type, cur, attr, mask)))
		return 0;
	candidates = asserted ? 0 : qp_state_candidates(cur);
	for (int state = 0; state < QP_STATES; state++)
		if (candidates & (1 << state) && qp_state_allows(qp->qp.qp_type, state, attr, mask))
			return 0;
	qp_explain_transition(&why, qp->qp.qp_type, cur, attr, mask);
	return qp_explain_refusal(qp, attr, mask, &why, -EINVAL);
}

static int check_numbers(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	if (mask & IBV_QP_TIMEOUT && attr->timeout > 31)
		return refuse(qp, attr, mask,
			      "timeout %u: 0 to 31, meaning 4.096 us * 2^timeout (0: never)",
			      attr->timeout);
	if (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7)
		return refuse(qp, attr, mask, "retry_cnt %u: 0 to 7", attr->retry_cnt);
	if (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7)
		return refuse(qp, attr, mask, "rnr_retry %u: 0 to 7 (7: for ever)",
			      attr->rnr_retry);
	if (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31)
		return refuse(qp, attr, mask, "min_rnr_timer %u: 0 to 31", attr->min_rnr_timer);
	return 0;
}

static int check_port_num(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			  uint8_t port_num)
{
	const struct ibv_device_attr_ex *device;

	if (verbs_device_attr(qp->qp.context, &device) < 0)
		return 0;
	if (likely(port_num && port_num <= device->phys_port_cnt_ex))
		return 0;
	return refuse(qp, attr, mask, "port_num %u: the device has ports 1 to %u", port_num,
		      device->phys_port_cnt_ex);
}

static int check_address(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			 const struct verbs_port_facts *port)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR && qp->port_num &&
	    ah->port_num != qp->port_num)
		return refuse(qp, attr, mask, "ah_attr.port_num %u: the queue pair is on port %u",
			      ah->port_num, qp->port_num);
	if (!ah->is_global && port->link_layer == IBV_LINK_LAYER_ETHERNET)
		return refuse(qp, attr, mask,
			      "RoCE requires ah_attr.is_global = 1 with grh.dgid and "
			      "grh.sgid_index");
	if (ah->is_global && port->gid_tbl_len && ah->grh.sgid_index >= port->gid_tbl_len)
		return refuse(qp, attr, mask, "sgid_index %u: the port has GIDs 0 to %u",
			      ah->grh.sgid_index, port->gid_tbl_len - 1);
	return 0;
}

/* The active MTU follows the network device's: before a refusal it is asked again. */
static int check_mtu(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
		     uint8_t port_num, const struct verbs_port_facts *port)
{
	struct verbs_port_facts now = *port;

	if (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)
		return refuse(qp, attr, mask, "path_mtu %d is no enum ibv_mtu", attr->path_mtu);
	if (likely(attr->path_mtu <= port->active_mtu))
		return 0;
	if (verbs_port_facts(qp->qp.context, port_num, true, &now) < 0 || !now.active_mtu ||
	    attr->path_mtu <= now.active_mtu)
		return 0;
	return refuse(qp, attr, mask, "path_mtu %u is above port %u's active_mtu %u",
		      128u << attr->path_mtu, port_num, 128u << now.active_mtu);
}

static uint8_t port_of(const struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	if (mask & IBV_QP_PORT)
		return attr->port_num;
	return qp->port_num || !(mask & IBV_QP_AV) ? qp->port_num : attr->ah_attr.port_num;
}

static int check_port(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	uint8_t port_num = port_of(qp, attr, mask);
	struct verbs_port_facts port;
	int r = 0;

	if (!port_num && !(mask & (IBV_QP_PORT | IBV_QP_AV)))
		return 0;
	if (port_num != qp->port_num || !port_num)
		r = check_port_num(qp, attr, mask, port_num);
	if (r < 0 || verbs_port_facts(qp->qp.context, port_num, false, &port) < 0)
		return r;
	if (mask & IBV_QP_PKEY_INDEX && port.pkey_tbl_len && attr->pkey_index >= port.pkey_tbl_len)
		return refuse(qp, attr, mask, "pkey_index %u: port %u has P_Keys 0 to %u",
			      attr->pkey_index, port_num, port.pkey_tbl_len - 1);
	if (mask & IBV_QP_AV)
		r = check_address(qp, attr, mask, &port);
	if (r == 0 && mask & IBV_QP_PATH_MTU)
		r = check_mtu(qp, attr, mask, port_num, &port);
	return r;
}

int qp_check_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	int r;

	if (!qp_is_checked(qp))
		return 0;
	if (unlikely(mask & ~QP_MODIFY_KNOWN))
		return refuse(qp, attr, mask, "attr_mask has unknown bits 0x%x",
			      mask & ~QP_MODIFY_KNOWN);
	r = check_state(qp, attr, mask);
	if (r == 0 && mask & QP_NEEDS_NUMBERS)
		r = check_numbers(qp, attr, mask);
	if (r == 0 && mask & QP_NEEDS_PORT)
		r = check_port(qp, attr, mask);
	return r;
}
