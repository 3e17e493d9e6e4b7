/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues, and the indirection tables that consist of work queues. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define WQ_INIT_KNOWN	((uint32_t)IBV_WQ_INIT_ATTR_RESERVED - 1)
#define WQ_FLAGS_KNOWN	((uint32_t)IBV_WQ_FLAGS_RESERVED - 1)
#define WQ_MODIFY_KNOWN ((uint32_t)IBV_WQ_ATTR_RESERVED - 1)
#define TABLE_LOG_MAX	13 /* largest table that the kernel accepts for any device */
#define TABLE_KNOWN	((uint32_t)IBV_CREATE_IND_TABLE_RESERVED - 1)

static int wq_check(struct ibv_context *ctx, const char *verb, const struct ibv_wq_init_attr *attr)
{
	if (!attr)
		return explain_null(verb, "wq_init_attr");
	if (!comp_mask_ok(attr->comp_mask, WQ_INIT_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  WQ_INIT_KNOWN);
		return -EINVAL;
	}
	if (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS && attr->create_flags & ~WQ_FLAGS_KNOWN) {
		verbs_err(ctx, "%s: create_flags 0x%x: 0x%x are known", verb, attr->create_flags,
			  WQ_FLAGS_KNOWN);
		return -EOPNOTSUPP;
	}
	if (!attr->pd || !attr->cq)
		return explain_null(verb, attr->pd ? "cq" : "pd");
	if (verbs_is_foreign(ctx, attr->pd->context) || verbs_is_foreign(ctx, attr->cq->context)) {
		verbs_err(ctx, "%s: the PD and the CQ must be of this context", verb);
		return -EINVAL;
	}
	return 0;
}

_cold_ static void wq_explain(struct ibv_context *ctx, const char *verb,
			      const struct ibv_wq_init_attr *attr, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(ctx, &device) == 0) {
		explain_limit(&why, "max_wr", attr->max_wr, "max_qp_wr",
			      device->orig_attr.max_qp_wr);
		explain_limit(&why, "max_sge", attr->max_sge, "max_sge", device->orig_attr.max_sge);
		if (!device->max_wq_type_rq)
			text_add(&why, "; the device has no work queues of their own");
	}
	explain_memlock(&why, verb, (uint64_t)attr->max_wr * max_of(attr->max_sge, 1u) * 16, r);
	verbs_err(ctx, "%s: max_wr %u, max_sge %u: %s%s", verb, attr->max_wr, attr->max_sge,
		  strerror(-r), why.chars);
}

static void wq_fill(struct ibv_wq *wq, struct ibv_context *ctx, const struct ibv_wq_init_attr *attr)
{
	wq->context = ctx;
	wq->wq_context = attr->wq_context;
	wq->pd = attr->pd;
	wq->cq = attr->cq;
	wq->wq_type = attr->wq_type;
	wq->state = IBV_WQS_RESET;
	verbs_events_init(&wq->mutex, &wq->cond);
}

int verbs_wq_create(struct ibv_context *ctx, const struct verbs_create_wq *in,
		    struct verbs_wq **ret_wq)
{
	static const char verb[] = "ibv_create_wq";
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_wq *wq;
	int r;

	if (!ops->create_wq)
		return verbs_unsupported(ctx, verb);
	r = wq_check(ctx, verb, in->attr);
	if (r < 0)
		return r;
	wq = verbs_object_alloc(sizeof(*wq), ctx_priv(ctx)->provider->sizes.wq);
	if (!wq)
		return -ENOMEM;
	wq_fill(&wq->wq, ctx, in->attr);
	r = ops->create_wq(wq, in);
	if (r < 0) {
		wq_explain(ctx, verb, in->attr, r);
		free(wq);
		return r;
	}
	verbs_parent_hold(wq->wq.pd);
	*ret_wq = wq;
	return 0;
}

struct ibv_wq *verbs_slot_create_wq(struct ibv_context *ctx, struct ibv_wq_init_attr *attr)
{
	const struct verbs_create_wq in = { .attr = attr };
	struct verbs_wq *wq = NULL;
	int r = verbs_wq_create(ctx, &in, &wq);

	return r < 0 ? ret_null(r) : &wq->wq;
}

