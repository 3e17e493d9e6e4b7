/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs. */
#include <string.h>

#include "libibverbs/library.h"
#include "libibverbs/qp.h"

static void qp_init(struct verbs_qp *qp, struct ibv_context *ctx,
		    const struct ibv_qp_init_attr_ex *attr)
{
	qp->qp.context = ctx;
	qp->qp.qp_context = attr->qp_context;
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		qp->xrcd = attr->xrcd;
	} else {
		qp->qp.pd = attr->pd;
		qp->qp.send_cq = attr->send_cq;
	}
	if (attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_XRC_SEND) {
		qp->qp.recv_cq = attr->recv_cq;
		qp->qp.srq = attr->srq;
	}
	qp->qp.qp_type = attr->qp_type;
	qp->qp.state = IBV_QPS_RESET;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags & IBV_QP_CREATE_SOURCE_QPN)
		qp->comp_mask |= VERBS_QP_SOURCE_QPN;
	qp->rules = qp_rules_of(qp);
	verbs_events_init(&qp->qp.mutex, &qp->qp.cond);
}

int verbs_qp_create(struct ibv_context *ctx, const char *verb, const struct verbs_create_qp *in,
		    struct ibv_qp **ret_qp)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_qp *qp;
	int r;

	if (!ops->create_qp)
		return verbs_unsupported(ctx, verb);
	r = qp_check_create(ctx, verb, in->attr);
	if (r < 0)
		return r;
	qp = verbs_object_alloc(sizeof(*qp), ctx_priv(ctx)->provider->sizes.qp);
	if (!qp)
		return -ENOMEM;
	qp_init(qp, ctx, in->attr);
	r = ops->create_qp(qp, in);
	if (unlikely(r < 0)) {
		qp_explain_create(ctx, verb, in->attr, r);
		free(qp);
		return r;
	}
	qp->cap = in->attr->cap;
	verbs_parent_hold(qp->qp.pd);
	*ret_qp = &qp->qp;
	return 0;
}

VERBS_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	static const char verb[] = "ibv_create_qp";
	struct ibv_qp_init_attr_ex attr;
	const struct verbs_create_qp in = { .attr = &attr };
	struct ibv_qp *qp = NULL;
	int r;

	if (unlikely(!pd || !init))
		return ret_null(explain_null(verb, pd ? "qp_init_attr" : "pd"));
	attr = (struct ibv_qp_init_attr_ex){
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	r = verbs_qp_create(pd->context, verb, &in, &qp);
	if (r < 0)
		return ret_null(r);
	init->cap = attr.cap;
	return qp;
}

#define UP_TO(member) offsetof(struct ibv_qp_init_attr_ex, member)

/* Return the minimum size of the caller's struct with this comp_mask: see verbs_struct_copy(). */
static size_t qp_init_size(uint32_t comp_mask)
{
	static const struct {
		uint32_t bit;
		size_t size;
	} sizes[] = {
		{ IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, sizeof(struct ibv_qp_init_attr_ex) },
		{ IBV_QP_INIT_ATTR_RX_HASH, UP_TO(source_qpn) },
		{ IBV_QP_INIT_ATTR_IND_TABLE, UP_TO(rx_hash_conf) },
		{ IBV_QP_INIT_ATTR_MAX_TSO_HEADER, UP_TO(rwq_ind_tbl) },
		{ IBV_QP_INIT_ATTR_CREATE_FLAGS, UP_TO(max_tso_header) },
		{ IBV_QP_INIT_ATTR_XRCD, UP_TO(create_flags) },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++)
		if (comp_mask & sizes[i].bit)
			return sizes[i].size;
	return UP_TO(xrcd);
}

