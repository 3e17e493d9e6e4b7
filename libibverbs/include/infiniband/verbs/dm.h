/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory. */
#ifndef INFINIBAND_VERBS_DM_H
#define INFINIBAND_VERBS_DM_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>
#include <infiniband/verbs/pd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_dm_mask {
	IBV_DM_MASK_HANDLE = 1 << 0,
};

/**
 * struct ibv_dm - memory on the device, which only the device and these two functions can access
 */
struct ibv_dm {
	struct ibv_context *context;
	int (*memcpy_to_dm)(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr,
			    size_t length);
	int (*memcpy_from_dm)(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset,
			      size_t length);
	uint32_t comp_mask; /* enum ibv_dm_mask: which members below are valid */
	uint32_t handle;
};

struct ibv_alloc_dm_attr {
	size_t length;		/* bytes */
	uint32_t log_align_req; /* alignment 2^n bytes */
	uint32_t comp_mask;
};

/**
 * ibv_alloc_dm(), ibv_free_dm() - allocate and free device memory
 *
 * Freeing returns EBUSY while a region is registered on it.
 */
static inline struct ibv_dm *ibv_alloc_dm(struct ibv_context *context,
					  struct ibv_alloc_dm_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_dm);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_dm(context, attr);
}

static inline int ibv_free_dm(struct ibv_dm *dm)
{
	struct verbs_context *vctx = verbs_get_ctx_op(dm->context, free_dm);

	return vctx ? vctx->free_dm(dm) : EOPNOTSUPP;
}

/**
 * ibv_import_dm(), ibv_unimport_dm() - use device memory another process allocated
 * @dm_handle: its ibv_dm.handle
 */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle);
void ibv_unimport_dm(struct ibv_dm *dm);

/**
 * ibv_memcpy_to_dm(), ibv_memcpy_from_dm() - the CPU writes and reads device memory
 * @dm_offset, @length: bytes; devices want multiples of 4
 */
static inline int ibv_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr,
				   size_t length)
{
	return dm->memcpy_to_dm(dm, dm_offset, host_addr, length);
}

static inline int ibv_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset,
				     size_t length)
{
	return dm->memcpy_from_dm(host_addr, dm, dm_offset, length);
}

/**
 * ibv_reg_dm_mr() - register part of device memory
 * @access: with IBV_ACCESS_ZERO_BASED, because device memory has no other address
 */
static inline struct ibv_mr *ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
					   size_t length, unsigned int access)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, reg_dm_mr);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->reg_dm_mr(pd, dm, dm_offset, length, access);
}

/* Return: a descriptor of the memory as a dma-buf; -1 with errno EOPNOTSUPP: the device has none.
 */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);

#ifdef __cplusplus
}
#endif

#endif