static int wq_check_modify(struct ibv_wq *wq, const struct ibv_wq_attr *attr)
{
	static const char verb[] = "ibv_modify_wq";

	if (!attr)
		return explain_null(verb, "wq_attr");
	if (!comp_mask_ok(attr->attr_mask, WQ_MODIFY_KNOWN)) {
		verbs_err(wq->context, "wq %u: %s: attr_mask 0x%x: 0x%x are known", wq->handle,
			  verb, attr->attr_mask, WQ_MODIFY_KNOWN);
		return -EINVAL;
	}
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS && attr->flags_mask & ~WQ_FLAGS_KNOWN) {
		verbs_err(wq->context, "wq %u: %s: flags_mask 0x%x: 0x%x are known", wq->handle,
			  verb, attr->flags_mask, WQ_FLAGS_KNOWN);
		return -EOPNOTSUPP;
	}
	return 0;
}

int verbs_slot_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	const struct verbs_modify_wq in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(wq->context);
	int r;

	if (!ops->modify_wq)
		return ret_int(verbs_unsupported(wq->context, "ibv_modify_wq"));
	r = wq_check_modify(wq, attr);
	if (r < 0)
		return ret_int(r);
	r = ops->modify_wq(to_vwq(wq), &in);
	if (r < 0) {
		verbs_err(wq->context, "wq %u: ibv_modify_wq: mask 0x%x, state %d to %d: %s",
			  wq->handle, attr->attr_mask, wq->state, attr->wq_state, strerror(-r));
		return ret_int(r);
	}
	if (attr->attr_mask & IBV_WQ_ATTR_STATE)
		wq->state = attr->wq_state;
	return 0;
}

int verbs_slot_destroy_wq(struct ibv_wq *wq)
{
	struct ibv_context *ctx = wq->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_wq: wq", wq->handle,
				     ctx_ops(ctx)->destroy_wq(to_vwq(wq)));

	if (!r) {
		verbs_parent_release(wq->pd);
		free(to_vwq(wq));
	}
	return ret_int(r);
}

static int table_check(struct ibv_context *ctx, const char *verb,
		       const struct ibv_rwq_ind_table_init_attr *attr)
{
	if (!attr)
		return explain_null(verb, "init_attr");
	if (!comp_mask_ok(attr->comp_mask, TABLE_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: no bit is defined yet", verb, attr->comp_mask);
		return -EINVAL;
	}
	if (attr->log_ind_tbl_size > TABLE_LOG_MAX || !attr->ind_tbl) {
		verbs_err(ctx, "%s: log_ind_tbl_size %u: a table of 2^%u queues%s", verb,
			  attr->log_ind_tbl_size, attr->log_ind_tbl_size,
			  attr->ind_tbl ? "" : "; ind_tbl is NULL");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++) {
		if (attr->ind_tbl[i] && !verbs_is_foreign(ctx, attr->ind_tbl[i]->context))
			continue;
		verbs_err(ctx, "%s: ind_tbl[%u] %s", verb, i,
			  attr->ind_tbl[i] ? "belongs to another context" : "is NULL");
		return -EINVAL;
	}
	return 0;
}

static int table_create(struct ibv_context *ctx, const struct ibv_rwq_ind_table_init_attr *attr,
			struct ibv_rwq_ind_table **ret_table)
{
	static const char verb[] = "ibv_create_rwq_ind_table";
	const struct verbs_create_rwq_ind_table in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_rwq_ind_table *table;
	int r;

	if (!ops->create_rwq_ind_table)
		return verbs_unsupported(ctx, verb);
	r = table_check(ctx, verb, attr);
	if (r < 0)
		return r;
	table = verbs_object_alloc(sizeof(*table), ctx_priv(ctx)->provider->sizes.rwq_ind_table);
	if (!table)
		return -ENOMEM;
	table->context = ctx;
	r = ops->create_rwq_ind_table(table, &in);
	if (r < 0) {
		verbs_err(ctx, "%s: 2^%u queues: %s", verb, attr->log_ind_tbl_size, strerror(-r));
		free(table);
		return r;
	}
	*ret_table = table;
	return 0;
}

struct ibv_rwq_ind_table *verbs_slot_create_rwq_ind_table(struct ibv_context *ctx,
							  struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ibv_rwq_ind_table *table = NULL;
	int r = table_create(ctx, attr, &table);

	return r < 0 ? ret_null(r) : table;
}

int verbs_slot_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	struct ibv_context *ctx = table->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_rwq_ind_table: table", table->ind_tbl_handle,
				     ctx_ops(ctx)->destroy_rwq_ind_table(table));

	if (!r)
		free(table);
	return ret_int(r);
}
