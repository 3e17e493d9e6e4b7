/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this process shows to its peers, so that an initiator can act alone: which QPs receive, and
 * which regions they may reach. The owner's tables stay what counts for packets; a peer can only
 * fool itself with what it writes here.
 */
#include <sched.h>
#include <time.h>

#include "providers/uroce/path/shm/shm.h"

enum {
	USERS_PATIENCE = 1000, /* ms a withdrawn region waits for initiators: one may be stopped */
};

static struct shm_qp *own_entry(struct uroce_shm *shm, uint32_t qpn)
{
	return &shm->board->qps[uroce_qpn_index(qpn)];
}

void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t access,
			 uint32_t peer_qpn)
{
	struct shm_qp *entry = own_entry(shm, qpn);

	atomic_store_explicit(&entry->pd, pd, memory_order_relaxed);
	atomic_store_explicit(&entry->peer, peer_qpn, memory_order_relaxed);
	/* Pairs with the initiator's acquire in shm_rdma(). */
	atomic_store_explicit(&entry->access, access | SHM_QP_READY, memory_order_release);
}

void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn)
{
	atomic_store_explicit(&own_entry(shm, qpn)->access, 0, memory_order_release);
}

/* --- regions --- */

static struct shm_key *key_entry(struct uroce_shm *shm, uint32_t key)
{
	uint32_t index = key >> UROCE_KEY_VARIANT_BITS;

	return index < SHM_KEYS ? &shm->board->keys[index] : NULL;
}

void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region)
{
	struct shm_key *entry = key_entry(shm, key);

	if (!entry)
		return;
	atomic_store_explicit(&entry->iova, region->iova, memory_order_relaxed);
	atomic_store_explicit(&entry->length, region->length, memory_order_relaxed);
	atomic_store_explicit(&entry->base, region->base, memory_order_relaxed);
	atomic_store_explicit(&entry->pd, region->pd, memory_order_relaxed);
	atomic_store_explicit(&entry->access, region->access, memory_order_relaxed);
	atomic_store_explicit(&entry->segment, 0, memory_order_relaxed);
	/* Pairs with key_begin() in shm_rdma.c: who sees the key sees its range. */
	atomic_store_explicit(&entry->key, key, memory_order_seq_cst);
}

void uroce_board_key_place(struct uroce_shm *shm, uint32_t key, uint64_t segment, uint64_t place)
{
	struct shm_key *entry = key_entry(shm, key);

	if (!entry)
		return;
	atomic_store_explicit(&entry->place, place, memory_order_relaxed);
	/* Pairs with key_check() in shm_rdma.c: who sees the segment sees the place in it. */
	atomic_store_explicit(&entry->segment, segment, memory_order_release);
}

static bool peer_uses(const struct shm_peer *peer, uint32_t key)
{
	const atomic_uint *uses = peer->used->key[0];

	for (int i = 0; i < PATH_STRANDS * SHM_USES; i++)
		if (atomic_load_explicit(&uses[i], memory_order_seq_cst) == key)
			return true;
	return false;
}

static bool slot_uses(const struct uroce_shm *shm, unsigned int slot, uint32_t key)
{
	const struct shm_peer *peer =
		atomic_load_explicit(&shm->by_slot[slot], memory_order_seq_cst);

	return peer && !peer->dead && peer_uses(peer, key);
}

/* Of those who live: the dead do not copy. */
static bool key_in_use(struct uroce_shm *shm, uint32_t key)
{
	bool used = false;

	/* Pairs with uroce_board_wait(): what is in the table from here on stays mapped. */
	atomic_fetch_add(&shm->key_readers, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(shm->inhabited); i++) {
		unsigned long long bits = atomic_load(&shm->inhabited[i]);

		for (; bits; bits &= bits - 1)
			used |= slot_uses(shm, i * SHM_WORD + __builtin_ctzll(bits), key);
	}
	atomic_fetch_sub(&shm->key_readers, 1);
	return used;
}

void uroce_board_wait(struct uroce_shm *shm)
{
	while (atomic_load(&shm->key_readers))
		sched_yield();
}

/* After this no initiator copies any more: each says what it uses before it looks at the key. */
void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key)
{
	struct shm_key *entry = key_entry(shm, key);
	struct timespec ms = { .tv_nsec = 1000000 };

	if (!entry || atomic_load_explicit(&entry->key, memory_order_relaxed) != key)
		return;
	atomic_store_explicit(&entry->key, 0, memory_order_seq_cst);
	for (int i = 0; i < USERS_PATIENCE && key_in_use(shm, key); i++)
		nanosleep(&ms, NULL);
}
