/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rare steps of a producer: the end of a ring, the early wrap for small records, the wake-up of
 * the consumer, and timing of copies. Also the links of strands.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm_ring.h"

enum {
	OPEN_TURNS = 64,  /* a stream's part of the ring grows by 1/64 in each turn */
	TIMED_MIN = 2048, /* bytes of the shortest copy that is timed */
	TIMED_NEAR = 16,  /* copies between two timed copies, */
	TIMED_FAR = 128,  /* and the same for copies that bypass the caches, because timing them is
			     slow */
	LINE_FAR = 4,	  /* ns: a line that takes longer may come from a far processor; */
	FAR_TIMES = 2,	  /* a far line takes at least this many times as long as a local one */
	FIRST_MOST = 4 * SHM_WRAP, /* if peers are few: bytes sent by a first ring before the link
				     gets the wide ring */
};

static uint32_t ring_place(const struct shm_link *link)
{
	return shm_ring_place(link->tx_bytes, link->tx_head);
}

static void record_skip(struct shm_link *link)
{
	struct shm_record *skip = shm_record_tx(link);

	link->tx_known = max_of(link->tx_known, ring_place(link));
	skip->kind = SHM_SKIP;
	shm_record_stamp(link, skip);
	link->tx_head += shm_ring_to_end(link->tx_bytes, link->tx_head);
}

/* --- the first rings, and the wide ones --- */

static bool is_wide(const struct shm_link *link)
{
	return link->tx_bytes == link->wide_bytes;
}

void uroce_shm_rings_begin(struct shm_peer *peer, unsigned int tx, unsigned int rx)
{
	struct shm_link *link = &peer->link;

	link->peer = peer;
	link->wide_bytes = peer->ring_bytes;
	link->tx_side = tx;
	link->rx_side = rx;
	link->tx = &peer->lane->ring[tx];
	link->rx = &peer->lane->ring[rx];
	link->tx_data = peer->lane->first[tx];
	link->rx_data = peer->lane->first[rx];
	link->tx_bytes = link->rx_bytes = link->tx_open = SHM_FIRST;
	link->tx_room = SHM_FIRST - SHM_LINE;
	peer->uses = &peer->lane->uses[tx];
	peer->used = &peer->lane->uses[rx];
	link->tx_stamp = link->tx->seed;
	link->rx_stamp = link->rx->seed;
}

/* Map and return the whole lane. The first page stays mapped as well, so that its users need not
 * check where it is. */
static struct shm_lane *wide_lane(struct shm_peer *peer)
{
	struct shm_lane *wide = atomic_load(&peer->wide), *none = NULL;
	size_t size = shm_lane_size(peer->ring_bytes);

	if (wide)
		return wide;
	wide = uroce_map_again(peer->lane, size);
	if (!wide)
		return NULL;
	if (atomic_compare_exchange_strong(&peer->wide, &none, wide))
		return wide;
	munmap(wide, size);
	return none;
}

/*
 * Return the data of a side's wide ring. The two rings of the first strand come first, then a pair
 * for each other strand.
 */
static uint8_t *wide_data(const struct shm_link *link, unsigned int side)
{
	struct shm_lane *wide = wide_lane(link->peer);
	size_t others = 2 * (size_t)link->peer->ring_bytes;

	if (!wide)
		return NULL;
	if (!link->strand)
		return wide->data + side * (size_t)link->wide_bytes;
	return wide->data + others + (2 * (link->strand - 1) + side) * (size_t)SHM_SPAN;
}

int uroce_shm_tx_widen(struct shm_link *link)
{
	uint8_t *data = wide_data(link, link->tx_side);

	if (!data)
		return -ENOMEM;
	link->tx_data = data;
	link->tx_bytes = link->tx_room = link->wide_bytes;
	link->tx_open = SHM_OPEN;
	return 0;
}

int uroce_shm_rx_widen(struct shm_link *link)
{
	uint8_t *data = wide_data(link, link->rx_side);

	if (!data)
		return -ENOMEM;
	link->rx_data = data;
	link->rx_bytes = link->wide_bytes;
	return 0;
}

/* --- links of other strands --- */

/* Return the link of another strand, allocated by the first side that wants it. */
static struct shm_link *link_get(struct shm_peer *peer, unsigned int strand)
{
	_Atomic(struct shm_link *) *place = &peer->links[strand - 1];
	struct shm_link *link = atomic_load_explicit(place, memory_order_acquire), *none = NULL;

