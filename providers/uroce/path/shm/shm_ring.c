/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a producer does now and then: the end of a ring and of a lap, a bell, a look at the clock.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm_ring.h"

enum {
	OPEN_TURNS = 64,  /* a stream's ring grows by one part of so many, each turn */
	TIMED_MIN = 2048, /* bytes: a shorter copy says too little */
	TIMED_NEAR = 16,  /* copies from one that is timed to the next, */
	TIMED_FAR = 128,  /* and past the caches: the one is slow */
	LINE_FAR = 20,	  /* ns: a line that takes so long comes from far away */
};

static uint32_t ring_place(const struct shm_peer *peer)
{
	return shm_ring_place(peer->tx_bytes, peer->tx_head);
}

static void record_skip(struct shm_peer *peer)
{
	struct shm_record *skip = shm_record_tx(peer);

	peer->tx_known = max_of(peer->tx_known, ring_place(peer));
	skip->kind = SHM_SKIP;
	shm_record_stamp(peer, skip);
	peer->tx_head += shm_ring_to_end(peer->tx_bytes, peer->tx_head);
}

/* --- the first rings, and the wide ones --- */

static bool is_wide(const struct shm_peer *peer)
{
	return peer->tx_bytes == peer->ring_bytes;
}

void uroce_shm_rings_begin(struct shm_peer *peer, unsigned int tx, unsigned int rx)
{
	peer->tx = &peer->lane->ring[tx];
	peer->rx = &peer->lane->ring[rx];
	peer->tx_data = peer->lane->first[tx];
	peer->rx_data = peer->lane->first[rx];
	peer->tx_bytes = peer->rx_bytes = peer->tx_open = SHM_FIRST;
	peer->tx_room = SHM_FIRST - SHM_LINE;
	peer->uses = &peer->lane->uses[tx];
	peer->used = &peer->lane->uses[rx];
	peer->tx_stamp = peer->tx->seed;
	peer->rx_stamp = peer->rx->seed;
}

/* Of a ring, by its place among the heads. The same memory once more: who uses the first page need
 * not look where it is. */
static uint8_t *wide_data(struct shm_peer *peer, const struct shm_ring *ring)
{
	struct shm_lane *wide = atomic_load(&peer->wide), *none = NULL;
	size_t size = shm_lane_size(peer->ring_bytes);

	if (!wide) {
		wide = mremap(peer->lane, 0, size, MREMAP_MAYMOVE);
		if (wide == MAP_FAILED)
			return NULL;
		if (!atomic_compare_exchange_strong(&peer->wide, &none, wide)) {
			munmap(wide, size);
			wide = none;
		}
	}
	return wide->data + (ring - peer->lane->ring) * (size_t)peer->ring_bytes;
}

int uroce_shm_tx_widen(struct shm_peer *peer)
{
	uint8_t *data = wide_data(peer, peer->tx);

	if (!data)
		return -ENOMEM;
	peer->tx_data = data;
	peer->tx_bytes = peer->tx_room = peer->ring_bytes;
	peer->tx_open = SHM_OPEN;
	return 0;
}

int uroce_shm_rx_widen(struct shm_peer *peer)
{
	uint8_t *data = wide_data(peer, peer->rx);

	if (!data)
		return -ENOMEM;
	peer->rx_data = data;
	peer->rx_bytes = peer->ring_bytes;
	return 0;
}

/* All of the wide ring is free, whatever of the first one has not been read: what is said of that
 * is no longer looked at. */
static struct shm_record *ring_move(struct shm_peer *peer)
{
	struct shm_record *last = shm_record_tx(peer);

	if (uroce_shm_tx_widen(peer) < 0)
		return NULL;
	last->kind = SHM_MOVE;
	shm_record_stamp(peer, last);
	peer->tx_head = peer->tx_tail = peer->tx_lap = shm_ring_move(peer, peer->tx_head);
	return shm_record_tx(peer);
}

/* As long as little is said that suffices. */
static struct shm_record *first_wrap(struct shm_peer *peer, uint32_t bytes)
{
	if (!shm_ring_room(peer, shm_ring_to_end(peer->tx_bytes, peer->tx_head) + bytes))
		return ring_move(peer);
	record_skip(peer);
	return shm_record_tx(peer);
}

