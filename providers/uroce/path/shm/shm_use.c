/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this process copies to or from in the memory of its peers. It says so in the lane before it
 * looks whether it may, so that the owner of that memory can take the permission back and then wait
 * for those at work (board.c).
 */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

/* Threads of different strands do not take each other's line. */
atomic_uint *shm_use_begin(struct shm_peer *peer, unsigned int strand, uint32_t key, uint32_t qpn)
{
	atomic_uint *uses = peer->uses->use[strand];
	uint32_t use = shm_use(key, qpn);

	for (int i = 0; i < SHM_USES; i++) {
		unsigned int unused = 0;

		/* seq_cst: before the look at the board. */
		if (atomic_compare_exchange_strong_explicit(
			    &uses[i], &unused, use, memory_order_seq_cst, memory_order_relaxed))
			return &uses[i];
	}
	return NULL;
}
