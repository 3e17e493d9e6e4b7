/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define SRQ_INIT_KNOWN ((uint32_t)IBV_SRQ_INIT_ATTR_RESERVED - 1)

_cold_ static void srq_explain_create(struct ibv_context *ctx, const char *verb,
				      const struct ibv_srq_attr *attr, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (!attr->max_wr)
		text_add(&why, "; max_wr is 0");
	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(ctx, &device) == 0) {
		explain_limit(&why, "max_wr", attr->max_wr, "max_srq_wr",
			      device->orig_attr.max_srq_wr);
		explain_limit(&why, "max_sge", attr->max_sge, "max_srq_sge",
			      device->orig_attr.max_srq_sge);
		if (!device->orig_attr.max_srq)
			text_add(&why, "; the device has no shared receive queues");
		else if (r == -ENOMEM && !why.length)
			text_add(&why, "; the device has room for %d shared receive queues",
				 device->orig_attr.max_srq);
	}
	if (attr->srq_limit > attr->max_wr)
		text_add(&why, "; srq_limit %u is above max_wr", attr->srq_limit);
	explain_memlock(&why, verb, (uint64_t)attr->max_wr * max_of(attr->max_sge, 1u) * 16, r);
	verbs_err(ctx, "%s: max_wr %u, max_sge %u, srq_limit %u: %s%s", verb, attr->max_wr,
		  attr->max_sge, attr->srq_limit, strerror(-r), why.chars);
}

static enum ibv_srq_type srq_init_type(const struct ibv_srq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
}

static int srq_create(struct ibv_context *ctx, const char *verb, struct ibv_srq_init_attr_ex *attr,
		      struct ibv_srq **ret_srq)
{
	const struct verbs_create_srq in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_srq *srq;
	int r;

	if (!ops->create_srq)
		return verbs_unsupported(ctx, verb);
	srq = verbs_object_alloc(sizeof(*srq), ctx_priv(ctx)->provider->sizes.srq);
	if (!srq)
		return -ENOMEM;
	srq->srq_type = srq_init_type(attr);
	srq->srq.context = ctx;
	srq->srq.srq_context = attr->srq_context;
	srq->srq.pd = attr->pd;
	srq->xrcd = srq->srq_type == IBV_SRQT_XRC ? attr->xrcd : NULL;
	srq->cq = srq->srq_type == IBV_SRQT_BASIC ? NULL : attr->cq;
	verbs_events_init(&srq->srq.mutex, &srq->srq.cond);
	r = ops->create_srq(srq, &in);
	if (unlikely(r < 0)) {
		srq_explain_create(ctx, verb, &attr->attr, r);
		free(srq);
		return r;
	}
	verbs_parent_hold(srq->srq.pd);
	*ret_srq = &srq->srq;
	return 0;
}

VERBS_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	static const char verb[] = "ibv_create_srq";
	struct ibv_srq_init_attr_ex attr;
	struct ibv_srq *srq = NULL;
	int r;

	if (unlikely(!pd || !init))
		return ret_null(explain_null(verb, pd ? "srq_init_attr" : "pd"));
	attr = (struct ibv_srq_init_attr_ex){
		.srq_context = init->srq_context,
		.attr = init->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = pd,
	};
	r = srq_create(pd->context, verb, &attr, &srq);
	if (r < 0)
		return ret_null(r);
	init->attr = attr.attr;
	return srq;
}

/* Check the objects that the type needs besides the PD. */
static int srq_check_type(struct ibv_context *ctx, const char *verb,
			  const struct ibv_srq_init_attr_ex *attr, enum ibv_srq_type type)
{
	bool cq = type != IBV_SRQT_BASIC && attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq;
	bool xrcd = type == IBV_SRQT_XRC && attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD && attr->xrcd;
	bool tags = attr->comp_mask & IBV_SRQ_INIT_ATTR_TM;

	if (type == IBV_SRQT_XRC && (!xrcd || !cq)) {
		verbs_err(ctx,
			  "%s: XRC: comp_mask 0x%x: it needs IBV_SRQ_INIT_ATTR_XRCD and "
			  "IBV_SRQ_INIT_ATTR_CQ",
			  verb, attr->comp_mask);
		return -EINVAL;
	}
	if (type == IBV_SRQT_TM && (!cq || !tags || !attr->tm_cap.max_num_tags)) {
		verbs_err(ctx,
			  "%s: tag matching: comp_mask 0x%x: it needs IBV_SRQ_INIT_ATTR_CQ and "
			  "IBV_SRQ_INIT_ATTR_TM with tm_cap.max_num_tags above 0",
			  verb, attr->comp_mask);
		return -EINVAL;
	}
	if (verbs_is_foreign(ctx, attr->pd->context) ||
	    (cq && verbs_is_foreign(ctx, attr->cq->context)) ||
	    (xrcd && verbs_is_foreign(ctx, attr->xrcd->context))) {
		verbs_err(ctx, "%s: the PD, CQ and XRC domain must all be of this context", verb);
		return -EINVAL;
	}
	return 0;
}

