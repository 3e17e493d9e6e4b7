/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Imported objects of another context: the importing side of host/import.h.
 *
 * If the other context belongs to this process, an imported object is the object itself. If it
 * belongs to another process, an imported domain stands for a new domain of this process. An
 * imported region maps the region's memory and has a key of this process, so only memory that can
 * be mapped can be imported.
 */
#include <string.h>
#include <sys/mman.h>

#include "providers/uroce/verbs/import_ask.h"
#include "util/cancel.h"

/* Domain of this process that represents a domain of the other process. */
struct import_domain {
	LIST_ENTRY(import_domain) entry;
	struct uroce_pd pd;
	unsigned int views;
};

static struct uroce_context *import_context(const struct ibv_context *ctx)
{
	return to_uctx(ctx);
}

/* Return the context whose objects the handles name; NULL if it belongs to another process. */
static const struct ibv_context *import_origin(const struct ibv_context *ctx)
{
	const struct uroce_context *uctx = import_context(ctx);

	if (uctx->owner)
		return NULL;
	return uctx->origin ? uctx->origin : ctx;
}

/* --- the context --- */

bool uroce_owns(const struct verbs_device *device, int cmd_fd)
{
	return uroce_import_socket_is(device->device.name, cmd_fd);
}

int uroce_import_open(struct uroce_context *ctx)
{
	int sock = ctx->vctx.context.cmd_fd, r;
	struct uroce_owner *owner;

	ctx->origin = uroce_import_socket_context(ctx->dev->host, sock);
	if (ctx->origin)
		return 0;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	r = uroce_import_visit(sock, &owner->fd);
	if (r < 0) {
		verbs_err(&ctx->vctx.context,
			  "ibv_import_device: the process that has the context %s",
			  r == -ENODEV	    ? "has closed it"
			  : r == -ETIMEDOUT ? "does not answer"
			  : r == -EMFILE    ? "has been asked for it by too many others"
					    : "cannot be asked");
		free(owner);
		return r;
	}
	pthread_mutex_init(&owner->lock, NULL);
	LIST_INIT(&owner->domains);
	ctx->owner = owner;
	return 0;
}

void uroce_import_close(struct uroce_context *ctx)
{
	struct uroce_owner *owner = ctx->owner;
	struct import_domain *domain;

	if (!owner)
		return;
	if (owner->fd >= 0)
		close(owner->fd);
	while ((domain = LIST_FIRST(&owner->domains))) {
		LIST_REMOVE(domain, entry);
		free(domain);
	}
	pthread_mutex_destroy(&owner->lock);
	free(owner);
	ctx->owner = NULL;
}

/* --- domains --- */

static struct import_domain *domain_find(struct uroce_owner *owner, uint32_t handle)
{
	struct import_domain *domain;

	LIST_FOREACH(domain, &owner->domains, entry)
		if (domain->pd.pd.handle == handle)
			break;
	return domain;
}

/*
 * Return the domain that represents @handle. All views of a domain of the other process share it.
 */
static int domain_get(struct ibv_context *ctx, struct uroce_owner *owner, uint32_t handle,
		      struct import_domain **ret)
{
	struct import_ask question = { .what = IMPORT_PD, .handle = handle };
	struct import_domain *domain = domain_find(owner, handle);
	struct import_answer answer;
	_cleanup_close_ int fd = -1;
	int r;

	if (!domain) {
		r = uroce_import_ask(ctx, owner, &question, &answer, &fd);
		if (r < 0)
			return r;
		domain = calloc(1, sizeof(*domain));
		if (!domain) {
			uroce_import_give_back(ctx, owner, IMPORT_PD, handle);
			return -ENOMEM;
		}
		domain->pd.pd.context = ctx;
		domain->pd.pd.handle = handle;
		LIST_INSERT_HEAD(&owner->domains, domain, entry);
	}
	domain->views++;
	*ret = domain;
	return 0;
}

int uroce_import_pd(struct ibv_pd *pd, uint32_t handle)
{
	_cleanup_cancel_ int cancel = cancel_off();
	const struct ibv_context *origin = import_origin(pd->context);
	struct uroce_host *host = ctx_host(pd->context);
	struct uroce_owner *owner = import_context(pd->context)->owner;
	struct verbs_pd *view = to_vpd(pd);
	struct import_domain *domain;
	struct uroce_pd *own;
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (origin) {
		pthread_mutex_lock(&host->lock);
		r = uroce_import_hold_pd(origin, handle, &own);
		pthread_mutex_unlock(&host->lock);
		if (!r)
			view->of = &own->vpd;
	} else {
		pthread_mutex_lock(&owner->lock);
		r = domain_get(pd->context, owner, handle, &domain);
		pthread_mutex_unlock(&owner->lock);
		if (!r)
			view->of = &domain->pd.vpd;
	}
	pd->handle = handle;
	uroce_copy_init();
	return r;
}

static unsigned int domain_users(const struct import_domain *domain)
{
	return atomic_load_explicit(&domain->pd.users, memory_order_relaxed) +
	       atomic_load_explicit(&domain->pd.vpd.users, memory_order_relaxed);
}

