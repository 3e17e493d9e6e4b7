/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The provider's table of operations. Start reading here. */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/uroce/strict/strict.h"
#include "util/cancel.h"

/*
 * Minimum number of completion vectors. The vector of a CQ has no effect, because the receiving
 * thread writes completions. Programs that spread CQs over vectors find one vector for each
 * processor, like on a kernel device.
 */
enum {
	UROCE_LEAST_VECTORS = 4,
};

static const struct verbs_ops uroce_ops;

/* Put fault rules and the checks of strict mode before the operations if they are configured. */
static int ops_decorate(struct uroce_context *ctx)
{
	const struct verbs_ops *ops = &uroce_ops;

	if (unlikely(ctx->dev->host->faults))
		ops = uroce_fault_verbs(&ctx->vctx, ops);
	return uroce_strict_open(ctx, ops);
}

static int uroce_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_context *ctx = (struct uroce_context *)vctx;
	int r = uroce_event_open(ctx);

	if (r < 0)
		return r;
	r = uroce_dev_get(to_vdev(vctx->context.device), &ctx->dev);
	if (r < 0) {
		uroce_event_close(ctx);
		return r;
	}
	vctx->context.num_comp_vectors =
		max_of((int)sysconf(_SC_NPROCESSORS_CONF), UROCE_LEAST_VECTORS);
	r = ops_decorate(ctx);
	if (!r)
		r = in->imported ? uroce_import_open(ctx) : uroce_import_socket_open(ctx);
	if (r < 0) {
		uroce_strict_undo(ctx);
		uroce_dev_put(ctx->dev);
		uroce_event_close(ctx);
		return r;
	}
	pthread_mutex_lock(&ctx->dev->lock);
	LIST_INSERT_HEAD(&ctx->dev->contexts, ctx, entry);
	pthread_mutex_unlock(&ctx->dev->lock);
	return 0;
}

static void uroce_close_context(struct verbs_context *vctx)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_context *ctx = (struct uroce_context *)vctx;

	/*
	 * A forked child closes its copies of descriptors. All other resources belong to its
	 * parent.
	 */
	if (!uroce_host_here(ctx->dev->host)) {
		uroce_import_close(ctx);
		uroce_event_close(ctx);
		return;
	}
	uroce_import_socket_close(ctx);
	uroce_import_close(ctx);
	uroce_host_leave(ctx->dev->host, ctx);
	pthread_mutex_lock(&ctx->dev->lock);
	LIST_REMOVE(ctx, entry);
	pthread_mutex_unlock(&ctx->dev->lock);
	uroce_dev_put(ctx->dev);
	uroce_event_close(ctx);
}

static const struct verbs_ops uroce_ops = {
	.open_context = uroce_open_context,
	.close_context = uroce_close_context,
	.query_device = uroce_query_device,
	.query_port = uroce_query_port,
	.query_gid = uroce_query_gid,
	.query_gid_table = uroce_query_gid_table,
	.query_pkey = uroce_query_pkey,
	.query_port_speed = uroce_query_port_speed,
	.query_rt_values = uroce_query_rt_values,
	.create_comp_channel = uroce_create_comp_channel,
	.destroy_comp_channel = uroce_destroy_comp_channel,
	.alloc_pd = uroce_alloc_pd,
	.dealloc_pd = uroce_dealloc_pd,
	.import_pd = uroce_import_pd,
	.unimport_pd = uroce_unimport_pd,
	.alloc_td = uroce_alloc_td,
	.alloc_parent_domain = uroce_alloc_parent_domain,
	.reg_mr = uroce_reg_mr,
	.rereg_mr = uroce_rereg_mr,
	.dereg_mr = uroce_dereg_mr,
	.import_mr = uroce_import_mr,
	.unimport_mr = uroce_unimport_mr,
	.advise_mr = uroce_advise_mr,
	.alloc_null_mr = uroce_alloc_null_mr,
	.alloc_dm = uroce_alloc_dm,
	.free_dm = uroce_free_dm,
	.import_dm = uroce_import_dm,
	.unimport_dm = uroce_unimport_dm,
	.reg_dm_mr = uroce_reg_dm_mr,
	.alloc_buf = uroce_alloc_buf,
	.free_buf = uroce_free_buf,
	.alloc_mw = uroce_alloc_mw,
	.dealloc_mw = uroce_dealloc_mw,
	.create_cq = uroce_create_cq,
	.resize_cq = uroce_resize_cq,
	.modify_cq = uroce_modify_cq,
	.destroy_cq = uroce_destroy_cq,
	.create_srq = uroce_create_srq,
	.modify_srq = uroce_modify_srq,
	.query_srq = uroce_query_srq,
	.destroy_srq = uroce_destroy_srq,
	.create_qp = uroce_create_qp,
	.modify_qp = uroce_modify_qp,
	.query_qp = uroce_query_qp,
	.destroy_qp = uroce_destroy_qp,
	.open_xrcd = uroce_open_xrcd,
	.close_xrcd = uroce_close_xrcd,
	.open_qp = uroce_open_qp,
	.create_ah = uroce_create_ah,
	.destroy_ah = uroce_destroy_ah,
	.attach_mcast = uroce_attach_mcast,
	.detach_mcast = uroce_detach_mcast,
	.gsi_open = uroce_gsi_open,
	.gsi_listen = uroce_gsi_listen,
	.gsi_send = uroce_gsi_send,
	.gsi_recv = uroce_gsi_recv,
	.gsi_offer = uroce_gsi_offer,
	.gsi_probe = uroce_gsi_probe,
	.gsi_poll = uroce_gsi_poll,
	.gsi_leave = uroce_gsi_leave,
	.gsi_guard = uroce_gsi_guard,
	.gsi_last_word = uroce_gsi_last_word,
	.post_send = uroce_post_send,
	.post_write_copy = uroce_post_write_copy,
	.qp_end_waits = uroce_qp_end_waits,
	.post_recv = uroce_post_recv,
	.post_srq_recv = uroce_post_srq_recv,
	.poll_cq = uroce_poll_cq,
	.req_notify_cq = uroce_req_notify_cq,
	.bind_mw = uroce_bind_mw,
};

static const struct verbs_provider uroce_provider = {
	.size = sizeof(struct verbs_provider),
	.name = "uroce",
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.sizes = {
		.context = sizeof(struct uroce_context),
		.pd = sizeof(struct uroce_pd),
		.mr = sizeof(struct uroce_mr),
		.dm = sizeof(struct uroce_dm),
		.mw = sizeof(struct uroce_mw),
		.cq = sizeof(struct uroce_cq),
		.srq = sizeof(struct uroce_srq),
		.xrcd = sizeof(struct uroce_xrcd),
		.qp = sizeof(struct uroce_qp),
		.ah = sizeof(struct uroce_ah),
		.comp_channel = sizeof(struct uroce_comp_channel),
	},
	.ops = &uroce_ops,
	.list_devices = uroce_list_devices,
	.fork = &uroce_fork,
	.owns = uroce_owns,
	.direct = &uroce_direct,
};

VERBS_PROVIDER(uroce_provider);