static void qp_init_copy(struct ibv_qp_init_attr_ex *full, const struct ibv_qp_init_attr_ex *attr)
{
	verbs_struct_copy(full, sizeof(*full), attr, qp_init_size(attr->comp_mask));
	/* source_qpn has no bit of its own in comp_mask. */
	if (full->create_flags & IBV_QP_CREATE_SOURCE_QPN &&
	    !(full->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		verbs_struct_copy(full, sizeof(*full), attr, UP_TO(send_ops_flags));
}

struct ibv_qp *verbs_slot_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	static const char verb[] = "ibv_create_qp_ex";
	struct ibv_qp_init_attr_ex full;
	const struct verbs_create_qp in = { .attr = &full, .extended = true };
	struct ibv_qp *qp = NULL;
	int r;

	if (unlikely(!attr))
		return ret_null(explain_null(verb, "qp_init_attr_ex"));
	qp_init_copy(&full, attr);
	r = verbs_qp_create(ctx, verb, &in, &qp);
	if (r < 0)
		return ret_null(r);
	attr->cap = full.cap;
	return qp;
}

#define QP_OPEN_KNOWN ((uint32_t)IBV_QP_OPEN_ATTR_RESERVED - 1)
#define QP_OPEN_NEEDED \
	((uint32_t)(IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE))

static int qp_check_open(struct ibv_context *ctx, const struct ibv_qp_open_attr *attr)
{
	static const char verb[] = "ibv_open_qp";

	if (!attr)
		return explain_null(verb, "qp_open_attr");
	if (!comp_mask_ok(attr->comp_mask, QP_OPEN_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  QP_OPEN_KNOWN);
		return -EOPNOTSUPP;
	}
	if (QP_OPEN_NEEDED & ~attr->comp_mask || !attr->xrcd) {
		verbs_err(ctx,
			  "%s: comp_mask 0x%x: it needs the number, the XRC domain and the type",
			  verb, attr->comp_mask);
		return -EINVAL;
	}
	if (verbs_is_foreign(ctx, attr->xrcd->context)) {
		verbs_err(ctx, "%s: the XRC domain belongs to another context", verb);
		return -EINVAL;
	}
	return 0;
}

static int qp_open(struct ibv_context *ctx, const struct ibv_qp_open_attr *attr,
		   struct verbs_qp **ret_qp)
{
	const struct verbs_open_qp in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_qp_init_attr_ex init;
	struct verbs_qp *qp;
	int r;

	if (!ops->open_qp)
		return verbs_unsupported(ctx, "ibv_open_qp");
	r = qp_check_open(ctx, attr);
	if (r < 0)
		return r;
	qp = verbs_object_alloc(sizeof(*qp), ctx_priv(ctx)->provider->sizes.qp);
	if (!qp)
		return -ENOMEM;
	init = (struct ibv_qp_init_attr_ex){
		.qp_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL,
		.qp_type = attr->qp_type,
		.xrcd = attr->xrcd,
	};
	qp_init(qp, ctx, &init);
	qp->qp.state = IBV_QPS_UNKNOWN;
	r = ops->open_qp(qp, &in);
	if (r < 0) {
		verbs_err(ctx, "ibv_open_qp: qp 0x%x, %s: %s%s", attr->qp_num,
			  qp_type_str(attr->qp_type), strerror(-r),
			  r == -EINVAL || r == -ENOENT ? "; is it an XRC receive QP of this domain?"
						       : "");
		free(qp);
		return r;
	}
	*ret_qp = qp;
	return 0;
}

struct ibv_qp *verbs_slot_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	struct verbs_qp *qp = NULL;
	int r = qp_open(ctx, attr, &qp);

	return r < 0 ? ret_null(r) : &qp->qp;
}

int verbs_slot_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	static const char verb[] = "ibv_modify_qp_rate_limit";
	const struct verbs_ops *ops = ctx_ops(qp->context);
	int r;

	if (!ops->modify_qp_rate_limit)
		return ret_int(verbs_unsupported(qp->context, verb));
	if (!attr)
		return ret_int(explain_null(verb, "attr"));
	if (attr->comp_mask) {
		verbs_err(qp->context, "qp 0x%x: %s: comp_mask 0x%x: no bit is defined yet",
			  qp->qp_num, verb, attr->comp_mask);
		return ret_int(-EINVAL);
	}
	r = ops->modify_qp_rate_limit(to_vqp(qp), attr);
	if (r < 0)
		verbs_err(qp->context, "qp 0x%x: %s: %u kbit/s, burst %u, packet %u: %s",
			  qp->qp_num, verb, attr->rate_limit, attr->max_burst_sz,
			  attr->typical_pkt_sz, strerror(-r));
	return ret_int(r);
}

/* Return the extended view. NULL: the QP was not created for the ibv_wr_*() builders. */
VERBS_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct verbs_qp *vqp = to_vqp(qp);

	return vqp->comp_mask & VERBS_QP_EX ? &vqp->qp_ex : NULL;
}

static inline bool mtu_is_above_port(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct verbs_port_facts port;

	return mask & IBV_QP_PATH_MTU && verbs_port_recall(qp->qp.context, qp->port_num, &port) &&
	       attr->path_mtu > port.active_mtu;
}

static void qp_note_modified(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_STATE)
		qp->qp.state = attr->qp_state;
	if (mask & IBV_QP_PORT)
		qp->port_num = attr->port_num;
	else if (mask & IBV_QP_AV)
		qp->port_num = attr->ah_attr.port_num;
	if (unlikely(mtu_is_above_port(qp, attr, mask)))
		qp_explain_mtu(qp, attr);
}

