/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, thread domains and parent domains. */
#include <errno.h>
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define PARENT_KNOWN                                         \
	((uint32_t)(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | \
		    IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | \
		    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC))

static struct verbs_pd *pd_new(struct ibv_context *ctx)
{
	struct verbs_pd *pd = verbs_object_alloc(sizeof(*pd), ctx_priv(ctx)->provider->sizes.pd);

	if (pd)
		pd->pd.context = ctx;
	return pd;
}

VERBS_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct verbs_pd *pd;
	int r;

	if (unlikely(!ctx))
		return ret_null(explain_null("ibv_alloc_pd", "context"));
	if (!ctx_ops(ctx)->alloc_pd)
		return ret_null(verbs_unsupported(ctx, "ibv_alloc_pd"));
	pd = pd_new(ctx);
	if (!pd)
		return ret_null(-ENOMEM);
	r = ctx_ops(ctx)->alloc_pd(&pd->pd, NULL);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_pd: %s", strerror(-r));
		free(pd);
		return ret_null(r);
	}
	return &pd->pd;
}

static int parent_dealloc(struct verbs_pd *parent)
{
	struct ibv_context *ctx = parent->pd.context;
	unsigned int queues = atomic_load(&parent->users);

	if (queues) {
		verbs_err(ctx, "ibv_dealloc_pd: parent domain of pd %u: %u queues still use it",
			  parent->pd.handle, queues);
		return -EBUSY;
	}
	if (ctx_ops(ctx)->dealloc_parent_domain)
		ctx_ops(ctx)->dealloc_parent_domain(parent);
	if (parent->td)
		atomic_fetch_sub(&to_vtd(parent->td)->users, 1);
	verbs_pd_release(parent->of);
	free(parent);
	return 0;
}

/* Check the users. A view whose domain is known (@of) is checked by the device. */
static int pd_check_users(const struct verbs_pd *pd)
{
	unsigned int users = atomic_load(&pd->users);

	if (pd->of || users <= pd->imported)
		return 0;
	verbs_err(pd->pd.context, "ibv_dealloc_pd: pd %u: %u %s", pd->pd.handle,
		  users - pd->imported,
		  pd->imported ? "queues and parent domains of this imported one still exist"
			       : "parent domains still stand for it");
	return -EBUSY;
}

static int pd_dealloc(struct verbs_pd *pd)
{
	struct ibv_context *ctx = pd->pd.context;
	int r = pd_check_users(pd);

	if (r < 0)
		return r;
	r = verbs_destroy_result(ctx, "ibv_dealloc_pd: pd", pd->pd.handle,
				 ctx_ops(ctx)->dealloc_pd(&pd->pd));
	if (!r)
		free(pd);
	return r;
}

VERBS_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct verbs_pd *vpd = to_vpd(pd);

	return ret_int(verbs_pd_is_parent(vpd) ? parent_dealloc(vpd) : pd_dealloc(vpd));
}

VERBS_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *ctx, uint32_t pd_handle)
{
	struct verbs_pd *pd;
	int r;

	if (unlikely(!ctx))
		return ret_null(explain_null("ibv_import_pd", "context"));
	if (!ctx_ops(ctx)->import_pd)
		return ret_null(verbs_unsupported(ctx, "ibv_import_pd"));
	pd = pd_new(ctx);
	if (!pd)
		return ret_null(-ENOMEM);
	pd->imported = true;
	r = ctx_ops(ctx)->import_pd(&pd->pd, pd_handle);
	if (r < 0) {
		verbs_err(ctx, "ibv_import_pd: handle %u: %s", pd_handle, strerror(-r));
		free(pd);
		return ret_null(r);
	}
	verbs_parent_hold(&pd->pd);
	return &pd->pd;
}

void verbs_pd_release(struct verbs_pd *pd)
{
	/* acq_rel: the last user sees the stores of the others. */
	if (atomic_fetch_sub_explicit(&pd->users, 1, memory_order_acq_rel) > 1 || !pd->imported)
		return;
	if (ctx_ops(pd->pd.context)->unimport_pd)
		ctx_ops(pd->pd.context)->unimport_pd(&pd->pd);
	free(pd);
}

VERBS_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!to_vpd(pd)->imported) {
		verbs_err(pd->context,
			  "ibv_unimport_pd: pd %u was not imported: ibv_dealloc_pd() frees it",
			  pd->handle);
		return;
	}
	verbs_pd_release(to_vpd(pd));
}

/* ---- thread domains ---- */

