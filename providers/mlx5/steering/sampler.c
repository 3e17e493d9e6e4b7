/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samplers. A sampler copies a part of the packets to a list of actions. All original packets
 * continue in a table. In the switch of format 0, a sampler of sent packets changes register C0. A
 * table behind the sampler restores the register.
 */
#include "providers/mlx5/steering/action.h"

enum {
	OBJECT_SIZE = 0x38,
	IGNORE_LEVEL = 1,
	RECEIVE_AT = 0x28,
	SEND_AT = 0x30,
};

static int tag_add(const struct mlx5dv_dr_domain *domain, struct dr_forward_list *list,
		   const struct mlx5dv_dr_action *action)
{
	if (action->kind != DR_ACTION_TAG)
		return dr_forward_add(domain, list, action);
	if (domain->type != MLX5DV_DR_DOMAIN_TYPE_NIC_RX)
		return -EOPNOTSUPP;
	list->tag = action->tag;
	return 0;
}

/* Create the table that receives the copies. */
static int copies_make(struct mlx5dv_dr_action *action,
		       const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	struct mlx5dv_dr_domain *domain = action->domain;
	struct dr_forward_list list = {
		.type = dr_table_type(domain),
		.level = domain->caps.levels - 1,
		.is_last = true,
	};
	int r = 0;

	for (uint32_t i = 0; !r && i < attr->num_sample_actions; i++)
		r = tag_add(domain, &list, attr->sample_actions[i]);
	return r ? r : dr_forward_make(domain, &list, &action->sampler.forward);
}

static struct mlx5dv_devx_obj *object_make(const struct mlx5dv_dr_action *action, uint32_t ratio,
					   const struct mlx5dv_dr_table *next)
{
	const struct mlx5dv_dr_domain *domain = action->domain;
	uint32_t in[OBJECT_SIZE / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_SAMPLER);
	fw_set(in, 0x18,
	       dr_table_type(domain) << 24 | (uint32_t)(domain->caps.levels - 1) << 16 |
		       IGNORE_LEVEL);
	fw_set(in, 0x1c, ratio);
	fw_set(in, 0x20, action->sampler.forward.table->object_id);
	fw_set(in, 0x24, next->object->object_id);
	return mlx5_fw_create(domain->context, "CREATE_GENERAL_OBJECT", in, sizeof(in), out,
			      sizeof(out));
}

static int addresses_read(struct mlx5dv_devx_obj *object, uint64_t icm[DR_HALVES])
{
	uint32_t in[FW_HEAD / 4] = {}, out[OBJECT_SIZE / 4] = {};
	int r;

	fw_set(in, 0, MLX5_FW_QUERY_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_SAMPLER);
	fw_set(in, 8, object->object_id);
	r = mlx5_fw_query(object, "QUERY_GENERAL_OBJECT", in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	icm[DR_RECEIVE] = fw_get_64(out, RECEIVE_AT);
	icm[DR_SEND] = fw_get_64(out, SEND_AT);
	return 0;
}

/* ---- register C0 behind a sampler */

static int restore_rule_make(struct dr_sampler *s)
{
	struct mlx5dv_dr_action *actions[] = { s->restore_modify, s->restore_next };
	struct mlx5dv_flow_match_parameters any = { .match_sz = 0 };

	s->restore_matcher = mlx5dv_dr_matcher_create(s->restore_table, 0, 0, &any);
	s->restore_rule = s->restore_matcher
				  ? mlx5dv_dr_rule_create(s->restore_matcher, &any, 2, actions)
				  : NULL;
	return s->restore_rule ? 0 : -errno;
}

static int restore_make(struct mlx5dv_dr_action *action,
			const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	struct mlx5dv_dr_domain *domain = action->domain;
	struct dr_sampler *s = &action->sampler;
	__be64 change = attr->action;

	s->restore_modify =
		mlx5dv_dr_action_create_modify_header(domain, 0, sizeof(change), &change);
	s->restore_next = mlx5dv_dr_action_create_dest_table(attr->default_next_table);
	s->restore_table =
		s->restore_modify && s->restore_next
			? mlx5dv_dr_table_create(domain, attr->default_next_table->level - 1)
			: NULL;
	if (!s->restore_table || restore_rule_make(s) < 0)
		return -errno;
	s->restored = object_make(action, attr->sample_ratio, s->restore_table);
	return s->restored ? 0 : -errno;
}

static void restore_free(struct dr_sampler *s)
{
	if (s->restored)
		mlx5_fw_destroy(s->restored);
	if (s->restore_rule)
		mlx5dv_dr_rule_destroy(s->restore_rule);
	if (s->restore_matcher)
		mlx5dv_dr_matcher_destroy(s->restore_matcher);
	if (s->restore_table)
		mlx5dv_dr_table_destroy(s->restore_table);
	if (s->restore_next)
		mlx5dv_dr_action_destroy(s->restore_next);
	if (s->restore_modify)
		mlx5dv_dr_action_destroy(s->restore_modify);
}

/* ---- actions */

static void content_free(struct dr_sampler *s)
{
	restore_free(s);
	if (s->object)
		mlx5_fw_destroy(s->object);
	dr_forward_free(&s->forward);
}

static int objects_make(struct mlx5dv_dr_action *action,
			const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	struct dr_sampler *s = &action->sampler;
	uint64_t restored[DR_HALVES];
	int r = copies_make(action, attr);

	if (r < 0)
		return r;
	s->object = object_make(action, attr->sample_ratio, attr->default_next_table);
	if (!s->object)
		return -errno;
	r = addresses_read(s->object, s->icm);
	if (r < 0 || action->domain->caps.format || !dr_is_switch(action->domain))
		return r;
	r = restore_make(action, attr);
	if (!r)
		r = addresses_read(s->restored, restored);
	if (!r)
		s->icm[DR_SEND] = restored[DR_SEND];
	return r;
}

static int members_keep(struct dr_sampler *s, const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	s->members = calloc(attr->num_sample_actions, sizeof(*s->members));
	if (!s->members)
		return -ENOMEM;
	for (uint32_t i = 0; i < attr->num_sample_actions; i++) {
		s->members[i] = attr->sample_actions[i];
		dr_use(&s->members[i]->users);
	}
	s->count = attr->num_sample_actions;
	s->next = attr->default_next_table;
	dr_use(&s->next->users);
	return 0;
}

static int sampler_make(struct mlx5dv_dr_action *action,
			const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	int r = objects_make(action, attr);

	if (!r)
		r = members_keep(&action->sampler, attr);
	if (r < 0)
		content_free(&action->sampler);
	return r;
}

int dr_sampler_end(struct mlx5dv_dr_action *action)
{
	struct dr_sampler *s = &action->sampler;

	content_free(s);
	for (unsigned int i = 0; i < s->count; i++)
		dr_leave(&s->members[i]->users);
	free(s->members);
	dr_leave(&s->next->users);
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_flow_sampler(struct mlx5dv_dr_flow_sampler_attr *attr)
{
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_action *action;

	if (!attr || !attr->default_next_table || !attr->num_sample_actions ||
	    !attr->sample_actions || !attr->sample_ratio)
		return mlx5dv_fail(-EINVAL);
	domain = attr->default_next_table->domain;
	if (domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_TX || !attr->default_next_table->level)
		return mlx5dv_fail(dr_refuse(
			domain->context, __func__,
			"the domain sends packets, or the table is a root table", -EOPNOTSUPP));
	action = dr_action_new(DR_ACTION_SAMPLER, domain);
	return action ? dr_action_done(action, __func__, sampler_make(action, attr)) : NULL;
}
