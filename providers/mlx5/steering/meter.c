/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Meters of the firmware: packets pass them on their way to a table. */
#include "providers/mlx5/steering/action.h"

enum {
	OBJECT_SIZE = 0x90,
	PARAMETERS = 0x30,
	PARAMETERS_SIZE = 32,
	RECEIVE_AT = 0x80,
	SEND_AT = 0x88,
};

static int parameters_check(const struct mlx5dv_dr_flow_meter_attr *attr)
{
	return attr->flow_meter_parameter_sz > PARAMETERS_SIZE ? -EINVAL : 0;
}

static void parameters_put(const struct mlx5dv_dr_flow_meter_attr *attr,
			   uint32_t in[OBJECT_SIZE / 4])
{
	memcpy((char *)in + PARAMETERS, attr->flow_meter_parameter, attr->flow_meter_parameter_sz);
}

static int addresses_read(struct mlx5dv_devx_obj *object, uint64_t icm[DR_HALVES])
{
	uint32_t in[FW_HEAD / 4] = {}, out[OBJECT_SIZE / 4] = {};
	int r;

	fw_set(in, 0, MLX5_FW_QUERY_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_METER);
	fw_set(in, 8, object->object_id);
	r = mlx5_fw_query(object, "QUERY_GENERAL_OBJECT", in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	icm[DR_RECEIVE] = fw_get_64(out, RECEIVE_AT);
	icm[DR_SEND] = fw_get_64(out, SEND_AT);
	return 0;
}

static int meter_make(struct mlx5dv_dr_action *action, const struct mlx5dv_dr_flow_meter_attr *attr)
{
	uint32_t in[OBJECT_SIZE / 4] = {}, out[FW_HEAD / 4] = {};
	int r = parameters_check(attr);

	if (r < 0)
		return r;
	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_METER);
	fw_set(in, 0x18,
	       (uint32_t)(attr->active & 1) << 31 | (uint32_t)(attr->reg_c_index & 0xf) << 24 |
		       dr_table_type(action->domain) << 16);
	fw_set(in, 0x1c, attr->next_table->object->object_id);
	parameters_put(attr, in);
	action->meter.object = mlx5_fw_create(action->domain->context, "CREATE_GENERAL_OBJECT", in,
					      sizeof(in), out, sizeof(out));
	if (!action->meter.object)
		return -errno;
	r = addresses_read(action->meter.object, action->meter.icm);
	if (r < 0) {
		mlx5_fw_destroy(action->meter.object);
		return r;
	}
	action->meter.next = attr->next_table;
	dr_use(&attr->next_table->users);
	return 0;
}

int dr_meter_end(struct mlx5dv_dr_action *action)
{
	int r = mlx5_fw_destroy(action->meter.object);

	if (!r)
		dr_leave(&action->meter.next->users);
	return r;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_flow_meter(struct mlx5dv_dr_flow_meter_attr *attr)
{
	struct mlx5dv_dr_domain *domain = attr->next_table->domain;
	struct mlx5dv_dr_action *action;

	if (!domain->has_software || !attr->next_table->level)
		return mlx5dv_fail(dr_refuse(domain->context, __func__,
					     "the next table is a root table", -EOPNOTSUPP));
	action = dr_action_new(DR_ACTION_METER, domain);
	return action ? dr_action_done(action, __func__, meter_make(action, attr)) : NULL;
}

MLX5DV_EXPORT int mlx5dv_dr_action_modify_flow_meter(struct mlx5dv_dr_action *action,
						     struct mlx5dv_dr_flow_meter_attr *attr,
						     __be64 modify_field_select)
{
	uint32_t in[OBJECT_SIZE / 4] = {}, out[FW_HEAD / 4] = {};

	if (action->kind != DR_ACTION_METER || parameters_check(attr) < 0)
		return mlx5dv_errno(-EINVAL);
	fw_set(in, 0, MLX5_FW_MODIFY_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_METER);
	fw_set(in, 8, action->meter.object->object_id);
	memcpy((char *)in + FW_HEAD, &modify_field_select, sizeof(modify_field_select));
	fw_set(in, 0x18, (uint32_t)(attr->active & 1) << 31);
	parameters_put(attr, in);
	return mlx5dv_errno(mlx5_fw_modify(action->meter.object, "MODIFY_GENERAL_OBJECT", in,
					   sizeof(in), out, sizeof(out)));
}
