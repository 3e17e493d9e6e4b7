/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows of type 1, which have a call of their own. */
#include "providers/mlx4/mlx4.h"

static int bind_check(struct ibv_qp *ibqp, const struct ibv_mw *mw, const struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;

	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED) {
		verbs_err(ibqp->context,
			  "mw 0x%x: ibv_bind_mw: IBV_ACCESS_ZERO_BASED needs a type 2 window",
			  mw->rkey);
		return EINVAL;
	}
	if (info->mr && to_vmr(info->mr)->access & IBV_ACCESS_ZERO_BASED) {
		verbs_err(ibqp->context, "mw 0x%x: ibv_bind_mw: mr 0x%x is zero-based", mw->rkey,
			  info->mr->rkey);
		return EINVAL;
	}
	return 0;
}

int mlx4_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
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
	int r = bind_check(ibqp, mw, bind);

	if (!r)
		r = mlx4_post_send(ibqp, &wr, &bad_wr);
	if (r) {
		errno = r;
		return r;
	}
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}
