/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* infiniband/ionic_dv.h: pipelines, and preferences of domains for queues in memory of the device.
 */
#include <infiniband/ionic_dv.h>

#include "providers/ionic/ionic.h"

#define IONIC_EXPORT __attribute__((visibility("default")))

/* Return the ionic context. NULL: the context belongs to another provider. */
static const struct ionic_context *context_of(struct ibv_context *ctx)
{
	return verbs_device_is(ctx->device, "ionic") ? to_ioctx(ctx) : NULL;
}

static uint8_t pipelines_of(const struct ionic_context *ctx)
{
	return (1u << ctx->pipelines) - 1;
}

IONIC_EXPORT uint8_t ionic_dv_ctx_get_udma_count(struct ibv_context *ibctx)
{
	const struct ionic_context *ctx = context_of(ibctx);

	return ctx ? ctx->pipelines : 0;
}

IONIC_EXPORT uint8_t ionic_dv_ctx_get_udma_mask(struct ibv_context *ibctx)
{
	const struct ionic_context *ctx = context_of(ibctx);

	return ctx ? pipelines_of(ctx) : 0;
}

IONIC_EXPORT uint8_t ionic_dv_pd_get_udma_mask(struct ibv_pd *ibpd)
{
	return context_of(ibpd->context) ? to_iopd(ibpd)->pipelines : 0;
}

IONIC_EXPORT int ionic_dv_pd_set_udma_mask(struct ibv_pd *ibpd, uint8_t udma_mask)
{
	const struct ionic_context *ctx = context_of(ibpd->context);

	if (!ctx)
		return EPERM;
	if (udma_mask & ~pipelines_of(ctx)) {
		verbs_err(ibpd->context,
			  "ionic_dv_pd_set_udma_mask: pipelines 0x%x: the device has 0x%x",
			  udma_mask, pipelines_of(ctx));
		return EINVAL;
	}
	to_iopd(ibpd)->pipelines = udma_mask;
	return 0;
}

/* Set the preferences at @ret_cmb. @type: IONIC_EXPDB_SQ or IONIC_EXPDB_RQ */
static int cmb_set(struct ibv_pd *ibpd, uint8_t type, uint8_t *ret_cmb, bool enable, bool expdb,
		   bool require)
{
	const struct ionic_context *ctx = to_ioctx(ibpd->context);

	if (enable && expdb && !(ctx->express_queues & type)) {
		if (require) {
			verbs_err(ibpd->context,
				  "ionic_dv_pd_set_%ccmb: the device has no express doorbells for "
				  "these queues",
				  type == IONIC_EXPDB_SQ ? 's' : 'r');
			return EINVAL;
		}
		expdb = false;
	}
	*ret_cmb = !enable ? 0
			   : IONIC_CMB_ENABLE | (expdb ? IONIC_CMB_EXPDB : 0) |
				     (require ? IONIC_CMB_REQUIRE : 0);
	return 0;
}

IONIC_EXPORT int ionic_dv_pd_set_sqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require)
{
	if (!context_of(ibpd->context))
		return EPERM;
	return cmb_set(ibpd, IONIC_EXPDB_SQ, &to_iopd(ibpd)->sq_cmb, enable, expdb, require);
}

IONIC_EXPORT int ionic_dv_pd_set_rqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require)
{
	if (!context_of(ibpd->context))
		return EPERM;
	return cmb_set(ibpd, IONIC_EXPDB_RQ, &to_iopd(ibpd)->rq_cmb, enable, expdb, require);
}
