/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions. Registered memory is not pinned, because the device is this process and accesses
 * the pages like any code of it. Therefore a region costs only its key, and no limit of locked
 * memory applies.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

#define ACCESS_KNOWN                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |     \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_FLUSH_GLOBAL |       \
	 IBV_ACCESS_FLUSH_PERSISTENT | IBV_ACCESS_OPTIONAL_RANGE)

#define REMOTE_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* --- checks --- */

static bool region_is_implicit(const void *addr, uint64_t length)
{
	return !addr && length == SIZE_MAX;
}

int uroce_access_check(struct ibv_context *ctx, unsigned int access)
{
	if (access & ~ACCESS_KNOWN) {
		verbs_err(ctx, "ibv_reg_mr: access flags 0x%x are not known",
			  access & ~ACCESS_KNOWN);
		return -EINVAL;
	}
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE)) {
		verbs_err(
			ctx,
			"ibv_reg_mr: access 0x%x: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE too",
			access);
		return -EINVAL;
	}
	return 0;
}

/* Check a region of the whole address space. Its memory may come and go. */
static int check_implicit(struct ibv_context *ctx, unsigned int access)
{
	if (!(access & IBV_ACCESS_ON_DEMAND)) {
		verbs_err(
			ctx,
			"ibv_reg_mr: the whole address space can only be registered with IBV_ACCESS_ON_DEMAND");
		return -EINVAL;
	}
	if (access & IBV_ACCESS_FLUSH_PERSISTENT) {
		verbs_err(ctx,
			  "ibv_reg_mr: the whole address space cannot be flushed to persistence");
		return -EINVAL;
	}
	return 0;
}

/*
 * Refuse memory that is not mapped, as a device that pins pages would. msync() walks the mappings
 * and touches no page.
 */
static int check_mapped(struct ibv_context *ctx, const void *addr, uint64_t length)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), first = (uintptr_t)addr & ~(page - 1);

	if (!msync((void *)first, (uintptr_t)addr - first + length, MS_ASYNC))
		return 0;
	verbs_err(ctx, "ibv_reg_mr: %p, length %" PRIu64 ": not all of it is mapped", addr, length);
	return -EFAULT;
}

static int check_range(struct ibv_context *ctx, const void *addr, uint64_t length,
		       unsigned int access)
{
	if (region_is_implicit(addr, length))
		return check_implicit(ctx, access);
	if (!length || (uintptr_t)addr + length < length) {
		verbs_err(ctx, "ibv_reg_mr: %p, length %" PRIu64 ": %s", addr, length,
			  length ? "the range wraps around" : "a region has at least one byte");
		return -EINVAL;
	}
	return access & IBV_ACCESS_ON_DEMAND ? 0 : check_mapped(ctx, addr, length);
}

/*
 * Return whether a byte can be read, or written if @write. The write test adds 0 to the word that
 * contains the byte.
 */
static bool byte_there(uintptr_t address, bool write)
{
	uint64_t word;
	char byte;

	if (write)
		return !uroce_atomic_fetch_add((void *)(address & ~7ul), 0, &word);
	return !uroce_copy(&byte, (const void *)address, 1);
}

/*
 * Check the first and the last byte of a region, so that wrong pointers and read-only memory are
 * reported now and not at the first access.
 */
static int check_memory(struct ibv_context *ctx, const void *addr, uint64_t length,
			unsigned int access)
{
	uintptr_t first = (uintptr_t)addr;
	bool write = access & IBV_ACCESS_LOCAL_WRITE;

	uroce_copy_init();
	if (!length || (access & IBV_ACCESS_ON_DEMAND))
		return 0;
	if (byte_there(first, write) && byte_there(first + length - 1, write))
		return 0;
	verbs_err(ctx, "reg_mr: %p, %llu bytes: not mapped%s", addr, (unsigned long long)length,
		  write ? ", or only for reading although LOCAL_WRITE is asked for" : "");
	return -EFAULT;
}

static int check_region(struct ibv_context *ctx, const void *addr, uint64_t length,
			unsigned int access)
{
	int r = uroce_access_check(ctx, access);

	if (!r)
		r = check_range(ctx, addr, length, access);
	return r < 0 ? r : check_memory(ctx, addr, length, access);
}

