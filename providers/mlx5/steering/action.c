/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions on the packets of a rule that need no memory of the adapter. */
#include "providers/mlx5/steering/action.h"

enum {
	TAG_MASK = 0xffffff,
	TPID_CUSTOMER = 0x8100,
	TPID_SERVICE = 0x88a8,
	VPORTS = 0x10000,
};

struct mlx5dv_dr_action *dr_action_new(enum dr_action_kind kind, struct mlx5dv_dr_domain *domain)
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

void dr_action_free(struct mlx5dv_dr_action *action)
{
	if (action->domain)
		dr_leave(&action->domain->users);
	free(action);
}

struct mlx5dv_dr_action *dr_action_done(struct mlx5dv_dr_action *action, const char *function,
					int r)
{
	if (r >= 0)
		return action;
	dr_refuse(action->domain->context, function, strerror(-r), r);
	dr_action_free(action);
	return mlx5dv_fail(r);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_drop(void)
{
	return dr_action_new(DR_ACTION_DROP, NULL);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_default_miss(void)
{
	return dr_action_new(DR_ACTION_MISS, NULL);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_tag(uint32_t tag_value)
{
	struct mlx5dv_dr_action *action = dr_action_new(DR_ACTION_TAG, NULL);

	if (action)
		action->tag = tag_value & TAG_MASK;
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_pop_vlan(void)
{
	return dr_action_new(DR_ACTION_POP, NULL);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_push_vlan(struct mlx5dv_dr_domain *dmn, __be32 vlan_hdr)
{
	uint32_t vlan = be32toh(vlan_hdr);
	struct mlx5dv_dr_action *action;

	if (vlan >> 16 != TPID_CUSTOMER && vlan >> 16 != TPID_SERVICE)
		return mlx5dv_fail(dr_refuse(dmn->context, __func__,
					     "the tag does not begin with 0x8100 or 0x88a8",
					     -EINVAL));
	action = dr_action_new(DR_ACTION_PUSH, NULL);
	if (action)
		action->vlan = vlan;
	return action;
}

/* ---- destinations */

MLX5DV_EXPORT struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp *ibqp)
{
	struct mlx5dv_dr_action *action;

	if (ibqp->qp_type != IBV_QPT_RAW_PACKET)
		return mlx5dv_fail(dr_refuse(ibqp->context, __func__,
					     "the queue pair is not one of raw packets", -EINVAL));
	action = dr_action_new(DR_ACTION_QP, NULL);
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
	action = dr_action_new(DR_ACTION_TIR, NULL);
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
	action = dr_action_new(DR_ACTION_COUNTER, NULL);
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
	action = dr_action_new(DR_ACTION_TABLE, NULL);
	if (action) {
		action->table = table;
		dr_use(&table->users);
	}
	return action;
}

/* ---- functions of the switch */

static int switch_check(const struct mlx5dv_dr_domain *domain, const char *function)
{
	return dr_is_switch(domain) && domain->has_software
		       ? 0
		       : dr_refuse(domain->context, function,
				   "the domain has no tables of the switch", -EOPNOTSUPP);
}

static struct mlx5dv_dr_action *vport_action(const struct mlx5dv_dr_domain *domain,
					     const char *function, const struct dr_vport *vport,
					     int r)
{
	struct mlx5dv_dr_action *action;

	if (r < 0)
		return mlx5dv_fail(
			dr_refuse(domain->context, function, "there is no such port", r));
	action = dr_action_new(DR_ACTION_VPORT, NULL);
	if (action)
		action->vport = vport;
	return action;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_vport(struct mlx5dv_dr_domain *dmn, uint32_t vport)
{
	const struct dr_vport *found = NULL;
	int r = switch_check(dmn, __func__);

	if (r < 0)
		return mlx5dv_fail(r);
	if (vport >= VPORTS)
		return vport_action(dmn, __func__, NULL, -EINVAL);
	dr_lock(dmn);
	r = dr_vport_find(dmn, vport, &found);
	dr_unlock(dmn);
	return vport_action(dmn, __func__, found, r);
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_ib_port(struct mlx5dv_dr_domain *dmn, uint32_t ib_port)
{
	const struct dr_vport *found = NULL;
	int r = switch_check(dmn, __func__);

	if (r < 0)
		return mlx5dv_fail(r);
	dr_lock(dmn);
	r = dr_vport_of_port(dmn, ib_port, &found);
	dr_unlock(dmn);
	return vport_action(dmn, __func__, found, r < 0 ? -EINVAL : 0);
}
