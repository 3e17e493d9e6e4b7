/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/mw.h"
#include "providers/rxe/rxe.h"

int rxe_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return kit_bind_mw(ibqp, mw, bind, rxe_post_send);
}