/* --- regions --- */

/*
 * Let peers map a region of shared memory if it allows remote access. Regions with on-demand paging
 * are excluded, because other memory may be mapped at their addresses later.
 */
static void region_share(struct uroce_mr *mr, struct uroce_host *host)
{
	const struct uroce_key *key = mr->key;

	mr->segment = -1;
	if ((key->access & REMOTE_ACCESS) && !(key->access & IBV_ACCESS_ON_DEMAND) &&
	    !host->paths.udp_only)
		mr->segment =
			uroce_segment_share(host->shm, key->key, (void *)key->base, key->length);
}

static void region_unshare(struct uroce_host *host, int segment)
{
	if (segment >= 0)
		uroce_segment_unshare(host->shm, segment);
}

/* Make a region of checked memory, after uroce_copy_init(). */
int uroce_region_new(struct verbs_mr *vmr, const struct verbs_reg_mr *in)
{
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct uroce_dev *dev = ctx_dev(in->pd->context);
	int r = uroce_host_check(dev->host);

	if (!r)
		r = uroce_key_new(dev->host->engine.keys, verbs_pd_protection(in->pd), in->addr,
				  in->length, in->access & IBV_ACCESS_ZERO_BASED ? 0 : in->iova,
				  in->access, &mr->key);
	if (r < 0)
		return r;
	region_share(mr, dev->host);
	vmr->ibv_mr.lkey = vmr->ibv_mr.rkey = mr->key->key;
	vmr->ibv_mr.handle = mr->key->key >> UROCE_KEY_VARIANT_BITS;
	uroce_pd_use(mr->key->pd, 1);
	return 0;
}

int uroce_reg_mr(struct verbs_mr *vmr, const struct verbs_reg_mr *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r = check_region(in->pd->context, in->addr, in->length, in->access);

	return r < 0 ? r : uroce_region_new(vmr, in);
}

int uroce_rereg_mr(struct verbs_mr *vmr, const struct verbs_rereg_mr *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct ibv_context *ctx = vmr->ibv_mr.context;
	struct uroce_host *host = ctx_host(ctx);
	const struct uroce_key *key = mr->key;
	const struct ibv_pd *old_pd = key->pd; /* a parent domain may be gone by now */
	const struct ibv_pd *pd =
		in->flags & IBV_REREG_MR_CHANGE_PD ? verbs_pd_protection(in->pd) : old_pd;
	bool moves = in->flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	unsigned int access = in->flags & IBV_REREG_MR_CHANGE_ACCESS
				      ? (unsigned int)in->access
				      : key->access & ~UROCE_ACCESS_LOCAL;
	void *addr = moves ? in->addr : (void *)key->base;
	uint64_t length = moves ? in->length : key->length;
	uint64_t iova = access & IBV_ACCESS_ZERO_BASED ? 0 : moves ? (uintptr_t)addr : key->iova;
	int segment = mr->segment;
	int r = uroce_host_check(host);

	if (!r)
		r = vmr->mr_type == VERBS_MR_PLAIN ? check_region(ctx, addr, length, access)
						   : -EINVAL;
	if (!r)
		r = uroce_key_change(host->engine.keys, mr->key, pd, addr, length, iova, access);
	if (r == -EBUSY)
		verbs_err(
			ctx,
			"mr 0x%x: ibv_rereg_mr: memory windows are bound to it, or it is imported",
			vmr->ibv_mr.lkey);
	if (r < 0)
		return r;
	region_share(mr, host);
	region_unshare(host, segment);
	uroce_pd_use(pd, 1);
	uroce_pd_use(old_pd, -1);
	return 0;
}

/*
 * Memory of a null region: one half contains zeros and cannot be written, the other half takes all
 * writes. The largest message fits into either half. The second half only uses as many pages as
 * messages write.
 */
enum {
	NULL_SIZE_LOG = sizeof(void *) == 8 ? 31 : 20,
};

static int null_map(size_t size, void **ret_memory)
{
	void *memory = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	if (memory == MAP_FAILED)
		return -errno;
	if (!mprotect(memory, size, PROT_READ)) {
		*ret_memory = memory;
		return 0;
	}
	r = -errno;
	munmap(memory, 2 * size);
	return r;
}

