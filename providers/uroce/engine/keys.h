/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The key table of a process: memory regions and windows of all its devices. Look-ups by the data
 * path are in key.h. This header has the functions of owners.
 *
 * A look-up increments the count of the entry, then reads whether the entry is valid. The owner
 * makes the entry invalid, then waits until the count is 0. Entries stay mapped while the table
 * lives, so incrementing is safe at any time.
 */
#ifndef UROCE_KEYS_H
#define UROCE_KEYS_H

#include "providers/uroce/engine/key.h"
#include "providers/uroce/engine/limits.h"

enum {
	UROCE_KEY_LEAF = 1 << 14, /* entries that are mapped together */
	UROCE_KEY_LEAVES = UROCE_MAX_KEYS / UROCE_KEY_LEAF,
};

/* Functions called under keys->lock: show() when a region becomes usable, hide() before it becomes
 * unusable. */
struct uroce_keys_watch {
	void (*show)(struct uroce_keys_watch *watch, const struct uroce_key *key);
	void (*hide)(struct uroce_keys_watch *watch, const struct uroce_key *key);
	/* Wait until no process uses the hidden region on the basis of its own check. The lock is
	 * not held. */
	void (*wait)(struct uroce_keys_watch *watch, const struct uroce_key *key);
};

struct uroce_keys {
	_Atomic(struct uroce_key *) leaf[UROCE_KEY_LEAVES]; /* by index / UROCE_KEY_LEAF */
	struct uroce_lock lock; /* protects the members below and the owners' members of entries */
	uint32_t leaves;
	uint32_t used;
	uint32_t *unused; /* indices of unused entries, in no order */
	uint32_t unused_count;
	bool fenced;			/* owners fence on behalf of uroce_keys_pass(); set once */
	struct uroce_keys_watch *watch; /* NULL: none; set before the first key */
	uint32_t random[32];
	unsigned int random_left;
	/* The key that the holder of a strand uses without incrementing its count. */
	struct uroce_passing {
		alignas(2 * PATH_LINE) _Atomic(struct uroce_key *) key;
	} passing[PATH_STRANDS];
};

int uroce_keys_new(struct uroce_keys **ret_keys);
/* Free the table. No key may be in use any more. */
void uroce_keys_free(struct uroce_keys *keys);

/* Return the entry of a key in any state; NULL: no such entry is possible. */
static inline struct uroce_key *uroce_key_at(struct uroce_keys *keys, uint32_t key)
{
	uint32_t index = key >> UROCE_KEY_VARIANT_BITS;
	struct uroce_key *leaf;

	if (unlikely(index >= UROCE_MAX_KEYS))
		return NULL;
	/* Pairs with leaf_add(). */
	leaf = atomic_load_explicit(&keys->leaf[index / UROCE_KEY_LEAF], memory_order_acquire);
	return likely(leaf) ? &leaf[index % UROCE_KEY_LEAF] : NULL;
}

/* Return whether @pd is the protection domain of a key, or a parent domain of it. */
static inline bool uroce_pd_is(const struct ibv_pd *key_pd, const struct ibv_pd *pd)
{
	return likely(key_pd == pd) || key_pd == verbs_pd_protection((struct ibv_pd *)pd);
}

/* Check a request against a valid entry. Return: like uroce_key_get(). */
static inline int uroce_key_check(const struct uroce_key *key, const struct ibv_pd *pd,
				  uint32_t qpn, uint32_t need, uint64_t va, uint64_t length)
{
	uint64_t offset = va - key->iova;

	if (unlikely(!uroce_pd_is(key->pd, pd) || (need & ~key->access) ||
		     (key->qpn && key->qpn != qpn)))
		return -EACCES;
	if (unlikely(va < key->iova || offset > key->length || length > key->length - offset))
		return -ERANGE;
	return 0;
}

/*
 * A check of @key returned @error after its count was incremented. Return: 0 with the memory of a
 * null region, or @error.
 */
int uroce_key_else(struct uroce_key *key, uint32_t need, uint64_t length, int error,
		   uint8_t **ret_ptr);

