/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

static struct verbs_dm *dm_new(struct ibv_context *ctx)
{
	struct verbs_dm *dm = verbs_object_alloc(sizeof(*dm), ctx_priv(ctx)->provider->sizes.dm);

	if (dm) {
		dm->dm.context = ctx;
		dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	}
	return dm;
}

_cold_ static void dm_explain(struct ibv_context *ctx, const struct ibv_alloc_dm_attr *attr, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(ctx, &device) == 0) {
		if (!device->max_dm_size)
			text_add(&why, "; the device has no memory for programs");
		else
			explain_limit(&why, "length", attr->length, "max_dm_size",
				      device->max_dm_size);
	}
	verbs_err(ctx, "ibv_alloc_dm: %zu bytes, aligned to 2^%u: %s%s", attr->length,
		  attr->log_align_req, strerror(-r), why.chars);
}

int verbs_dm_alloc(struct ibv_context *ctx, const struct verbs_alloc_dm *in,
		   struct verbs_dm **ret_dm)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_dm *dm;
	int r;

	if (!ops->alloc_dm)
		return verbs_unsupported(ctx, "ibv_alloc_dm");
	if (!in->attr)
		return explain_null("ibv_alloc_dm", "attr");
	if (in->attr->comp_mask) {
		verbs_err(ctx, "ibv_alloc_dm: comp_mask 0x%x: no bit is defined yet",
			  in->attr->comp_mask);
		return -EINVAL;
	}
	dm = dm_new(ctx);
	if (!dm)
		return -ENOMEM;
	dm->length = in->attr->length;
	r = ops->alloc_dm(dm, in);
	if (r < 0) {
		dm_explain(ctx, in->attr, r);
		free(dm);
		return r;
	}
	*ret_dm = dm;
	return 0;
}

struct ibv_dm *verbs_slot_alloc_dm(struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr)
{
	const struct verbs_alloc_dm in = { .attr = attr };
	struct verbs_dm *dm = NULL;
	int r = verbs_dm_alloc(ctx, &in, &dm);

	return r < 0 ? ret_null(r) : &dm->dm;
}

/* Free device memory. Freeing imported memory frees it for the process that allocated it, too. */
int verbs_slot_free_dm(struct ibv_dm *dm)
{
	struct ibv_context *ctx = dm->context;
	int r = verbs_destroy_result(ctx, "ibv_free_dm: dm", dm->handle,
				     ctx_ops(ctx)->free_dm(to_vdm(dm)));

	if (!r)
		free(to_vdm(dm));
	return ret_int(r);
}

VERBS_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *ctx, uint32_t dm_handle)
{
	struct verbs_dm *dm;
	int r;

	if (unlikely(!ctx))
		return ret_null(explain_null("ibv_import_dm", "context"));
	if (!ctx_ops(ctx)->import_dm)
		return ret_null(verbs_unsupported(ctx, "ibv_import_dm"));
	dm = dm_new(ctx);
	if (!dm)
		return ret_null(-ENOMEM);
	dm->imported = true;
	r = ctx_ops(ctx)->import_dm(dm, dm_handle);
	if (r < 0) {
		verbs_err(ctx, "ibv_import_dm: handle %u: %s", dm_handle, strerror(-r));
		free(dm);
		return ret_null(r);
	}
	return &dm->dm;
}

VERBS_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	struct ibv_context *ctx = dm->context;

	if (!to_vdm(dm)->imported) {
		verbs_err(ctx, "ibv_unimport_dm: dm %u was not imported: ibv_free_dm() frees it",
			  dm->handle);
		return;
	}
	if (!ctx_ops(ctx)->unimport_dm || !ctx_ops(ctx)->unimport_dm(to_vdm(dm)))
		free(to_vdm(dm));
}

VERBS_EXPORT int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	struct ibv_context *ctx = dm->context;
	int r;

	if (!ctx_ops(ctx)->dm_export_dmabuf_fd)
		return ret_neg1(verbs_unsupported(ctx, "ibv_dm_export_dmabuf_fd"));
	r = ctx_ops(ctx)->dm_export_dmabuf_fd(to_vdm(dm));
	if (r < 0)
		verbs_err(ctx, "ibv_dm_export_dmabuf_fd: dm %u: %s", dm->handle, strerror(-r));
	return ret_neg1(r);
}
