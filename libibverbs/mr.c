/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"
#include "libibverbs/mr.h"

#define ACCESS_REQUIRED ((IB_UVERBS_ACCESS_FLUSH_PERSISTENT << 1) - 1)
#define ACCESS_KNOWN	(ACCESS_REQUIRED | IB_UVERBS_ACCESS_OPTIONAL_RANGE)
/* Access flags that require local write access, by the rules of the kernel and of IBTA. */
#define ACCESS_WRITES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

static bool access_is_ok(unsigned int access)
{
	return !(access & ~ACCESS_KNOWN) &&
	       (!(access & ACCESS_WRITES) || access & IBV_ACCESS_LOCAL_WRITE);
}

static bool range_is_ok(uint64_t start, uint64_t length)
{
	return start + length >= start;
}

/* Check the range of memory of the process. Its addresses may have fewer bits than those of
 * devices. */
static bool memory_is_ok(const void *addr, uint64_t length)
{
	return length <= UINTPTR_MAX - (uintptr_t)addr;
}

/*
 * Return whether the region needs fork protection. On-demand regions are not pinned. A user-space
 * device pins nothing: it accesses the memory by addresses, so a copy at fork() is harmless.
 */
static bool mr_is_fork_protected(const struct verbs_mr *mr)
{
	return mr->mr_type == VERBS_MR_PLAIN && !(mr->access & IBV_ACCESS_ON_DEMAND) &&
	       verbs_is_kernel(mr->ibv_mr.context);
}

/*
 * Repeat a refused registration without its optional access flags. A kernel or a device that does
 * not know them refuses the whole request.
 */
static int mr_register_required(struct verbs_mr *mr, const struct verbs_reg_mr *in, int r)
{
	struct verbs_reg_mr plain = *in;

	if (!(in->access & IBV_ACCESS_OPTIONAL_RANGE) || (r != -EINVAL && r != -EOPNOTSUPP))
		return r;
	plain.access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	mr->access = plain.access;
	return ctx_ops(in->pd->context)->reg_mr(mr, &plain);
}

static int mr_register_protected(struct verbs_mr *mr, const char *verb,
				 const struct verbs_reg_mr *in)
{
	bool protect = mr_is_fork_protected(mr);
	int r = protect ? verbs_dontfork_range_by(verb, in->addr, in->length) : 0;

	if (r < 0)
		return r;
	r = ctx_ops(in->pd->context)->reg_mr(mr, in);
	if (unlikely(r < 0))
		r = mr_register_required(mr, in, r);
	if (unlikely(r < 0 && protect))
		verbs_dofork_range(in->addr, in->length);
	return r;
}

static struct verbs_mr *mr_alloc(struct ibv_pd *pd, enum verbs_mr_type type, int access)
{
	struct ibv_context *ctx = pd->context;
	struct verbs_mr *mr = verbs_object_alloc(sizeof(*mr), ctx_priv(ctx)->provider->sizes.mr);

	if (!mr)
		return NULL;
	mr->ibv_mr.context = ctx;
	mr->ibv_mr.pd = pd;
	mr->mr_type = type;
	mr->access = access;
	return mr;
}

int mr_register(const char *verb, const struct verbs_reg_mr *in, struct ibv_mr **ret_mr)
{
	struct verbs_mr *mr;
	int r;

	if (unlikely(!in->pd))
		return explain_null(verb, "pd");
	if (!ctx_ops(in->pd->context)->reg_mr)
		return verbs_unsupported(in->pd->context, verb);
	if (unlikely(!access_is_ok(in->access)))
		return mr_explain_access(in->pd->context, verb, in->access);
	if (unlikely(!memory_is_ok(in->addr, in->length)))
		return mr_explain_range(in->pd->context, verb, (uintptr_t)in->addr, in->length);
	mr = mr_alloc(in->pd, VERBS_MR_PLAIN, in->access);
	if (!mr)
		return -ENOMEM;
	mr->ibv_mr.addr = in->addr;
	mr->ibv_mr.length = in->length;
	mr->iova = in->iova;
	r = mr_register_protected(mr, verb, in);
	if (unlikely(r < 0)) {
		mr_explain_register(verb, in, r);
		free(mr);
		return r;
	}
	*ret_mr = &mr->ibv_mr;
	return 0;
}

