/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows, counters and flow actions. */
#ifndef MLX5_FLOW_H
#define MLX5_FLOW_H

#include "providers/mlx5/mlx5.h"

/* @lock: protects the other members; @flows: number of flows that use it. The list of counters
 * cannot change while a flow uses it. */
struct mlx5_counters {
	struct verbs_counters vcounters;
	pthread_mutex_t lock;
	struct mlx5_ib_flow_counters_desc *descs;
	uint32_t count;
	uint32_t flows;
};

struct mlx5_flow {
	struct ibv_flow flow;
	struct mlx5_counters *counters; /* or NULL */
};

/* flow.c */
int mlx5_create_flow(struct ibv_flow *ibflow, const struct verbs_create_flow *in);
int mlx5_destroy_flow(struct ibv_flow *ibflow);
int mlx5_create_flow_action_esp(struct verbs_flow_action *action,
				const struct verbs_flow_action_esp *in);
int mlx5_create_counters(struct verbs_counters *vcounters, const struct verbs_create_counters *in);
int mlx5_destroy_counters(struct verbs_counters *vcounters);
int mlx5_attach_counters(struct verbs_counters *vcounters,
			 const struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);

#endif
