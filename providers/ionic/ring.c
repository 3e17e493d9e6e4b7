/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings: their sizes and memory. */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/ionic/ionic.h"

enum {
	DEPTH_MAX = 65535,
	RESOURCE_SHIFT = 32,
};

/* Return the binary logarithm of @value, rounded up. */
static uint32_t log2_up(uint32_t value)
{
	return value <= 1 ? 0 : 32 - __builtin_clz(value - 1);
}

/* Allocate one place more than @entries, because one place always stays free. Fill whole pages. */
int ionic_ring_make(const struct ionic_context *ctx, struct ionic_ring *ring, uint32_t entries,
		    uint32_t stride, struct verbs_pd *parent, enum ionic_resource type)
{
	const struct kit_memory memory = {
		.type = (uint64_t)RDMA_DRIVER_IONIC << RESOURCE_SHIFT | type,
	};
	uint32_t depth_shift;

	if (entries > DEPTH_MAX)
		return -EINVAL;
	ring->shift = log2_up(stride);
	entries = max_of(entries, 1u);
	depth_shift = log2_up(entries + 1);
	if (depth_shift + ring->shift < ctx->page_shift)
		depth_shift = ctx->page_shift - ring->shift;
	ring->mask = (1u << depth_shift) - 1;
	return kit_buf_alloc_in(&ring->buf, (size_t)1 << (depth_shift + ring->shift), NULL, parent,
				memory);
}

void ionic_ring_free(struct ionic_ring *ring)
{
	kit_buf_free(&ring->buf);
}

struct ionic_qdesc ionic_ring_describe(const struct ionic_ring *ring)
{
	uint32_t depth_shift = log2_up(ring->mask + 1);

	return (struct ionic_qdesc){
		.addr = (uintptr_t)ring->buf.base,
		.size = 1u << (depth_shift + ring->shift),
		.mask = ring->mask,
		.depth_log2 = depth_shift,
		.stride_log2 = ring->shift,
	};
}