VERBS_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const struct verbs_reg_mr in = {
		.pd = pd,
		.addr = addr,
		.length = length,
		.iova = (uintptr_t)addr,
		.access = access,
	};
	struct ibv_mr *mr = NULL;
	int r = mr_register("ibv_reg_mr", &in, &mr);

	return r < 0 ? ret_null(r) : mr;
}

VERBS_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					     uint64_t iova, unsigned int access)
{
	const struct verbs_reg_mr in = {
		.pd = pd,
		.addr = addr,
		.length = length,
		.iova = iova,
		.access = access,
	};
	/* ibv_reg_mr() of verbs.h calls this function if its flags are not constant. */
	bool plain = iova == (uintptr_t)addr;
	struct ibv_mr *mr = NULL;
	int r = mr_register(plain ? "ibv_reg_mr" : "ibv_reg_mr_iova", &in, &mr);

	return r < 0 ? ret_null(r) : mr;
}

VERBS_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					    uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

int verbs_mr_register_dmabuf(const char *verb, const struct verbs_reg_dmabuf_mr *in,
			     struct ibv_mr **ret_mr)
{
	const struct verbs_ops *ops;
	struct verbs_mr *mr;
	int r;

	if (unlikely(!in->pd))
		return explain_null(verb, "pd");
	ops = ctx_ops(in->pd->context);
	if (!ops->reg_dmabuf_mr)
		return verbs_unsupported(in->pd->context, verb);
	if (unlikely(!access_is_ok(in->access)))
		return mr_explain_access(in->pd->context, verb, in->access);
	if (unlikely(!range_is_ok(in->offset, in->length)))
		return mr_explain_range(in->pd->context, verb, in->offset, in->length);
	mr = mr_alloc(in->pd, VERBS_MR_DMABUF, in->access);
	if (!mr)
		return -ENOMEM;
	/* A dma-buf has no address in this process. Programs read the offset in the buffer here. */
	mr->ibv_mr.addr = (void *)(uintptr_t)in->offset;
	mr->ibv_mr.length = in->length;
	mr->iova = in->iova;
	r = ops->reg_dmabuf_mr(mr, in);
	if (unlikely(r < 0)) {
		mr_explain_dmabuf(verb, in, r);
		free(mr);
		return r;
	}
	*ret_mr = &mr->ibv_mr;
	return 0;
}

static int mr_register_ex_protected(struct verbs_mr *mr, const char *verb,
				    const struct verbs_reg_mr_ex *in)
{
	bool protect = mr_is_fork_protected(mr);
	int r = protect ? verbs_dontfork_range_by(verb, in->attr->addr, in->attr->length) : 0;

	if (r < 0)
		return r;
	r = ctx_ops(in->pd->context)->reg_mr_ex(mr, in);
	if (r < 0 && protect)
		verbs_dofork_range(in->attr->addr, in->attr->length);
	return r;
}