int uroce_alloc_null_mr(struct verbs_mr *vmr)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct uroce_host *host = ctx_host(vmr->ibv_mr.context);
	size_t size = (size_t)1 << NULL_SIZE_LOG;
	int r = uroce_host_check(host);
	void *memory = NULL;

	if (!r)
		r = null_map(size, &memory);
	if (r < 0)
		return r;
	r = uroce_key_new_null(host->engine.keys, verbs_pd_protection(vmr->ibv_mr.pd), memory, size,
			       &mr->key);
	if (r < 0) {
		munmap(memory, 2 * size);
		return r;
	}
	mr->segment = -1;
	uroce_copy_init();
	/* The key is for local use only, so there is no rkey. */
	vmr->ibv_mr.lkey = mr->key->key;
	vmr->ibv_mr.handle = mr->key->key >> UROCE_KEY_VARIANT_BITS;
	uroce_pd_use(mr->key->pd, 1);
	return 0;
}

/* Release the memory and the device memory of a region after its key was freed. */
static void region_release(struct uroce_mr *mr, uintptr_t base, uint64_t null_size)
{
	if (null_size)
		munmap((void *)base, 2 * null_size);
	if (mr->dm)
		atomic_fetch_sub_explicit(&mr->dm->regions, 1, memory_order_release);
}

int uroce_dereg_mr(struct verbs_mr *vmr)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct ibv_context *ctx = vmr->ibv_mr.context;
	const struct ibv_pd *pd = mr->key->pd; /* a parent domain may be gone by now */
	uint64_t null_size = mr->key->null_size;
	uintptr_t base = mr->key->base;
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	if (vmr->mr_type == VERBS_MR_IMPORTED) {
		verbs_err(ctx,
			  "mr 0x%x: ibv_dereg_mr: it was imported: on this device only who "
			  "registered it deregisters it; ibv_unimport_mr() gives it back",
			  vmr->ibv_mr.lkey);
		return -EOPNOTSUPP;
	}
	r = uroce_key_free(ctx_dev(ctx)->host->engine.keys, mr->key);
	if (r < 0) {
		verbs_err(
			ctx,
			"mr 0x%x: ibv_dereg_mr: memory windows are bound to it, or it is imported",
			vmr->ibv_mr.lkey);
		return r;
	}
	region_unshare(ctx_host(ctx), mr->segment);
	region_release(mr, base, null_size);
	uroce_pd_use(pd, -1);
	return 0;
}

/* --- advice --- */

/*
 * Prefetch pages. @now: wait until they are present and report errors; otherwise only advise the
 * kernel.
 */
static int range_prefetch(void *ptr, uint64_t length, bool write, bool now)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), first = (uintptr_t)ptr & ~(page - 1);
	uint64_t size = (uintptr_t)ptr - first + length;

	if (now && !madvise((void *)first, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	if (now && errno != EINVAL) /* EINVAL: a kernel before 5.14 */
		return -EFAULT;
	return madvise((void *)first, size, MADV_WILLNEED) && errno == ENOMEM ? -EFAULT : 0;
}

int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge)
{
	_cleanup_cancel_ int cancel = cancel_off();
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	     now = flags & IBV_ADVISE_MR_FLAG_FLUSH;
	int r = uroce_host_check(ctx_host(pd->context));

	if (r < 0)
		return r;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && !write &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;
	for (uint32_t i = 0; i < num_sge; i++) {
		struct uroce_gather gather;

		r = uroce_gather_get(ctx_host(pd->context)->engine.keys, pd, &sg_list[i], 1, 0,
				     sg_list[i].length, write ? IBV_ACCESS_LOCAL_WRITE : 0,
				     &gather);
		if (r < 0)
			return r == -ERANGE ? -EFAULT : -ENOENT;
		/*
		 * NO_FAULT forbids to fault pages in, and a null region has no pages of the
		 * application.
		 */
		if (r > 0 && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
		    !gather.keys[0]->null_size)
			r = range_prefetch(gather.iov[0].iov_base, gather.iov[0].iov_len, write,
					   now);
		uroce_gather_put(&gather);
		if (r < 0)
			return r;
	}
	return 0;
}
