/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiting for a peer, without a lock, and repeating attempts that ended without a result. Also
 * calling processes before a thread waits for them.
 */
#include <time.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	TICK_MS = 100, /* longest sleep of a waiting thread between two checks */
	PAUSE_MS = 1, /* before an attempt is repeated: the first pause, which doubles each time, */
	PAUSE_MAX_MS = 64, /* up to this */
	AHEAD_MIN = 8,	   /* a process with fewer peers does not call ahead */
	AHEAD_MAX = 64,	   /* unasked calls at a time, at most */
};
#define MS 1000000ull /* ns */
#define NS 1000000000ull

static void wait_until(struct uroce_shm *shm, uint64_t time)
{
	struct timespec at = { .tv_sec = time / NS, .tv_nsec = time % NS };

	pthread_cond_timedwait(&shm->changed, &shm->lock, &at);
}

/* Wait after an attempt without a result, so that other threads and processes can run. */
static void pause_for(struct uroce_shm *shm, unsigned int ms)
{
	uint64_t until = uroce_now() + ms * MS;

	while (uroce_now() < until)
		wait_until(shm, until);
}

/* --- calls ahead of a waiting thread; under shm->lock --- */

static void call_ask_for(struct uroce_shm *shm, struct shm_call *call)
{
	unsigned int old = atomic_fetch_or(&call->wish, SHM_ASKED);

	if (old & SHM_ASKED)
		return;
	atomic_fetch_add(&shm->asked, 1);
	if (old & SHM_AHEAD)
		atomic_fetch_sub(&shm->ahead, 1);
}

static void call_was_ahead(struct uroce_shm *shm, struct shm_call *call)
{
	if (!(atomic_fetch_or(&call->wish, SHM_AHEAD) & SHM_ASKED))
		atomic_fetch_add(&shm->ahead, 1);
}

void shm_call_wish_end(struct uroce_shm *shm, uint16_t slot)
{
	struct shm_call *call = uroce_shm_call_known(shm, slot);

	if (call && atomic_exchange(&call->wish, 0) == SHM_AHEAD)
		atomic_fetch_sub(&shm->ahead, 1);
}

static bool may_call_ahead(struct uroce_shm *shm, const struct shm_call *call)
{
	return call->conn < 0 && !atomic_load(&call->wish) &&
	       !atomic_load_explicit(&call->refused, memory_order_relaxed) &&
	       !path_host_has_slot(shm->host, call->slot) && !shm_peer_lookup(shm, call->slot);
}

/*
 * Return how many processes to call ahead: as many as threads of this process have asked for, minus
 * the calls ahead that are still unused.
 */
static unsigned int ahead_budget(const struct uroce_shm *shm)
{
	unsigned int asked = shm->asked, ahead = shm->ahead;
	unsigned int most = min_of(asked, (unsigned int)AHEAD_MAX);

	return asked < AHEAD_MIN || ahead >= most ? 0 : most - ahead;
}

/*
 * Call the processes behind @slot as well. A process that has asked for several peers probably
 * wants the next ones, too, because often all processes communicate with all others. A called
 * process that gets the processor then answers many calls at once. Used slots follow each other, so
 * stop at the first slot that cannot be called.
 */
static void call_ahead(struct uroce_shm *shm, uint16_t slot)
{
	unsigned int budget = ahead_budget(shm);

	for (unsigned int next = slot + 1; budget && next < UROCE_FIRST_SLOTS; next++) {
		struct shm_call *call = shm_call_of(shm, next);

		if (!call)
			return;
		if (!may_call_ahead(shm, call))
			continue;
		shm_call_by(shm, call, shm_slot_connect(next));
		if (call->conn < 0)
			return;
		call_was_ahead(shm, call);
		budget--;
	}
}

/* --- waiting --- */

/* Wait for the end of attempts. The caller holds shm->lock, which is released during the wait. */
static int attempts_await(struct uroce_shm *shm, struct shm_call *call, struct shm_peer **ret_peer)
{
	uint64_t end = uroce_now() + shm->patience;
	unsigned int ended = call->ended, pause = PAUSE_MS;
	uint16_t slot = call->slot;
	bool ahead = false;

	while (uroce_now() < end) {
		*ret_peer = shm_peer_lookup(shm, slot);
		if (*ret_peer && shm_life_lasts(*ret_peer) && shm_peer_await(*ret_peer))
			return 0;
		if (call->ended == ended)
			shm_call_try(shm, call);
		if (call->ended == ended && !ahead)
			call_ahead(shm, slot);
		ahead = true;
		if (call->ended == ended) {
			wait_until(shm, min_of(end, uroce_now() + TICK_MS * MS));
			continue;
		}
		ended = call->ended;
		if (uroce_shm_agreed(call->result) || shm_is_own_lack(call->result))
			return call->result;
		pause_for(shm, pause);
		pause = min_of(2 * pause, (unsigned int)PAUSE_MAX_MS);
	}
	return -ETIMEDOUT;
}

static int call_await(struct uroce_shm *shm, uint16_t slot, struct shm_peer **ret_peer)
{
	struct shm_call *call = shm_call_of(shm, slot);
	int r;

	if (!call)
		return -ENOMEM;
	call->waiters++;
	r = attempts_await(shm, call, ret_peer);
	call->waiters--;
	return r;
}

int uroce_shm_peer(struct uroce_shm *shm, uint16_t slot, struct shm_peer **ret_peer)
{
	struct shm_peer *peer = shm_peer_lookup(shm, slot);
	struct shm_call *call = shm_call_of(shm, slot);
	int r;

	if (call)
		call_ask_for(shm, call);
	if (peer && shm_peer_ready(peer) && shm_life_lasts(peer)) {
		*ret_peer = peer;
		return 0;
	}
	pthread_mutex_lock(&shm->lock);
	if (path_host_has_slot(shm->host, slot))
		r = shm_peer_self(shm, ret_peer);
	else
		r = call_await(shm, slot, ret_peer);
	pthread_mutex_unlock(&shm->lock);
	return r;
}
