/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detection of efa devices, and capabilities. */
#include "providers/efa/direct/direct.h"

struct efa_context *efadv_context(struct ibv_context *ctx, const char *function)
{
	if (verbs_device_is(ctx->device, "efa"))
		return to_ectx(ctx);
	verbs_err(ctx, "%s: this is no device of efa", function);
	errno = EOPNOTSUPP;
	return NULL;
}

int efadv_refuse(struct ibv_context *ctx, const char *function, uint32_t inlen)
{
	verbs_err(ctx, "%s: inlen %u, or a member of the struct, is not of this version", function,
		  inlen);
	return -EINVAL;
}

bool efadv_copy_in(void *to, size_t size, const void *from, uint32_t inlen)
{
	const char *bytes = from;

	memset(to, 0, size);
	memcpy(to, from, min_of((size_t)inlen, size));
	for (size_t i = size; i < inlen; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Translate capabilities of the device for programs. */
static uint32_t device_caps(uint32_t caps, bool rdma)
{
	static const struct {
		uint32_t kernel, public;
		bool rdma;
	} rows[] = {
		{ EFA_QUERY_DEVICE_CAPS_RNR_RETRY, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY },
		{ EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID },
		{ EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV,
		  EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV },
		{ EFA_QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM,
		  EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF },
		{ EFA_QUERY_DEVICE_CAPS_COMP_CNTR, EFADV_DEVICE_ATTR_CAPS_COMP_CNTR },
		{ EFA_QUERY_DEVICE_CAPS_RDMA_READ, EFADV_DEVICE_ATTR_CAPS_RDMA_READ, true },
		{ EFA_QUERY_DEVICE_CAPS_RDMA_WRITE, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, true },
	};
	uint32_t public = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++)
		if (caps & rows[i].kernel && (rdma || !rows[i].rdma))
	public |= rows[i].public;
	return public;
}

EFADV_EXPORT int efadv_query_device(struct ibv_context *ibctx, struct efadv_device_attr *attr,
				    uint32_t inlen)
{
	struct efa_context *ctx = efadv_context(ibctx, __func__);
	bool rdma = HAS_MEMBER(struct efadv_device_attr, max_rdma_size, inlen);

	if (!ctx)
		return EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_device_attr, inline_buf_size_ex, inlen))
		return -efadv_refuse(ibctx, __func__, inlen);
	memset(attr, 0, inlen);
	attr->max_sq_wr = ctx->caps.max_sq_wr;
	attr->max_rq_wr = ctx->caps.max_rq_wr;
	attr->max_sq_sge = ctx->caps.max_sq_sge;
	attr->max_rq_sge = ctx->caps.max_rq_sge;
	attr->inline_buf_size = ctx->info.inline_buf_size;
	attr->inline_buf_size_ex = ctx->info.inline_buf_size_ex;
	if (HAS_MEMBER(struct efadv_device_attr, device_caps, inlen))
		attr->device_caps = device_caps(ctx->caps.device_caps, rdma);
	if (rdma)
		attr->max_rdma_size = ctx->caps.max_rdma_size;
	return 0;
}

EFADV_EXPORT int efadv_get_max_sq_depth(struct ibv_context *ibctx, struct efadv_sq_depth_attr *attr,
					uint32_t inlen)
{
	struct efa_context *ctx = efadv_context(ibctx, __func__);
	struct efadv_sq_depth_attr full;

	if (!ctx)
		return -EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_sq_depth_attr, max_inline_data, inlen) ||
	    !efadv_copy_in(&full, sizeof(full), attr, inlen) || full.comp_mask ||
	    !comp_mask_ok(full.flags, EFADV_SQ_DEPTH_ATTR_INLINE_WRITE))
		return efadv_refuse(ibctx, __func__, inlen);
	if (full.max_send_sge > ctx->caps.max_sq_sge || full.max_rdma_sge > ctx->max_rdma_sge ||
	    full.max_inline_data > ctx->info.inline_buf_size_ex) {
		verbs_err(ibctx, "%s: %u buffers, %u of RDMA, %u bytes inline: too many", __func__,
			  full.max_send_sge, full.max_rdma_sge, full.max_inline_data);
		return -EINVAL;
	}
	return efa_sq_depth(ctx, efa_sq_shift(full.max_inline_data,
					      full.flags & EFADV_SQ_DEPTH_ATTR_INLINE_WRITE));
}

EFADV_EXPORT int efadv_get_max_rq_depth(struct ibv_context *ibctx, struct efadv_rq_depth_attr *attr,
					uint32_t inlen)
{
	struct efa_context *ctx = efadv_context(ibctx, __func__);
	struct efadv_rq_depth_attr full;

	if (!ctx)
		return -EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_rq_depth_attr, max_recv_sge, inlen) ||
	    !efadv_copy_in(&full, sizeof(full), attr, inlen) || full.comp_mask)
		return efadv_refuse(ibctx, __func__, inlen);
	if (full.max_recv_sge > ctx->caps.max_rq_sge) {
		verbs_err(ibctx, "%s: %u buffers: at most %u are possible", __func__,
			  full.max_recv_sge, ctx->caps.max_rq_sge);
		return -EINVAL;
	}
	return efa_rq_depth(ctx, full.max_recv_sge);
}
