/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the rings of a queue pair. Programs see the results in the granted capabilities. */
#include "providers/efa/efa.h"

enum {
	BATCH_UNIT_SHIFT = 6, /* log2 of the unit of max_tx_batch, bytes */
	BATCH_ANY = 0xffff,
	RING_MAX = 1 << 16, /* requests of the largest ring, because an id has 16 bits */
};

uint32_t efa_sq_shift(uint32_t max_inline, bool inline_write)
{
	return max_inline > EFA_INLINE_SMALL || inline_write ? EFA_WQE_LARGE_SHIFT
							     : EFA_WQE_SMALL_SHIFT;
}

/* The number of entries of a ring is a power of 2. */
uint32_t efa_sq_depth(const struct efa_context *ctx, uint32_t shift)
{
	uint32_t count = min_of(ctx->info.max_llq_size >> shift, (uint32_t)RING_MAX);

	return count ? 1u << (31 - __builtin_clz(count)) : 0;
}

uint32_t efa_rq_depth(const struct efa_context *ctx, uint32_t max_sge)
{
	return min_of(ctx->caps.max_rq_wr, (uint32_t)RING_MAX) / max_of(max_sge, 1u);
}

static int check(const struct efa_context *ctx, const char *what, uint64_t value, uint64_t limit)
{
	if (value <= limit)
		return 0;
	verbs_err(&ctx->vctx.context, "ibv_create_qp: %s %llu is too much (at most %llu)", what,
		  (unsigned long long)value, (unsigned long long)limit);
	return -EINVAL;
}

static int cap_check(const struct efa_context *ctx, const struct ibv_qp_cap *cap, bool inline_write)
{
	uint32_t sge = min_of(ctx->caps.max_sq_sge, (uint16_t)EFA_WQE_SGE_MAX);
	uint32_t shift = efa_sq_shift(cap->max_inline_data, inline_write);
	int r = check(ctx, "max_send_sge", cap->max_send_sge, sge);

	if (!r)
		r = check(ctx, "max_recv_sge", cap->max_recv_sge, ctx->caps.max_rq_sge);
	if (!r)
		r = check(ctx, "max_inline_data", cap->max_inline_data,
			  ctx->info.inline_buf_size_ex);
	if (!r)
		r = check(ctx, "max_send_wr", cap->max_send_wr, efa_sq_depth(ctx, shift));
	if (!r)
		r = check(ctx, "max_recv_wr", cap->max_recv_wr,
			  efa_rq_depth(ctx, cap->max_recv_sge));
	return r;
}

/* Return how many requests the device takes at once. */
static uint32_t batch_size(const struct efa_context *ctx, uint32_t count, uint32_t shift)
{
	uint32_t batch = BATCH_ANY;

	if (ctx->info.max_tx_batch)
		batch = max_of(((uint32_t)ctx->info.max_tx_batch << BATCH_UNIT_SHIFT) >> shift, 1u);
	/* Such a device cannot tell a full ring from an empty one. */
	if (ctx->info.min_sq_wr)
		batch = min_of(batch, max_of(count - 1, 1u));
	return batch;
}

int efa_qp_size(const struct efa_context *ctx, const struct ibv_qp_cap *cap, bool inline_write,
		struct efa_qp_size *ret_size)
{
	struct efa_qp_size size = { .rq_sge = max_of(cap->max_recv_sge, 1u) };
	int r = cap_check(ctx, cap, inline_write);

	if (r < 0)
		return r;
	size.sq_shift = efa_sq_shift(cap->max_inline_data, inline_write);
	size.max_inline = cap->max_inline_data;
	if (cap->max_send_wr) {
		size.sq_count =
			round_up_pow2(max_of(cap->max_send_wr, (uint32_t)ctx->info.min_sq_wr));
		size.max_batch = batch_size(ctx, size.sq_count, size.sq_shift);
		r = check(ctx, "max_send_wr", size.sq_count, efa_sq_depth(ctx, size.sq_shift));
	}
	if (cap->max_recv_wr) {
		size.rq_buffers = round_up_pow2(cap->max_recv_wr * size.rq_sge);
		size.rq_count = size.rq_buffers / size.rq_sge;
	}
	if (!r)
		*ret_size = size;
	return r;
}
