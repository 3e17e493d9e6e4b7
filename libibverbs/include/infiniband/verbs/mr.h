/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#ifndef INFINIBAND_VERBS_MR_H
#define INFINIBAND_VERBS_MR_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>
#include <infiniband/verbs/pd.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What may be done with memory. REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE; local reading is
 * always allowed. Flags in IBV_ACCESS_OPTIONAL_RANGE are wishes: dropped when the kernel does not
 * know them.
 */
enum ibv_access_flags {
	IBV_ACCESS_LOCAL_WRITE = 1,
	IBV_ACCESS_REMOTE_WRITE = 1 << 1,
	IBV_ACCESS_REMOTE_READ = 1 << 2,
	IBV_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IBV_ACCESS_MW_BIND = 1 << 4,
	IBV_ACCESS_ZERO_BASED = 1 << 5, /* remote addresses count from the start of the region */
	IBV_ACCESS_ON_DEMAND = 1 << 6,	/* pages are not pinned but faulted in */
	IBV_ACCESS_HUGETLB = 1 << 7,	/* with ON_DEMAND: the range is of huge pages */
	IBV_ACCESS_FLUSH_GLOBAL = 1 << 8,
	IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	IBV_ACCESS_RELAXED_ORDERING = IBV_ACCESS_OPTIONAL_FIRST,
};

/**
 * struct ibv_mr - a memory region
 *
 * @addr, @length: as registered
 * @lkey: for ibv_sge
 * @rkey: for the peer's RDMA and atomic requests
 * Source: IBTA vol. 1, software transport interface (chapter 10), memory management.
 */
struct ibv_mr {
	struct ibv_context *context;
	struct ibv_pd *pd;
	void *addr;
	size_t length;
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
};

/**
 * ibv_reg_mr(), ibv_reg_mr_iova() - make [addr, addr + length) usable by work requests of @pd
 * @length: bytes
 * @iova: the address work requests will name the first byte by; ibv_reg_mr() takes @addr
 * @access: OR of enum ibv_access_flags
 *
 * The memory stays the caller's and stays mapped until ibv_dereg_mr(). The macros of the same names
 * call ibv_reg_mr_iova2() when @access has, or cannot be seen at compile time not to have, optional
 * flags.
 * Return: the region; NULL with errno EINVAL (flags, range), EFAULT (not mapped), ENOMEM (more than
 * RLIMIT_MEMLOCK may be pinned, or out of memory), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "register memory region".
 */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access);

/**
 * ibv_reg_mr_iova2() - register memory, with any access flags
 */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access);

/*
 * Always inlined: without optional flags the call of ibv_reg_mr_iova2() disappears, and the program
 * runs with libraries that do not have it.
 */
__attribute__((__always_inline__)) static inline struct ibv_mr *
__ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, unsigned int access, int is_access_const)
{
	if (!is_access_const || (access & IBV_ACCESS_OPTIONAL_RANGE))
		return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
	return ibv_reg_mr(pd, addr, length, (int)access);
}

#define ibv_reg_mr(pd, addr, length, access)   \
	__ibv_reg_mr(pd, addr, length, access, \
		     __builtin_constant_p((IBV_ACCESS_OPTIONAL_RANGE & (access)) == 0))

__attribute__((__always_inline__)) static inline struct ibv_mr *
__ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access,
		  int is_access_const)
{
	if (!is_access_const || (access & IBV_ACCESS_OPTIONAL_RANGE))
		return ibv_reg_mr_iova2(pd, addr, length, iova, access);
	return ibv_reg_mr_iova(pd, addr, length, iova, (int)access);
}

#define ibv_reg_mr_iova(pd, addr, length, iova, access)   \
	__ibv_reg_mr_iova(pd, addr, length, iova, access, \
			  __builtin_constant_p((IBV_ACCESS_OPTIONAL_RANGE & (access)) == 0))

/**
 * ibv_reg_dmabuf_mr() - register memory of another device, given as a dma-buf
 * @offset: bytes into the dma-buf; the same offset into a page as @iova
 * @fd: the dma-buf; may be closed after the call
 */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access);

/**
 * ibv_alloc_null_mr() - a region of any address that swallows writes and reads as zero
 */
static inline struct ibv_mr *ibv_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, alloc_null_mr);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_null_mr(pd);
}

/* Changes by ibv_rereg_mr(). Each bit makes the parameters of its name valid. */
enum ibv_rereg_mr_flags {
	IBV_REREG_MR_CHANGE_TRANSLATION = 1 << 0, /* addr, length */
	IBV_REREG_MR_CHANGE_PD = 1 << 1,
	IBV_REREG_MR_CHANGE_ACCESS = 1 << 2,
	IBV_REREG_MR_FLAGS_SUPPORTED = (IBV_REREG_MR_CHANGE_ACCESS << 1) - 1
};

/* Why it failed, and what the region is now; errno has the cause. */
enum ibv_rereg_mr_err_code {
	IBV_REREG_MR_ERR_INPUT = -1,	     /* refused; the old region is valid */
	IBV_REREG_MR_ERR_DONT_FORK_NEW = -2, /* new range not protected from fork; old valid */
	IBV_REREG_MR_ERR_DO_FORK_OLD = -3,   /* old range still protected; the new is valid */
	IBV_REREG_MR_ERR_CMD = -4,	     /* the region is not usable */
	IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW = -5, /* and the new range is still protected */
};

/**
 * ibv_rereg_mr() - change a region in place
 * @flags: OR of enum ibv_rereg_mr_flags
 *
 * No work request may use the region meanwhile. Its keys may change.
 * Return: 0 or a negative enum ibv_rereg_mr_err_code. After the two ERR_CMD codes only
 * ibv_dereg_mr() is left.
 */
int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);

/**
 * ibv_dereg_mr() - give a region up; the memory itself is not touched
 *
 * Return: 0 or an errno value; EBUSY while a memory window is bound to it.
 */
int ibv_dereg_mr(struct ibv_mr *mr);

/**
 * ibv_import_mr(), ibv_unimport_mr() - use a region another process registered
 * @mr_handle: its ibv_mr.handle; @pd is imported from the same process
 *
 * addr and length of the imported object are unknown (NULL, 0). Unimporting drops this process's
 * object and leaves the region.
 */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void ibv_unimport_mr(struct ibv_mr *mr);

/**
 * ibv_advise_mr() - tell that ranges of on-demand regions are about to be used
 * @advice: IBV_ADVISE_MR_ADVICE_PREFETCH for reading, _PREFETCH_WRITE for writing,
 *	    _PREFETCH_NO_FAULT for what is in memory anyway
 * @flags: IBV_ADVISE_MR_FLAG_FLUSH to wait until it is done, or 0
 * @sg_list: ranges of regions of @pd
 */
static inline int ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
				struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, advise_mr);

	return vctx ? vctx->advise_mr(pd, advice, flags, sg_list, num_sge) : EOPNOTSUPP;
}

#ifdef __cplusplus
}
#endif

#endif
