/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A key of a memory region or a window, and its use by the data path. The table of all keys is in
 * keys.h.
 */
#ifndef UROCE_KEY_H
#define UROCE_KEY_H

#include <stdalign.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "libibverbs/provider.h"
#include "providers/uroce/path/path.h"

struct uroce_keys;
struct uroce_qp;
struct uroce_swqe;

/*
 * A region or a window. Its memory is never used for another type, so a reader may increment refs
 * before it knows whether the key is still valid. A look-up reads only the first cache line.
 */
struct uroce_key {
	alignas(64) atomic_uint live; /* the key while it permits access, else 0 */
	/* look-ups that use the key; to revoke the key, the owner waits for 0 */
	atomic_uint refs;
	uint64_t iova; /* first address for peers and SGEs */
	uint64_t length;
	uintptr_t base; /* address of iova in this process */
	const struct ibv_pd *pd;
	uint32_t access; /* IBV_ACCESS_*, and UROCE_ACCESS_LOCAL */
	uint32_t qpn;	 /* type 2 window: number of the QP that bound it; 0: any QP */

	/* For the owner, under keys->lock: */
	uint32_t key;		  /* index << 8 | variant; lkey and rkey are the same number */
	uint32_t windows;	  /* windows bound to this region, and imports */
	struct uroce_key *parent; /* window: the region it is bound to; NULL: not bound */
	uint8_t mw_type;	  /* enum ibv_mw_type; 0: a region */
	bool used;

	uint64_t null_size; /* null region: size of each half of its memory, bytes; else 0 */
};

/* Granted to regions only: their keys may be used as lkeys. Not a flag of the API. */
#define UROCE_ACCESS_LOCAL 0x80000000u

/*
 * Find the bytes [va, va + length) of @key for @need (IBV_ACCESS_* that must all be granted; 0:
 * local read). @pd: of the QP; a key of another PD is refused. @qpn: for type 2 windows.
 *
 * Return: 0 with a reference in *@ret_key (uroce_key_put) and the address in *@ret_ptr; -EACCES (no
 * such key, wrong PD, access not granted) or -ERANGE (outside). Length 0 needs no valid key and
 * gives *@ret_key NULL.
 */
int uroce_key_get(struct uroce_keys *keys, uint32_t key, const struct ibv_pd *pd, uint32_t qpn,
		  uint32_t need, uint64_t va, uint64_t length, struct uroce_key **ret_key,
		  uint8_t **ret_ptr);

/* The access that a valid key grants. A null region has no bounds. */
struct uroce_grant {
	const struct ibv_pd *pd;
	uint32_t access; /* IBV_ACCESS_*, and UROCE_ACCESS_LOCAL */
	uint64_t iova, length;
	uintptr_t base; /* address of iova in this process */
	bool null;
};

/* Look a key up without using its memory. Return: whether it is valid. */
bool uroce_key_look(struct uroce_keys *keys, uint32_t key, struct uroce_grant *ret_grant);

static inline void uroce_key_put(struct uroce_key *key)
{
	/* Pairs with key_wait() in keys.c: the access is over before the owner sees the reference
	 * gone. */
	if (key)
		atomic_fetch_sub_explicit(&key->refs, 1, memory_order_release);
}

/* Write the range (or the @whole region) to the file behind the mapping. */
int uroce_key_sync(struct uroce_key *key, void *ptr, uint64_t length, bool whole);

/*
 * Addresses of bytes [offset, offset + length) of an SGE list, keys checked and referenced. Return:
 * number of iovecs (at most UROCE_MAX_SGE), or -EACCES/-ERANGE without references.
 */
struct uroce_gather {
	struct iovec iov[UROCE_MAX_SGE];
	struct uroce_key *keys[UROCE_MAX_SGE];
	int count;
};
int uroce_gather_get(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		     int num_sge, uint32_t offset, uint32_t length, uint32_t need,
		     struct uroce_gather *ret);

static inline void uroce_gather_put(struct uroce_gather *gather)
{
	while (gather->count > 0)
		uroce_key_put(gather->keys[--gather->count]);
}

/* Copy @payload into the SGE list at @offset. Return: 0, -EACCES, -ERANGE or -EFAULT. */
int uroce_scatter(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		  int num_sge, uint32_t offset, const struct uroce_payload *payload);

/*
 * Keep the region of @handle in a domain of @ctx for an import, as a bound window does. -ENOENT:
 * there is no such region; -EINVAL: it belongs to another domain than @pd_handle.
 */
int uroce_key_hold(struct uroce_keys *keys, uint32_t handle, const struct ibv_context *ctx,
		   uint32_t pd_handle, struct uroce_key **ret_key);
void uroce_key_release(struct uroce_keys *keys, struct uroce_key *key);

/* window.c: execute a local or remote invalidate, or a bind, in SQ order. Return: 0 or
 * -EACCES/-EINVAL. */
int uroce_key_invalidate(struct uroce_keys *keys, const struct ibv_pd *pd, uint32_t qpn,
			 uint32_t key);
int uroce_key_bind(const struct uroce_qp *qp, const struct uroce_swqe *wqe);

#endif