int mr_register_ex(const char *verb, const struct verbs_reg_mr_ex *in, struct ibv_mr **ret_mr)
{
	const struct ibv_mr_init_attr *attr = in->attr;
	struct ibv_context *ctx = in->pd->context;
	bool fd = attr->comp_mask & IBV_REG_MR_MASK_FD;
	struct verbs_mr *mr;
	int r;

	if (!ctx_ops(ctx)->reg_mr_ex)
		return verbs_unsupported(ctx, "ibv_reg_mr_ex with a DMA handle");
	if (!access_is_ok(attr->access))
		return mr_explain_access(ctx, verb, attr->access);
	if (fd ? !range_is_ok(attr->fd_offset, attr->length)
	       : !memory_is_ok(attr->addr, attr->length))
		return mr_explain_range(ctx, verb, fd ? attr->fd_offset : (uintptr_t)attr->addr,
					attr->length);
	mr = mr_alloc(in->pd, fd ? VERBS_MR_DMABUF : VERBS_MR_PLAIN, attr->access);
	if (!mr)
		return -ENOMEM;
	mr->ibv_mr.addr = fd ? (void *)(uintptr_t)attr->fd_offset : attr->addr;
	mr->ibv_mr.length = attr->length;
	mr->iova = attr->iova;
	r = mr_register_ex_protected(mr, verb, in);
	if (r < 0) {
		verbs_err(ctx, "%s: dmah %u, %zu bytes: %s", verb, to_vdmah(attr->dmah)->handle,
			  attr->length, strerror(-r));
		free(mr);
		return r;
	}
	*ret_mr = &mr->ibv_mr;
	return 0;
}

VERBS_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					      uint64_t iova, int fd, int access)
{
	const struct verbs_reg_dmabuf_mr in = {
		.pd = pd,
		.offset = offset,
		.length = length,
		.iova = iova,
		.fd = fd,
		.access = access,
	};
	struct ibv_mr *mr = NULL;
	int r = verbs_mr_register_dmabuf("ibv_reg_dmabuf_mr", &in, &mr);

	return r < 0 ? ret_null(r) : mr;
}

static int mr_check_rereg(const struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	static const char verb[] = "ibv_rereg_mr";
	struct ibv_context *ctx = mr->ibv_mr.context;

	if (!ctx_ops(ctx)->rereg_mr)
		return verbs_unsupported(ctx, verb);
	if (in->flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !in->flags)
		return mr_explain_rereg(ctx, "flags must be some of CHANGE_TRANSLATION, CHANGE_PD, "
					     "CHANGE_ACCESS");
	if (in->flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!in->length || !in->addr))
		return mr_explain_rereg(ctx, "CHANGE_TRANSLATION needs an address and a length");
	if (in->flags & IBV_REREG_MR_CHANGE_PD && !in->pd)
		return mr_explain_rereg(ctx, "CHANGE_PD needs a protection domain");
	if (in->flags & IBV_REREG_MR_CHANGE_PD && verbs_is_foreign(ctx, in->pd->context))
		return mr_explain_rereg(ctx, "the protection domain belongs to another context");
	if (in->access && !(in->flags & IBV_REREG_MR_CHANGE_ACCESS))
		return mr_explain_rereg(ctx, "access flags are given without CHANGE_ACCESS");
	if (!access_is_ok(in->access))
		return mr_explain_access(ctx, verb, in->access);
	if (!memory_is_ok(in->addr, in->length))
		return mr_explain_range(ctx, verb, (uintptr_t)in->addr, in->length);
	return 0;
}

