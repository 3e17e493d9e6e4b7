/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collect the actions of a rule above level 0, and let the format encode them. */
#include "providers/mlx5/steering/apply.h"
#include "providers/mlx5/steering/order.h"

static int queue_add(struct dr_result *result, uint64_t address)
{
	result->to = address;
	return address ? 0 : -EINVAL;
}

static int drop_add(struct dr_result *result)
{
	uint64_t drop = result->domain->caps.drop[result->half];

	result->to = drop;
	result->function = drop >> 48;
	return 0;
}

/* Set a vport as destination. Drop a packet that would return to the wire from which it came. */
static int vport_add(struct dr_result *result, const struct dr_vport *vport)
{
	if (result->half == DR_RECEIVE && vport->number == DR_VPORT_WIRE)
		return drop_add(result);
	result->to = vport->icm[result->half];
	result->function = vport->owner;
	return 0;
}

static int table_add(struct dr_result *result, const struct mlx5dv_dr_table *table)
{
	if (table->domain != result->domain)
		return -EINVAL;
	result->to = dr_hash_address(table->anchors[result->half]);
	return 0;
}

/* Set an object of the firmware as destination. Packets continue from the object to the table
 * @next. */
static int object_add(struct dr_result *result, const uint64_t icm[DR_HALVES],
		      const struct mlx5dv_dr_table *next, uint32_t level)
{
	if (next->domain != result->domain || next->level <= level)
		return -EINVAL;
	result->to = icm[result->half];
	return 0;
}

static int vlan_push(struct dr_result *result, uint32_t vlan)
{
	if (result->pushes == DR_VLANS_MAX)
		return -EOPNOTSUPP;
	result->vlans[result->pushes++] = vlan;
	return 0;
}

/* Store an action. A rule has at most one of this kind. */
static int single_add(const struct mlx5dv_dr_action **member, const struct mlx5dv_dr_action *action)
{
	if (*member)
		return -EINVAL;
	*member = action;
	return 0;
}

static int context_add(struct dr_result *result, const struct mlx5dv_dr_action **member,
		       const struct mlx5dv_dr_action *action)
{
	return action->aso.object->context == result->domain->context ? single_add(member, action)
								      : -EINVAL;
}

/* Store the action of a connection. If it was created with another domain, the rule needs the
 * entries of a link. */
static int connection_add(struct dr_result *result, const struct mlx5dv_dr_action *action)
{
	int r = single_add(&result->ct, action);

	if (r < 0 || action->aso.domain == result->domain)
		return r;
	return dr_crossing_find(result->domain, &action->aso, &result->crossing);
}

static int action_add(struct dr_result *result, const struct mlx5dv_dr_action *action,
		      uint32_t level)
{
	switch (action->kind) {
	case DR_ACTION_DROP:
		return drop_add(result);
	case DR_ACTION_MISS:
		return 0;
	case DR_ACTION_TAG:
		result->has_tag = true;
		result->tag = action->tag;
		return 0;
	case DR_ACTION_QP:
		return queue_add(result, to_mqp(action->qp)->tir_icm_addr);
	case DR_ACTION_TIR:
		return queue_add(result, action->tir->rx_icm_addr);
	case DR_ACTION_TABLE:
		return table_add(result, action->table);
	case DR_ACTION_COUNTER:
		result->has_counter = true;
		result->counter = action->counter.object->object_id + action->counter.offset;
		return 0;
	case DR_ACTION_POP:
		return ++result->pops > DR_VLANS_MAX ? -EINVAL : 0;
	case DR_ACTION_PUSH:
		return vlan_push(result, action->vlan);
	case DR_ACTION_DECAP_L2:
	case DR_ACTION_DECAP_L3:
		return single_add(&result->decap, action);
	case DR_ACTION_ENCAP_L2:
	case DR_ACTION_ENCAP_L3:
		return single_add(&result->encap, action);
	case DR_ACTION_MODIFY:
		return single_add(&result->modify, action);
	case DR_ACTION_ASO_HIT:
		return context_add(result, &result->hit, action);
	case DR_ACTION_ASO_METER:
		return context_add(result, &result->meter, action);
	case DR_ACTION_ASO_CT:
		return connection_add(result, action);
	case DR_ACTION_VPORT:
		return vport_add(result, action->vport);
	case DR_ACTION_METER:
		return object_add(result, action->meter.icm, action->meter.next, level);
	case DR_ACTION_SAMPLER:
		return object_add(result, action->sampler.icm, action->sampler.next, level);
	case DR_ACTION_ARRAY:
		result->to = action->array.forward.icm[result->half];
		return 0;
	case DR_ACTION_ROOT_TABLE:
		result->to = action->root.forward.icm[result->half];
		return 0;
	default:
		/* The other actions exist only for root tables. */
		return -EINVAL;
	}
}

/* A queue pair and a TIR are the same kind of destination. */
static bool is_repeated(unsigned int counts[DR_ACTION_KINDS], enum dr_action_kind kind)
{
	if (kind == DR_ACTION_TIR)
		kind = DR_ACTION_QP;
	return ++counts[kind] > 1 && kind != DR_ACTION_POP && kind != DR_ACTION_PUSH;
}

static bool is_foreign(const struct mlx5dv_dr_domain *domain, const struct mlx5dv_dr_action *action)
{
	return action->domain && action->domain != domain;
}

static int actions_sum(const struct mlx5dv_dr_rule *rule, struct dr_result *result)
{
	const struct mlx5dv_dr_table *table = rule->matcher->table;
	unsigned int counts[DR_ACTION_KINDS] = {}, state = 0;

	for (size_t i = 0; i < rule->action_count; i++) {
		const struct mlx5dv_dr_action *action = rule->actions[i];
		int r = is_foreign(table->domain, action)
				? -EINVAL
				: action_add(result, action, table->level);

		if (!r && is_repeated(counts, action->kind))
			r = -EINVAL;
		if (!r)
			r = dr_order_check(table->domain, result->half, &state, action->kind);
		if (r < 0)
			return r;
	}
	return 0;
}

int dr_actions_apply(const struct mlx5dv_dr_rule *rule, enum dr_half half, struct dr_images *images)
{
	struct mlx5dv_dr_domain *domain = rule->matcher->table->domain;
	struct dr_result result = {
		.domain = domain,
		.half = half,
		.to = domain->caps.miss[half],
		.function = domain->caps.function,
	};
	int r = actions_sum(rule, &result);

	if (!r)
		r = domain->format->apply(&result, images);
	if (r < 0)
		return r;
	domain->format->set_hit_function(dr_images_last(images), result.function);
	domain->format->set_hit(dr_images_last(images), result.to, 1);
	return 0;
}
