/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of requests: their memory, and their doorbells in all forms. */
#include "providers/cxgb4/wqe.h"

enum {
	DB_ID_SHIFT = 15,
	SEGMENT = 128, /* bytes of registers for each queue of a page */
	SEGMENT_DOORBELL = 8,
	SEGMENT_COPY = 64,
	STALLS = 16, /* stores that let a T4 finish writes into its own memory */
};

const volatile uint8_t cx_never;

static void doorbell_choose(struct cx_ring *ring, const struct cx_context *ctx, uint32_t id)
{
	char *page = ring->registers.base;
	uint64_t at = (uint64_t)id * SEGMENT;

	ring->copy = NULL;
	if (ctx->chip == 4) {
		ring->doorbell = page;
		ring->id = id << DB_ID_SHIFT;
		ring->most = DB_MOST_T4;
		return;
	}
	ring->most = DB_MOST;
	if (at + SEGMENT > ring->registers.length) {
		/* The number selects the queue. */
		ring->doorbell = page + SEGMENT_DOORBELL;
		ring->id = id << DB_ID_SHIFT;
		return;
	}
	ring->doorbell = page + at + SEGMENT_DOORBELL;
	ring->id = 0;
	if (ctx->copies)
		ring->copy = page + at + SEGMENT_COPY;
}

int cx_ring_map(struct cx_ring *ring, struct cx_context *ctx, const struct cx_ring_answer *answer)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	int r;

	if (answer->slots < SEND_SLOTS || answer->slots > UINT16_MAX ||
	    (uint64_t)answer->slots * SLOT + STATUS_BYTES > answer->bytes) {
		verbs_err(ibctx, "the kernel grants a ring of %u slots in %llu bytes",
			  answer->slots, (unsigned long long)answer->bytes);
		return -EPROTO;
	}
	r = kit_page_map(ibctx, answer->registers_key, sysconf(_SC_PAGESIZE), PROT_WRITE,
			 &ring->registers);
	if (!r)
		r = kit_page_map(ibctx, answer->queue_key, answer->bytes, PROT_READ | PROT_WRITE,
				 &ring->queue);
	if (r < 0)
		return r;
	ring->by_kernel = ctx->by_kernel;
	ring->base = ring->queue.base;
	ring->slots = answer->slots;
	ring->status = ring->base + (size_t)ring->slots * SLOT;
	doorbell_choose(ring, ctx, answer->number & answer->mask);
	return 0;
}

void cx_ring_unmap(struct cx_ring *ring)
{
	kit_page_unmap(&ring->registers);
	kit_page_unmap(&ring->queue);
}

void cx_ring_put(struct cx_ring *ring, const uint64_t *words, uint32_t len16)
{
	uint32_t slots = slots_of(len16), rest = (ring->slots - ring->at) * SLOT;
	uint32_t bytes = ring->on_chip ? slots * SLOT : len16 * 16, first = min_of(bytes, rest);

	if (ring->on_chip)
		barrier_wc_start();
	memcpy(slot_of(ring, ring->at), words, first);
	if (unlikely(bytes > first))
		memcpy(ring->base, (const char *)words + first, bytes - first);
	if (ring->on_chip)
		barrier_wc_flush();
	ring->at += slots;
	if (ring->at >= ring->slots)
		ring->at -= ring->slots;
}

/* Ring the doorbell by a transition of the queue pair, which has no other effect. If the kernel
 * refuses, the next call announces these slots as well. */
static void kernel_ring(struct cx_ring *ring, uint32_t slots, struct cx_qp *qp, int kind)
{
	struct ibv_qp_attr attr = { .sq_psn = slots + ring->unannounced,
				    .rq_psn = slots + ring->unannounced };
	const struct verbs_modify_qp request = { .attr = &attr, .mask = kind };
	int r;

	barrier_to_device();
	r = uverbs_modify_qp(&qp->vqp, &request);
	ring->unannounced = r < 0 ? attr.sq_psn : 0;
	if (r < 0)
		verbs_err(qp->vqp.qp.context, "qp 0x%x: the kernel does not ring its doorbell: %s",
			  qp->number, strerror(-r));
}

/* A T4 may read a doorbell before a request that is in its own memory. */
static void chip_stall(const struct cx_ring *ring)
{
	char *word = ring->status + STATUS_POSTED;

	barrier_wc_start();
	for (uint32_t i = 0; i < STALLS; i++)
		*(volatile uint32_t *)(void *)(word + (ring->workaround ? 8 * i : 0)) = i;
	barrier_wc_flush();
}

static void device_ring(struct cx_ring *ring, uint32_t slots)
{
	while (slots) {
		uint32_t count = min_of(slots, ring->most);

		cx_register_write(ring->doorbell, ring->id | count);
		slots -= count;
	}
}

void cx_ring_announce(struct cx_ring *ring, uint32_t slots, struct cx_qp *qp, int kind)
{
	if (*ring->by_kernel) {
		kernel_ring(ring, slots, qp, kind);
	} else if (ring->most == DB_MOST_T4) {
		barrier_to_device();
		if (ring->on_chip)
			chip_stall(ring);
		device_ring(ring, slots);
	} else {
		barrier_wc_start();
		device_ring(ring, slots);
		barrier_wc_flush();
	}
	status_put(ring->status, STATUS_POSTED, ring->at);
}
