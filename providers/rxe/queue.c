/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "providers/rxe/queue.h"

/* Return whether the geometry in the page describes a ring inside the mapping. */
static bool geometry_ok(const struct rxe_queue *queue, size_t elem_size)
{
	uint64_t slots = (uint64_t)queue->mask + 1;

	return !(slots & queue->mask) && queue->shift < 32 && (1ULL << queue->shift) >= elem_size &&
	       slots <= (queue->size - sizeof(*queue->buf)) >> queue->shift;
}

int rxe_queue_map(struct ibv_context *ctx, const char *what, const struct mminfo *mi,
		  size_t elem_size, struct rxe_queue *queue)
{
	struct rxe_queue_buf *buf;

	if (mi->size < sizeof(*buf)) {
		verbs_err(ctx, "%s: the kernel offers a ring of %u bytes, its head needs %zu", what,
			  mi->size, sizeof(*buf));
		return -EIO;
	}
	buf = mmap(NULL, mi->size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd, mi->offset);
	if (buf == MAP_FAILED) {
		int r = -errno;

		verbs_err(ctx, "%s: cannot map its ring (%u bytes): %s", what, mi->size,
			  strerror(-r));
		return r;
	}
	queue->buf = buf;
	queue->size = mi->size;
	queue->mask = buf->index_mask;
	queue->shift = buf->log2_elem_size;
	if (!geometry_ok(queue, elem_size)) {
		verbs_err(ctx,
			  "%s: a ring of %u bytes with index mask 0x%x and slots of 2^%u bytes "
			  "(at least %zu needed) is not one this provider understands",
			  what, mi->size, queue->mask, queue->shift, elem_size);
		rxe_queue_unmap(queue);
		return -EIO;
	}
	return 0;
}

static bool queue_touches(const struct rxe_queue *low, const struct rxe_queue *high)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes = (low->size + page - 1) & ~(page - 1);

	return low->buf && high->buf && (char *)low->buf + bytes == (char *)high->buf;
}

void rxe_queue_unmap_both(struct rxe_queue *a, struct rxe_queue *b)
{
	struct rxe_queue *low = a->buf < b->buf ? a : b, *high = low == a ? b : a;

	if (queue_touches(low, high)) {
		munmap(low->buf, (char *)high->buf + high->size - (char *)low->buf);
		*low = *high = (struct rxe_queue){};
		return;
	}
	rxe_queue_unmap(a);
	rxe_queue_unmap(b);
}
