/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions on the packets of a rule. */
#include "providers/mlx5/steering/steering.h"

enum {
	TAG_MASK = 0xffffff,
	COMMAND_SIZE = 8, /* bytes of one change of a header */
};

/* Return a new action. NULL with errno. */
static struct mlx5dv_dr_action *action_new(enum dr_action_kind kind,
					   struct mlx5dv_dr_domain *domain)
{
	struct mlx5dv_dr_action *action = calloc(1, sizeof(*action));

	if (!action)
		return mlx5dv_fail(-ENOMEM);
	action->kind = kind;
	action->domain = domain;
	if (domain)
		dr_use(&domain->users);
	return action;
}

static void action_free(struct mlx5dv_dr_action *action)
{
	if (action->domain)
		dr_leave(&action->domain->users);
	if (action->kind == DR_ACTION_TABLE)
		dr_leave(&action->table->users);
	free(action);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_drop(void)
{
	return action_new(DR_ACTION_DROP, NULL);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_default_miss(void)
{
	return action_new(DR_ACTION_MISS, NULL);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_tag(uint32_t tag_value)
{
	struct mlx5dv_dr_action *action = action_new(DR_ACTION_TAG, NULL);

	if (action)
		action->tag = tag_value & TAG_MASK;
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp *ibqp)
{
	struct mlx5dv_dr_action *action;

	if (ibqp->qp_type != IBV_QPT_RAW_PACKET)
		return mlx5dv_fail(dr_refuse(ibqp->context, __func__,
					     "the queue pair is not one of raw packets", -EINVAL));
	action = action_new(DR_ACTION_QP, NULL);
	if (action)
		action->qp = ibqp;
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_devx_tir(struct mlx5dv_devx_obj *devx_obj)
{
	struct mlx5dv_dr_action *action;

	if (devx_obj->type != MLX5_DEVX_TIR)
		return mlx5dv_fail(
			dr_refuse(devx_obj->context, __func__, "the object is no TIR", -EINVAL));
	action = action_new(DR_ACTION_TIR, NULL);
	if (action)
		action->tir = devx_obj;
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_flow_counter(struct mlx5dv_devx_obj *devx_obj, uint32_t offset)
{
	struct mlx5dv_dr_action *action;

	if (devx_obj->type != MLX5_DEVX_FLOW_COUNTER)
		return mlx5dv_fail(dr_refuse(devx_obj->context, __func__,
					     "the object is no counter of flows", -EINVAL));
	action = action_new(DR_ACTION_COUNTER, NULL);
	if (action) {
		action->counter.object = devx_obj;
		action->counter.offset = offset;
	}
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_table(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_action *action;

	if (!table->level)
		return mlx5dv_fail(dr_refuse(table->domain->context, __func__,
					     "a root table is no destination", -EINVAL));
	action = action_new(DR_ACTION_TABLE, NULL);
	if (action) {
		action->table = table;
		dr_use(&table->users);
	}
	return action;
}

/* ---- actions of the kernel, which change packets */

/* Check the flags of an action that changes packets. */
static int level_check(const struct mlx5dv_dr_domain *domain, const char *function, uint32_t flags)
{
	if (flags & ~(uint32_t)MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL)
		return dr_refuse(domain->context, function, "flags has an unknown bit", -EINVAL);
	if (!(flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL))
		return dr_refuse(domain->context, function,
				 "only root tables have this action, and the flag is not set",
				 -EOPNOTSUPP);
	return 0;
}

/* A domain of received packets removes headers, and a domain of sent packets adds them. */
static bool has_reformat(const struct mlx5dv_dr_domain *domain,
			 enum mlx5dv_flow_action_packet_reformat_type type)
{
	bool removes = type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2 ||
		       type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2;

	if ((unsigned int)type > MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL)
		return false;
	return domain->type == MLX5DV_DR_DOMAIN_TYPE_FDB ||
	       removes == (domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
}

static int reformat_check(const struct mlx5dv_dr_domain *domain, const char *function,
			  uint32_t flags, enum mlx5dv_flow_action_packet_reformat_type type,
			  size_t size, const void *data)
{
	int r = level_check(domain, function, flags);

	if (r < 0)
		return r;
	if (!data != !size)
		return dr_refuse(domain->context, function,
				 "data without a size, or a size without", -EINVAL);
	if (!has_reformat(domain, type))
		return dr_refuse(domain->context, function, "the domain has no change of this type",
				 -EINVAL);
	return 0;
}

/* Return the action that owns @kernel. NULL with errno: @kernel is NULL, or there is no memory. */
static struct mlx5dv_dr_action *wrap(enum dr_action_kind kind, struct mlx5dv_dr_domain *domain,
				     struct ibv_flow_action *kernel)
{
	struct mlx5dv_dr_action *action = kernel ? action_new(kind, domain) : NULL;

	if (action) {
		action->kernel = kernel;
	} else if (kernel) {
		ibv_destroy_flow_action(kernel);
		errno = ENOMEM;
	}
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_packet_reformat(struct mlx5dv_dr_domain *domain, uint32_t flags,
					enum mlx5dv_flow_action_packet_reformat_type reformat_type,
					size_t data_sz, void *data)
{
	int r = reformat_check(domain, __func__, flags, reformat_type, data_sz, data);

	if (r < 0)
		return mlx5dv_fail(r);
	return wrap(DR_ACTION_REFORMAT, domain,
		    mlx5dv_create_flow_action_packet_reformat(domain->context, data_sz, data,
							      reformat_type, dr_root_type(domain)));
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_modify_header(struct mlx5dv_dr_domain *domain, uint32_t flags,
				      size_t actions_sz, __be64 actions[])
{
	int r = level_check(domain, __func__, flags);

	if (!r && actions_sz % COMMAND_SIZE)
		r = dr_refuse(domain->context, __func__, "the size is no multiple of 8", -EINVAL);
	if (r < 0)
		return mlx5dv_fail(r);
	return wrap(DR_ACTION_MODIFY, domain,
		    mlx5dv_create_flow_action_modify_header(domain->context, actions_sz,
							    (uint64_t *)actions,
							    dr_root_type(domain)));
}

MLX5DV_EXPORT int mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *action)
{
	bool has_kernel = action->kind == DR_ACTION_REFORMAT || action->kind == DR_ACTION_MODIFY;
	int r;

	if (dr_is_used(&action->users))
		return EBUSY;
	r = has_kernel ? ibv_destroy_flow_action(action->kernel) : 0;
	if (r)
		return r;
	action_free(action);
	return 0;
}
