/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of the adapter: a page of the adapter shows the counter, and a page of the kernel has
 * the factors that convert it to nanoseconds. Either page may be missing.
 */
#include <string.h>
#include <time.h>

#include "providers/mlx5/clock.h"
#include "providers/mlx5/mlx5.h"

enum {
	MMAP_CMD_SHIFT = 8,
	UPDATING = 1, /* bit in sign while the kernel updates the page */
	QUICK_TRIES = 10,
	PAUSE_NS = 200000,
	PAUSES = 500, /* together at least a tenth of a second */
};

static void page_map(struct mlx5_context *ctx, enum mlx5_ib_mmap_cmd command,
		     struct kit_page *ret_page)
{
	uint64_t key = ((uint64_t)command << MMAP_CMD_SHIFT) * ctx->page_size;

	if (kit_page_map(&ctx->vctx.context, key, ctx->page_size, PROT_READ, ret_page) < 0)
		*ret_page = (struct kit_page){};
}

void mlx5_clock_open(struct mlx5_context *ctx)
{
	if (ctx->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET &&
	    ctx->info.hca_core_clock_offset % ctx->page_size <= ctx->page_size - sizeof(uint64_t))
		page_map(ctx, MLX5_IB_MMAP_CORE_CLOCK, &ctx->clock);
	if (ctx->info.clock_info_versions & 1u << MLX5_IB_CLOCK_INFO_V1)
		page_map(ctx, MLX5_IB_MMAP_CLOCK_INFO, &ctx->clock_info);
}

int mlx5_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	uint64_t within = ctx->info.hca_core_clock_offset % ctx->page_size;

	return mlx_query_rt_values(ctx->clock.base ? (char *)ctx->clock.base + within : NULL,
				   values);
}

static bool info_try(const struct mlx5_ib_clock_info *page, struct mlx5dv_clock_info *ret_info)
{
	const volatile __u32 *sign = &page->sign;
	uint32_t before = *sign;

	atomic_thread_fence(memory_order_acquire);
	*ret_info = (struct mlx5dv_clock_info){
		.nsec = page->nsec,
		.last_cycles = page->cycles,
		.frac = page->frac,
		.mult = page->mult,
		.shift = page->shift & 63,
		.mask = page->mask,
	};
	/* The values are consistent if the kernel did not write in between. */
	atomic_thread_fence(memory_order_acquire);
	return !(before & UPDATING) && *sign == before;
}

/* Wait until the kernel ends an update. Its virtual processor may have been descheduled. */
static __attribute__((noinline, cold)) int info_wait(const struct mlx5_ib_clock_info *page,
						     struct mlx5dv_clock_info *ret_info)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int before = errno;
	bool done = false;

	for (int i = 0; i < PAUSES && !done; i++) {
		nanosleep(&pause, NULL);
		done = info_try(page, ret_info);
	}
	errno = before;
	return done ? 0 : -EBUSY;
}

int mlx5_clock_info_read(const struct mlx5_context *ctx, struct mlx5dv_clock_info *ret_info)
{
	const struct mlx5_ib_clock_info *page = ctx->clock_info.base;

	if (!page)
		return -EOPNOTSUPP;
	for (int i = 0; i < QUICK_TRIES; i++)
		if (info_try(page, ret_info))
			return 0;
	return info_wait(page, ret_info);
}

uint64_t mlx5_clock_info_period(const struct mlx5_context *ctx)
{
	const volatile struct mlx5_ib_clock_info *info = ctx->clock_info.base;

	return info->overflow_period;
}
