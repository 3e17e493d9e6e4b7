/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protection domains, and the memory of queues, which the allocator of a parent domain may provide.
 */
#include <infiniband/uroce.h>
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

int uroce_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dev *dev = ctx_dev(pd->context);
	int r = uroce_host_check(dev->host);

	if (r < 0)
		return r;
	uroce_copy_init();
	pd->handle = atomic_fetch_add_explicit(&dev->host->next_handle, 1, memory_order_relaxed);
	pthread_mutex_lock(&dev->host->lock);
	LIST_INSERT_HEAD(&dev->host->pds, (struct uroce_pd *)pd, entry);
	pthread_mutex_unlock(&dev->host->lock);
	return 0;
}

int uroce_dealloc_pd(struct ibv_pd *ibv_pd)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_host *host = ctx_host(ibv_pd->context);
	struct uroce_pd *pd = (struct uroce_pd *)ibv_pd;
	unsigned int users;
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (pd->vpd.imported) {
		verbs_err(ibv_pd->context,
			  "ibv_dealloc_pd: pd %u was imported: on this device only who allocated "
			  "it deallocates it; ibv_unimport_pd() gives it back",
			  ibv_pd->handle);
		return -EOPNOTSUPP;
	}
	pthread_mutex_lock(&host->lock);
	users = atomic_load_explicit(&pd->users, memory_order_relaxed);
	if (!users)
		LIST_REMOVE(pd, entry);
	pthread_mutex_unlock(&host->lock);
	if (!users)
		return 0;
	verbs_err(ibv_pd->context,
		  "ibv_dealloc_pd: %u objects of the protection domain, or views of those who "
		  "imported it, still exist",
		  users);
	return -EBUSY;
}

/* Accept a thread domain without effect, because queues use few locks and hold them briefly. */
int uroce_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr)
{
	return uroce_host_check(ctx_host(td->context));
}

int uroce_alloc_parent_domain(struct verbs_pd *parent)
{
	return uroce_host_check(ctx_host(parent->pd.context));
}

/* --- memory of queues --- */

static int memory_check(const struct verbs_pd *parent, const void *at, size_t size,
			size_t alignment)
{
	if (!at)
		return -ENOMEM;
	if (!((uintptr_t)at % alignment))
		return 0;
	verbs_err(
		parent->pd.context,
		"parent domain of pd %u: its allocator gave %p for %zu bytes that are to be aligned "
		"to %zu",
		parent->pd.handle, at, size, alignment);
	return -EINVAL;
}

/* Ask the allocator of a parent domain. Return: -EAGAIN if it wants the default allocation. */
static int memory_ask(struct uroce_memory *memory, struct verbs_pd *parent, size_t size,
		      size_t alignment)
{
	void *at = parent->alloc(&parent->pd, parent->pd_context, size, alignment, memory->type);
	int r;

	if (at == IBV_ALLOCATOR_USE_DEFAULT)
		return -EAGAIN;
	r = memory_check(parent, at, size, alignment);
	if (r == -EINVAL)
		parent->free(&parent->pd, parent->pd_context, at, memory->type);
	if (r < 0)
		return r;
	memory->at = at;
	memory->parent = parent;
	return 0;
}

int uroce_memory_get(struct uroce_memory *memory, struct ibv_pd *pd, size_t size, size_t alignment,
		     uint64_t type)
{
	struct verbs_pd *vpd = to_vpd(pd);
	int r = -EAGAIN;

	*memory = (struct uroce_memory){ .type = type };
	if (unlikely(vpd && vpd->alloc))
		r = memory_ask(memory, vpd, size, alignment);
	if (r != -EAGAIN)
		return r;
	memory->at = aligned_alloc(alignment, ROUND_UP(size, alignment));
	return memory->at ? 0 : -ENOMEM;
}

void uroce_memory_put(struct uroce_memory *memory)
{
	if (unlikely(memory->parent))
		memory->parent->free(&memory->parent->pd, memory->parent->pd_context, memory->at,
				     memory->type);
	else
		free(memory->at);
	*memory = (struct uroce_memory){};
}
