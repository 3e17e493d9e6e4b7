/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of records of a link. The producer side is under link->tx_lock. The stamp of a record
 * publishes it.
 */
#ifndef UROCE_SHM_RING_H
#define UROCE_SHM_RING_H

#include "providers/uroce/path/shm/shm.h"

static inline uint32_t shm_record_lines(uint32_t length)
{
	return (offsetof(struct shm_record, data) + length + SHM_LINE - 1) / SHM_LINE;
}

/* Return the offset in the ring of a free-running position. */
static inline uint32_t shm_ring_place(uint32_t ring_bytes, uint32_t position)
{
	return position & (ring_bytes - 1);
}

/* Return the next record to write; the next record to read. */
static inline struct shm_record *shm_record_tx(const struct shm_link *link)
{
	return (struct shm_record *)(link->tx_data + shm_ring_place(link->tx_bytes, link->tx_head));
}

static inline struct shm_record *shm_record_rx(const struct shm_link *link)
{
	return (struct shm_record *)(link->rx_data + shm_ring_place(link->rx_bytes, link->rx_head));
}

/* Read the position up to which the consumer has read. Ignore an impossible value. */
static inline void shm_ring_look(struct shm_link *link)
{
	/* Pairs with the consumer's release in uroce_shm_poll_link(). */
	uint32_t tail = atomic_load_explicit(&link->tx->tail, memory_order_acquire);

	if (likely(link->tx_head - tail <= link->tx_head - link->tx_tail))
		link->tx_tail = tail;
}

static inline bool shm_ring_room(struct shm_link *link, uint32_t bytes)
{
	if (likely(link->tx_room - (link->tx_head - link->tx_tail) >= bytes))
		return true;
	shm_ring_look(link);
	return link->tx_room - (link->tx_head - link->tx_tail) >= bytes;
}

static inline uint32_t shm_ring_to_end(uint32_t ring_bytes, uint32_t position)
{
	return ring_bytes - shm_ring_place(ring_bytes, position);
}

/*
 * Return the position at which the wide ring begins if the last record of the first ring is at
 * @position.
 */
static inline uint32_t shm_ring_move(const struct shm_link *link, uint32_t position)
{
	return position + shm_ring_to_end(link->wide_bytes, position);
}

/* Return whether the next record to read is complete. Pairs with shm_record_stamp(). */
static inline bool shm_record_there(const struct shm_link *link)
{
	return atomic_load_explicit(&shm_record_rx(link)->stamp, memory_order_acquire) ==
	       link->rx_stamp;
}

static inline void shm_record_stamp(struct shm_link *link, struct shm_record *record)
{
	uint64_t stamp = atomic_load_explicit(&link->tx_stamp, memory_order_relaxed);

	atomic_store_explicit(&record->stamp, stamp, memory_order_release);
	atomic_store_explicit(&link->tx_stamp, stamp + 1, memory_order_relaxed);
}

/* --- shm_ring.c --- */

/* Set up the first rings of the first strand, and switch a link to its wide rings. -ENOMEM: they
 * cannot be mapped. */
void uroce_shm_rings_begin(struct shm_peer *peer, unsigned int tx, unsigned int rx);
int uroce_shm_tx_widen(struct shm_link *link);
int uroce_shm_rx_widen(struct shm_link *link);
/*
 * Open the link of another strand to send by it. It begins with the wide rings. A record in the
 * ring of the first strand announces it to the peer. Return: 0; -EAGAIN: that ring has no room now;
 * -ENOMEM. Threads: any.
 */
int uroce_shm_link_open(struct shm_peer *peer, unsigned int strand);
/* Receive by the link of another strand from now on. -EPROTO: it is already open, or there is no
 * such strand; -ENOMEM. Under progress_lock. */
int uroce_shm_link_opened(struct shm_peer *peer, unsigned int strand);
/* Return the next record if there is no room up to tx_open: at the beginning of the ring, or in a
 * larger part of it. NULL: no room. */
struct shm_record *uroce_shm_record_wrap(struct shm_link *link, uint32_t bytes);
/*
 * Handle a ring full of unread records. Return: the next record of the wide ring if this was a
 * first ring; otherwise NULL.
 */
struct shm_record *uroce_shm_ring_full(struct shm_link *link);
/* Wrap: continue at the beginning of the ring if the consumer has read all records. */
void uroce_shm_wrap(struct shm_link *link);
/* Handle a changed first_page->sleeping: wake the consumer once in each sleep. */
void uroce_shm_peer_wake(struct shm_link *link);
/* Copy a payload into a record in the way that is fast for the distance to the consumer. Return: 0;
 * -EFAULT. */
int uroce_shm_record_copy(struct shm_link *link, void *dst, const void *src, uint32_t length);

/* Return contiguous room for a record of @length data bytes. NULL: the ring is full. */
static inline struct shm_record *shm_record_begin(struct shm_link *link, uint32_t length)
{
	uint32_t bytes = shm_record_lines(length) * SHM_LINE;

	if (unlikely(link->tx_head - link->tx_wrap >= SHM_WRAP) && bytes <= SHM_WRAP_RECORD)
		uroce_shm_wrap(link);
	if (unlikely(bytes > link->tx_open - shm_ring_place(link->tx_bytes, link->tx_head)))
		return uroce_shm_record_wrap(link, bytes);
	if (unlikely(!shm_ring_room(link, bytes)))
		return uroce_shm_ring_full(link);
	return shm_record_tx(link);
}

/*
 * Publish the record, then read "sleeping". Pairs with sleep_once() in thread.c: either the
 * consumer sees the record, or this thread sees that the consumer sleeps. If the consumer fences
 * for both sides (fence.h), a compiler barrier suffices here. Then this thread does not wait for
 * the cache line of the record.
 */
static inline void shm_record_commit(struct shm_link *link, struct shm_record *record,
				     uint32_t length)
{
	record->length = length;
	shm_record_stamp(link, record);
	if (likely(link->peer->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	link->tx_head += shm_record_lines(length) * SHM_LINE;
	if (unlikely(atomic_load_explicit(&link->peer->first_page->sleeping,
					  memory_order_relaxed) != link->tx_slept))
		uroce_shm_peer_wake(link);
}

#endif
