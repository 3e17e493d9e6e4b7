/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "providers/uroce/engine/engine.h"

/* --- the table --- */

int uroce_keys_new(struct uroce_keys **ret_keys)
{
	struct uroce_keys *keys = uroce_zeros(sizeof(*keys), alignof(struct uroce_keys));

	if (!keys)
		return -ENOMEM;
	keys->fenced = uroce_fence_own_join();
	*ret_keys = keys;
	return 0;
}

void uroce_keys_free(struct uroce_keys *keys)
{
	for (uint32_t i = 0; i < keys->leaves; i++)
		munmap(atomic_load_explicit(&keys->leaf[i], memory_order_relaxed),
		       UROCE_KEY_LEAF * sizeof(struct uroce_key));
	free(keys->unused);
	free(keys);
}

/* Add a leaf of entries. The system allocates a page when an entry on it is first used. */
static int leaf_add(struct uroce_keys *keys)
{
	uint32_t first = keys->leaves * UROCE_KEY_LEAF, end = first + UROCE_KEY_LEAF, *unused;
	void *leaf;

	if (keys->leaves == UROCE_KEY_LEAVES)
		return -ENOMEM;
	unused = realloc(keys->unused, end * sizeof(*unused));
	if (!unused)
		return -ENOMEM;
	keys->unused = unused;
	leaf = mmap(NULL, UROCE_KEY_LEAF * sizeof(struct uroce_key), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (leaf == MAP_FAILED)
		return -errno;
	/* Pairs with uroce_key_at(). */
	atomic_store_explicit(&keys->leaf[keys->leaves++], leaf, memory_order_release);
	/* Leave out index 0, because no key is 0. */
	for (uint32_t index = max_of(first, 1u); index < end; index++)
		unused[keys->unused_count++] = index;
	return 0;
}

static int random_take(struct uroce_keys *keys, uint32_t *ret)
{
	if (!keys->random_left) {
		ssize_t n = getrandom(keys->random, sizeof(keys->random), 0);

		if (n != sizeof(keys->random))
			return n < 0 ? uroce_call_failed("getrandom") : -EIO;
		keys->random_left = ARRAY_SIZE(keys->random);
	}
	*ret = keys->random[--keys->random_left];
	return 0;
}

/*
 * Take a random free entry, with another variant than last time, so that a peer that knows some
 * keys cannot derive others. While the table can grow, at most three quarters of it are used.
 * Therefore there are many entries to choose from.
 */
static int entry_take(struct uroce_keys *keys, struct uroce_key **ret_key)
{
	uint32_t random = 0, index, variant, place;
	struct uroce_key *key;
	int r = 0;

	if (keys->used >= keys->leaves * (UROCE_KEY_LEAF / 4 * 3))
		r = leaf_add(keys);
	if (r < 0 && !keys->unused_count)
		return r;
	r = random_take(keys, &random);
	if (r < 0)
		return r;
	variant = random >> 24;
	place = random % keys->unused_count;
	index = keys->unused[place];
	keys->unused[place] = keys->unused[--keys->unused_count];
	key = uroce_key_at(keys, index << UROCE_KEY_VARIANT_BITS);
	variant = (key->key + 1 + variant % 255) & 0xff;
	key->key = index << UROCE_KEY_VARIANT_BITS | variant;
	key->used = true;
	key->qpn = 0;
	key->windows = 0;
	key->parent = NULL;
	key->mw_type = 0;
	key->null_size = 0;
	keys->used++;
	*ret_key = key;
	return 0;
}

static void entry_give_back(struct uroce_keys *keys, struct uroce_key *key)
{
	key->used = false;
	keys->used--;
	keys->unused[keys->unused_count++] = key->key >> UROCE_KEY_VARIANT_BITS;
}

/* --- life of an entry --- */

/* Return the watch of a key. Windows have none, because only packets access them. */
static struct uroce_keys_watch *key_watch(const struct uroce_keys *keys,
					  const struct uroce_key *key)
{
	return key->mw_type ? NULL : keys->watch;
}

void uroce_key_publish(struct uroce_keys *keys, struct uroce_key *key)
{
	struct uroce_keys_watch *watch = key_watch(keys, key);

	assert_held(&keys->lock);
	/* Pairs with uroce_keys_get(): a reader that sees the key sees its range. */
	atomic_store_explicit(&key->live, key->key, memory_order_release);
	if (watch)
		watch->show(watch, key);
}

static bool key_passed(struct uroce_keys *keys, const struct uroce_key *key)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		if (atomic_load_explicit(&keys->passing[i].key, memory_order_seq_cst) == key)
			return true;
	return false;
}

