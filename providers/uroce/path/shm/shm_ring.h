/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of records. The producer's side is all under peer->tx_lock; a record is published by its
 * stamp.
 */
#ifndef UROCE_SHM_RING_H
#define UROCE_SHM_RING_H

#include "providers/uroce/path/shm/shm.h"

static inline uint32_t shm_record_lines(uint32_t length)
{
	return (offsetof(struct shm_record, data) + length + SHM_LINE - 1) / SHM_LINE;
}

/* The place in a ring. */
static inline uint32_t shm_ring_place(uint32_t ring_bytes, uint32_t position)
{
	return position & (ring_bytes - 1);
}

/* The next record to write, and to read. */
static inline struct shm_record *shm_record_tx(const struct shm_peer *peer)
{
	return (struct shm_record *)(peer->tx_data + shm_ring_place(peer->tx_bytes, peer->tx_head));
}

static inline struct shm_record *shm_record_rx(const struct shm_peer *peer)
{
	return (struct shm_record *)(peer->rx_data + shm_ring_place(peer->rx_bytes, peer->rx_head));
}

/* Up to where the consumer has read. A nonsense value is not taken. */
static inline void shm_ring_look(struct shm_peer *peer)
{
	/* Pairs with the consumer's release in uroce_shm_poll_peer(). */
	uint32_t tail = atomic_load_explicit(&peer->tx->tail, memory_order_acquire);

	if (likely(peer->tx_head - tail <= peer->tx_head - peer->tx_tail))
		peer->tx_tail = tail;
}

static inline bool shm_ring_room(struct shm_peer *peer, uint32_t bytes)
{
	if (likely(peer->tx_room - (peer->tx_head - peer->tx_tail) >= bytes))
		return true;
	shm_ring_look(peer);
	return peer->tx_room - (peer->tx_head - peer->tx_tail) >= bytes;
}

static inline uint32_t shm_ring_to_end(uint32_t ring_bytes, uint32_t position)
{
	return ring_bytes - shm_ring_place(ring_bytes, position);
}

/* Where the wide ring begins when the last record of the first one is at @position. */
static inline uint32_t shm_ring_move(const struct shm_peer *peer, uint32_t position)
{
	return position + shm_ring_to_end(peer->ring_bytes, position);
}

/* Whether the next record to read is there. Pairs with shm_record_stamp(). */
static inline bool shm_record_there(const struct shm_peer *peer)
{
	return atomic_load_explicit(&shm_record_rx(peer)->stamp, memory_order_acquire) ==
	       peer->rx_stamp;
}

static inline void shm_record_stamp(struct shm_peer *peer, struct shm_record *record)
{
	atomic_store_explicit(&record->stamp, peer->tx_stamp++, memory_order_release);
}

/* --- shm_ring.c --- */

/* The rings of a side to send and to receive by, as they are at first; and the wide ones. -ENOMEM:
 * they cannot be mapped. */
void uroce_shm_rings_begin(struct shm_peer *peer, unsigned int tx, unsigned int rx);
int uroce_shm_tx_widen(struct shm_peer *peer);
int uroce_shm_rx_widen(struct shm_peer *peer);
/* No room up to tx_open: goes on at the ring's beginning, or uses more of it. NULL: no room. */
struct shm_record *uroce_shm_record_wrap(struct shm_peer *peer, uint32_t bytes);
/* No room before what the consumer has not read yet. Return: NULL, or the next record of a wide
 * ring if this was the first one. */
struct shm_record *uroce_shm_ring_full(struct shm_peer *peer);
/* A lap is over: from its beginning again, if all was consumed. */
void uroce_shm_lap_end(struct shm_peer *peer);
/* The consumer sleeps, or does no longer: it is woken once in each sleep. */
void uroce_shm_ring_bell(struct shm_peer *peer);
/* A payload into a record, by the way that is fast to where the consumer is. Return: 0, -EFAULT. */
int uroce_shm_record_copy(struct shm_peer *peer, void *dst, const void *src, uint32_t length);

/* Room for a record of @length data bytes, contiguous. NULL: the ring is full. */
static inline struct shm_record *shm_record_begin(struct shm_peer *peer, uint32_t length)
{
	uint32_t bytes = shm_record_lines(length) * SHM_LINE;

	if (unlikely(peer->tx_head - peer->tx_lap >= SHM_LAP) && bytes <= SHM_LAP_RECORD)
		uroce_shm_lap_end(peer);
	if (unlikely(bytes > peer->tx_open - shm_ring_place(peer->tx_bytes, peer->tx_head)))
		return uroce_shm_record_wrap(peer, bytes);
	if (unlikely(!shm_ring_room(peer, bytes)))
		return uroce_shm_ring_full(peer);
	return shm_record_tx(peer);
}

/*
 * Publish, then look at "sleeping": pairs with sleep_once() in thread.c, so that either the
 * consumer sees the record or we see that it sleeps. Where it fences for both sides (fence.h) the
 * order is the compiler's only, and nobody waits for the record's cache line.
 */
static inline void shm_record_commit(struct shm_peer *peer, struct shm_record *record,
				     uint32_t length)
{
	record->length = length;
	shm_record_stamp(peer, record);
	if (likely(peer->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	peer->tx_head += shm_record_lines(length) * SHM_LINE;
	if (unlikely(atomic_load_explicit(&peer->front->sleeping, memory_order_relaxed) !=
		     peer->tx_slept))
		uroce_shm_ring_bell(peer);
}

#endif
