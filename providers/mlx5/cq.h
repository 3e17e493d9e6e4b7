/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef MLX5_CQ_H
#define MLX5_CQ_H

#include "providers/mlx5/mlx5.h"

struct mlx5_qp;

enum {
	MLX5_CQE_SIZE_DEFAULT = 64,
};

/* cq.c */
int mlx5_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mlx5_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int mlx5_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void mlx5_cq_event(struct verbs_cq *vcq);
/* Compute the values for arming from the number and the event count of the completion queue. */
void mlx5_cq_arm_set(struct mlx_cq *cq);
/* Remove the completions of a queue pair from both its queues. @gone: also remove it from the
 * table, so that polling no longer finds it. */
void mlx5_cqs_clean(struct mlx5_qp *qp, bool gone);

/* Return the bytes of an entry. */
static inline uint32_t mlx5_cq_dv_size(const struct mlx5dv_cq_init_attr *dv)
{
	return dv && dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE ? dv->cqe_size
								       : MLX5_CQE_SIZE_DEFAULT;
}

/* poll.c, cq_ex.c */
int mlx5_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
extern const uint64_t mlx5_cq_ex_wc_flags;
/* Return whether the completions have the time of day. */
bool mlx5_cq_is_real_time(const struct mlx_cq *cq, uint64_t wc_flags);
void mlx5_cq_ex_set_slots(struct mlx_cq *cq, uint64_t wc_flags);

#endif
