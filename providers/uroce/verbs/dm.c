/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Device memory. The device is this process, and its memory is memory of the process. Programs do
 * not get its address but copy into it and out of it. Peers access it through its regions, and
 * peers on this host map it. Buffers of ibv_alloc_buf() use the same memory, with an address.
 */
#include <string.h>
#include <sys/mman.h>

#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

enum {
	DM_ALIGN_LOG_MAX = 30,
};

static bool range_is_inside(const struct uroce_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->vdm.length && length <= dm->vdm.length - offset;
}

static int dm_refuse_range(const struct uroce_dm *dm, const char *verb, uint64_t offset,
			   size_t length)
{
	verbs_err(dm->vdm.dm.context, "%s: dm %u: %zu bytes from %llu on: it has %zu", verb,
		  dm->vdm.dm.handle, length, (unsigned long long)offset, dm->vdm.length);
	errno = EFAULT;
	return EFAULT;
}

/* Refuse a copy in a forked child, which does not have the memory. */
static int dm_refuse_child(const struct uroce_dm *dm)
{
	errno = -uroce_host_inherited(ctx_host(dm->vdm.dm.context));
	return errno;
}

static int dm_copy_to(struct ibv_dm *ibv_dm, uint64_t offset, const void *from, size_t length)
{
	struct uroce_dm *dm = (struct uroce_dm *)ibv_dm;

	if (unlikely(!uroce_host_here(ctx_host(ibv_dm->context))))
		return dm_refuse_child(dm);
	if (unlikely(!range_is_inside(dm, offset, length)))
		return dm_refuse_range(dm, "ibv_memcpy_to_dm", offset, length);
	memcpy(dm->bytes + offset, from, length);
	return 0;
}

static int dm_copy_from(void *to, struct ibv_dm *ibv_dm, uint64_t offset, size_t length)
{
	struct uroce_dm *dm = (struct uroce_dm *)ibv_dm;

	if (unlikely(!uroce_host_here(ctx_host(ibv_dm->context))))
		return dm_refuse_child(dm);
	if (unlikely(!range_is_inside(dm, offset, length)))
		return dm_refuse_range(dm, "ibv_memcpy_from_dm", offset, length);
	memcpy(to, dm->bytes + offset, length);
	return 0;
}

int uroce_alloc_dm(struct verbs_dm *vdm, const struct verbs_alloc_dm *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dm *dm = (struct uroce_dm *)vdm;
	struct uroce_host *host = ctx_host(vdm->dm.context);
	void *memory = NULL;
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (!in->attr->length || in->attr->length > UROCE_MAX_DM ||
	    in->attr->log_align_req > DM_ALIGN_LOG_MAX) {
		verbs_err(vdm->dm.context,
			  "alloc_dm: %zu bytes (1 to %llu), aligned to 2^%u (at most 2^%u)",
			  in->attr->length, (unsigned long long)UROCE_MAX_DM,
			  in->attr->log_align_req, DM_ALIGN_LOG_MAX);
		return -EINVAL;
	}
	r = uroce_segment_alloc(host->shm, in->attr->length, (size_t)1 << in->attr->log_align_req,
				&memory);
	if (r < 0)
		return r;
	dm->bytes = memory;
	vdm->dm.handle = atomic_fetch_add_explicit(&host->next_handle, 1, memory_order_relaxed);
	uroce_dm_fill(dm);
	pthread_mutex_lock(&host->lock);
	LIST_INSERT_HEAD(&host->dms, dm, entry);
	pthread_mutex_unlock(&host->lock);
	return 0;
}

void uroce_dm_fill(struct uroce_dm *dm)
{
	dm->vdm.dm.memcpy_to_dm = dm_copy_to;
	dm->vdm.dm.memcpy_from_dm = dm_copy_from;
}

int uroce_free_dm(struct verbs_dm *vdm)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dm *dm = (struct uroce_dm *)vdm;
	struct uroce_host *host = ctx_host(vdm->dm.context);
	unsigned int regions;
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (vdm->imported) {
		verbs_err(vdm->dm.context,
			  "ibv_free_dm: dm %u was imported: on this device only who allocated it "
			  "frees it; ibv_unimport_dm() gives it back",
			  vdm->dm.handle);
		return -EOPNOTSUPP;
	}
	pthread_mutex_lock(&host->lock);
	/* acquire: pairs with region_release() and uroce_import_release() */
	regions = atomic_load_explicit(&dm->regions, memory_order_acquire);
	if (!regions)
		LIST_REMOVE(dm, entry);
	pthread_mutex_unlock(&host->lock);
	if (regions) {
		verbs_err(
			vdm->dm.context,
			"ibv_free_dm: dm %u: %u regions of it, or views of those who imported it, "
			"still exist",
			vdm->dm.handle, regions);
		return -EBUSY;
	}
	uroce_segment_free(host->shm, dm->bytes, vdm->length);
	return 0;
}

int uroce_alloc_buf(struct ibv_buf *buf)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_host *host = ctx_host(buf->context);
	int r = uroce_host_check(host);

	/* A buffer of 0 bytes is valid. It gets one byte, because a segment cannot be empty. */
	return r < 0 ? r
		     : uroce_segment_alloc(host->shm, max_of(buf->size, (size_t)1), 1, &buf->addr);
}

void uroce_free_buf(struct ibv_buf *buf)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_host *host = ctx_host(buf->context);

	if (uroce_host_here(host))
		uroce_segment_free(host->shm, buf->addr, max_of(buf->size, (size_t)1));
}

int uroce_reg_dm_mr(struct verbs_mr *vmr, const struct verbs_reg_dm_mr *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct uroce_dm *dm = (struct uroce_dm *)in->dm;
	const struct verbs_reg_mr region = {
		.pd = in->pd,
		.addr = dm->bytes + in->offset,
		.length = in->length,
		.access = in->access, /* zero based; the library has checked this */
	};
	/* Zero bytes are allowed, as in the kernel. */
	int r = uroce_access_check(in->pd->context, in->access);

	uroce_copy_init();
	if (!r)
		r = uroce_region_new(vmr, &region);
	if (r < 0)
		return r;
	mr->dm = dm;
	atomic_fetch_add_explicit(&dm->regions, 1, memory_order_relaxed);
	return 0;
}