static int srq_check_extended(struct ibv_context *ctx, const char *verb,
			      const struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = srq_init_type(attr);

	if (!comp_mask_ok(attr->comp_mask, SRQ_INIT_KNOWN) || type > IBV_SRQT_TM) {
		verbs_err(ctx, "%s: comp_mask 0x%x, srq_type %d: not known", verb, attr->comp_mask,
			  type);
		return -EOPNOTSUPP;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		verbs_err(ctx, "%s: no protection domain: comp_mask needs IBV_SRQ_INIT_ATTR_PD",
			  verb);
		return -EINVAL;
	}
	return srq_check_type(ctx, verb, attr, type);
}

/* Return the minimum size of the caller's struct with this comp_mask: see verbs_struct_copy(). */
static size_t srq_init_size(uint32_t comp_mask)
{
	if (comp_mask & IBV_SRQ_INIT_ATTR_TM)
		return sizeof(struct ibv_srq_init_attr_ex);
	return comp_mask & (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)
		       ? offsetof(struct ibv_srq_init_attr_ex, tm_cap)
		       : offsetof(struct ibv_srq_init_attr_ex, xrcd);
}

struct ibv_srq *verbs_slot_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	static const char verb[] = "ibv_create_srq_ex";
	struct ibv_srq_init_attr_ex full;
	struct ibv_srq *srq = NULL;
	int r;

	verbs_struct_copy(&full, sizeof(full), attr, srq_init_size(attr->comp_mask));
	r = srq_check_extended(ctx, verb, &full);
	if (r == 0)
		r = srq_create(ctx, verb, &full, &srq);
	if (r < 0)
		return ret_null(r);
	attr->attr = full.attr;
	return srq;
}

/* Return the number. Tag matching queues have one as well, for protocols of vendors. */
int verbs_slot_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	if (to_vsrq(srq)->srq_type == IBV_SRQT_BASIC) {
		verbs_err(srq->context, "srq %u: ibv_get_srq_num: a basic one has no number",
			  srq->handle);
		return ret_int(-EOPNOTSUPP);
	}
	*srq_num = to_vsrq(srq)->srq_num;
	return 0;
}

_cold_ static void srq_explain_modify(struct ibv_srq *srq, const struct ibv_srq_attr *attr,
				      int mask, int r)
{
	const struct ibv_device_attr_ex *device;
	struct ibv_context *ctx = srq->context;
	struct ibv_srq_attr now;
	struct text why = {};

	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	if (mask & IBV_SRQ_MAX_WR && verbs_device_attr(ctx, &device) == 0) {
		explain_limit(&why, "max_wr", attr->max_wr, "max_srq_wr",
			      device->orig_attr.max_srq_wr);
		if (!(device->orig_attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
			text_add(&why, "; the device cannot resize a shared receive queue");
	}
	if (mask & IBV_SRQ_LIMIT && ctx_ops(ctx)->query_srq &&
	    ctx_ops(ctx)->query_srq(to_vsrq(srq), &now) == 0 && attr->srq_limit > now.max_wr)
		text_add(&why, "; srq_limit %u is above the queue's max_wr %u", attr->srq_limit,
			 now.max_wr);
	verbs_err(ctx, "srq %u: ibv_modify_srq: mask 0x%x: %s%s", srq->handle, mask, strerror(-r),
		  why.chars);
}

VERBS_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const struct verbs_modify_srq in = { .attr = attr, .mask = mask };
	const struct verbs_ops *ops = ctx_ops(srq->context);
	int r;

	if (unlikely(!attr))
		return ret_int(explain_null("ibv_modify_srq", "srq_attr"));
	if (!ops->modify_srq)
		return ret_int(verbs_unsupported(srq->context, "ibv_modify_srq"));
	r = ops->modify_srq(to_vsrq(srq), &in);
	if (unlikely(r < 0))
		srq_explain_modify(srq, attr, mask, r);
	return ret_int(r);
}

VERBS_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	const struct verbs_ops *ops = ctx_ops(srq->context);
	int r;

	if (!ops->query_srq)
		return ret_int(verbs_unsupported(srq->context, "ibv_query_srq"));
	r = ops->query_srq(to_vsrq(srq), attr);
	if (r < 0)
		verbs_err(srq->context, "srq %u: ibv_query_srq: %s", srq->handle, strerror(-r));
	return ret_int(r);
}

VERBS_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct ibv_context *ctx = srq->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_srq: srq", srq->handle,
				     ctx_ops(ctx)->destroy_srq(to_vsrq(srq)));

	if (!r) {
		verbs_parent_release(srq->pd);
		free(to_vsrq(srq));
	}
	return ret_int(r);
}
