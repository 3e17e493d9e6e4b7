/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules for packets, through the steering of the firmware. */
#ifndef INFINIBAND_MLX5_FLOW_H
#define INFINIBAND_MLX5_FLOW_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <infiniband/mlx5_api.h>
#include <infiniband/mlx5/devx.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlx5dv_flow_matcher;

enum mlx5dv_flow_action_esp_mask {
	MLX5DV_FLOW_ACTION_ESP_MASK_FLAGS = 1 << 0,
};

struct mlx5dv_flow_action_esp {
	uint64_t comp_mask;
	uint32_t action_flags;
};

__extension__ struct mlx5dv_flow_match_parameters {
	size_t match_sz;
	uint64_t match_buf[];
};

enum mlx5dv_flow_matcher_attr_mask {
	MLX5DV_FLOW_MATCHER_MASK_FT_TYPE = 1,
	MLX5DV_FLOW_MATCHER_MASK_IB_PORT = 2,
};

struct mlx5dv_flow_matcher_attr {
	enum ibv_flow_attr_type type;
	uint32_t flags;
	uint16_t priority;
	uint8_t match_criteria_enable;
	struct mlx5dv_flow_match_parameters *match_mask;
	uint64_t comp_mask;
	enum mlx5dv_flow_table_type ft_type;
	uint32_t ib_port;
};

enum mlx5dv_flow_action_type {
	MLX5DV_FLOW_ACTION_DEST_IBV_QP = 0,
	MLX5DV_FLOW_ACTION_DROP = 1,
	MLX5DV_FLOW_ACTION_IBV_COUNTER = 2,
	MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION = 3,
	MLX5DV_FLOW_ACTION_TAG = 4,
	MLX5DV_FLOW_ACTION_DEST_DEVX = 5,
	MLX5DV_FLOW_ACTION_COUNTERS_DEVX = 6,
	MLX5DV_FLOW_ACTION_DEFAULT_MISS = 7,
	MLX5DV_FLOW_ACTION_COUNTERS_DEVX_WITH_OFFSET = 8,
};

__extension__ struct mlx5dv_flow_action_attr {
	enum mlx5dv_flow_action_type type;
	union {
		struct ibv_qp *qp;
		struct ibv_counters *counter;
		struct ibv_flow_action *action;
		uint32_t tag_value;
		struct mlx5dv_devx_obj *obj;
		struct {
			struct mlx5dv_devx_obj *obj;
			uint32_t offset;
		} bulk_obj;
	};
};

struct mlx5dv_steering_anchor_attr {
	enum mlx5dv_flow_table_type ft_type;
	uint16_t priority;
	uint64_t comp_mask;
};

struct mlx5dv_steering_anchor {
	uint32_t id;
};

struct ibv_flow_action *mlx5dv_create_flow_action_esp(struct ibv_context *ctx,
						      struct ibv_flow_action_esp_attr *esp,
						      struct mlx5dv_flow_action_esp *mlx5_attr);
struct ibv_flow_action *
mlx5dv_create_flow_action_modify_header(struct ibv_context *ctx, size_t actions_sz,
					uint64_t actions[], enum mlx5dv_flow_table_type ft_type);
struct ibv_flow_action *mlx5dv_create_flow_action_packet_reformat(
	struct ibv_context *ctx, size_t data_sz, void *data,
	enum mlx5dv_flow_action_packet_reformat_type reformat_type,
	enum mlx5dv_flow_table_type ft_type);

struct mlx5dv_flow_matcher *
mlx5dv_create_flow_matcher(struct ibv_context *context,
			   struct mlx5dv_flow_matcher_attr *matcher_attr);
int mlx5dv_destroy_flow_matcher(struct mlx5dv_flow_matcher *matcher);

/*
 * @attr_len: bytes of one element of @actions_attr. Older programs call mlx5dv_create_flow without
 * this argument. Their elements have 16 bytes.
 */
struct ibv_flow *__mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
				      struct mlx5dv_flow_match_parameters *match_value,
				      size_t num_actions,
				      struct mlx5dv_flow_action_attr actions_attr[],
				      size_t attr_len);
struct ibv_flow *mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
				    struct mlx5dv_flow_match_parameters *match_value,
				    size_t num_actions,
				    struct mlx5dv_flow_action_attr actions_attr[]);

struct mlx5dv_steering_anchor *
mlx5dv_create_steering_anchor(struct ibv_context *context,
			      struct mlx5dv_steering_anchor_attr *attr);
int mlx5dv_destroy_steering_anchor(struct mlx5dv_steering_anchor *sa);

static inline struct ibv_flow *_mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
						   struct mlx5dv_flow_match_parameters *match_value,
						   size_t num_actions,
						   struct mlx5dv_flow_action_attr actions_attr[])
{
	return __mlx5dv_create_flow(matcher, match_value, num_actions, actions_attr,
				    sizeof(struct mlx5dv_flow_action_attr));
}
#define mlx5dv_create_flow(matcher, match_value, num_actions, actions_attr) \
	_mlx5dv_create_flow(matcher, match_value, num_actions, actions_attr)

#ifdef __cplusplus
}
#endif

#endif