VERBS_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct verbs_modify_qp in = { .attr = attr, .mask = mask };
	const struct verbs_ops *ops;
	int r;

	if (unlikely(!qp || !attr))
		return ret_int(explain_null("ibv_modify_qp", qp ? "attr" : "qp"));
	ops = ctx_ops(qp->context);
	if (!ops->modify_qp)
		return ret_int(verbs_unsupported(qp->context, "ibv_modify_qp"));
	r = qp_check_modify(to_vqp(qp), attr, mask);
	if (unlikely(r < 0))
		return ret_int(r);
	r = ops->modify_qp(to_vqp(qp), &in);
	if (unlikely(r < 0)) {
		qp_explain_modify(to_vqp(qp), attr, mask, r);
		return ret_int(r);
	}
	qp_note_modified(to_vqp(qp), attr, mask);
	return 0;
}

/*
 * Programs built before rate_limit was added have a shorter struct ibv_qp_attr and call the same
 * function. The rate is never written, because no device reports it.
 */
#define QP_QUERY_SIZE  offsetof(struct ibv_qp_attr, rate_limit)
#define QP_QUERY_KNOWN ((uint32_t)IBV_QP_RATE_LIMIT - 1)

_cold_ static int qp_refuse_query(struct ibv_qp *qp, uint32_t mask)
{
	verbs_err(qp->context, "qp 0x%x: ibv_query_qp: attr_mask 0x%x: 0x%x cannot be queried",
		  qp->qp_num, mask, mask & ~QP_QUERY_KNOWN);
	return -EOPNOTSUPP;
}

VERBS_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			      struct ibv_qp_init_attr *init)
{
	struct ibv_qp_attr full;
	const struct verbs_query_qp in = {
		.mask = mask,
		.ret_attr = &full,
		.ret_init_attr = init,
	};
	const struct verbs_ops *ops;
	int r;

	if (unlikely(!qp || !attr || !init))
		return ret_int(explain_null("ibv_query_qp", !qp	    ? "qp"
							    : !attr ? "attr"
								    : "init_attr"));
	ops = ctx_ops(qp->context);
	if (!ops->query_qp)
		return ret_int(verbs_unsupported(qp->context, "ibv_query_qp"));
	if (unlikely(mask & ~QP_QUERY_KNOWN))
		return ret_int(qp_refuse_query(qp, mask));
	r = ops->query_qp(to_vqp(qp), &in);
	if (unlikely(r < 0)) {
		verbs_err(qp->context, "qp 0x%x: ibv_query_qp: mask 0x%x: %s", qp->qp_num, mask,
			  strerror(-r));
		return ret_int(r);
	}
	memcpy(attr, &full, QP_QUERY_SIZE);
	if (mask & IBV_QP_STATE)
		qp->state = full.qp_state;
	return 0;
}

VERBS_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct ibv_context *ctx = qp->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_qp: qp", qp->qp_num,
				     ctx_ops(ctx)->destroy_qp(to_vqp(qp)));

	if (!r) {
		verbs_parent_release(qp->pd);
		free(to_vqp(qp));
	}
	return ret_int(r);
}

/* Enhanced connection establishment: it is optional for connections. */

VERBS_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);
	int r;

	/* Do not log missing ECE, because the connection manager queries each QP. */
	if (!ops->query_ece)
		return ret_int(-EOPNOTSUPP);
	ece->comp_mask = 0;
	r = ops->query_ece(to_vqp(qp), ece);
	if (r < 0)
		verbs_err(qp->context, "qp 0x%x: ibv_query_ece: %s", qp->qp_num, strerror(-r));
	return ret_int(r);
}

VERBS_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);
	int r;

	/* Vendor 0 means that the peer offered nothing. The connection manager passes on every
	 * offer. */
	if (!ece->vendor_id || !ops->set_ece)
		return ret_int(-EOPNOTSUPP);
	if (ece->comp_mask) {
		verbs_err(qp->context,
			  "qp 0x%x: ibv_set_ece: comp_mask 0x%x: no bit is defined yet", qp->qp_num,
			  ece->comp_mask);
		return ret_int(-EINVAL);
	}
	r = ops->set_ece(to_vqp(qp), ece);
	if (r < 0)
		verbs_err(qp->context, "qp 0x%x: ibv_set_ece: vendor 0x%x, options 0x%x: %s",
			  qp->qp_num, ece->vendor_id, ece->options, strerror(-r));
	return ret_int(r);
}

/* It is not known whether other processors keep the order of writes of a device. */
#if defined(__x86_64__) || defined(__i386__)
#define CPU_IN_ORDER true
#else
#define CPU_IN_ORDER false
#endif

VERBS_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
					    uint32_t flags)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);
	int caps = 0;

	if (!comp_mask_ok(flags, IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS |
					 IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY))
		return 0;
	if (ops->query_qp_data_in_order &&
	    (CPU_IN_ORDER || flags & IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY))
		caps = ops->query_qp_data_in_order(to_vqp(qp), op);
	if (caps & IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG)
		caps |= IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES;
	if (flags & IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS)
		return caps;
	return !!(caps & IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG);
}
