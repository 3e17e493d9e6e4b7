/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of flows. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

static int counters_create(struct ibv_context *ctx, const struct ibv_counters_init_attr *attr,
			   struct verbs_counters **ret_counters)
{
	const struct verbs_create_counters in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_counters *counters;
	int r;

	if (!ops->create_counters)
		return verbs_unsupported(ctx, "ibv_create_counters");
	if (!attr)
		return explain_null("ibv_create_counters", "init_attr");
	if (attr->comp_mask) {
		verbs_err(ctx, "ibv_create_counters: comp_mask 0x%x: no bit is defined yet",
			  attr->comp_mask);
		return -EOPNOTSUPP;
	}
	counters = verbs_object_alloc(sizeof(*counters), ctx_priv(ctx)->provider->sizes.counters);
	if (!counters)
		return -ENOMEM;
	counters->counters.context = ctx;
	r = ops->create_counters(counters, &in);
	if (r < 0) {
		verbs_err(ctx, "ibv_create_counters: %s", strerror(-r));
		free(counters);
		return r;
	}
	*ret_counters = counters;
	return 0;
}

struct ibv_counters *verbs_slot_create_counters(struct ibv_context *ctx,
						struct ibv_counters_init_attr *attr)
{
	struct verbs_counters *counters = NULL;
	int r = counters_create(ctx, attr, &counters);

	return r < 0 ? ret_null(r) : &counters->counters;
}

int verbs_slot_destroy_counters(struct ibv_counters *counters)
{
	struct ibv_context *ctx = counters->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_counters: counters",
				     to_vcounters(counters)->handle,
				     ctx_ops(ctx)->destroy_counters(to_vcounters(counters)));

	if (!r)
		free(to_vcounters(counters));
	return ret_int(r);
}

int verbs_slot_attach_counters(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr,
			       struct ibv_flow *flow)
{
	static const char verb[] = "ibv_attach_counters_point_flow";
	struct ibv_context *ctx = counters->context;
	int r;

	if (!ctx_ops(ctx)->attach_counters_point_flow)
		return ret_int(verbs_unsupported(ctx, verb));
	if (!attr)
		return ret_int(explain_null(verb, "attr"));
	if (attr->comp_mask) {
		verbs_err(ctx, "counters %u: %s: comp_mask 0x%x: no bit is defined yet",
			  to_vcounters(counters)->handle, verb, attr->comp_mask);
		return ret_int(-EOPNOTSUPP);
	}
	/* Without @flow the point applies to the flow that names these counters in a spec. */
	if (flow && verbs_is_foreign(ctx, flow->context)) {
		verbs_err(ctx, "counters %u: %s: the flow belongs to another context",
			  to_vcounters(counters)->handle, verb);
		return ret_int(-EINVAL);
	}
	r = ctx_ops(ctx)->attach_counters_point_flow(to_vcounters(counters), attr, flow);
	if (r < 0)
		verbs_err(ctx, "counters %u: %s: description %d, index %u: %s",
			  to_vcounters(counters)->handle, verb, attr->counter_desc, attr->index,
			  strerror(-r));
	return ret_int(r);
}

int verbs_slot_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
			     uint32_t flags)
{
	static const char verb[] = "ibv_read_counters";
	struct ibv_context *ctx = counters->context;
	int r;

	if (!ctx_ops(ctx)->read_counters)
		return ret_int(verbs_unsupported(ctx, verb));
	if (!values)
		return ret_int(explain_null(verb, "counters_value"));
	r = ctx_ops(ctx)->read_counters(to_vcounters(counters), values, count, flags);
	if (r < 0)
		verbs_err(ctx, "counters %u: %s: %u values, flags 0x%x: %s",
			  to_vcounters(counters)->handle, verb, count, flags, strerror(-r));
	return ret_int(r);
}