/* Store the new attributes of the region, and release the old pages. */
static int mr_rereg_commit(struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	void *old_addr = mr->ibv_mr.addr;
	size_t old_length = mr->ibv_mr.length;
	bool was_protected = mr_is_fork_protected(mr);

	if (in->flags & IBV_REREG_MR_CHANGE_PD)
		mr->ibv_mr.pd = in->pd;
	if (in->flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = in->access;
	if (!(in->flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return 0;
	mr->ibv_mr.addr = in->addr;
	mr->ibv_mr.length = in->length;
	mr->iova = (uintptr_t)in->addr;
	return was_protected ? verbs_dofork_range(old_addr, old_length) : 0;
}

/* Return enum ibv_rereg_mr_err_code and set errno. */
VERBS_EXPORT int ibv_rereg_mr(struct ibv_mr *ibv_mr, int flags, struct ibv_pd *pd, void *addr,
			      size_t length, int access)
{
	const struct verbs_rereg_mr in = {
		.flags = flags,
		.pd = pd,
		.addr = addr,
		.length = length,
		.access = access,
	};
	struct verbs_mr *mr = to_vmr(ibv_mr);
	bool protect = mr_is_fork_protected(mr) && flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	int r = mr_check_rereg(mr, &in);

	if (r < 0)
		return ret_neg1(r), IBV_REREG_MR_ERR_INPUT;
	r = protect ? verbs_dontfork_range_by("ibv_rereg_mr", addr, length) : 0;
	if (r < 0)
		return ret_neg1(r), IBV_REREG_MR_ERR_DONT_FORK_NEW;
	r = ctx_ops(ibv_mr->context)->rereg_mr(mr, &in);
	if (r < 0) {
		int undo = protect ? verbs_dofork_range(addr, length) : 0;

		mr_explain_rereg_command(mr, &in, r);
		ret_neg1(r);
		if (r == -EOPNOTSUPP && undo >= 0)
			return IBV_REREG_MR_ERR_INPUT;
		return undo < 0 ? IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW : IBV_REREG_MR_ERR_CMD;
	}
	r = mr_rereg_commit(mr, &in);
	return r < 0 ? (ret_neg1(r), IBV_REREG_MR_ERR_DO_FORK_OLD) : 0;
}

/* Deregister a region. An imported region is deregistered for the process that registered it, too.
 */
VERBS_EXPORT int ibv_dereg_mr(struct ibv_mr *ibv_mr)
{
	struct ibv_context *ctx = ibv_mr->context;
	struct verbs_mr *mr = to_vmr(ibv_mr);
	void *addr = ibv_mr->addr;
	size_t length = ibv_mr->length;
	bool protected = mr_is_fork_protected(mr);
	int r = verbs_destroy_result(ctx, "ibv_dereg_mr: mr", ibv_mr->handle,
				     ctx_ops(ctx)->dereg_mr(mr));

	if (r)
		return ret_int(r);
	if (protected)
		verbs_dofork_range(addr, length);
	free(mr);
	return 0;
}

int verbs_slot_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct ibv_context *ctx = pd->context;
	int r;

	if (!ctx_ops(ctx)->advise_mr)
		return ret_int(verbs_unsupported(ctx, "ibv_advise_mr"));
	if (!sg_list || !num_sge)
		return ret_int(explain_null("ibv_advise_mr", "sg_list"));
	r = ctx_ops(ctx)->advise_mr(pd, advice, flags, sg_list, num_sge);
	if (r < 0)
		verbs_err(ctx, "ibv_advise_mr: advice %d, flags 0x%x, %u ranges: %s", advice, flags,
			  num_sge, strerror(-r));
	return ret_int(r);
}

static int mr_alloc_null(struct ibv_pd *pd, struct verbs_mr **ret_mr)
{
	struct ibv_context *ctx = pd->context;
	struct verbs_mr *mr;
	int r;

	if (!ctx_ops(ctx)->alloc_null_mr)
		return verbs_unsupported(ctx, "ibv_alloc_null_mr");
	mr = mr_alloc(pd, VERBS_MR_NULL, 0);
	if (!mr)
		return -ENOMEM;
	r = ctx_ops(ctx)->alloc_null_mr(mr);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_null_mr: %s", strerror(-r));
		free(mr);
		return r;
	}
	*ret_mr = mr;
	return 0;
}

struct ibv_mr *verbs_slot_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_mr *mr = NULL;
	int r = pd ? mr_alloc_null(pd, &mr) : explain_null("ibv_alloc_null_mr", "pd");

	return r < 0 ? ret_null(r) : &mr->ibv_mr;
}

