/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define CQ_INIT_KNOWN	(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define CQ_MODIFY_KNOWN ((uint32_t)IBV_CQ_ATTR_MODERATE)

/* Bytes of a completion in the queues of devices that pin them in user memory; for messages. */
#define CQE_PINNED_SIZE 64

/* Count the CQs of a channel, which cannot be destroyed before them. */
static void channel_count(struct ibv_comp_channel *channel, int change)
{
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += change;
	pthread_mutex_unlock(&channel->context->mutex);
}

void verbs_cq_init(struct verbs_cq *cq, struct ibv_context *ctx, struct ibv_comp_channel *channel,
		   void *cq_context)
{
	cq->cq.context = ctx;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	verbs_events_init(&cq->cq.mutex, &cq->cq.cond);
	if (channel)
		channel_count(channel, 1);
}

static void cq_free(struct verbs_cq *cq)
{
	if (cq->cq.channel)
		channel_count(cq->cq.channel, -1);
	if (cq->parent)
		verbs_parent_release(&cq->parent->pd);
	free(cq);
}

_cold_ static int cq_refuse_size(struct ibv_context *ctx, const char *verb, int cqe)
{
	verbs_err(ctx, "%s: cqe %d: a completion queue holds at least 1", verb, cqe);
	return -EINVAL;
}

_cold_ static int cq_refuse_vector(struct ibv_context *ctx, const char *verb, int vector)
{
	verbs_err(ctx, "%s: comp_vector %d: the device has %d, numbered from 0", verb, vector,
		  ctx->num_comp_vectors);
	return -EINVAL;
}

/* The errno is that of the kernel, which finds no such descriptor in the context. */
_cold_ static int cq_refuse_channel(struct ibv_context *ctx, const char *verb)
{
	verbs_err(ctx, "%s: the completion channel belongs to another context", verb);
	return -EBADF;
}

_cold_ static int cq_refuse_unknown(struct ibv_context *ctx, const char *verb, const char *what,
				    uint64_t unknown)
{
	verbs_err(ctx, "%s: %s: bits 0x%llx are not known", verb, what,
		  (unsigned long long)unknown);
	return -EOPNOTSUPP;
}

static int cq_check_parent(struct ibv_context *ctx, const char *verb, struct ibv_pd *parent)
{
	if (!parent)
		return explain_null(verb, "parent_domain");
	if (parent->context != ctx || !verbs_pd_is_parent(to_vpd(parent))) {
		verbs_err(ctx, "%s: parent_domain: pd %u is %s", verb, parent->handle,
			  parent->context != ctx ? "of another context"
						 : "a protection domain, not a parent domain");
		return -EINVAL;
	}
	return 0;
}

static int cq_check_extended(struct ibv_context *ctx, const char *verb,
			     const struct ibv_cq_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, CQ_INIT_KNOWN))
		return cq_refuse_unknown(ctx, verb, "comp_mask", attr->comp_mask & ~CQ_INIT_KNOWN);
	if (attr->wc_flags & ~(uint64_t)IBV_CREATE_CQ_SUP_WC_FLAGS)
		return cq_refuse_unknown(ctx, verb, "wc_flags",
					 attr->wc_flags & ~(uint64_t)IBV_CREATE_CQ_SUP_WC_FLAGS);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		return cq_check_parent(ctx, verb, attr->parent_domain);
	return 0;
}

_cold_ static void cq_explain_create(struct ibv_context *ctx, const char *verb,
				     const struct ibv_cq_init_attr_ex *attr, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(ctx, &device) == 0) {
		explain_limit(&why, "cqe", attr->cqe, "max_cqe", device->orig_attr.max_cqe);
		if (r == -ENOMEM && !why.length)
			text_add(&why, "; the device has room for %d completion queues",
				 device->orig_attr.max_cq);
	}
	if (attr->channel && attr->channel->context != ctx)
		text_add(&why, "; the completion channel belongs to another context");
	explain_memlock(&why, verb, (uint64_t)attr->cqe * CQE_PINNED_SIZE, r);
	verbs_err(ctx, "%s: cqe %u, comp_vector %u, wc_flags 0x%llx: %s%s", verb, attr->cqe,
		  attr->comp_vector, (unsigned long long)attr->wc_flags, strerror(-r), why.chars);
}

static int cq_check_create(struct ibv_context *ctx, const char *verb,
			   const struct ibv_cq_init_attr_ex *attr)
{
	if (unlikely(!attr->cqe || attr->cqe > INT32_MAX))
		return cq_refuse_size(ctx, verb, attr->cqe);
	if (unlikely(attr->comp_vector >= (uint32_t)max_of(ctx->num_comp_vectors, 1)))
		return cq_refuse_vector(ctx, verb, attr->comp_vector);
	if (attr->channel && verbs_is_foreign(ctx, attr->channel->context))
		return cq_refuse_channel(ctx, verb);
	return 0;
}

