/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of an action of any kind. Each kind that owns more than its structure has its own file.
 */
#include "providers/mlx5/steering/action.h"

static int content_end(struct mlx5dv_dr_action *action)
{
	switch (action->kind) {
	case DR_ACTION_KERNEL:
		return -ibv_destroy_flow_action(action->kernel);
	case DR_ACTION_TABLE:
		dr_leave(&action->table->users);
		return 0;
	case DR_ACTION_ENCAP_L2:
	case DR_ACTION_ENCAP_L3:
		return dr_reformat_end(action);
	case DR_ACTION_DECAP_L3:
	case DR_ACTION_MODIFY:
		return dr_modify_end(action);
	case DR_ACTION_METER:
		return dr_meter_end(action);
	case DR_ACTION_SAMPLER:
		return dr_sampler_end(action);
	case DR_ACTION_ARRAY:
		return dr_array_end(action);
	case DR_ACTION_ROOT_TABLE:
		return dr_root_table_end(action);
	default:
		return 0;
	}
}

MLX5DV_EXPORT int mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *action)
{
	int r;

	if (dr_is_used(&action->users))
		return EBUSY;
	r = content_end(action);
	if (r < 0)
		return mlx5dv_errno(r);
	dr_action_free(action);
	return 0;
}
