/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a producer does now and then: the end of a ring and of a lap, a bell, a look at the clock.
 */
#include <unistd.h>

#include "providers/uroce/copy.h"
#include "providers/uroce/shm_ring.h"

enum {
	OPEN_TURNS = 64,
	TIMED_MIN = 1024, /* bytes: a shorter copy says too little */
	TIMED_NEAR = 16,  /* copies from one that is timed to the next, */
	TIMED_FAR = 128,  /* and past the caches: the one is slow */
	LINE_FAR = 20,	  /* ns: a line that takes so long comes from far away */
};

static void record_skip(struct shm_peer *peer)
{
	struct shm_record *skip = shm_record_at(peer->tx, peer->tx_head);

	skip->kind = SHM_SKIP;
	shm_record_stamp(peer, skip);
	peer->tx_head += shm_ring_to_end(peer->tx_head);
}

/*
 * Memory is had when it is first written, and that takes longer than to fill it: so a burst takes
 * what it needs, and a stream a little more with each turn.
 */
struct shm_record *uroce_shm_record_wrap(struct shm_peer *peer, uint32_t bytes)
{
	bool over = shm_ring_room(peer, shm_ring_to_end(peer->tx_head) + bytes);
	uint32_t more = over ? peer->tx_open / OPEN_TURNS : SHM_OPEN;

	peer->tx_open += min_of(more, peer->tx_span - peer->tx_open);
	if (over)
		record_skip(peer);
	else if (bytes > peer->tx_open - (peer->tx_head & SHM_RING_MASK) ||
		 !shm_ring_room(peer, bytes))
		return NULL;
	return shm_record_at(peer->tx, peer->tx_head);
}

/* Lines of small records that were used a moment ago are still in both processors' caches. */
void uroce_shm_lap_end(struct shm_peer *peer)
{
	peer->tx_tail = atomic_load_explicit(&peer->tx->tail, memory_order_acquire);
	if (peer->tx_tail == peer->tx_head && (peer->tx_head & SHM_RING_MASK))
		record_skip(peer);
	peer->tx_lap = peer->tx_head + SHM_LAP;
}

void uroce_shm_ring_bell(struct shm_peer *peer)
{
	uint64_t one = 1;

	if (atomic_exchange_explicit(&peer->board->sleeping, 0, memory_order_relaxed))
		(void)!write(peer->bell, &one, sizeof(one));
}

static bool copy_far(uint64_t ns, uint32_t length)
{
	return ns > (uint64_t)LINE_FAR * (length / SHM_LINE);
}

static int copy_timed(struct shm_peer *peer, void *dst, const void *src, uint32_t length)
{
	uint64_t start = uroce_now();
	int r = uroce_copy(dst, src, length);

	peer->tx_past = !r && copy_far(uroce_now() - start, length);
	peer->tx_blind = peer->tx_past ? TIMED_FAR : TIMED_NEAR;
	return r;
}

/*
 * Two processors that share no cache hand each other a line by asking and being answered, a few
 * lines at a time: what goes past the caches needs no asking. And processes move.
 */
int uroce_shm_record_copy(struct shm_peer *peer, void *dst, const void *src, uint32_t length)
{
	if (length < TIMED_MIN)
		return uroce_copy(dst, src, length);
	if (!peer->tx_blind)
		return copy_timed(peer, dst, src, length);
	peer->tx_blind--;
	return peer->tx_past ? uroce_copy_past(dst, src, length) : uroce_copy(dst, src, length);
}