/*
 * Free domains that have neither views nor objects. Called from time to time, because objects may
 * exist longer than the last view.
 */
static void domains_sweep(struct ibv_context *ctx, struct uroce_owner *owner)
{
	struct import_domain *domain, *next;

	for (domain = LIST_FIRST(&owner->domains); domain; domain = next) {
		next = LIST_NEXT(domain, entry);
		if (domain->views || domain_users(domain))
			continue;
		uroce_import_give_back(ctx, owner, IMPORT_PD, domain->pd.pd.handle);
		LIST_REMOVE(domain, entry);
		free(domain);
	}
}

static void domain_put(struct ibv_context *ctx, struct uroce_owner *owner,
		       struct import_domain *domain)
{
	unsigned int users = domain_users(domain);

	if (!--domain->views && users)
		verbs_warn(ctx,
			   "ibv_unimport_pd: pd %u: %u objects of it still exist: it is given back "
			   "later, at the latest with the context",
			   domain->pd.pd.handle, users);
	domains_sweep(ctx, owner);
}

void uroce_unimport_pd(struct ibv_pd *pd)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_owner *owner = import_context(pd->context)->owner;
	struct uroce_pd *own = (struct uroce_pd *)verbs_pd_protection(pd);

	if (!uroce_host_here(ctx_host(pd->context)))
		return;
	if (!owner) {
		uroce_pd_use(pd, -1);
		return;
	}
	pthread_mutex_lock(&owner->lock);
	domain_put(pd->context, owner, container_of(own, struct import_domain, pd));
	pthread_mutex_unlock(&owner->lock);
}

/* --- memory --- */

static int refuse_private(struct ibv_context *ctx, const char *what, uint32_t handle)
{
	verbs_err(ctx,
		  "%s %u: its memory is the other process's alone: shared memory that has a file, "
		  "device memory and buffers of ibv_alloc_buf() can be imported",
		  what, handle);
	return -EOPNOTSUPP;
}

/* Ask for an object with memory, and map the memory. Under owner->lock. */
static int memory_get(struct ibv_context *ctx, struct uroce_owner *owner,
		      struct import_ask *question, struct import_answer *ret,
		      struct uroce_mapped *ret_mapped)
{
	_cleanup_close_ int fd = -1;
	int r = uroce_import_ask(ctx, owner, question, ret, &fd);

	if (r < 0)
		return r;
	r = uroce_segment_map(fd, ret->place, ret->length, question->what == IMPORT_DM, ret_mapped);
	if (r < 0) {
		verbs_err(ctx, "import: %llu bytes from %llu on of the other process's memory: %s",
			  (unsigned long long)ret->length, (unsigned long long)ret->place,
			  strerror(-r));
		uroce_import_give_back(ctx, owner, question->what, question->handle);
	}
	return r;
}

/* --- regions --- */

static int mr_fill(struct verbs_mr *vmr, uint32_t handle)
{
	struct uroce_mr *mr = (struct uroce_mr *)vmr;

	mr->segment = -1;
	vmr->iova = mr->key->iova;
	vmr->access = mr->key->access & ~UROCE_ACCESS_LOCAL;
	vmr->ibv_mr.length = mr->key->length;
	vmr->ibv_mr.lkey = vmr->ibv_mr.rkey = mr->key->key;
	vmr->ibv_mr.handle = handle;
	return 0;
}

static int mr_refuse_domain(const struct verbs_mr *vmr, uint32_t handle)
{
	verbs_err(vmr->ibv_mr.context,
		  "ibv_import_mr: handle %u: the region is not of pd %u, in which it is imported",
		  handle, vmr->ibv_mr.pd->handle);
	return -EINVAL;
}

/* Import a region of this process, which is the region itself. */
static int mr_import_own(struct verbs_mr *vmr, const struct ibv_context *origin, uint32_t handle)
{
	const struct ibv_pd *pd = verbs_pd_protection(vmr->ibv_mr.pd);
	struct uroce_host *host = ctx_host(vmr->ibv_mr.context);
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	int r;

	pthread_mutex_lock(&host->lock);
	r = uroce_import_hold_mr(origin, handle, pd->handle, &mr->key);
	pthread_mutex_unlock(&host->lock);
	if (r == -EINVAL)
		return mr_refuse_domain(vmr, handle);
	return r < 0 ? r : mr_fill(vmr, handle);
}

static int mr_import(struct verbs_mr *vmr, struct uroce_owner *owner, uint32_t handle)
{
	struct ibv_context *ctx = vmr->ibv_mr.context;
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct import_ask question = { .what = IMPORT_MR,
				       .handle = handle,
				       .pd_handle = vmr->ibv_mr.pd->handle };
	struct uroce_mapped mapped = {};
	struct import_answer answer;
	int r = memory_get(ctx, owner, &question, &answer, &mapped);

	if (r < 0)
		return r == -EOPNOTSUPP ? refuse_private(ctx, "ibv_import_mr: handle", handle)
		       : r == -EINVAL	? mr_refuse_domain(vmr, handle)
					: r;
	r = uroce_access_check(ctx, answer.access);
	if (!r)
		r = uroce_key_new(ctx_host(ctx)->engine.keys, verbs_pd_protection(vmr->ibv_mr.pd),
				  mapped.bytes, answer.length, answer.iova, answer.access,
				  &mr->key);
	if (r < 0) {
		munmap(mapped.at, mapped.size);
		uroce_import_give_back(ctx, owner, IMPORT_MR, handle);
		return r;
	}
	mr->mapped = mapped.at;
	mr->mapped_size = mapped.size;
	uroce_pd_use(vmr->ibv_mr.pd, 1);
	return mr_fill(vmr, handle);
}