/* Wait until the key is unused. Most copies take microseconds, copies of gigabytes take longer. */
static void key_wait(struct uroce_keys *keys, struct uroce_key *key)
{
	struct uroce_keys_watch *watch = key_watch(keys, key);
	unsigned int spins = 0;

	if (watch)
		watch->wait(watch, key);
	/*
	 * Pairs with uroce_keys_pass(): either that function sees that the key is gone, or this
	 * thread sees the published key.
	 */
	if (keys->fenced)
		uroce_fence_own();
	/* seq_cst: after "live" was cleared. acquire pairs with uroce_key_put() and with
	 * uroce_keys_passed(). */
	while (atomic_load_explicit(&key->refs, memory_order_seq_cst) || key_passed(keys, key))
		uroce_spin(&spins);
}

/*
 * The store here, the load in the wait, and the increment and the load in uroce_keys_get() are all
 * seq_cst: either the reader sees that the key is gone, or the wait sees the reader.
 */
void uroce_key_withdraw(struct uroce_keys *keys, struct uroce_key *key)
{
	struct uroce_keys_watch *watch = key_watch(keys, key);

	assert_held(&keys->lock);
	if (watch)
		watch->hide(watch, key);
	atomic_store_explicit(&key->live, 0, memory_order_seq_cst);
	key->used = false; /* binds and imports do not find it any more */
	uroce_unlock(&keys->lock);
	key_wait(keys, key);
	uroce_lock(&keys->lock);
	key->used = true;
}

static void region_fill(struct uroce_key *key, const struct ibv_pd *pd, void *addr, uint64_t length,
			uint64_t iova, uint32_t access)
{
	key->pd = pd;
	key->base = (uintptr_t)addr;
	key->length = length;
	key->iova = iova;
	key->access = access | UROCE_ACCESS_LOCAL;
}

int uroce_key_new(struct uroce_keys *keys, const struct ibv_pd *pd, void *addr, uint64_t length,
		  uint64_t iova, uint32_t access, struct uroce_key **ret_key)
{
	struct uroce_key *key;
	int r;

	uroce_lock(&keys->lock);
	r = entry_take(keys, &key);
	if (!r) {
		region_fill(key, pd, addr, length, iova, access);
		uroce_key_publish(keys, key);
		*ret_key = key;
	}
	uroce_unlock(&keys->lock);
	return r;
}

int uroce_key_new_null(struct uroce_keys *keys, const struct ibv_pd *pd, void *zeros, uint64_t size,
		       struct uroce_key **ret_key)
{
	struct uroce_key *key;
	int r;

	uroce_lock(&keys->lock);
	r = entry_take(keys, &key);
	if (!r) {
		region_fill(key, pd, zeros, 0, 0, IBV_ACCESS_LOCAL_WRITE);
		key->null_size = size;
		uroce_key_publish(keys, key);
		*ret_key = key;
	}
	uroce_unlock(&keys->lock);
	return r;
}

int uroce_key_change(struct uroce_keys *keys, struct uroce_key *key, const struct ibv_pd *pd,
		     void *addr, uint64_t length, uint64_t iova, uint32_t access)
{
	int r = 0;

	uroce_lock(&keys->lock);
	if (key->windows) {
		r = -EBUSY;
	} else {
		uroce_key_withdraw(keys, key);
		region_fill(key, pd, addr, length, iova, access);
		uroce_key_publish(keys, key);
	}
	uroce_unlock(&keys->lock);
	return r;
}