/* Do the same as uroce_key_get(), inline, for at least one byte. @need has the bits of the
 * entry. */
static inline int uroce_keys_get(struct uroce_keys *keys, uint32_t number, const struct ibv_pd *pd,
				 uint32_t qpn, uint32_t need, uint64_t va, uint64_t length,
				 struct uroce_key **ret_key, uint8_t **ret_ptr)
{
	struct uroce_key *key = uroce_key_at(keys, number);
	int r = -EACCES;

	if (unlikely(!key))
		return r;
	/* seq_cst: see uroce_key_withdraw(). acquire pairs with uroce_key_publish(). */
	atomic_fetch_add_explicit(&key->refs, 1, memory_order_seq_cst);
	if (likely(atomic_load_explicit(&key->live, memory_order_seq_cst) == number && number))
		r = uroce_key_check(key, pd, qpn, need, va, length);
	*ret_key = key;
	if (unlikely(r < 0))
		return uroce_key_else(key, need, length, r, ret_ptr);
	*ret_ptr = (uint8_t *)(uintptr_t)(key->base + (va - key->iova));
	return 0;
}

/*
 * Do the same for local access by the holder of @strand, who makes one copy at a time. Publish the
 * used key instead of incrementing its count, because a count may have to wait for the cache line
 * of the entry. Return: the address, or NULL. Call uroce_keys_passed() in both cases.
 */
static inline uint8_t *uroce_keys_pass(struct uroce_keys *keys, unsigned int strand,
				       uint32_t number, const struct ibv_pd *pd, uint32_t need,
				       uint64_t va, uint64_t length)
{
	struct uroce_key *key = uroce_key_at(keys, number);

	if (unlikely(!key || !number))
		return NULL;
	atomic_store_explicit(&keys->passing[strand].key, key, memory_order_relaxed);
	/* Before reading whether it is live: see key_wait(). */
	if (likely(keys->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&key->live, memory_order_acquire) != number ||
		     uroce_key_check(key, pd, 0, need, va, length) < 0))
		return NULL;
	return (uint8_t *)(uintptr_t)(key->base + (va - key->iova));
}

static inline void uroce_keys_passed(struct uroce_keys *keys, unsigned int strand)
{
	/* Pairs with key_wait(): the access is over. */
	atomic_store_explicit(&keys->passing[strand].key, NULL, memory_order_release);
}

/* Make a region of @length bytes at @addr, whose address for peers and SGEs is @iova. @access:
 * IBV_ACCESS_*. -ENOMEM. */
int uroce_key_new(struct uroce_keys *keys, const struct ibv_pd *pd, void *addr, uint64_t length,
		  uint64_t iova, uint32_t access, struct uroce_key **ret_key);
/*
 * Make a null region: reads return 0 and writes are discarded, at any address. @zeros: @size bytes
 * of zeros that are never written, followed by as many bytes that may be written.
 */
int uroce_key_new_null(struct uroce_keys *keys, const struct ibv_pd *pd, void *zeros, uint64_t size,
		       struct uroce_key **ret_key);
/* Change a region in place once it is unused. -EBUSY while windows are bound to it. */
int uroce_key_change(struct uroce_keys *keys, struct uroce_key *key, const struct ibv_pd *pd,
		     void *addr, uint64_t length, uint64_t iova, uint32_t access);
/* Make a window that is not bound yet. */
int uroce_key_new_window(struct uroce_keys *keys, const struct ibv_pd *pd, enum ibv_mw_type type,
			 struct uroce_key **ret_key);
/* Free a region or window once it is unused. -EBUSY while windows are bound to it. */
int uroce_key_free(struct uroce_keys *keys, struct uroce_key *key);

/* Make a complete entry usable. Under keys->lock. */
void uroce_key_publish(struct uroce_keys *keys, struct uroce_key *key);
/*
 * Make an entry unusable, and return when it is not in use any more. Release keys->lock during the
 * wait, because a user may be slow or stopped. During this time no look-up finds the entry.
 */
void uroce_key_withdraw(struct uroce_keys *keys, struct uroce_key *key);

#endif