struct ibv_td *verbs_slot_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_td *td;
	int r;

	if (!ops->alloc_td)
		return ret_null(verbs_unsupported(ctx, "ibv_alloc_td"));
	if (!attr)
		return ret_null(explain_null("ibv_alloc_td", "init_attr"));
	if (attr->comp_mask) {
		verbs_err(ctx, "ibv_alloc_td: comp_mask 0x%x: no bit is defined yet",
			  attr->comp_mask);
		return ret_null(-EINVAL);
	}
	td = verbs_object_alloc(sizeof(*td), ctx_priv(ctx)->provider->sizes.td);
	if (!td)
		return ret_null(-ENOMEM);
	td->td.context = ctx;
	r = ops->alloc_td(&td->td, attr);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_td: %s", strerror(-r));
		free(td);
		return ret_null(r);
	}
	return &td->td;
}

int verbs_slot_dealloc_td(struct ibv_td *td)
{
	const struct verbs_ops *ops = ctx_ops(td->context);
	unsigned int users = atomic_load(&to_vtd(td)->users);
	int r;

	if (users) {
		verbs_err(td->context, "ibv_dealloc_td: %u parent domains still use it", users);
		return ret_int(-EBUSY);
	}
	r = ops->dealloc_td ? ops->dealloc_td(td) : 0;
	if (r < 0) {
		verbs_err(td->context, "ibv_dealloc_td: %s", strerror(-r));
		return ret_int(r);
	}
	free(to_vtd(td));
	return 0;
}

/* ---- parent domains ---- */

static int parent_check(struct ibv_context *ctx, const struct ibv_parent_domain_init_attr *attr)
{
	static const char verb[] = "ibv_alloc_parent_domain";

	if (!attr)
		return explain_null(verb, "attr");
	if (!comp_mask_ok(attr->comp_mask, PARENT_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  PARENT_KNOWN);
		return -EINVAL;
	}
	if (!attr->pd)
		return explain_null(verb, "pd");
	if (attr->pd->context != ctx || (attr->td && attr->td->context != ctx)) {
		verbs_err(ctx, "%s: the PD and the thread domain must be of this context", verb);
		return -EINVAL;
	}
	if (verbs_pd_is_parent(to_vpd(attr->pd))) {
		verbs_err(ctx, "%s: pd is a parent domain itself: give the protection domain",
			  verb);
		return -EINVAL;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return explain_null(verb, attr->alloc ? "free" : "alloc");
	return 0;
}

/*
 * In a confidential guest such a device reaches only memory that the guest shares with its host. No
 * provider of this library allocates queues there.
 */
static int parent_check_guest(struct ibv_context *ctx,
			      const struct ibv_parent_domain_init_attr *attr)
{
	const struct ibv_device_attr_ex *device;

	if (!(attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC) ||
	    verbs_device_attr(ctx, &device) < 0 ||
	    !(device->device_cap_flags_ex & IBV_DEVICE_CC_DMA_BOUNCE))
		return 0;
	verbs_err(ctx, "ibv_alloc_parent_domain: IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_"
		       "ALLOC: this library has no memory that the device reaches in this guest");
	return -EOPNOTSUPP;
}

static void parent_fill(struct verbs_pd *parent, const struct ibv_parent_domain_init_attr *attr)
{
	parent->pd.handle = attr->pd->handle;
	parent->of = to_vpd(verbs_pd_protection(attr->pd));
	parent->td = attr->td;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		parent->alloc = attr->alloc;
		parent->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		parent->pd_context = attr->pd_context;
}

static int parent_alloc(struct ibv_context *ctx, const struct ibv_parent_domain_init_attr *attr,
			struct verbs_pd **ret_parent)
{
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_pd *parent;
	int r;

	if (!ops->alloc_parent_domain)
		return verbs_unsupported(ctx, "ibv_alloc_parent_domain");
	r = parent_check(ctx, attr);
	if (!r)
		r = parent_check_guest(ctx, attr);
	if (r < 0)
		return r;
	parent = pd_new(ctx);
	if (!parent)
		return -ENOMEM;
	parent_fill(parent, attr);
	r = ops->alloc_parent_domain(parent);
	if (r < 0) {
		verbs_err(ctx, "ibv_alloc_parent_domain: pd %u: %s", attr->pd->handle,
			  strerror(-r));
		free(parent);
		return r;
	}
	atomic_fetch_add(&parent->of->users, 1);
	if (parent->td)
		atomic_fetch_add(&to_vtd(parent->td)->users, 1);
	*ret_parent = parent;
	return 0;
}

struct ibv_pd *verbs_slot_alloc_parent_domain(struct ibv_context *ctx,
					      struct ibv_parent_domain_init_attr *attr)
{
	struct verbs_pd *parent = NULL;
	int r = parent_alloc(ctx, attr, &parent);

	return r < 0 ? ret_null(r) : &parent->pd;
}
