/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destinations that need a table of the firmware: arrays of destinations, and root tables. */
#include "providers/mlx5/steering/action.h"

enum {
	LEVEL_RECEIVE = 63,
	MANAGER_VPORT = 0, /* vport of the function that manages the switch */
};

/* ---- lists of destinations, which arrays and samplers have */

static int to_add(struct dr_forward_list *list, uint8_t type, uint32_t id)
{
	if (list->count == DR_FORWARD_MAX)
		return -EINVAL;
	list->to[list->count++] = (struct dr_forward_to){ .type = type, .id = id };
	return 0;
}

static int counter_add(struct dr_forward_list *list, const struct mlx5dv_dr_action *action)
{
	if (list->counters == DR_FORWARD_MAX)
		return -EINVAL;
	list->counter[list->counters++] =
		action->counter.object->object_id + action->counter.offset;
	return 0;
}

int dr_forward_add(const struct mlx5dv_dr_domain *domain, struct dr_forward_list *list,
		   const struct mlx5dv_dr_action *action)
{
	bool receives = domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX;

	switch (action->kind) {
	case DR_ACTION_MISS:
		return dr_is_switch(domain) ? to_add(list, DR_TO_VPORT, MANAGER_VPORT)
					    : -EOPNOTSUPP;
	case DR_ACTION_VPORT:
		return dr_is_switch(domain) ? to_add(list, DR_TO_VPORT, action->vport->number)
					    : -EOPNOTSUPP;
	case DR_ACTION_QP:
		return receives ? to_add(list, DR_TO_TIR, to_mqp(action->qp)->tirn) : -EOPNOTSUPP;
	case DR_ACTION_TIR:
		return receives ? to_add(list, DR_TO_TIR, action->tir->object_id) : -EOPNOTSUPP;
	case DR_ACTION_COUNTER:
		return counter_add(list, action);
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- arrays */

static int table_add(const struct mlx5dv_dr_domain *domain, struct dr_forward_list *list,
		     const struct mlx5dv_dr_action *action)
{
	if (action->kind != DR_ACTION_TABLE)
		return dr_forward_add(domain, list, action);
	if (action->table->domain != domain)
		return -EINVAL;
	return to_add(list, DR_TO_TABLE, action->table->object->object_id);
}

/* Add a destination. The adapter adds a header to the packets for it. */
static int reformat_add(const struct mlx5dv_dr_domain *domain, struct dr_forward_list *list,
			const struct mlx5dv_dr_action_dest_reformat *from)
{
	enum dr_action_kind kind = from->reformat->kind;
	unsigned int before = list->count;
	int r;

	if (kind != DR_ACTION_ENCAP_L2 && kind != DR_ACTION_ENCAP_L3)
		return -EOPNOTSUPP;
	r = table_add(domain, list, from->dest);
	if (r < 0 || list->count == before)
		return r < 0 ? r : -EOPNOTSUPP;
	list->to[before].reformat = from->reformat->reformat.id;
	list->has_reformat = true;
	return 0;
}

static int member_keep(struct dr_array *array, struct mlx5dv_dr_action *member)
{
	array->members[array->count++] = member;
	dr_use(&member->users);
	return 0;
}

static int member_add(struct mlx5dv_dr_action *action, struct dr_forward_list *list,
		      const struct mlx5dv_dr_action_dest_attr *dest)
{
	int r;

	if (dest->type == MLX5DV_DR_ACTION_DEST) {
		r = table_add(action->domain, list, dest->dest);
		return r ? r : member_keep(&action->array, dest->dest);
	}
	if (dest->type != MLX5DV_DR_ACTION_DEST_REFORMAT)
		return -EINVAL;
	r = reformat_add(action->domain, list, dest->dest_reformat);
	if (r < 0)
		return r;
	member_keep(&action->array, dest->dest_reformat->reformat);
	return member_keep(&action->array, dest->dest_reformat->dest);
}

static void members_free(struct dr_array *array)
{
	while (array->count)
		dr_leave(&array->members[--array->count]->users);
	free(array->members);
}

static int array_make(struct mlx5dv_dr_action *action, size_t count,
		      struct mlx5dv_dr_action_dest_attr *dests[])
{
	struct mlx5dv_dr_domain *domain = action->domain;
	struct dr_forward_list list = {
		.type = dr_table_type(domain),
		.level = dr_is_switch(domain) ? domain->caps.levels - 1 : LEVEL_RECEIVE,
	};
	int r = 0;

	/* A destination with a header needs two members. */
	action->array.members = calloc(2 * count, sizeof(*action->array.members));
	if (!action->array.members)
		return -ENOMEM;
	for (size_t i = 0; !r && i < count; i++)
		r = member_add(action, &list, dests[i]);
	if (!r)
		r = dr_forward_make(domain, &list, &action->array.forward);
	if (r < 0)
		members_free(&action->array);
	return r;
}

int dr_array_end(struct mlx5dv_dr_action *action)
{
	dr_forward_free(&action->array.forward);
	members_free(&action->array);
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_array(struct mlx5dv_dr_domain *dmn, size_t num_dest,
				   struct mlx5dv_dr_action_dest_attr *dests[])
{
	struct mlx5dv_dr_action *action;

	if (num_dest <= 1 || num_dest > DR_FORWARD_MAX)
		return mlx5dv_fail(dr_refuse(dmn->context, __func__,
					     "an array has 2 to 64 destinations", -EINVAL));
	if (dmn->type == MLX5DV_DR_DOMAIN_TYPE_NIC_TX || !dmn->has_software)
		return mlx5dv_fail(dr_refuse(dmn->context, __func__,
					     "the domain sends packets, or has only root tables",
					     -EOPNOTSUPP));
	action = dr_action_new(DR_ACTION_ARRAY, dmn);
	return action ? dr_action_done(action, __func__, array_make(action, num_dest, dests))
		      : NULL;
}

/* ---- root tables */

static int root_make(struct mlx5dv_dr_action *action, struct mlx5dv_dr_table *table,
		     uint16_t priority)
{
	struct mlx5dv_dr_domain *domain = action->domain;
	struct mlx5dv_steering_anchor_attr attr = {
		.ft_type = dr_root_type(domain),
		.priority = priority,
	};
	struct dr_forward_list list = {
		.type = dr_table_type(domain),
		.level = domain->caps.levels - 1,
		.count = 1,
		.to = { { .type = DR_TO_TABLE } },
	};
	int r;

	action->root.anchor = mlx5dv_create_steering_anchor(domain->context, &attr);
	if (!action->root.anchor)
		return -errno;
	list.to[0].id = action->root.anchor->id;
	r = dr_forward_make(domain, &list, &action->root.forward);
	if (r < 0) {
		mlx5dv_destroy_steering_anchor(action->root.anchor);
		return r;
	}
	action->root.table = table;
	dr_use(&table->users);
	return 0;
}

int dr_root_table_end(struct mlx5dv_dr_action *action)
{
	dr_forward_free(&action->root.forward);
	mlx5dv_destroy_steering_anchor(action->root.anchor);
	dr_leave(&action->root.table->users);
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_root_table(struct mlx5dv_dr_table *table, uint16_t priority)
{
	struct mlx5dv_dr_action *action;

	if (table->level)
		return mlx5dv_fail(dr_refuse(table->domain->context, __func__,
					     "the table is no root table", -EINVAL));
	if (!table->domain->has_software)
		return mlx5dv_fail(dr_refuse(table->domain->context, __func__,
					     "the domain has only root tables", -EOPNOTSUPP));
	action = dr_action_new(DR_ACTION_ROOT_TABLE, table->domain);
	return action ? dr_action_done(action, __func__, root_make(action, table, priority)) : NULL;
}