	if (link)
		return link;
	link = aligned_alloc(alignof(struct shm_link), sizeof(*link));
	if (!link)
		return NULL;
	*link = (struct shm_link){ .peer = peer,
				   .strand = strand,
				   .wide_bytes = SHM_SPAN,
				   .tx_span = SHM_SPAN,
				   .tx_side = peer->link.tx_side,
				   .rx_side = peer->link.rx_side };
	link->tx = &peer->lane->other[strand - 1][link->tx_side];
	link->rx = &peer->lane->other[strand - 1][link->rx_side];
	link->tx_stamp = link->tx->seed;
	link->rx_stamp = link->rx->seed;
	if (atomic_compare_exchange_strong(place, &none, link))
		return link;
	free(link);
	return none;
}

/* Send SHM_STRAND before the first record by a link. Under the first strand's tx_lock. */
static int opening_say(struct shm_peer *peer, uint32_t strand)
{
	struct shm_record *record = shm_record_begin(&peer->link, sizeof(strand));

	if (!record)
		return -EAGAIN;
	record->kind = SHM_STRAND;
	record->has_ack = 0;
	memcpy(record->data, &strand, sizeof(strand));
	shm_record_commit(&peer->link, record, sizeof(strand));
	return 0;
}

int uroce_shm_link_open(struct shm_peer *peer, unsigned int strand)
{
	struct shm_link *link = link_get(peer, strand);
	int r = 0;

	if (!link)
		return -ENOMEM;
	uroce_lock(&peer->link.tx_lock);
	if (!link->tx_bytes)
		r = uroce_shm_tx_widen(link);
	if (!r && !atomic_load_explicit(&link->opened, memory_order_relaxed))
		r = opening_say(peer, strand);
	/* Pairs with shm_peer_link(). */
	if (!r)
		atomic_store_explicit(&link->opened, true, memory_order_release);
	uroce_unlock(&peer->link.tx_lock);
	return r;
}

int uroce_shm_link_opened(struct shm_peer *peer, unsigned int strand)
{
	struct shm_link *link;
	int r;

	assert_held(&peer->shm->host->progress_lock);
	if (!strand || strand >= PATH_STRANDS)
		return -EPROTO;
	link = link_get(peer, strand);
	if (!link)
		return -ENOMEM;
	if (link->rx_bytes)
		return -EPROTO;
	r = uroce_shm_rx_widen(link);
	if (r < 0)
		return r;
	path_strand_enter(peer->shm->host, strand);
	LIST_INSERT_HEAD(&peer->shm->links[strand], link, entry);
	path_strand_leave(peer->shm->host, strand);
	return 0;
}

/*
 * Switch to the wide ring, all of which is free. Unread records of the first ring do not matter,
 * because from now on the tail counts only for the wide ring.
 */
static struct shm_record *ring_move(struct shm_link *link)
{
	struct shm_record *last = shm_record_tx(link);

	if (uroce_shm_tx_widen(link) < 0)
		return NULL;
	last->kind = SHM_MOVE;
	shm_record_stamp(link, last);
	link->tx_head = link->tx_tail = link->tx_wrap = shm_ring_move(link, link->tx_head);
	return shm_record_tx(link);
}

/* Continue at the beginning of a first ring, which is large enough for little traffic. */
static struct shm_record *first_wrap(struct shm_link *link, uint32_t bytes)
{
	if (!shm_ring_room(link, shm_ring_to_end(link->tx_bytes, link->tx_head) + bytes))
		return ring_move(link);
	record_skip(link);
	return shm_record_tx(link);
}

/* --- */

struct shm_record *uroce_shm_ring_full(struct shm_link *link)
{
	if (!is_wide(link))
		return ring_move(link);
	link->tx_short = true;
	return NULL;
}

/*
 * Enlarge the part of the ring that is in use. The first write to a page allocates it, which takes
 * longer than filling it. Therefore a stream whose consumer keeps up enlarges the part a little in
 * each turn, and a burst enlarges it at once. Do not enlarge the part while the consumer is in the
 * previous turn. In this case the producer waits for unread records, and a larger part would not
 * help. Return: whether there is more room here than before.
 */
static bool ring_grow(struct shm_link *link)
{
	uint32_t unread = link->tx_head - link->tx_tail;
	bool behind = unread > ring_place(link);
	bool needed = !behind && link->tx_open < SHM_SPAN &&
		      (link->tx_short || unread > link->tx_open / 2);

	link->tx_short = false;
	if (needed)
		link->tx_open *= 2;
	else if (!behind)
		link->tx_open += link->tx_open / OPEN_TURNS;
	link->tx_open = min_of(link->tx_open, link->tx_span);
	return needed;
}

