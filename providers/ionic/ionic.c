/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of AMD Pensando's adapters: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/ionic/wqe.h"
#include "providers/kit/context.h"
#include "providers/kit/domain.h"
#include "util/sysfs.h"

enum {
	VERSIONS = 2,
	OPCODES_OLD = 10, /* opcodes of version 1 without the binding of windows */
	PAGE_SHIFT_MIN = 12,
	PAGE_SHIFT_MAX = 16,
	STRIDE_MIN = 6, /* binary logarithms */
	STRIDE_MAX = 16,
	SPEC_MAX = 16,
	DOORBELL_BYTES = 8,
	CQE_MAX = 65535 - 100,
	KHZ = 1000000, /* ns in a ms */
};

/* ---- opening */

static int answer_refuse(const struct ionic_context *ctx, const struct ionic_ctx_resp *resp)
{
	verbs_err(
		&ctx->vctx.context,
		"the kernel has requests of version %u (1 and 2 are known) with %u opcodes, up to "
		"1 << %u bytes, %u pipelines and pages of 1 << %u bytes",
		resp->version, resp->qp_opcodes, resp->max_stride, resp->udma_count,
		resp->page_shift);
	return -EINVAL;
}

/* Set the properties of the adapter that the kernel reported. */
static int answer_take(struct ionic_context *ctx, const struct ionic_ctx_resp *resp)
{
	if (!resp->version || resp->version > VERSIONS ||
	    (resp->version == 1 && resp->qp_opcodes <= OPCODES_OLD) || !resp->udma_count ||
	    resp->udma_count > IONIC_PIPELINES || resp->max_stride < STRIDE_MIN ||
	    resp->max_stride > STRIDE_MAX || resp->page_shift < PAGE_SHIFT_MIN ||
	    resp->page_shift > PAGE_SHIFT_MAX)
		return answer_refuse(ctx, resp);
	ctx->page_shift = resp->page_shift;
	ctx->version = resp->version;
	ctx->max_stride = resp->max_stride;
	ctx->max_spec = resp->max_spec > SPEC_MAX ? 0 : resp->max_spec;
	ctx->pipelines = resp->udma_count;
	ctx->sq_type = resp->sq_qtype;
	ctx->rq_type = resp->rq_qtype;
	ctx->express_sizes = resp->expdb_mask;
	ctx->express_queues = resp->expdb_qtypes;
	return 0;
}

/* Return the doorbell of a type of queue. NULL: the offset is outside of the page. */
static char *doorbell_of(const struct ionic_context *ctx, uint64_t offset, uint8_t type)
{
	size_t at = (offset & (ctx->doorbells.length - 1)) + (size_t)type * DOORBELL_BYTES;

	if (at % DOORBELL_BYTES || at + DOORBELL_BYTES > ctx->doorbells.length)
		return NULL;
	return (char *)ctx->doorbells.base + at;
}

static int doorbells_map(struct ionic_context *ctx, const struct ionic_ctx_resp *resp)
{
	size_t length = (size_t)1 << ctx->page_shift;
	int r = kit_page_map(&ctx->vctx.context, resp->dbell_offset & ~(uint64_t)(length - 1),
			     length, PROT_WRITE, &ctx->doorbells);

	if (r < 0)
		return r;
	ctx->sq_doorbell = doorbell_of(ctx, resp->dbell_offset, resp->sq_qtype);
	ctx->rq_doorbell = doorbell_of(ctx, resp->dbell_offset, resp->rq_qtype);
	ctx->cq_doorbell = doorbell_of(ctx, resp->dbell_offset, resp->cq_qtype);
	if (ctx->sq_doorbell && ctx->rq_doorbell && ctx->cq_doorbell)
		return 0;
	verbs_err(&ctx->vctx.context, "the doorbells of types %u, %u and %u are not in their page",
		  resp->sq_qtype, resp->rq_qtype, resp->cq_qtype);
	kit_page_unmap(&ctx->doorbells);
	return -EPROTO;
}

static int ionic_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct ionic_context *ctx = (struct ionic_context *)vctx;
	struct ionic_ctx_resp resp = {};
	struct ionic_ctx_req cmd = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = answer_take(ctx, &resp);
	if (!r)
		r = doorbells_map(ctx, &resp);
	if (r < 0)
		return r;
	ionic_clock_map(ctx, resp.phc_offset);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

static void ionic_close_context(struct verbs_context *vctx)
{
	struct ionic_context *ctx = (struct ionic_context *)vctx;

	kit_page_unmap(&ctx->clock);
	kit_page_unmap(&ctx->doorbells);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
}