/* --- */

struct shm_record *uroce_shm_ring_full(struct shm_peer *peer)
{
	if (!is_wide(peer))
		return ring_move(peer);
	peer->tx_short = true;
	return NULL;
}

/*
 * Memory is had when it is first written, and that takes longer than to fill it. So a stream whose
 * consumer keeps up takes a little more with each turn, and a burst what it needs at once; not
 * while the consumer is in the turn before, for then what it has not read is in the way, not the
 * end. Return: whether there is more here than before.
 */
static bool ring_grow(struct shm_peer *peer)
{
	uint32_t unread = peer->tx_head - peer->tx_tail;
	bool behind = unread > ring_place(peer);
	bool needed = !behind && peer->tx_open < SHM_SPAN &&
		      (peer->tx_short || unread > peer->tx_open / 2);

	peer->tx_short = false;
	if (needed)
		peer->tx_open *= 2;
	else if (!behind)
		peer->tx_open += peer->tx_open / OPEN_TURNS;
	peer->tx_open = min_of(peer->tx_open, peer->tx_span);
	return needed;
}

struct shm_record *uroce_shm_record_wrap(struct shm_peer *peer, uint32_t bytes)
{
	shm_ring_look(peer);
	if (!is_wide(peer))
		return first_wrap(peer, bytes);
	if (!ring_grow(peer) || bytes > peer->tx_open - ring_place(peer)) {
		if (!shm_ring_room(peer, shm_ring_to_end(peer->tx_bytes, peer->tx_head) + bytes))
			return uroce_shm_ring_full(peer);
		record_skip(peer);
	}
	return shm_record_tx(peer);
}

/* Lines of small records that were used a moment ago are still in both processors' caches. */
void uroce_shm_lap_end(struct shm_peer *peer)
{
	shm_ring_look(peer);
	if (peer->tx_tail == peer->tx_head && ring_place(peer) >= SHM_LAP)
		record_skip(peer);
	peer->tx_lap = peer->tx_head;
}

void uroce_shm_ring_bell(struct shm_peer *peer)
{
	uint64_t one = 1;

	peer->tx_slept = atomic_load_explicit(&peer->front->sleeping, memory_order_relaxed);
	if (peer->tx_slept)
		(void)!write(peer->bell, &one, sizeof(one));
}

/*
 * And sees how long the lines of @dst take: the payload's own have come before, and the clock's own
 * time is not counted.
 */
static int copy_timed(struct shm_peer *peer, void *dst, const void *src, uint32_t length)
{
	uint8_t here[SHM_SEGMENT];
	int r = uroce_copy(here, src, length);
	uint64_t start = uroce_now(), end, clock;
	bool far;

	if (!r)
		r = uroce_copy(dst, here, length);
	if (r < 0)
		return r;
	end = uroce_now();
	clock = uroce_now() - end;
	far = end - start > clock + (uint64_t)LINE_FAR * (length / SHM_LINE);
	/* Once is chance: a processor that was lost meanwhile. */
	peer->tx_past = far && peer->tx_far;
	peer->tx_blind = peer->tx_past ? TIMED_FAR : far ? 0 : TIMED_NEAR;
	peer->tx_far = far;
	return 0;
}

/* A copy says how far the consumer is if it writes to memory that is there. */
static bool copy_tells(const struct shm_peer *peer, const uint8_t *dst, uint32_t length)
{
	return length <= SHM_SEGMENT && (size_t)(dst - peer->tx_data) + length <= peer->tx_known;
}

/*
 * Two processors that share no cache hand each other a line by asking and being answered, a few
 * lines at a time: what goes past the caches needs no asking. And processes move.
 */
int uroce_shm_record_copy(struct shm_peer *peer, void *dst, const void *src, uint32_t length)
{
	if (length < TIMED_MIN)
		return uroce_copy(dst, src, length);
	if (peer->tx_blind)
		peer->tx_blind--;
	else if (copy_tells(peer, dst, length))
		return copy_timed(peer, dst, src, length);
	return peer->tx_past ? uroce_copy_past(dst, src, length) : uroce_copy(dst, src, length);
}
