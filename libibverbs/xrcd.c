/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains. */
#include <fcntl.h>
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define XRCD_KNOWN  ((uint32_t)IBV_XRCD_INIT_ATTR_RESERVED - 1)
#define XRCD_OFLAGS (O_CREAT | O_EXCL)

static int xrcd_check(struct ibv_context *ctx, const struct ibv_xrcd_init_attr *attr)
{
	static const char verb[] = "ibv_open_xrcd";

	if (!attr)
		return explain_null(verb, "xrcd_init_attr");
	if (!comp_mask_ok(attr->comp_mask, XRCD_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  XRCD_KNOWN);
		return -EOPNOTSUPP;
	}
	if (!(attr->comp_mask & IBV_XRCD_INIT_ATTR_FD) ||
	    !(attr->comp_mask & IBV_XRCD_INIT_ATTR_OFLAGS)) {
		verbs_err(ctx,
			  "%s: comp_mask 0x%x: it needs IBV_XRCD_INIT_ATTR_FD and "
			  "IBV_XRCD_INIT_ATTR_OFLAGS",
			  verb, attr->comp_mask);
		return -EINVAL;
	}
	return 0;
}

/* Explain the errno: EAGAIN if the file has no domain, EINVAL if it has a domain already. */
_cold_ static void xrcd_explain(struct ibv_context *ctx, const struct ibv_xrcd_init_attr *attr,
				int r)
{
	struct text why = {};

	if (attr->oflags & ~XRCD_OFLAGS)
		text_add(&why, "; oflags other than O_CREAT and O_EXCL");
	else if (r == -EBADF)
		text_add(&why, "; no file is open as descriptor %d", attr->fd);
	else if (r == -EAGAIN)
		text_add(&why, "; the file has no domain yet, and O_CREAT was not given");
	else if (r == -EINVAL && attr->fd != -1 && attr->oflags & O_EXCL)
		text_add(&why, "; the file has a domain already, and O_EXCL was given");
	verbs_err(ctx, "ibv_open_xrcd: fd %d, oflags 0x%x: %s%s", attr->fd, attr->oflags,
		  strerror(-r), why.chars);
}

static int xrcd_open(struct ibv_context *ctx, const struct ibv_xrcd_init_attr *attr,
		     struct verbs_xrcd **ret_xrcd)
{
	const struct verbs_open_xrcd in = { .attr = attr };
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_xrcd *xrcd;
	int r;

	if (!ops->open_xrcd)
		return verbs_unsupported(ctx, "ibv_open_xrcd");
	r = xrcd_check(ctx, attr);
	if (r < 0)
		return r;
	xrcd = verbs_object_alloc(sizeof(*xrcd), ctx_priv(ctx)->provider->sizes.xrcd);
	if (!xrcd)
		return -ENOMEM;
	xrcd->xrcd.context = ctx;
	r = ops->open_xrcd(xrcd, &in);
	if (r < 0) {
		xrcd_explain(ctx, attr, r);
		free(xrcd);
		return r;
	}
	*ret_xrcd = xrcd;
	return 0;
}

struct ibv_xrcd *verbs_slot_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr)
{
	struct verbs_xrcd *xrcd = NULL;
	int r = xrcd_open(ctx, attr, &xrcd);

	return r < 0 ? ret_null(r) : &xrcd->xrcd;
}

int verbs_slot_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct ibv_context *ctx = xrcd->context;
	int r = verbs_destroy_result(ctx, "ibv_close_xrcd: xrcd", to_vxrcd(xrcd)->handle,
				     ctx_ops(ctx)->close_xrcd(to_vxrcd(xrcd)));

	if (!r)
		free(to_vxrcd(xrcd));
	return ret_int(r);
}
