/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock page: the kernel's parameters that convert the time of a completion to nanoseconds. */
#include "providers/ionic/ionic.h"

enum {
	CLOCK_PAGE = 4096,
	TRIES = 10,
	SHIFT_MAX = 40,
};

/* Check the kernel's parameters, because they are a divisor and a shift. */
static bool is_sane(const struct ionic_clock_info *info)
{
	return info->mult && info->shift <= SHIFT_MAX;
}

/* Map the clock page. Only log a failure, because a device works without this page. */
void ionic_clock_map(struct ionic_context *ctx, uint64_t key)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	struct ionic_clock_info info;

	if (!key)
		return;
	if (kit_page_map(ibctx, key, CLOCK_PAGE, PROT_READ, &ctx->clock) < 0) {
		verbs_info(ibctx,
			   "the page of the clock cannot be mapped: completions have no time");
		ctx->clock = (struct kit_page){};
		return;
	}
	if (!ionic_clock_read(ctx, &info) && !is_sane(&info)) {
		verbs_err(ibctx,
			  "the clock has multiplier %u and shift %u: completions have no time",
			  info.mult, info.shift);
		kit_page_unmap(&ctx->clock);
	}
}

int ionic_clock_read(const struct ionic_context *ctx, struct ionic_clock_info *ret_info)
{
	const volatile struct ionic_clock_info *page = ctx->clock.base;

	for (int i = 0; i < TRIES; i++) {
		uint32_t sign = page->sign;

		atomic_thread_fence(memory_order_acquire);
		ret_info->nsec = page->nsec;
		ret_info->cycles = page->cycles;
		ret_info->frac = page->frac;
		ret_info->mult = page->mult;
		ret_info->shift = page->shift;
		ret_info->mask = page->mask;
		atomic_thread_fence(memory_order_acquire);
		if (!(sign & 1) && sign == page->sign)
			return 0;
	}
	return -EBUSY;
}

/* Convert a time. A time before the last update is a negative number of cycles. */
uint64_t ionic_clock_ns(const struct ionic_clock_info *info, uint64_t time)
{
	uint64_t cycles = (time - info->cycles) & info->mask;
	uint32_t shift = min_of(info->shift, (uint32_t)SHIFT_MAX);

	if (cycles <= info->mask >> 1)
		return info->nsec + ((cycles * info->mult + info->frac) >> shift);
	cycles = -cycles & info->mask;
	return info->nsec - ((cycles * info->mult - info->frac) >> shift);
}
