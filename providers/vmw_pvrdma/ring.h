/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings in memory that process and device share. Two words hold the positions: the producer writes
 * the tail, and the consumer writes the head. They count to twice the number of entries, a power of
 * 2. Therefore full and empty rings differ.
 *
 * The device can write both words. This process keeps its own position outside of the shared
 * memory. It reads only the word of the device, and checks it.
 */
#ifndef PVRDMA_RING_H
#define PVRDMA_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

/* The first page begins with two of these: for sends and for receives. */
struct pvrdma_words {
	atomic_uint tail, head;
};

struct pvrdma_ring {
	struct pvrdma_words *words;
	char *slots;
	uint32_t entries; /* 0: no ring */
	uint32_t mask;	  /* mask of both words */
	uint32_t shift;	  /* log2 of the bytes of a slot */
	uint32_t index;	  /* position of the process */
};

/* @entries: a power of 2, or 0 */
static inline struct pvrdma_ring pvrdma_ring_make(struct pvrdma_words *words, void *slots,
						  uint32_t entries, uint32_t shift)
{
	return (struct pvrdma_ring){
		.words = words,
		.slots = slots,
		.entries = entries,
		.mask = 2 * entries - 1,
		.shift = shift,
	};
}

static inline uint32_t pvrdma_ring_next(const struct pvrdma_ring *ring, uint32_t index)
{
	return (index + 1) & ring->mask;
}

static inline void *pvrdma_ring_slot(const struct pvrdma_ring *ring, uint32_t index)
{
	return ring->slots + ((size_t)(index & (ring->entries - 1)) << ring->shift);
}

/* Return the number of free entries of a ring that the process fills. */
static inline uint32_t pvrdma_ring_room(const struct pvrdma_ring *ring)
{
	/* acquire: the device has read the slots that it returns */
	uint32_t head = atomic_load_explicit(&ring->words->head, memory_order_acquire);
	uint32_t mask = ring->mask, used = (ring->index - head) & mask;

	/* An invalid word of the device leaves no room. */
	if (unlikely(head > mask) || unlikely(used > ring->entries))
		return 0;
	return ring->entries - used;
}

/* Reset the positions of both sides. */
static inline void pvrdma_ring_reset(struct pvrdma_ring *ring)
{
	ring->index = 0;
	atomic_store_explicit(&ring->words->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->words->head, 0, memory_order_relaxed);
}

#endif
