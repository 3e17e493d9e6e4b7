/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ASO objects of the firmware. They keep state between packets: whether a packet came, meters, and
 * connections. An object has one or many contexts, and a rule names one of them.
 */
#include "providers/mlx5/steering/action.h"

/* Properties of the types of objects. */
static const struct type {
	uint16_t object;
	enum dr_action_kind kind;
	uint16_t contexts; /* contexts of an object */
	uint32_t flags;	   /* valid flags */
} types[] = {
	{ MLX5_FW_OBJ_ASO_HIT, DR_ACTION_ASO_HIT, 512, MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET },
	{ MLX5_FW_OBJ_ASO_METER, DR_ACTION_ASO_METER, 2,
	  MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_RED | MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_YELLOW |
		  MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_GREEN |
		  MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_UNDEFINED },
	{ MLX5_FW_OBJ_ASO_CT, DR_ACTION_ASO_CT, 1,
	  MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_INITIATOR |
		  MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_RESPONDER },
};

static const struct type *type_of(const struct mlx5dv_devx_obj *object)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		if (object->type == MLX5_DEVX_GENERAL && object->general == types[i].object)
			return &types[i];
	}
	return NULL;
}

/* Return whether the flags are valid. The flags of meters and of connections are alternatives. */
static bool is_one_flag(const struct type *type, uint32_t flags)
{
	if (flags & ~type->flags)
		return false;
	return type->kind == DR_ACTION_ASO_HIT || (flags && !(flags & (flags - 1)));
}

int dr_aso_set(struct dr_aso *aso, uint32_t offset, uint32_t flags, uint8_t return_reg_c)
{
	const struct type *type = type_of(aso->object);

	if (offset >= (uint64_t)type->contexts << aso->object->log_range ||
	    (return_reg_c != 1 && return_reg_c != 3 && return_reg_c != 5) ||
	    !is_one_flag(type, flags))
		return -EINVAL;
	aso->offset = offset;
	aso->flags = flags;
	aso->reg = (return_reg_c - 1) / 2;
	return 0;
}

static int aso_check(const struct mlx5dv_dr_domain *domain, const struct mlx5dv_devx_obj *object,
		     const struct type *type)
{
	if (!domain->has_software || !domain->caps.format || !type)
		return -EOPNOTSUPP;
	return object->context == domain->context ? 0 : -EINVAL;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_aso(struct mlx5dv_dr_domain *domain,
								   struct mlx5dv_devx_obj *devx_obj,
								   uint32_t offset, uint32_t flags,
								   uint8_t return_reg_c)
{
	const struct type *type = type_of(devx_obj);
	struct dr_aso aso = { .object = devx_obj, .domain = domain };
	struct mlx5dv_dr_action *action;
	int r = aso_check(domain, devx_obj, type);

	if (!r)
		r = dr_aso_set(&aso, offset, flags, return_reg_c);
	if (r < 0)
		return mlx5dv_fail(
			dr_refuse(domain->context, __func__,
				  "the object, its context, the flags or the register do "
				  "not exist",
				  r));
	action = dr_action_new(type->kind, NULL);
	if (action)
		action->aso = aso;
	return action;
}

MLX5DV_EXPORT int mlx5dv_dr_action_modify_aso(struct mlx5dv_dr_action *action, uint32_t offset,
					      uint32_t flags, uint8_t return_reg_c)
{
	if (action->kind != DR_ACTION_ASO_HIT && action->kind != DR_ACTION_ASO_METER &&
	    action->kind != DR_ACTION_ASO_CT)
		return mlx5dv_errno(-EINVAL);
	/* A linked object has the flags and the register of its link. */
	if (dr_is_used(&action->aso.object->links) &&
	    (flags != action->aso.flags || return_reg_c != action->aso.reg * 2 + 1))
		return mlx5dv_errno(-EOPNOTSUPP);
	return mlx5dv_errno(dr_aso_set(&action->aso, offset, flags, return_reg_c));
}
