/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/qp.h"

#define GIDS_LOOKED_AT 32
#define GIDS_NAMED     6

static const char *const type_names[] = {
	[IBV_QPT_RC] = "RC",
	[IBV_QPT_UC] = "UC",
	[IBV_QPT_UD] = "UD",
	[IBV_QPT_RAW_PACKET] = "RAW_PACKET",
	[IBV_QPT_XRC_SEND] = "XRC_SEND",
	[IBV_QPT_XRC_RECV] = "XRC_RECV",
	[IBV_QPT_DRIVER] = "DRIVER",
};

static const char *const state_names[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS",	   [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
};

static const struct {
	uint32_t bit;
	const char *name;
} attr_names[] = {
	{ IBV_QP_STATE, "IBV_QP_STATE" },
	{ IBV_QP_CUR_STATE, "IBV_QP_CUR_STATE" },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY" },
	{ IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX" },
	{ IBV_QP_PORT, "IBV_QP_PORT" },
	{ IBV_QP_QKEY, "IBV_QP_QKEY" },
	{ IBV_QP_AV, "IBV_QP_AV" },
	{ IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU" },
	{ IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER" },
	{ IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE" },
	{ IBV_QP_CAP, "IBV_QP_CAP" },
	{ IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN" },
	{ IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT" },
};

const char *qp_type_str(enum ibv_qp_type type)
{
	return type < ARRAY_SIZE(type_names) && type_names[type] ? type_names[type]
								 : "unknown type";
}

const char *qp_state_str(enum ibv_qp_state state)
{
	return state < ARRAY_SIZE(state_names) ? state_names[state] : "unknown state";
}

static void explain_attrs(struct text *why, const char *lead, uint32_t mask)
{
	struct text names = {};

	for (unsigned int i = 0; i < ARRAY_SIZE(attr_names); i++)
		if (mask & attr_names[i].bit)
			text_join(&names, ", ", "%s", attr_names[i].name);
	if (names.length)
		text_add(why, "; %s %s", lead, names.chars);
}

static void explain_no_transition(struct text *why, enum ibv_qp_type type, enum ibv_qp_state cur,
				  enum ibv_qp_state next)
{
	struct text names = {};

	for (enum ibv_qp_state s = 0; s < QP_STATES; s++)
		if (s != cur && qp_state_transition(type, cur, s).valid)
			text_join(&names, ", ", "%s", qp_state_str(s));
	text_add(why, "; from %s a queue pair goes to %s only, not to %s", qp_state_str(cur),
		 names.length ? names.chars : "no other state", qp_state_str(next));
}

void qp_explain_transition(struct text *why, enum ibv_qp_type type, enum ibv_qp_state cur,
			   const struct ibv_qp_attr *attr, uint32_t mask)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : cur;
	struct qp_transition t;

	if (next >= QP_STATES || cur >= QP_STATES) {
		text_add(why, "; %s %d is no state",
			 next >= QP_STATES ? "qp_state" : "cur_qp_state",
			 next >= QP_STATES ? next : cur);
		return;
	}
	if (mask & IBV_QP_CUR_STATE && (cur < IBV_QPS_RTR || cur > IBV_QPS_SQE)) {
		text_add(why, "; cur_qp_state may only say RTR, RTS, SQD or SQE");
		return;
	}
	t = qp_state_transition(type, cur, next);
	if (!t.valid && next == cur) {
		text_add(why, "; in %s nothing can be changed without leaving it",
			 qp_state_str(cur));
		return;
	}
	if (!t.valid) {
		explain_no_transition(why, type, cur, next);
		return;
	}
	explain_attrs(why, "missing", t.required & ~mask);
	explain_attrs(why, "not allowed here", mask & ~(t.required | t.optional | IBV_QP_STATE));
}

static void explain_state(struct text *text, const struct verbs_qp *qp,
			  const struct ibv_qp_attr *attr, uint32_t mask)
{
	enum ibv_qp_state cur = mask & IBV_QP_CUR_STATE ? attr->cur_qp_state : qp->qp.state;

	text_add(text, "%s %s -> %s", qp_type_str(qp->qp.qp_type), qp_state_str(cur),
		 qp_state_str(mask & IBV_QP_STATE ? attr->qp_state : cur));
}

int qp_explain_refusal(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
		       const struct text *why, int r)
{
	struct text what = {};

	explain_state(&what, qp, attr, mask);
	verbs_err(qp->qp.context, "qp 0x%x: ibv_modify_qp %s: %s%s", qp->qp.qp_num, what.chars,
		  strerror(-r), why->chars);
	return r;
}

/* Query the real state of the QP, which may differ from the cached state. */
static void explain_real_state(struct text *why, struct verbs_qp *qp,
			       const struct ibv_qp_attr *attr, uint32_t mask)
{
	const struct verbs_ops *ops = ctx_ops(qp->qp.context);
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr now = {};
	const struct verbs_query_qp in = {
		.mask = IBV_QP_STATE,
		.ret_attr = &now,
		.ret_init_attr = &init,
	};
	enum ibv_qp_state assumed = mask & IBV_QP_CUR_STATE ? attr->cur_qp_state : qp->qp.state;

	if (!ops->query_qp || ops->query_qp(qp, &in) < 0)
		return;
	if (now.qp_state != assumed)
		text_add(why, "; the queue pair is in %s, not %s", qp_state_str(now.qp_state),
			 qp_state_str(assumed));
	if (now.qp_state == IBV_QPS_SQD && now.sq_draining)
		text_add(why, "; its send queue is still draining: wait for "
			      "IBV_EVENT_SQ_DRAINED");
	if (now.qp_state != assumed) /* do not report the assumed state as an error, too */
		mask &= ~IBV_QP_CUR_STATE;
	if (!qp_rules_allow(qp->rules, now.qp_state, attr, mask))
		qp_explain_transition(why, qp->qp.qp_type, now.qp_state, attr, mask);
}

static void explain_valid_gids(struct text *why, struct ibv_context *ctx, uint8_t port_num)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_gid_entry entry;
	struct text names = {};
	unsigned int found = 0;

	for (uint32_t i = 0; i < GIDS_LOOKED_AT && found < GIDS_NAMED; i++) {
		if (ops->query_gid(ctx, port_num, i, &entry) < 0)
			continue;
		text_join(&names, ", ", "%u = ", i);
		explain_gid(&names, &entry.gid);
		found++;
	}
	if (found)
		text_add(why, "; there are %s", names.chars);
	else
		text_add(why, "; the port has no GID: has its network device an address?");
}

static bool gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static bool gid_is_zero(const union ibv_gid *gid)
{
	return !gid->global.subnet_prefix && !gid->global.interface_id;
}

/* Explain a missing path between two known addresses, or an invalid pair. */
static void explain_ends(struct text *why, const union ibv_gid *source, uint8_t sgid_index,
			 const union ibv_gid *dest, int r)
{
	text_add(why, "; %s sgid_index %u = ", r == -EINVAL ? "from" : "no path from", sgid_index);
	explain_gid(why, source);
	text_add(why, " to dgid ");
	explain_gid(why, dest);
	if (gid_is_zero(dest))
		text_add(why, ": the dgid is not set");
	else if (explain_gid_is_ipv4(source) != explain_gid_is_ipv4(dest))
		text_add(why, ": one is IPv4, the other IPv6");
	else if (gid_is_link_local(source) != gid_is_link_local(dest))
		text_add(why, ": one of them is link-local");
	else if (r != -EINVAL)
		text_add(why, ": check the route and the neighbour (ARP or ND)");
}

static void explain_path(struct text *why, struct ibv_context *ctx, const struct ibv_ah_attr *ah,
			 int r)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_gid_entry source = {};
	struct verbs_port_facts port;
	int found;

	if (!ah->is_global || !ops->query_gid)
		return;
	found = ops->query_gid(ctx, ah->port_num, ah->grh.sgid_index, &source);
	if (found == -ENODATA || found == -ENOENT) {
		text_add(why, "; sgid_index %u of port %u is empty", ah->grh.sgid_index,
			 ah->port_num);
		explain_valid_gids(why, ctx, ah->port_num);
		return;
	}
	/* GIDs of InfiniBand are not IP addresses, and a wrong GID does not cause -EINVAL. */
	if (found == 0 && (r != -EINVAL || (verbs_port_recall(ctx, ah->port_num, &port) &&
					    port.link_layer == IBV_LINK_LAYER_ETHERNET)))
		explain_ends(why, &source.gid, ah->grh.sgid_index, &ah->grh.dgid, r);
}

/* Explain values out of the range of their fields. Not every device checks them. */
static void explain_numbers(struct text *why, const struct ibv_qp_attr *attr, uint32_t mask,
			    const struct ibv_device_attr *device)
{
	if (mask & IBV_QP_TIMEOUT && attr->timeout > 31)
		text_add(why, "; timeout %u: 0 to 31, meaning 4.096 us * 2^timeout (0: never)",
			 attr->timeout);
	if (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7)
		text_add(why, "; retry_cnt %u: 0 to 7", attr->retry_cnt);
	if (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7)
		text_add(why, "; rnr_retry %u: 0 to 7 (7: for ever)", attr->rnr_retry);
	if (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31)
		text_add(why, "; min_rnr_timer %u: 0 to 31", attr->min_rnr_timer);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		explain_limit(why, "max_dest_rd_atomic", attr->max_dest_rd_atomic, "max_qp_rd_atom",
			      device->max_qp_rd_atom);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		explain_limit(why, "max_rd_atomic", attr->max_rd_atomic, "max_qp_init_rd_atom",
			      device->max_qp_init_rd_atom);
}

static void explain_mtu(struct text *why, const struct ibv_qp_attr *attr, uint8_t port_num,
			const struct verbs_port_facts *port)
{
	if (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)
		text_add(why, "; path_mtu %d is no enum ibv_mtu: 1024 bytes are IBV_MTU_1024",
			 attr->path_mtu);
	else if (port->active_mtu && attr->path_mtu > port->active_mtu)
		text_add(why, "; path_mtu %u is above port %u's active_mtu %u",
			 128u << attr->path_mtu, port_num, 128u << port->active_mtu);
}

static void explain_address(struct text *why, const struct verbs_qp *qp,
			    const struct ibv_qp_attr *attr, uint32_t mask,
			    const struct verbs_port_facts *port)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;

	if (qp_is_on_other_port(qp, attr, mask))
		text_add(why, "; ah_attr.port_num %u: the queue pair is on port %u", ah->port_num,
			 qp->port_num);
	else if (!ah->is_global && port->link_layer == IBV_LINK_LAYER_ETHERNET)
		text_add(why, "; RoCE requires ah_attr.is_global = 1 with grh.dgid and "
			      "grh.sgid_index");
	else if (ah->is_global && port->gid_tbl_len && ah->grh.sgid_index >= port->gid_tbl_len)
		text_add(why, "; sgid_index %u: the port has GIDs 0 to %u", ah->grh.sgid_index,
			 port->gid_tbl_len - 1);
}

/* Query the port again, because the active MTU follows that of the network device. */
static void explain_port(struct text *why, struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			 uint32_t mask, const struct ibv_device_attr_ex *device)
{
	uint8_t port_num = qp_port_of(qp, attr, mask);
	struct verbs_port_facts port;

	if (!qp_port_exists(qp->qp.context, port_num)) {
		text_add(why, "; port_num %u: the device has ports 1 to %u", port_num,
			 device->phys_port_cnt_ex);
		return;
	}
	if (verbs_port_facts(qp->qp.context, port_num, true, &port) < 0)
		return;
	if (mask & IBV_QP_PKEY_INDEX && port.pkey_tbl_len && attr->pkey_index >= port.pkey_tbl_len)
		text_add(why, "; pkey_index %u: port %u has P_Keys 0 to %u", attr->pkey_index,
			 port_num, port.pkey_tbl_len - 1);
	if (mask & IBV_QP_AV)
		explain_address(why, qp, attr, mask, &port);
	if (mask & IBV_QP_PATH_MTU)
		explain_mtu(why, attr, port_num, &port);
}

static void explain_values(struct text *why, struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			   uint32_t mask)
{
	const struct ibv_device_attr_ex *device;

	if (verbs_device_attr(qp->qp.context, &device) < 0)
		return;
	explain_numbers(why, attr, mask, &device->orig_attr);
	if (mask & (IBV_QP_PORT | IBV_QP_AV) ||
	    (qp->port_num && mask & (IBV_QP_PKEY_INDEX | IBV_QP_PATH_MTU)))
		explain_port(why, qp, attr, mask, device);
}

/* Explain a missing capability of the device or right of the caller. */
static void explain_rights(struct text *why, struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			   uint32_t mask, int r)
{
	const struct ibv_device_attr_ex *device;
	struct verbs_port_facts port;

	if (mask & IBV_QP_QKEY && r == -EPERM)
		text_add(why, "; qkey 0x%x has its highest bit set, which needs CAP_NET_RAW",
			 attr->qkey);
	if (!(mask & IBV_QP_ALT_PATH) || r != -EINVAL ||
	    verbs_device_attr(qp->qp.context, &device) < 0)
		return;
	if (verbs_port_facts(qp->qp.context, attr->alt_port_num, false, &port) == 0 &&
	    port.link_layer == IBV_LINK_LAYER_ETHERNET)
		text_add(why, "; alternate paths are for InfiniBand, not for RoCE");
	else if (!(device->orig_attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG))
		text_add(why, "; the device has no alternate paths");
}

void qp_explain_mtu(struct verbs_qp *qp, const struct ibv_qp_attr *attr)
{
	struct verbs_port_facts port;

	if (log_enabled(LOG_LEVEL_WARN) &&
	    verbs_port_facts(qp->qp.context, qp->port_num, true, &port) == 0 &&
	    attr->path_mtu > port.active_mtu && attr->path_mtu <= IBV_MTU_4096)
		verbs_warn(qp->qp.context,
			   "qp 0x%x: ibv_modify_qp: path_mtu %u is above port %u's active_mtu %u: "
			   "longer messages will not arrive",
			   qp->qp.qp_num, 128u << attr->path_mtu, qp->port_num,
			   128u << port.active_mtu);
}

void qp_explain_modify(struct verbs_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask, int r)
{
	struct text why = {};

	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	if (qp->rules)
		explain_real_state(&why, qp, attr, mask);
	if (!why.length && qp->rules)
		explain_values(&why, qp, attr, mask);
	if (!why.length)
		explain_rights(&why, qp, attr, mask, r);
	if (!why.length && mask & IBV_QP_AV && r != -ENOMEM)
		explain_path(&why, qp->qp.context, &attr->ah_attr, r);
	qp_explain_refusal(qp, attr, mask, &why, r);
}

static void explain_caps(struct text *why, const struct ibv_qp_init_attr_ex *attr,
			 const struct ibv_device_attr *device)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	explain_limit(why, "max_send_wr", cap->max_send_wr, "max_qp_wr", device->max_qp_wr);
	explain_limit(why, "max_send_sge", cap->max_send_sge, "max_sge", device->max_sge);
	if (attr->srq)
		return;
	explain_limit(why, "max_recv_wr", cap->max_recv_wr, "max_qp_wr", device->max_qp_wr);
	explain_limit(why, "max_recv_sge", cap->max_recv_sge, "max_sge", device->max_sge);
}

static void explain_create_errno(struct text *why, const struct ibv_qp_init_attr_ex *attr,
				 const struct ibv_device_attr *device, int r)
{
	if (r == -EPERM && attr->qp_type == IBV_QPT_RAW_PACKET)
		text_add(why, "; a RAW_PACKET queue pair needs CAP_NET_RAW");
	else if (r == -EOPNOTSUPP && attr->comp_mask & ~(uint32_t)IBV_QP_INIT_ATTR_PD)
		text_add(why, "; does the device have all that comp_mask 0x%x asks for?",
			 attr->comp_mask);
	else if (r == -EOPNOTSUPP || (r == -EINVAL && attr->qp_type > IBV_QPT_UD))
		text_add(why, "; does the device have %s queue pairs?", qp_type_str(attr->qp_type));
	else if (r == -ENOMEM)
		text_add(why, "; the device has room for %d queue pairs", device->max_qp);
	else if (r == -EINVAL && attr->cap.max_inline_data)
		text_add(why, "; is max_inline_data %u too large?", attr->cap.max_inline_data);
}

void qp_explain_create(struct ibv_context *ctx, const char *verb,
		       const struct ibv_qp_init_attr_ex *attr, int r)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(ctx, &device) == 0) {
		explain_caps(&why, attr, &device->orig_attr);
		if (!why.length)
			explain_create_errno(&why, attr, &device->orig_attr, r);
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
		text_add(&why, "; create_flags 0x%x", attr->create_flags);
	explain_memlock(&why, verb, ((uint64_t)cap->max_send_wr + cap->max_recv_wr) * 64, r);
	verbs_err(ctx, "%s: %s, send %u wr %u sge, receive %u wr %u sge, inline %u bytes: %s%s",
		  verb, qp_type_str(attr->qp_type), cap->max_send_wr, cap->max_send_sge,
		  cap->max_recv_wr, cap->max_recv_sge, cap->max_inline_data, strerror(-r),
		  why.chars);
}
