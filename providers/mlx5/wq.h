/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues and tables of them. */
#ifndef MLX5_WQ_H
#define MLX5_WQ_H

#include "providers/mlx5/qp.h"

struct mlx5_wq {
	struct verbs_wq vwq;
	struct mlx5_user user; /* has the ring */
};

/* wq.c */
int mlx5_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in);
int mlx5_modify_wq(struct verbs_wq *vwq, const struct verbs_modify_wq *in);
int mlx5_destroy_wq(struct verbs_wq *vwq);
int mlx5_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
			      const struct verbs_create_rwq_ind_table *in);
int mlx5_create_rss_qp(struct mlx5_qp *qp, const struct verbs_create_qp *in);

#endif
