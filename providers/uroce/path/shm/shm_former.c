/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Former peers: their processes have ended, and only their structs are left. Address vectors may
 * name such a struct until the application destroys its QP, so the structs are freed later, many at
 * a time.
 */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	FORMER_LEAST =
		16, /* minimum number of former peers that makes a walk over all QPs worthwhile */
};

void shm_former_add(struct uroce_shm *shm, struct shm_peer *peer)
{
	pthread_mutex_lock(&shm->lock);
	LIST_INSERT_HEAD(&shm->gone, peer, entry);
	shm->gone_count++;
	pthread_cond_broadcast(&shm->changed);
	pthread_mutex_unlock(&shm->lock);
}

bool uroce_shm_former_many(struct uroce_shm *shm)
{
	struct shm_peer *peer;

	if (likely(shm->gone_count < FORMER_LEAST + 2 * shm->gone_kept))
		return false;
	/*
	 * seq_cst: these peers have left the table, so a thread that searches it from here on finds
	 * none of them.
	 */
	if (atomic_load(&shm->finders))
		return false;
	LIST_FOREACH(peer, &shm->gone, entry)
		peer->named = false;
	return true;
}

void uroce_shm_former_free(struct uroce_shm *shm)
{
	struct shm_peer *peer, *next;

	pthread_mutex_lock(&shm->lock);
	for (peer = LIST_FIRST(&shm->gone); peer; peer = next) {
		next = LIST_NEXT(peer, entry);
		if (peer->named)
			continue;
		LIST_REMOVE(peer, entry);
		shm_peer_free(peer);
		shm->gone_count--;
	}
	shm->gone_kept = shm->gone_count;
	pthread_mutex_unlock(&shm->lock);
}
