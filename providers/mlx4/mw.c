/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows of type 1, which are bound by ibv_bind_mw(). */
#include "providers/kit/mw.h"
#include "providers/mlx4/mlx4.h"

int mlx4_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int r = mlx_bind_check(ibqp, mw, &bind->bind_info);

	if (r) {
		errno = r;
		return r;
	}
	return kit_bind_mw(ibqp, mw, bind, mlx4_post_send);
}
