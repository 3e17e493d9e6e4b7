/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_bind_mw() as a send request with a key that the library chooses. */
#ifndef PROVIDERS_KIT_MW_H
#define PROVIDERS_KIT_MW_H

#include <errno.h>

#include "libibverbs/provider.h"

/* Bind a window. @post: ibv_post_send() of the provider. Return: 0 or a positive errno, which is
 * also in errno. */
__attribute__((always_inline)) static inline int
kit_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, const struct ibv_mw_bind *bind,
	    int (*post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr))
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
	int r;

	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) {
		verbs_err(qp->context,
			  "mw 0x%x: ibv_bind_mw: IBV_ACCESS_ZERO_BASED needs a type 2 window",
			  mw->rkey);
		errno = EINVAL;
		return EINVAL;
	}
	r = post(qp, &wr, &bad_wr);
	if (r) {
		errno = r;
		return r;
	}
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}

#endif
