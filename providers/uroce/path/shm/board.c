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

static struct shm_qp *own_entry(const struct uroce_qp *qp)
{
	return &qp->host->shm->board->qps[qp->vqp.qp.qp_num & ((1 << UROCE_QP_INDEX_BITS) - 1)];
}

static bool qp_receives(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC &&
	       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

void uroce_board_qp(struct uroce_qp *qp)
{
	struct shm_qp *entry;

	assert_held(&qp->lock);
	if (!qp->host->shm) /* the engine alone, under test */
		return;
	entry = own_entry(qp);
	atomic_store_explicit(&entry->pd, qp->vqp.qp.pd->handle, memory_order_relaxed);
	atomic_store_explicit(&entry->peer, qp->dest_qpn, memory_order_relaxed);
	/* Pairs with the initiator's acquire in shm_rdma(). */
	atomic_store_explicit(&entry->access, qp_receives(qp) ? qp->access | SHM_QP_READY : 0,
			      memory_order_release);
}

void uroce_board_qp_remove(struct uroce_qp *qp)
{
	if (qp->host->shm)
		atomic_store_explicit(&own_entry(qp)->access, 0, memory_order_release);
}

/* --- regions --- */

static struct shm_key *key_entry(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	struct uroce_shm *shm = container_of(watch, struct uroce_shm, watch);
	uint32_t index = key->key >> UROCE_KEY_VARIANT_BITS;

	return index < SHM_KEYS ? &shm->board->keys[index] : NULL;
}

static void key_show(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	struct shm_key *entry = key_entry(watch, key);

	if (!entry || !key->pd)
		return;
	atomic_store_explicit(&entry->iova, key->iova, memory_order_relaxed);
	atomic_store_explicit(&entry->length, key->length, memory_order_relaxed);
	atomic_store_explicit(&entry->base, key->base, memory_order_relaxed);
	atomic_store_explicit(&entry->pd, key->pd->handle, memory_order_relaxed);
	atomic_store_explicit(&entry->access, key->access, memory_order_relaxed);
	/* Pairs with key_begin() in path_shm.c: who sees the key sees its range. */
	atomic_store_explicit(&entry->key, key->key, memory_order_seq_cst);
}

static bool peer_uses(const struct shm_peer *peer, uint32_t key)
{
	for (int i = 0; i < SHM_USES; i++)
		if (atomic_load_explicit(&peer->used->key[i], memory_order_seq_cst) == key)
			return true;
	return false;
}

/* Of those who live: the dead do not copy. */
static bool key_in_use(struct uroce_shm *shm, uint32_t key)
{
	bool used = false;

	/* Pairs with uroce_board_wait(): what is in the table from here on stays mapped. */
	atomic_fetch_add(&shm->key_readers, 1);
	for (int slot = 1; slot < SHM_SLOTS; slot++) {
		const struct shm_peer *peer =
			atomic_load_explicit(&shm->by_slot[slot], memory_order_seq_cst);

		used |= peer && !peer->dead && peer_uses(peer, key);
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
static void key_hide(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	struct uroce_shm *shm = container_of(watch, struct uroce_shm, watch);
	struct shm_key *entry = key_entry(watch, key);
	struct timespec ms = { .tv_nsec = 1000000 };

	if (!entry || atomic_load_explicit(&entry->key, memory_order_relaxed) != key->key)
		return;
	atomic_store_explicit(&entry->key, 0, memory_order_seq_cst);
	for (int i = 0; i < USERS_PATIENCE && key_in_use(shm, key->key); i++)
		nanosleep(&ms, NULL);
}

void uroce_board_watch_keys(struct uroce_shm *shm)
{
	shm->watch = (struct uroce_keys_watch){ .show = key_show, .hide = key_hide };
	shm->host->keys->watch = &shm->watch;
}
