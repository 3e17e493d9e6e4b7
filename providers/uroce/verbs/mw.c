/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocating memory windows, and ibv_bind_mw(). engine/window.c binds and invalidates windows. */
#include <string.h>

#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

int uroce_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mw *umw = (struct uroce_mw *)mw;
	struct uroce_host *host = ctx_host(mw->context);
	int r = uroce_host_check(host);

	if (!r)
		r = uroce_key_new_window(host->engine.keys, verbs_pd_protection(mw->pd), mw->type,
					 &umw->key);
	if (r < 0)
		return r;
	mw->rkey = umw->key->key;
	mw->handle = mw->rkey >> UROCE_KEY_VARIANT_BITS;
	uroce_pd_use(umw->key->pd, 1);
	return 0;
}

int uroce_dealloc_mw(struct ibv_mw *mw)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_mw *umw = (struct uroce_mw *)mw;
	const struct ibv_pd *pd = umw->key->pd; /* a parent domain may be gone by now */
	int r = uroce_host_check(ctx_host(mw->context));

	if (r < 0)
		return r;
	uroce_key_free(ctx_host(mw->context)->engine.keys, umw->key);
	uroce_pd_use(pd, -1);
	return 0;
}

static __attribute__((noinline, cold)) int bind_refuse(const struct ibv_qp *qp,
						       const struct ibv_mw *mw, const char *why)
{
	verbs_err(qp->context, "mw 0x%x: ibv_bind_mw: %s", mw->rkey, why);
	errno = EINVAL;
	return EINVAL;
}

int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad_wr;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	int r = uroce_host_check(ctx_host(qp->context));

	if (r < 0) {
		errno = -r;
		return -r;
	}
	if (mw->type != IBV_MW_TYPE_1)
		return bind_refuse(qp, mw,
				   "a type 2 window is bound by a work request, IBV_WR_BIND_MW");
	/* mw->pd may be a parent domain, or a view, that is gone by now */
	if (((struct uroce_mw *)mw)->key->pd != verbs_pd_protection(qp->pd))
		return bind_refuse(qp, mw, "window and QP are of different protection domains");
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return bind_refuse(qp, mw, "IBV_ACCESS_ZERO_BASED needs a type 2 window");
	r = uroce_post_send(qp, &wr, &bad_wr);
	if (!r)
		mw->rkey = wr.bind_mw.rkey;
	return r;
}
