/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings in memory that process and device share. Two words say how far each of them is: who fills
 * the ring writes the tail, who empties it the head. They count to twice the number of entries, a
 * power of 2, so that a full ring is another one than an empty one.
 *
 * The device may write both words. What this process counts is kept beside the ring, and of the
 * words only the device's is read, and checked.
 */
#ifndef PVRDMA_RING_H
#define PVRDMA_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

/* Two of these are at the beginning of a page: of what is sent, and of what is received. */
struct pvrdma_words {
	atomic_uint tail, head;
};

struct pvrdma_ring {
	struct pvrdma_words *words;
	char *slots;
	uint32_t entries; /* 0: there is none */
	uint32_t mask;	  /* of both words */
	uint32_t shift;	  /* of a slot's bytes */
	uint32_t index;	  /* the process's word, as it is to be */
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

/* Of a ring that the process fills: how many entries are free. */
static inline uint32_t pvrdma_ring_room(const struct pvrdma_ring *ring)
{
	/* acquire: the device has read the slots that it gives back */
	uint32_t head = atomic_load_explicit(&ring->words->head, memory_order_acquire);
	uint32_t mask = ring->mask, used = (ring->index - head) & mask;

	/* What is no such word, or more than there are, no ring is like. */
	if (unlikely(head > mask) || unlikely(used > ring->entries))
		return 0;
	return ring->entries - used;
}

/* Both sides begin anew. */
static inline void pvrdma_ring_reset(struct pvrdma_ring *ring)
{
	ring->index = 0;
	atomic_store_explicit(&ring->words->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->words->head, 0, memory_order_relaxed);
}

#endif
