/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sizes of queues, and the memory of queues that the program drives. */
#include <string.h>

#include "providers/mana/mana.h"

/* Bytes of an entry: header and buffers, rounded up to the unit. */
static const struct {
	uint32_t head, sge, unit;
} formats[MANA_QUEUE_KINDS] = {
	[MANA_QUEUE_CQ] = { 64, 0, 64 },
	[MANA_QUEUE_SQ] = { 16, 16, 32 },
	[MANA_QUEUE_RQ] = { 16, 16, 32 },
	[MANA_QUEUE_RC_SQ] = { 32, 16, 32 },
};

enum {
	QUEUE_BYTES_MAX = 1 << 30, /* largest power of two in the field of the kernel command */
};

static uint64_t bytes_needed(enum mana_queue_kind kind, uint32_t entries, uint32_t sges)
{
	uint64_t entry = formats[kind].head + (uint64_t)sges * formats[kind].sge;

	entry = ROUND_UP(entry, (uint64_t)formats[kind].unit);
	/* Limit the entry, so that the product does not overflow. */
	return entry > QUEUE_BYTES_MAX ? UINT64_MAX : entry * entries;
}

/* Round up to a power of two and to at least a page. */
static uint32_t bytes_granted(uint64_t needed)
{
	uint32_t bytes = MANA_PAGE;

	while (bytes < needed)
		bytes <<= 1;
	return bytes;
}

uint32_t mana_queue_bytes(struct ibv_context *ctx, enum mana_queue_kind kind, uint32_t entries,
			  uint32_t sges)
{
	uint64_t needed = bytes_needed(kind, entries, sges);

	if (needed <= QUEUE_BYTES_MAX)
		return bytes_granted(needed);
	verbs_err(ctx, "a queue of %u entries of %u buffers: at most %u bytes are possible",
		  entries, sges, QUEUE_BYTES_MAX);
	return 0;
}

int mana_queue_make(struct mana_context *ctx, enum mana_queue_kind kind, uint32_t entries,
		    uint32_t sges, struct mana_queue *ret_queue)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	struct mana_queue queue = { .entries = entries, .number = MANA_NUMBER_NONE };
	int r;

	if (!ctx->allocator.alloc) {
		verbs_err(ibctx, "a queue needs memory of the program's: "
				 "manadv_set_context_attr() says from where");
		return -EINVAL;
	}
	queue.bytes = mana_queue_bytes(ibctx, kind, entries, sges);
	if (!queue.bytes)
		return -EINVAL;
	r = kit_buf_alloc_from(&queue.buf, queue.bytes, &ctx->allocator);
	if (r < 0) {
		verbs_err(ibctx, "%u bytes for a queue: %s", queue.bytes, strerror(-r));
		return r;
	}
	*ret_queue = queue;
	return 0;
}
