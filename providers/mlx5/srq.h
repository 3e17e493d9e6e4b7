/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#ifndef MLX5_SRQ_H
#define MLX5_SRQ_H

#include "providers/mlx5/qp.h"

struct mlx5_srq {
	struct mlx_srq srq;
	struct mlx5_user *user; /* NULL: basic */
	struct mlx5_tags *tags; /* only of IBV_SRQT_TM: tag.h */
};

/* srq.c */
int mlx5_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int mlx5_destroy_srq(struct verbs_srq *vsrq);

#endif