/* ---- the device */

/* Read the version of the firmware from sysfs. The kernel reports it only as text. */
static void firmware_read(struct ibv_context *ibctx, struct ibv_device_attr *attr)
{
	char path[sizeof(ibctx->device->ibdev_path) + 16];

	snprintf(path, sizeof(path), "%s/fw_ver", ibctx->device->ibdev_path);
	sysfs_read(AT_FDCWD, path, attr->fw_ver, sizeof(attr->fw_ver));
}

static void clock_describe(const struct ionic_context *ctx, struct ibv_device_attr_ex *attr)
{
	struct ionic_clock_info info;

	if (!ctx->clock.base || ionic_clock_read(ctx, &info) < 0 || !info.mult)
		return;
	attr->completion_timestamp_mask = info.mask;
	attr->hca_core_clock = (((uint64_t)KHZ << info.shift) + info.mult / 2) / info.mult;
}

/* Complete the kernel's answer: version of the firmware, clock, limit of completions. */
static int ionic_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			      struct ibv_device_attr_ex *ret_attr)
{
	struct ibv_device_attr *attr = &ret_attr->orig_attr;
	int r = uverbs_query_device(ibctx, in, ret_attr);

	if (r < 0)
		return r;
	firmware_read(ibctx, attr);
	clock_describe(to_ioctx(ibctx), ret_attr);
	attr->max_cqe = min_of(attr->max_cqe, (int)CQE_MAX);
	return 0;
}

/* ---- domains and addresses */

static uint8_t cmb_default(const struct ionic_context *ctx, uint8_t type)
{
	return IONIC_CMB_ENABLE | (ctx->express_queues & type ? IONIC_CMB_EXPDB : 0);
}

static int ionic_alloc_pd(struct ibv_pd *ibpd, struct verbs_udata *udata)
{
	const struct ionic_context *ctx = to_ioctx(ibpd->context);
	struct ionic_pd *pd = to_iopd(ibpd);

	pd->pipelines = (1u << ctx->pipelines) - 1;
	pd->sq_cmb = cmb_default(ctx, IONIC_EXPDB_SQ);
	pd->rq_cmb = cmb_default(ctx, IONIC_EXPDB_RQ);
	return uverbs_alloc_pd(ibpd, udata);
}

/* A parent domain begins with the preferences of its protection domain. */
static int ionic_alloc_parent_domain(struct verbs_pd *parent)
{
	const struct ionic_pd *of = (const struct ionic_pd *)parent->of;
	struct ionic_pd *pd = (struct ionic_pd *)parent;

	pd->pipelines = of->pipelines;
	pd->sq_cmb = of->sq_cmb;
	pd->rq_cmb = of->rq_cmb;
	return 0;
}

static int ionic_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	struct ionic_ah_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_ah request = *in;
	int r;

	request.udata = &udata;
	r = uverbs_create_ah(ah, &request);
	if (!r)
		((struct ionic_ah *)ah)->number = resp.ahid;
	return r;
}

static const struct verbs_ops ionic_ops = {
	.open_context = ionic_open_context,
	.close_context = ionic_close_context,
	.query_device = ionic_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = ionic_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.alloc_td = kit_alloc_td,
	.alloc_parent_domain = ionic_alloc_parent_domain,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.dereg_mr = uverbs_dereg_mr,
	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,
	.bind_mw = ionic_bind_mw,

	.create_cq = ionic_create_cq,
	.destroy_cq = ionic_destroy_cq,
	.req_notify_cq = ionic_req_notify_cq,
	.poll_cq = ionic_poll_cq,

	.create_qp = ionic_create_qp,
	.modify_qp = ionic_modify_qp,
	.query_qp = ionic_query_qp,
	.destroy_qp = ionic_destroy_qp,
	.post_send = ionic_post_send,
	.post_recv = ionic_post_recv,

	.create_ah = ionic_create_ah,
	.destroy_ah = uverbs_destroy_ah,
};

static const struct verbs_provider ionic_provider = {
	.size = sizeof(ionic_provider),
	.name = "ionic",
	.driver_id = RDMA_DRIVER_IONIC,
	.min_abi = IONIC_ABI_VERSION,
	.max_abi = IONIC_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct ionic_context),
		.pd = sizeof(struct ionic_pd),
		.cq = sizeof(struct ionic_cq),
		.qp = sizeof(struct ionic_qp),
		.ah = sizeof(struct ionic_ah),
	},
	.ops = &ionic_ops,
};

VERBS_PROVIDER(ionic_provider);