int verbs_cq_create(struct ibv_context *ctx, const char *verb, const struct verbs_create_cq *in,
		    struct verbs_cq **ret_cq)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_cq *cq;
	int r;

	if (!ops->create_cq)
		return verbs_unsupported(ctx, verb);
	r = cq_check_create(ctx, verb, in->attr);
	if (r < 0)
		return r;
	cq = verbs_object_alloc(sizeof(*cq), ctx_priv(ctx)->provider->sizes.cq);
	if (!cq)
		return -ENOMEM;
	verbs_cq_init(cq, ctx, in->attr->channel, in->attr->cq_context);
	if (in->attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = to_vpd(in->attr->parent_domain);
		verbs_parent_hold(&cq->parent->pd);
	}
	r = ops->create_cq(cq, in);
	if (unlikely(r < 0)) {
		cq_explain_create(ctx, verb, in->attr, r);
		cq_free(cq);
		return r;
	}
	*ret_cq = cq;
	return 0;
}

VERBS_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
					  struct ibv_comp_channel *channel, int comp_vector)
{
	static const char verb[] = "ibv_create_cq";
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	const struct verbs_create_cq in = { .attr = &attr };
	struct verbs_cq *cq = NULL;
	int r = likely(ctx) ? verbs_cq_create(ctx, verb, &in, &cq) : explain_null(verb, "context");

	return r < 0 ? ret_null(r) : &cq->cq;
}

/* Return the minimum size of the caller's struct with this comp_mask: see verbs_struct_copy(). */
static size_t cq_init_size(uint32_t comp_mask)
{
	if (comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		return sizeof(struct ibv_cq_init_attr_ex);
	return comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS
		       ? offsetof(struct ibv_cq_init_attr_ex, parent_domain)
		       : offsetof(struct ibv_cq_init_attr_ex, flags);
}

struct ibv_cq_ex *verbs_slot_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	static const char verb[] = "ibv_create_cq_ex";
	struct ibv_cq_init_attr_ex full;
	const struct verbs_create_cq in = { .attr = &full, .extended = true };
	struct verbs_cq *cq = NULL;
	int r;

	if (unlikely(!attr))
		return ret_null(explain_null(verb, "cq_attr"));
	verbs_struct_copy(&full, sizeof(full), attr, cq_init_size(attr->comp_mask));
	r = cq_check_extended(ctx, verb, &full);
	if (r == 0)
		r = verbs_cq_create(ctx, verb, &in, &cq);
	return r < 0 ? ret_null(r) : &cq->cq_ex;
}

_cold_ static void cq_explain_resize(struct ibv_cq *cq, int cqe, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(cq->context, &device) == 0)
		explain_limit(&why, "cqe", cqe, "max_cqe", device->orig_attr.max_cqe);
	if (r == -EINVAL && !why.length && cqe < cq->cqe)
		text_add(&why, "; are more completions waiting in it than the new size?");
	explain_memlock(&why, "ibv_resize_cq", (uint64_t)cqe * CQE_PINNED_SIZE, r);
	verbs_err(cq->context, "cq %u: ibv_resize_cq: from %d to %d: %s%s", cq->handle, cq->cqe,
		  cqe, strerror(-r), why.chars);
}

VERBS_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	const struct verbs_resize_cq in = { .cqe = cqe };
	const struct verbs_ops *ops = ctx_ops(cq->context);
	int r;

	if (!ops->resize_cq)
		return ret_int(verbs_unsupported(cq->context, "ibv_resize_cq"));
	if (unlikely(cqe < 1))
		return ret_int(cq_refuse_size(cq->context, "ibv_resize_cq", cqe));
	r = ops->resize_cq(to_vcq(cq), &in);
	if (unlikely(r < 0))
		cq_explain_resize(cq, cqe, r);
	return ret_int(r);
}

int verbs_slot_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_context *ctx = cq->context;
	int r;

	if (unlikely(!attr))
		return ret_int(explain_null("ibv_modify_cq", "attr"));
	if (!ctx_ops(ctx)->modify_cq)
		return ret_int(verbs_unsupported(ctx, "ibv_modify_cq"));
	if (!comp_mask_ok(attr->attr_mask, CQ_MODIFY_KNOWN)) {
		verbs_err(ctx,
			  "cq %u: ibv_modify_cq: attr_mask 0x%x: only IBV_CQ_ATTR_MODERATE is "
			  "known",
			  cq->handle, attr->attr_mask);
		return ret_int(-EINVAL);
	}
	r = ctx_ops(ctx)->modify_cq(to_vcq(cq), attr);
	if (r < 0)
		verbs_err(ctx, "cq %u: ibv_modify_cq: count %u, period %u us: %s", cq->handle,
			  attr->moderate.cq_count, attr->moderate.cq_period, strerror(-r));
	return ret_int(r);
}

VERBS_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct ibv_context *ctx = cq->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_cq: cq", cq->handle,
				     ctx_ops(ctx)->destroy_cq(to_vcq(cq)));

	if (!r)
		cq_free(to_vcq(cq));
	return ret_int(r);
}
