/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sizes of the rings of a queue pair. The kernel calculates the same sizes from the requested
 * capabilities. */
#include "providers/hns/wqe.h"

enum {
	SEGMENTS_LEAST = 256,
};

static bool has_receives(const struct ibv_qp_init_attr_ex *attr)
{
	return !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND && attr->qp_type != IBV_QPT_XRC_RECV;
}

static uint32_t segments_inside(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_UD ? 0 : INSIDE;
}

/* Return the number of entries in the ring of segments that @bytes of inline data need. */
static uint32_t inline_segments(const struct ibv_qp_init_attr_ex *attr, uint32_t bytes)
{
	bool fits = bytes <= (attr->qp_type == IBV_QPT_UD ? 0 : INLINE_INSIDE);

	return fits ? 0 : (bytes + SEGMENT - 1) / SEGMENT;
}

/* Calculate the ring of segments, with room for inline data. A kernel without @long_lists
 * calculates the ring only from max_send_sge. Therefore request enough entries for the inline
 * data. */
static void segments_size(const struct hns_context *ctx, struct ibv_qp_init_attr_ex *attr,
			  struct hns_qp_size *size)
{
	uint32_t inside = segments_inside(attr), least = inside ? 0 : 1, each;
	struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_XRC_RECV)
		cap->max_send_sge = max_of(cap->max_send_sge, 1u);
	size->max_send_sge = cap->max_send_sge;
	if (ctx->long_lists && cap->max_inline_data)
		cap->max_inline_data = min_of(round_up_pow2(cap->max_inline_data), ctx->max_inline);
	each = inline_segments(attr, cap->max_inline_data);
	if (each && !ctx->long_lists)
		cap->max_send_sge = max_of(cap->max_send_sge, each + inside);
	each = max_of(each, cap->max_send_sge > inside ? cap->max_send_sge - inside : least);
	if (each && ctx->long_lists)
		each = round_up_pow2(each);
	size->max_inline = max_of(each * SEGMENT, inside ? INLINE_INSIDE : INLINE_UD);
	size->segments = each ? max_of(round_up_pow2(size->sq_count * each), SEGMENTS_LEAST) : 0;
}

static void receives_size(const struct hns_context *ctx, struct ibv_qp_cap *cap,
			  struct hns_qp_size *size)
{
	size->rq_count = round_up_pow2(max_of(cap->max_recv_wr, (uint32_t)HNS_DEPTH));
	size->rq_sge = round_up_pow2(max_of(cap->max_recv_sge, 1u) + ctx->old);
	cap->max_recv_wr = size->rq_count;
	cap->max_recv_sge = size->rq_sge;
}

/* Refuse capabilities that neither this library nor any kernel could accept. */
static int cap_check(const struct hns_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t most = ctx->long_lists ? ctx->max_inline
					: (ctx->max_sge - segments_inside(attr)) * SEGMENT;

	if (max_of(cap->max_send_wr, cap->max_recv_wr) <= ctx->max_wr &&
	    max_of(cap->max_send_sge, cap->max_recv_sge) <= ctx->max_sge &&
	    cap->max_inline_data <= max_of(most, (uint32_t)INLINE_INSIDE))
		return 0;
	verbs_err(&ctx->vctx.context,
		  "ibv_create_qp: %u sends and %u receives (at most %u each) of %u and %u entries "
		  "(at most %u), %u bytes inline (at most %u)",
		  cap->max_send_wr, cap->max_recv_wr, ctx->max_wr, cap->max_send_sge,
		  cap->max_recv_sge, ctx->max_sge, cap->max_inline_data, most);
	return -EINVAL;
}

int hns_qp_size(const struct hns_context *ctx, struct ibv_qp_init_attr_ex *attr,
		struct hns_qp_size *ret)
{
	struct ibv_qp_cap *cap = &attr->cap;
	int r;

	if (!has_receives(attr))
		cap->max_recv_wr = cap->max_recv_sge = 0;
	r = cap_check(ctx, attr);
	if (r < 0)
		return r;
	*ret = (struct hns_qp_size){
		.sq_count = round_up_pow2(max_of(cap->max_send_wr, (uint32_t)HNS_DEPTH)),
	};
	cap->max_send_wr = min_of(ret->sq_count, ctx->max_wr);
	segments_size(ctx, attr, ret);
	if (cap->max_recv_wr)
		receives_size(ctx, cap, ret);
	else
		cap->max_recv_sge = 0;
	return 0;
}