int uroce_import_mr(struct verbs_mr *vmr, uint32_t handle)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct ibv_context *ctx = vmr->ibv_mr.context;
	const struct ibv_context *origin = import_origin(ctx);
	struct uroce_owner *owner = import_context(ctx)->owner;
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	uroce_copy_init();
	if (origin)
		return mr_import_own(vmr, origin, handle);
	/* A region of the other process cannot be in a domain that this process allocated. */
	if (!to_vpd(vmr->ibv_mr.pd)->imported || vmr->ibv_mr.pd->context != ctx)
		return mr_refuse_domain(vmr, handle);
	pthread_mutex_lock(&owner->lock);
	r = mr_import(vmr, owner, handle);
	pthread_mutex_unlock(&owner->lock);
	return r;
}

void uroce_unimport_mr(struct verbs_mr *vmr)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mr *mr = (struct uroce_mr *)vmr;
	struct uroce_host *host = ctx_host(vmr->ibv_mr.context);
	struct uroce_owner *owner = import_context(vmr->ibv_mr.context)->owner;
	const struct ibv_pd *pd = mr->key->pd;

	if (!uroce_host_here(host))
		return;
	if (!owner) {
		uroce_import_release(host, IMPORT_MR, mr->key);
		return;
	}
	uroce_key_free(host->engine.keys, mr->key);
	munmap(mr->mapped, mr->mapped_size);
	uroce_pd_use(pd, -1);
	pthread_mutex_lock(&owner->lock);
	uroce_import_give_back(vmr->ibv_mr.context, owner, IMPORT_MR, vmr->ibv_mr.handle);
	domains_sweep(vmr->ibv_mr.context, owner);
	pthread_mutex_unlock(&owner->lock);
}

/* --- device memory --- */

static int dm_import(struct uroce_dm *dm, struct uroce_owner *owner, uint32_t handle)
{
	struct ibv_context *ctx = dm->vdm.dm.context;
	struct import_ask question = { .what = IMPORT_DM, .handle = handle };
	struct uroce_mapped mapped = {};
	struct import_answer answer;
	int r = memory_get(ctx, owner, &question, &answer, &mapped);

	if (r < 0)
		return r == -EOPNOTSUPP ? refuse_private(ctx, "ibv_import_dm: handle", handle) : r;
	dm->bytes = mapped.bytes;
	dm->mapped_size = mapped.size;
	dm->vdm.length = answer.length;
	return 0;
}

int uroce_import_dm(struct verbs_dm *vdm, uint32_t handle)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dm *dm = (struct uroce_dm *)vdm;
	struct uroce_host *host = ctx_host(vdm->dm.context);
	const struct ibv_context *origin = import_origin(vdm->dm.context);
	struct uroce_owner *owner = import_context(vdm->dm.context)->owner;
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (origin) {
		pthread_mutex_lock(&host->lock);
		r = uroce_import_hold_dm(origin, handle, &dm->origin);
		pthread_mutex_unlock(&host->lock);
	} else {
		pthread_mutex_lock(&owner->lock);
		r = dm_import(dm, owner, handle);
		pthread_mutex_unlock(&owner->lock);
	}
	if (r < 0)
		return r;
	if (dm->origin) {
		dm->bytes = dm->origin->bytes;
		vdm->length = dm->origin->vdm.length;
	}
	vdm->dm.handle = handle;
	uroce_dm_fill(dm);
	return 0;
}

int uroce_unimport_dm(struct verbs_dm *vdm)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dm *dm = (struct uroce_dm *)vdm;
	struct uroce_owner *owner = import_context(vdm->dm.context)->owner;
	/* acquire: pairs with region_release() */
	unsigned int regions = atomic_load_explicit(&dm->regions, memory_order_acquire);
	int r = uroce_host_check(ctx_host(vdm->dm.context));

	if (r < 0)
		return r;
	if (regions) {
		verbs_err(vdm->dm.context, "ibv_unimport_dm: dm %u: %u regions of it still exist",
			  vdm->dm.handle, regions);
		return -EBUSY;
	}
	if (dm->origin) {
		uroce_import_release(ctx_host(vdm->dm.context), IMPORT_DM, dm->origin);
		return 0;
	}
	munmap(dm->bytes, dm->mapped_size);
	pthread_mutex_lock(&owner->lock);
	uroce_import_give_back(vdm->dm.context, owner, IMPORT_DM, vdm->dm.handle);
	pthread_mutex_unlock(&owner->lock);
	return 0;
}
