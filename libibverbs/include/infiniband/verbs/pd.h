/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, thread domains and parent domains. */
#ifndef INFINIBAND_VERBS_PD_H
#define INFINIBAND_VERBS_PD_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct ibv_pd - what may be used together: a QP reaches only memory and AHs of its own PD
 *
 * Source: IBTA vol. 1, software transport interface (chapter 10), protection domains.
 */
struct ibv_pd {
	struct ibv_context *context;
	uint32_t handle;
};

/**
 * ibv_alloc_pd(), ibv_dealloc_pd() - allocate and free a protection domain
 *
 * Freeing returns EBUSY while anything made in the domain exists.
 */
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
int ibv_dealloc_pd(struct ibv_pd *pd);

/**
 * ibv_import_pd(), ibv_unimport_pd() - use a domain another process allocated
 * @pd_handle: its ibv_pd.handle; @context is imported from the same process
 *
 * Unimporting drops this process's object and leaves the domain.
 */
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle);
void ibv_unimport_pd(struct ibv_pd *pd);

/**
 * struct ibv_td - thread domain: its objects are used by one thread at a time
 *
 * The program promises that; the provider may then leave out locks.
 */
struct ibv_td_init_attr {
	uint32_t comp_mask; /* 0 */
};

struct ibv_td {
	struct ibv_context *context;
};

/**
 * ibv_alloc_td(), ibv_dealloc_td() - allocate and free a thread domain
 */
static inline struct ibv_td *ibv_alloc_td(struct ibv_context *context,
					  struct ibv_td_init_attr *init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_td);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_td(context, init_attr);
}

static inline int ibv_dealloc_td(struct ibv_td *td)
{
	struct verbs_context *vctx = verbs_get_ctx_op(td->context, dealloc_td);

	return vctx ? vctx->dealloc_td(td) : EOPNOTSUPP;
}

enum ibv_parent_domain_init_attr_mask {
	IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS = 1 << 0, /* alloc, free */
	IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT = 1 << 1,
	/* In a confidential guest: ibv_alloc_buf() may give memory that the host can read. */
	IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC = 1 << 2,
};

/* Result of an alloc callback that leaves the allocation to the provider. */
#define IBV_ALLOCATOR_USE_DEFAULT ((void *)-1)

/**
 * struct ibv_parent_domain_init_attr - a PD with further properties
 * @pd: the domain to be seen as; required
 * @td: or NULL
 * @alloc: gives @size bytes aligned to @alignment (bytes) for a queue of the provider
 * @free: takes them back
 * @pd_context: handed to both
 *
 * @resource_type is the provider's. The callbacks run in the thread that creates or destroys the
 * object and must not call verbs on it.
 */
struct ibv_parent_domain_init_attr {
	struct ibv_pd *pd;
	struct ibv_td *td;
	uint32_t comp_mask;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

/**
 * ibv_alloc_parent_domain() - make a parent domain
 *
 * Return: a PD, to be used in place of @attr->pd and freed by ibv_dealloc_pd() before @attr->pd and
 * @attr->td are.
 */
static inline struct ibv_pd *ibv_alloc_parent_domain(struct ibv_context *context,
						     struct ibv_parent_domain_init_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_parent_domain);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_parent_domain(context, attr);
}

#ifdef __cplusplus
}
#endif

#endif
