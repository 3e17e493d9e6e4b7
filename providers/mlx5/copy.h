/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that copy memory of the process. */
#ifndef MLX5_COPY_H
#define MLX5_COPY_H

#include "providers/mlx5/qp.h"

/* Memory that memcpy requests need while the queue pair exists */
int mlx5_copies_get(struct mlx5_qp *qp);
void mlx5_copies_put(struct mlx5_qp *qp);
/* Return the maximum bytes of a memcpy request; 0: not supported. */
uint64_t mlx5_copies_most(struct mlx5_context *ctx);
void mlx5_wr_memcpy(struct mlx5dv_qp_ex *dv, uint32_t dest_lkey, uint64_t dest_addr,
		    uint32_t src_lkey, uint64_t src_addr, size_t length);

#endif