int uroce_key_new_window(struct uroce_keys *keys, const struct ibv_pd *pd, enum ibv_mw_type type,
			 struct uroce_key **ret_key)
{
	struct uroce_key *key;
	int r;

	uroce_lock(&keys->lock);
	r = entry_take(keys, &key);
	if (!r) {
		key->pd = pd;
		key->mw_type = type;
		*ret_key = key;
	}
	uroce_unlock(&keys->lock);
	return r;
}

int uroce_key_free(struct uroce_keys *keys, struct uroce_key *key)
{
	int r = 0;

	uroce_lock(&keys->lock);
	if (key->windows) {
		r = -EBUSY;
	} else {
		uroce_key_withdraw(keys, key);
		if (key->parent)
			key->parent->windows--;
		entry_give_back(keys, key);
	}
	uroce_unlock(&keys->lock);
	return r;
}

int uroce_key_hold(struct uroce_keys *keys, uint32_t handle, const struct ibv_context *ctx,
		   uint32_t pd_handle, struct uroce_key **ret_key)
{
	struct uroce_key *key = handle < UROCE_MAX_KEYS
					? uroce_key_at(keys, handle << UROCE_KEY_VARIANT_BITS)
					: NULL;
	int r = -ENOENT;

	uroce_lock(&keys->lock);
	if (key && key->used && !key->mw_type && key->pd->context == ctx)
		r = key->pd->handle == pd_handle ? 0 : -EINVAL;
	if (!r) {
		key->windows++;
		*ret_key = key;
	}
	uroce_unlock(&keys->lock);
	return r;
}

void uroce_key_release(struct uroce_keys *keys, struct uroce_key *key)
{
	uroce_lock(&keys->lock);
	key->windows--;
	uroce_unlock(&keys->lock);
}

/* --- look-ups --- */

int uroce_key_get(struct uroce_keys *keys, uint32_t key, const struct ibv_pd *pd, uint32_t qpn,
		  uint32_t need, uint64_t va, uint64_t length, struct uroce_key **ret_key,
		  uint8_t **ret_ptr)
{
	if (unlikely(!length)) {
		*ret_key = NULL;
		*ret_ptr = NULL;
		return 0;
	}
	return uroce_keys_get(keys, key, pd, qpn, need ? need : UROCE_ACCESS_LOCAL, va, length,
			      ret_key, ret_ptr);
}

bool uroce_key_look(struct uroce_keys *keys, uint32_t number, struct uroce_grant *ret_grant)
{
	struct uroce_key *key = uroce_key_at(keys, number);
	bool live;

	if (!key || !number)
		return false;
	/* As in uroce_keys_get(): the owner does not change a key while its count is not 0. */
	atomic_fetch_add_explicit(&key->refs, 1, memory_order_seq_cst);
	live = atomic_load_explicit(&key->live, memory_order_seq_cst) == number;
	if (live)
		*ret_grant = (struct uroce_grant){ .pd = key->pd,
						   .access = key->access,
						   .iova = key->iova,
						   .length = key->length,
						   .base = key->base,
						   .null = key->null_size };
	uroce_key_put(key);
	return live;
}

/* --- SGE lists --- */

/*
 * Return the memory of a null region for one access. The length of such a region is 0, so every
 * permitted request is out of range. NULL: another region, or its range is too short.
 */
static uint8_t *key_null(const struct uroce_key *key, uint32_t need, uint64_t length)
{
	if (!key->null_size || length > key->null_size)
		return NULL;
	return (uint8_t *)key->base + (need & IBV_ACCESS_LOCAL_WRITE ? key->null_size : 0);
}

