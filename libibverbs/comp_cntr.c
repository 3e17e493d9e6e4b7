/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion counters. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

VERBS_EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *ctx, struct ibv_comp_cntr_caps *caps,
					   size_t caps_size)
{
	struct ibv_comp_cntr_caps full = {};
	int r;

	memset(caps, 0, caps_size);
	/*
	 * Programs call this to find out whether there are counters. Therefore do not log a missing
	 * op.
	 */
	if (!ctx_ops(ctx)->query_comp_cntr_caps)
		return ret_int(-EOPNOTSUPP);
	r = ctx_ops(ctx)->query_comp_cntr_caps(ctx, &full);
	if (r == -EOPNOTSUPP)
		return ret_int(r);
	if (r < 0) {
		verbs_err(ctx, "ibv_query_comp_cntr_caps: %s", strerror(-r));
		return ret_int(r);
	}
	verbs_struct_copy(caps, caps_size, &full, sizeof(full));
	return 0;
}

int verbs_comp_cntr_create(struct ibv_context *ctx, const char *verb,
			   const struct verbs_create_comp_cntr *in, struct ibv_comp_cntr **ret_cntr)
{
	const struct ibv_comp_cntr_init_attr *attr = in->attr;
	struct ibv_comp_cntr *cntr;
	int r;

	if (!ctx_ops(ctx)->create_comp_cntr)
		return verbs_unsupported(ctx, verb);
	if (!attr)
		return explain_null(verb, "cc_attr");
	if (attr->comp_mask || attr->flags || (unsigned int)attr->type > IBV_COMP_CNTR_TYPE_BYTES) {
		verbs_err(ctx,
			  "%s: comp_mask 0x%x, type %d, flags 0x%x: type may be 0 or 1, the rest 0",
			  verb, attr->comp_mask, attr->type, attr->flags);
		return -EOPNOTSUPP;
	}
	cntr = verbs_object_alloc(sizeof(*cntr), ctx_priv(ctx)->provider->sizes.comp_cntr);
	if (!cntr)
		return -ENOMEM;
	cntr->context = ctx;
	r = ctx_ops(ctx)->create_comp_cntr(cntr, in);
	if (r < 0) {
		verbs_err(ctx, "%s: %s", verb, strerror(-r));
		free(cntr);
		return r;
	}
	*ret_cntr = cntr;
	return 0;
}

VERBS_EXPORT struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *ctx,
							struct ibv_comp_cntr_init_attr *cc_attr)
{
	const struct verbs_create_comp_cntr in = { .attr = cc_attr };
	struct ibv_comp_cntr *cntr = NULL;
	int r = verbs_comp_cntr_create(ctx, "ibv_create_comp_cntr", &in, &cntr);

	return r < 0 ? ret_null(r) : cntr;
}

VERBS_EXPORT int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	struct ibv_context *ctx = cntr->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_comp_cntr: counter", cntr->handle,
				     ctx_ops(ctx)->destroy_comp_cntr(cntr));

	if (!r)
		free(cntr);
	return ret_int(r);
}

static int cntr_modify(struct ibv_comp_cntr *cntr, const char *verb,
		       enum verbs_comp_cntr_entry entry, bool add, uint64_t value)
{
	const struct verbs_modify_comp_cntr in = { .entry = entry, .add = add, .value = value };
	struct ibv_context *ctx = cntr->context;
	int r;

	if (!ctx_ops(ctx)->modify_comp_cntr)
		return ret_int(verbs_unsupported(ctx, verb));
	r = ctx_ops(ctx)->modify_comp_cntr(cntr, &in);
	if (r < 0)
		verbs_err(ctx, "counter %u: %s: %llu: %s", cntr->handle, verb,
			  (unsigned long long)value, strerror(-r));
	return ret_int(r);
}

VERBS_EXPORT int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return cntr_modify(cntr, "ibv_set_comp_cntr", VERBS_COMP_CNTR_DONE, false, value);
}

VERBS_EXPORT int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return cntr_modify(cntr, "ibv_set_err_comp_cntr", VERBS_COMP_CNTR_FAILED, false, value);
}

VERBS_EXPORT int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return cntr_modify(cntr, "ibv_inc_comp_cntr", VERBS_COMP_CNTR_DONE, true, amount);
}

VERBS_EXPORT int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return cntr_modify(cntr, "ibv_inc_err_comp_cntr", VERBS_COMP_CNTR_FAILED, true, amount);
}

static int cntr_read(struct ibv_comp_cntr *cntr, const char *verb, enum verbs_comp_cntr_entry entry,
		     uint64_t *value)
{
	struct ibv_context *ctx = cntr->context;
	int r;

	if (!ctx_ops(ctx)->read_comp_cntr)
		return ret_int(verbs_unsupported(ctx, verb));
	r = ctx_ops(ctx)->read_comp_cntr(cntr, entry, value);
	if (r < 0)
		verbs_err(ctx, "counter %u: %s: %s", cntr->handle, verb, strerror(-r));
	return ret_int(r);
}

VERBS_EXPORT int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return cntr_read(cntr, "ibv_read_comp_cntr", VERBS_COMP_CNTR_DONE, value);
}

VERBS_EXPORT int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return cntr_read(cntr, "ibv_read_err_comp_cntr", VERBS_COMP_CNTR_FAILED, value);
}

VERBS_EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
					 struct ibv_qp_attach_comp_cntr_attr *attr)
{
	static const char verb[] = "ibv_qp_attach_comp_cntr";
	struct ibv_context *ctx = qp->context;
	int r;

	if (!ctx_ops(ctx)->qp_attach_comp_cntr)
		return ret_int(verbs_unsupported(ctx, verb));
	if (!cntr || !attr)
		return ret_int(explain_null(verb, cntr ? "attr" : "comp_cntr"));
	if (verbs_is_foreign(ctx, cntr->context) || attr->comp_mask) {
		verbs_err(ctx, "qp 0x%x: %s: %s", qp->qp_num, verb,
			  attr->comp_mask ? "no bit of comp_mask is defined yet"
					  : "the counter belongs to another context");
		return ret_int(attr->comp_mask ? -EOPNOTSUPP : -EINVAL);
	}
	r = ctx_ops(ctx)->qp_attach_comp_cntr(to_vqp(qp), cntr, attr);
	if (r < 0)
		verbs_err(ctx, "qp 0x%x: %s: counter %u, operations 0x%x: %s", qp->qp_num, verb,
			  cntr->handle, attr->op_mask, strerror(-r));
	return ret_int(r);
}
