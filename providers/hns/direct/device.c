/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct verbs: detect hns devices, query their congestion control, and create queue pairs with an
 * algorithm of it. */
#include "providers/hns/direct/infiniband/hnsdv.h"
#include "providers/hns/hns.h"

#define HNSDV_EXPORT __attribute__((visibility("default")))

/* Return whether hns serves the device of the context. Log an error if hns does not. */
static bool is_ours(struct ibv_context *ctx, const char *function)
{
	if (verbs_device_is(ctx->device, "hns"))
		return true;
	verbs_err(ctx, "%s: this is no device of hns", function);
	return false;
}

HNSDV_EXPORT bool hnsdv_is_supported(struct ibv_device *device)
{
	return device && verbs_device_is(device, "hns");
}

HNSDV_EXPORT int hnsdv_query_device(struct ibv_context *ctx_in, struct hnsdv_context *attrs_out)
{
	if (!ctx_in || !attrs_out)
		return EINVAL;
	if (!is_ours(ctx_in, __func__))
		return EOPNOTSUPP;
	*attrs_out = (struct hnsdv_context){
		.comp_mask = HNSDV_CONTEXT_MASK_CONGEST_TYPE,
		.congest_type = to_hctx(ctx_in)->congest_types,
	};
	return 0;
}

static int attr_check(struct ibv_context *ctx, const struct hnsdv_qp_init_attr *attr)
{
	const uint8_t all = HNSDV_QP_CREATE_ENABLE_DCQCN | HNSDV_QP_CREATE_ENABLE_LDCP |
			    HNSDV_QP_CREATE_ENABLE_HC3 | HNSDV_QP_CREATE_ENABLE_DIP;
	uint8_t type = attr->congest_type;

	if (!comp_mask_ok(attr->comp_mask, HNSDV_QP_INIT_ATTR_MASK_QP_CONGEST_TYPE) ||
	    attr->create_flags) {
		verbs_err(ctx,
			  "hnsdv_create_qp: comp_mask 0x%llx or create_flags 0x%x is not known",
			  (unsigned long long)attr->comp_mask, attr->create_flags);
		return EINVAL;
	}
	if (attr->comp_mask && (!type || type & ~all || type & (type - 1))) {
		verbs_err(ctx, "hnsdv_create_qp: congest_type 0x%x is not one of 0x%x", type, all);
		return EINVAL;
	}
	return 0;
}

HNSDV_EXPORT struct ibv_qp *hnsdv_create_qp(struct ibv_context *context,
					    struct ibv_qp_init_attr_ex *qp_attr,
					    struct hnsdv_qp_init_attr *hns_qp_attr)
{
	const struct verbs_create_qp in = { .attr = qp_attr, .extended = true, .dv = hns_qp_attr };
	struct ibv_qp *qp;
	int r;

	if (!context || !qp_attr || !hns_qp_attr) {
		errno = EINVAL;
		return NULL;
	}
	errno = is_ours(context, __func__) ? attr_check(context, hns_qp_attr) : EOPNOTSUPP;
	if (errno)
		return NULL;
	r = verbs_qp_create(context, __func__, &in, &qp);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	return qp;
}