int uroce_key_else(struct uroce_key *key, uint32_t need, uint64_t length, int error,
		   uint8_t **ret_ptr)
{
	*ret_ptr = error == -ERANGE ? key_null(key, need, length) : NULL;
	if (*ret_ptr)
		return 0;
	uroce_key_put(key);
	return error;
}

/* Return the SGE that contains byte @offset of a list. *@offset becomes the offset within it. */
static const struct ibv_sge *sge_seek(const struct ibv_sge *sge, const struct ibv_sge *end,
				      uint32_t *offset)
{
	while (sge < end && *offset >= sge->length)
		*offset -= sge++->length;
	return sge;
}

static int gather_list(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		       int num_sge, uint32_t offset, uint32_t length, uint32_t need,
		       struct uroce_gather *ret)
{
	const struct ibv_sge *end = sge + num_sge;

	ret->count = 0;
	for (sge = sge_seek(sge, end, &offset); length; sge = sge_seek(sge + 1, end, &offset)) {
		uint32_t part = sge < end ? min_of(sge->length - offset, length) : 0;
		struct iovec *iov = &ret->iov[ret->count];
		int r = -ERANGE;

		if (part)
			r = uroce_keys_get(keys, sge->lkey, pd, 0, need, sge->addr + offset, part,
					   &ret->keys[ret->count], (uint8_t **)&iov->iov_base);
		if (r < 0) {
			uroce_gather_put(ret);
			return r;
		}
		iov->iov_len = part;
		ret->count++;
		length -= part;
		offset = 0;
	}
	return ret->count;
}

int uroce_gather_get(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		     int num_sge, uint32_t offset, uint32_t length, uint32_t need,
		     struct uroce_gather *ret)
{
	int r;

	need |= UROCE_ACCESS_LOCAL;
	if (num_sge != 1 || !length || (uint64_t)offset + length > sge->length)
		return gather_list(keys, pd, sge, num_sge, offset, length, need, ret);
	r = uroce_keys_get(keys, sge->lkey, pd, 0, need, sge->addr + offset, length, &ret->keys[0],
			   (uint8_t **)&ret->iov[0].iov_base);
	ret->count = !r;
	if (unlikely(r < 0))
		return r;
	ret->iov[0].iov_len = length;
	return 1;
}

static int payload_place(const struct uroce_payload *payload, uint32_t offset, uint8_t *dst,
			 uint32_t length)
{
	if (likely(payload->data))
		return uroce_copy(dst, payload->data + offset, length);
	return payload->path->ops->fetch(payload->path, payload, offset, dst, length);
}

int uroce_scatter(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		  int num_sge, uint32_t offset, const struct uroce_payload *payload)
{
	const struct ibv_sge *end = sge + num_sge;
	uint32_t done = 0;

	for (sge = sge_seek(sge, end, &offset); done < payload->length;
	     sge = sge_seek(sge + 1, end, &offset)) {
		uint32_t part =
			sge < end ? min_of(sge->length - offset, payload->length - done) : 0;
		struct uroce_key *key;
		uint8_t *ptr;
		int r = -ERANGE;

		if (part)
			r = uroce_keys_get(keys, sge->lkey, pd, 0,
					   UROCE_ACCESS_LOCAL | IBV_ACCESS_LOCAL_WRITE,
					   sge->addr + offset, part, &key, &ptr);
		if (unlikely(r < 0))
			return r;
		r = payload_place(payload, done, ptr, part);
		uroce_key_put(key);
		if (unlikely(r < 0))
			return r;
		done += part;
		offset = 0;
	}
	return 0;
}

/* --- persistence --- */

int uroce_key_sync(struct uroce_key *key, void *ptr, uint64_t length, bool whole)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	uintptr_t start = whole && key ? key->base : (uintptr_t)ptr;
	uint64_t size = whole && key ? key->length : length;
	uintptr_t first = start & ~(page - 1);

	if (!size)
		return 0;
	return msync((void *)first, start - first + size, MS_SYNC) ? -errno : 0;
}
