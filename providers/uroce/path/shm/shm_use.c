/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announcing copies to or from memory of peers. A thread writes its use to the lane before it
 * checks the permission. Therefore the owner of that memory can revoke the permission and then wait
 * for the copies under way (board.c).
 */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

/* Each strand has its own uses, so that threads of different strands do not share a cache line. */
atomic_uint *shm_use_begin(struct shm_peer *peer, unsigned int strand, uint32_t key, uint32_t qpn)
{
	atomic_uint *uses = peer->uses->use[strand];
	uint32_t use = shm_use(key, qpn);

	for (int i = 0; i < SHM_USES; i++) {
		unsigned int unused = 0;

		/* seq_cst: before reading the board. */
		if (atomic_compare_exchange_strong_explicit(
			    &uses[i], &unused, use, memory_order_seq_cst, memory_order_relaxed))
			return &uses[i];
	}
	return NULL;
}
