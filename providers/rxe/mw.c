/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binding a memory window of type 1: a send request with a key of the library's choice. */
#include "providers/rxe/rxe.h"

int rxe_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
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
		verbs_err(ibqp->context,
			  "mw 0x%x: ibv_bind_mw: IBV_ACCESS_ZERO_BASED needs a type 2 window",
			  mw->rkey);
		errno = EINVAL;
		return EINVAL;
	}
	r = rxe_post_send(ibqp, &wr, &bad_wr);
	if (r) {
		errno = r;
		return r;
	}
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}
