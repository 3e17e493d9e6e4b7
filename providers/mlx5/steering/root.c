/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Root tables: the kernel's matchers and rules behind those of a table of level 0. */
#include "providers/mlx5/steering/action.h"

enum mlx5dv_flow_table_type dr_root_type(const struct mlx5dv_dr_domain *domain)
{
	static const enum mlx5dv_flow_table_type types[] = {
		[MLX5DV_DR_DOMAIN_TYPE_NIC_RX] = MLX5DV_FLOW_TABLE_TYPE_NIC_RX,
		[MLX5DV_DR_DOMAIN_TYPE_NIC_TX] = MLX5DV_FLOW_TABLE_TYPE_NIC_TX,
		[MLX5DV_DR_DOMAIN_TYPE_FDB] = MLX5DV_FLOW_TABLE_TYPE_FDB,
	};

	return types[domain->type];
}

int dr_root_matcher_create(struct mlx5dv_dr_matcher *matcher, uint16_t priority, uint8_t criteria,
			   struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_flow_match_parameters none = { .match_sz = 0 };
	struct mlx5dv_flow_matcher_attr attr = {
		.type = IBV_FLOW_ATTR_NORMAL,
		.priority = priority,
		.match_criteria_enable = criteria,
		.match_mask = mask ? mask : &none,
		.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
		.ft_type = dr_root_type(matcher->table->domain),
	};

	matcher->kernel = mlx5dv_create_flow_matcher(matcher->table->domain->context, &attr);
	return matcher->kernel ? 0 : -errno;
}

int dr_root_matcher_destroy(struct mlx5dv_dr_matcher *matcher)
{
	return -mlx5dv_destroy_flow_matcher(matcher->kernel);
}

/* ---- rules */

static struct mlx5dv_flow_action_attr translate(const struct mlx5dv_dr_action *action)
{
	static const enum mlx5dv_flow_action_type types[DR_ACTION_KINDS] = {
		[DR_ACTION_DROP] = MLX5DV_FLOW_ACTION_DROP,
		[DR_ACTION_MISS] = MLX5DV_FLOW_ACTION_DEFAULT_MISS,
		[DR_ACTION_TAG] = MLX5DV_FLOW_ACTION_TAG,
		[DR_ACTION_QP] = MLX5DV_FLOW_ACTION_DEST_IBV_QP,
		[DR_ACTION_TIR] = MLX5DV_FLOW_ACTION_DEST_DEVX,
		[DR_ACTION_TABLE] = MLX5DV_FLOW_ACTION_DEST_DEVX,
		[DR_ACTION_COUNTER] = MLX5DV_FLOW_ACTION_COUNTERS_DEVX,
		[DR_ACTION_KERNEL] = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION,
		[DR_ACTION_ARRAY] = MLX5DV_FLOW_ACTION_DEST_DEVX,
	};
	struct mlx5dv_flow_action_attr attr = { .type = types[action->kind] };

	switch (action->kind) {
	case DR_ACTION_TAG:
		attr.tag_value = action->tag;
		break;
	case DR_ACTION_QP:
		attr.qp = action->qp;
		break;
	case DR_ACTION_TIR:
		attr.obj = action->tir;
		break;
	case DR_ACTION_TABLE:
		attr.obj = action->table->object;
		break;
	case DR_ACTION_COUNTER:
		attr.obj = action->counter.object;
		if (!action->counter.offset)
			break;
		attr.type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX_WITH_OFFSET;
		attr.bulk_obj.obj = action->counter.object;
		attr.bulk_obj.offset = action->counter.offset;
		break;
	case DR_ACTION_ARRAY:
		attr.obj = action->array.forward.table;
		break;
	case DR_ACTION_KERNEL:
		attr.action = action->kernel;
		break;
	default:
		break;
	}
	return attr;
}

/* Check that root tables support the action, and that the action belongs to the domain. */
static int action_check(const struct mlx5dv_dr_domain *domain,
			const struct mlx5dv_dr_action *action)
{
	if (action->kind > DR_ACTION_COUNTER && action->kind != DR_ACTION_ARRAY &&
	    action->kind != DR_ACTION_KERNEL)
		return -EOPNOTSUPP;
	if (action->kind == DR_ACTION_TABLE && action->table->domain != domain)
		return -EINVAL;
	return action->domain && action->domain != domain ? -EINVAL : 0;
}

int dr_root_rule_create(struct mlx5dv_dr_rule *rule, struct mlx5dv_flow_match_parameters *value)
{
	const struct mlx5dv_dr_domain *domain = rule->matcher->table->domain;
	_cleanup_free_ struct mlx5dv_flow_action_attr *attrs =
		calloc(rule->action_count ?: 1, sizeof(*attrs));

	if (!attrs)
		return -ENOMEM;
	for (size_t i = 0; i < rule->action_count; i++) {
		int r = action_check(domain, rule->actions[i]);

		if (r < 0)
			return r;
		attrs[i] = translate(rule->actions[i]);
	}
	rule->kernel = __mlx5dv_create_flow(rule->matcher->kernel, value, rule->action_count, attrs,
					    sizeof(*attrs));
	return rule->kernel ? 0 : -errno;
}

int dr_root_rule_destroy(struct mlx5dv_dr_rule *rule)
{
	return -ibv_destroy_flow(rule->kernel);
}