static int mr_check_dm(const struct verbs_reg_dm_mr *in)
{
	static const char verb[] = "ibv_reg_dm_mr";
	struct ibv_context *ctx = in->pd->context;
	size_t size = in->dm->length;

	if (!ctx_ops(ctx)->reg_dm_mr)
		return verbs_unsupported(ctx, verb);
	if (verbs_is_foreign(ctx, in->dm->dm.context)) {
		verbs_err(ctx, "%s: the device memory belongs to another context", verb);
		return -EINVAL;
	}
	if (!access_is_ok(in->access))
		return mr_explain_access(ctx, verb, in->access);
	if (!(in->access & IBV_ACCESS_ZERO_BASED)) {
		verbs_err(ctx,
			  "%s: access needs IBV_ACCESS_ZERO_BASED: device memory has no other "
			  "addresses",
			  verb);
		return -EINVAL;
	}
	if (!range_is_ok(in->offset, in->length) || (size && in->offset + in->length > size)) {
		verbs_err(ctx, "%s: %llu bytes from %llu on: the device memory has %zu", verb,
			  (unsigned long long)in->length, (unsigned long long)in->offset, size);
		return -EINVAL;
	}
	return 0;
}

static int mr_register_dm(const struct verbs_reg_dm_mr *in, struct verbs_mr **ret_mr)
{
	struct verbs_mr *mr;
	int r = mr_check_dm(in);

	if (r < 0)
		return r;
	mr = mr_alloc(in->pd, VERBS_MR_DM, in->access);
	if (!mr)
		return -ENOMEM;
	mr->ibv_mr.length = in->length;
	r = ctx_ops(in->pd->context)->reg_dm_mr(mr, in);
	if (r < 0) {
		verbs_err(in->pd->context, "ibv_reg_dm_mr: dm %u, %llu bytes from %llu on: %s",
			  in->dm->dm.handle, (unsigned long long)in->length,
			  (unsigned long long)in->offset, strerror(-r));
		free(mr);
		return r;
	}
	*ret_mr = mr;
	return 0;
}

struct ibv_mr *verbs_slot_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				    size_t length, unsigned int access)
{
	const struct verbs_reg_dm_mr in = {
		.pd = pd,
		.dm = to_vdm(dm),
		.offset = offset,
		.length = length,
		.access = access,
	};
	struct verbs_mr *mr = NULL;
	int r = pd && dm ? mr_register_dm(&in, &mr)
			 : explain_null("ibv_reg_dm_mr", pd ? "dm" : "pd");

	return r < 0 ? ret_null(r) : &mr->ibv_mr;
}

VERBS_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct ibv_context *ctx;
	struct verbs_mr *mr;
	int r;

	if (unlikely(!pd))
		return ret_null(explain_null("ibv_import_mr", "pd"));
	ctx = pd->context;
	if (!ctx_ops(ctx)->import_mr)
		return ret_null(verbs_unsupported(ctx, "ibv_import_mr"));
	mr = mr_alloc(pd, VERBS_MR_IMPORTED, 0);
	if (!mr)
		return ret_null(-ENOMEM);
	r = ctx_ops(ctx)->import_mr(mr, mr_handle);
	if (r < 0) {
		verbs_err(ctx, "ibv_import_mr: handle %u: %s%s", mr_handle, strerror(-r),
			  r == -ENOENT ? "; no such region in this context" : "");
		free(mr);
		return ret_null(r);
	}
	return &mr->ibv_mr;
}

VERBS_EXPORT void ibv_unimport_mr(struct ibv_mr *ibv_mr)
{
	struct ibv_context *ctx = ibv_mr->context;
	struct verbs_mr *mr = to_vmr(ibv_mr);

	if (mr->mr_type != VERBS_MR_IMPORTED) {
		verbs_err(ctx, "ibv_unimport_mr: mr %u was not imported: ibv_dereg_mr() frees it",
			  ibv_mr->handle);
		return;
	}
	if (ctx_ops(ctx)->unimport_mr)
		ctx_ops(ctx)->unimport_mr(mr);
	free(mr);
}