struct shm_record *uroce_shm_record_wrap(struct shm_link *link, uint32_t bytes)
{
	shm_ring_look(link);
	if (!is_wide(link))
		return first_wrap(link, bytes);
	if (!ring_grow(link) || bytes > link->tx_open - ring_place(link)) {
		if (!shm_ring_room(link, shm_ring_to_end(link->tx_bytes, link->tx_head) + bytes))
			return uroce_shm_ring_full(link);
		record_skip(link);
	}
	return shm_record_tx(link);
}

/*
 * Small records reuse lines that are still in the caches of both processors. A first ring is so
 * short that the producer reads the tail every few records, and the two processors keep exchanging
 * its cache line. Therefore a peer with much traffic gets the wide ring if peers are few.
 */
void uroce_shm_wrap(struct shm_link *link)
{
	shm_ring_look(link);
	if (!is_wide(link) && link->wide_bytes == SHM_RING_BYTES && link->tx_head >= FIRST_MOST)
		ring_move(link);
	else if (link->tx_tail == link->tx_head && ring_place(link) >= SHM_WRAP)
		record_skip(link);
	link->tx_wrap = link->tx_head;
}

void uroce_shm_peer_wake(struct shm_link *link)
{
	uint64_t one = 1;

	link->tx_slept =
		atomic_load_explicit(&link->peer->first_page->sleeping, memory_order_relaxed);
	if (link->tx_slept)
		(void)!uroce_call_write(link->peer->wake_fd, &one, sizeof(one));
}

/*
 * Time a copy. Return: ns; -EFAULT. A processor may buffer all these stores and continue. The fence
 * waits until they are done.
 */
static int64_t copy_time(uint8_t *dst, const uint8_t *src)
{
	uint64_t start = uroce_now();

	if (uroce_copy(dst, src, TIMED_MIN) < 0)
		return -EFAULT;
	atomic_thread_fence(memory_order_seq_cst);
	return uroce_now() - start;
}

/*
 * Copy, and time the first lines of @dst. The payload's lines are loaded before the timing, and the
 * time of reading the clock is subtracted. On a slow or emulated processor local memory takes as
 * long, so compare with a local copy.
 */
static int copy_timed(struct shm_link *link, uint8_t *dst, const uint8_t *src, uint32_t length)
{
	uint8_t here[TIMED_MIN], own[TIMED_MIN];
	int r = uroce_copy(here, src, sizeof(here));
	int64_t near_ns, ns, clock;
	bool far;

	if (r < 0)
		return r;
	near_ns = copy_time(own, here);
	ns = copy_time(dst, here);
	if (near_ns < 0 || ns < 0)
		return -EFAULT;
	clock = uroce_now();
	clock = uroce_now() - clock;
	far = ns - clock > LINE_FAR * (TIMED_MIN / SHM_LINE) &&
	      ns - clock > FAR_TIMES * (near_ns - clock);
	/*
	 * One slow copy may be chance, because the thread may have lost its processor. Two in a row
	 * count.
	 */
	link->tx_past = far && link->tx_far;
	link->tx_blind = link->tx_past ? TIMED_FAR : far ? 0 : TIMED_NEAR;
	link->tx_far = far;
	return uroce_copy(dst + sizeof(here), src + sizeof(here), length - sizeof(here));
}

/*
 * Return whether timing this copy measures the distance to the consumer. It does only if the pages
 * of the ring exist.
 */
static bool copy_tells(const struct shm_link *link, const uint8_t *dst, uint32_t length)
{
	return length <= SHM_SEGMENT && (size_t)(dst - link->tx_data) + length <= link->tx_known;
}

/*
 * Two processors that share no cache transfer a line by request and response, a few lines at a
 * time. Stores that bypass the caches need no request. Time copies again and again, because
 * processes move.
 */
int uroce_shm_record_copy(struct shm_link *link, void *dst, const void *src, uint32_t length)
{
	if (length < TIMED_MIN)
		return uroce_copy(dst, src, length);
	if (link->tx_blind)
		link->tx_blind--;
	else if (copy_tells(link, dst, length))
		return copy_timed(link, dst, src, length);
	return link->tx_past ? uroce_copy_past(dst, src, length) : uroce_copy(dst, src, length);
}
