/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The producer's side of a ring of records. A record is written where the consumer does not look
 * yet, and published by its first word. All under peer->tx_lock.
 */
#ifndef UROCE_SHM_RING_H
#define UROCE_SHM_RING_H

#include "providers/uroce/shm.h"

static inline uint32_t shm_record_lines(uint32_t length)
{
	return (sizeof(struct shm_record) + length + SHM_LINE - 1) / SHM_LINE;
}

static inline struct shm_record *shm_record_at(struct shm_ring *ring, uint32_t position)
{
	return (struct shm_record *)(ring->data + (position & SHM_RING_MASK));
}

static inline bool shm_ring_room(struct shm_peer *peer, uint32_t bytes)
{
	if (likely(SHM_RING_BYTES - (peer->tx_head - peer->tx_tail) >= bytes))
		return true;
	/* Pairs with the consumer's release in uroce_shm_poll_peer(). A nonsense value only makes
	 * the ring look full. */
	peer->tx_tail = atomic_load_explicit(&peer->tx->tail, memory_order_acquire);
	return peer->tx_head - peer->tx_tail <= SHM_RING_BYTES &&
	       SHM_RING_BYTES - (peer->tx_head - peer->tx_tail) >= bytes;
}

static inline uint32_t shm_ring_to_end(const struct shm_peer *peer)
{
	return SHM_RING_BYTES - (peer->tx_head & SHM_RING_MASK);
}

static inline void shm_record_clear(struct shm_peer *peer, uint32_t position)
{
	atomic_store_explicit(&shm_record_at(peer->tx, position)->lines, 0, memory_order_relaxed);
}

/* What is left up to the end of the ring becomes a record of its own. NULL: no room. */
struct shm_record *uroce_shm_record_wrap(struct shm_peer *peer, uint32_t bytes);
/* A lap is over: from its beginning again, if all was consumed. */
void uroce_shm_lap_end(struct shm_peer *peer);

/*
 * Room for a record of @length data bytes, contiguous, and for the empty header behind it. NULL:
 * the ring is full.
 */
static inline struct shm_record *shm_record_begin(struct shm_peer *peer, uint32_t length)
{
	uint32_t bytes = shm_record_lines(length) * SHM_LINE;

	if (unlikely((int32_t)(peer->tx_head - peer->tx_lap) >= 0))
		uroce_shm_lap_end(peer);
	if (unlikely(bytes > shm_ring_to_end(peer)))
		return uroce_shm_record_wrap(peer, bytes);
	return shm_ring_room(peer, bytes + SHM_LINE) ? shm_record_at(peer->tx, peer->tx_head)
						     : NULL;
}

/* The consumer is asleep: wake it. */
void uroce_shm_ring_bell(struct shm_peer *peer);

/*
 * Publish, then look at "sleeping": pairs with sleep_once() in thread.c, so that either the
 * consumer sees the record or we see that it sleeps. Where it fences for both sides (fence.h) the
 * order is the compiler's only, and nobody waits for the record's cache line.
 */
static inline void shm_record_commit(struct shm_peer *peer, struct shm_record *record,
				     uint32_t length)
{
	uint32_t bytes = shm_record_lines(length) * SHM_LINE;

	record->length = length;
	shm_record_clear(peer, peer->tx_head + bytes);
	atomic_store_explicit(&record->lines, bytes / SHM_LINE, memory_order_release);
	if (likely(peer->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	peer->tx_head += bytes;
	if (unlikely(atomic_load_explicit(&peer->board->sleeping, memory_order_relaxed)))
		uroce_shm_ring_bell(peer);
}

#endif
