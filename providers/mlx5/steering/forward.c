/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of the firmware whose only rule takes every packet: to many destinations, or to a root
 * table. */
#include "providers/mlx5/steering/action.h"

enum {
	TABLE_IN = 0x40,
	TABLE_OUT = 0x40,
	GROUP_IN = 0x400,
	ENTRY_IN = 0x340,
	ENTRY_STEP = 8, /* bytes of a destination or a counter */
	ENTRY_WIDE_STEP = 16,
	TYPE_SHIFT = 24,
	LEVEL_SHIFT = 16,
	HAS_REFORMAT = 1u << 31,
	IS_LAST = 1 << 28,
	FORWARD = 4,
	COUNT = 8,
	ROOT_0 = 0x38,
	ROOT_1 = 0x30,
};

static int table_make(struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
		      struct dr_forward *ret)
{
	uint32_t in[TABLE_IN / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_FLOW_TABLE << 16);
	fw_set(in, 0x10, list->type << TYPE_SHIFT);
	fw_set(in, 0x18,
	       (list->has_reformat ? HAS_REFORMAT : 0) | (list->is_last ? IS_LAST : 0) |
		       (uint32_t)list->level << LEVEL_SHIFT);
	ret->table = mlx5_fw_create(domain->context, "CREATE_FLOW_TABLE", in, sizeof(in), out,
				    sizeof(out));
	return ret->table ? 0 : -errno;
}

static int group_make(struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
		      struct dr_forward *ret)
{
	_cleanup_free_ uint32_t *in = calloc(1, GROUP_IN);
	uint32_t out[FW_HEAD / 4] = {};

	if (!in)
		return -ENOMEM;
	fw_set(in, 0, MLX5_FW_CREATE_FLOW_GROUP << 16);
	fw_set(in, 0x10, list->type << TYPE_SHIFT);
	fw_set(in, 0x14, ret->table->object_id);
	ret->group = mlx5_fw_create(domain->context, "CREATE_FLOW_GROUP", in, GROUP_IN, out,
				    sizeof(out));
	return ret->group ? 0 : -errno;
}

static void destinations_put(const struct dr_forward_list *list, uint32_t *in, size_t step)
{
	size_t at = ENTRY_IN;

	for (unsigned int i = 0; i < list->count; i++, at += step) {
		fw_set(in, at, (uint32_t)list->to[i].type << TYPE_SHIFT | list->to[i].id);
		if (!list->to[i].reformat)
			continue;
		fw_set(in, at + 4, 1u << 30);
		fw_set(in, at + 8, list->to[i].reformat);
	}
	for (unsigned int i = 0; i < list->counters; i++, at += step)
		fw_set(in, at, list->counter[i]);
}

static int entry_make(struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
		      struct dr_forward *ret)
{
	size_t step = list->has_reformat ? ENTRY_WIDE_STEP : ENTRY_STEP;
	size_t length = ENTRY_IN + (list->count + list->counters) * step;
	_cleanup_free_ uint32_t *in = calloc(1, length);
	uint32_t out[FW_HEAD / 4] = {};

	if (!in)
		return -ENOMEM;
	fw_set(in, 0, MLX5_FW_SET_FLOW_ENTRY << 16);
	fw_set(in, 0x10, list->type << TYPE_SHIFT);
	fw_set(in, 0x14, ret->table->object_id);
	fw_set(in, 0x44, ret->group->object_id);
	fw_set(in, 0x48, list->tag);
	fw_set(in, 0x4c, (list->count ? FORWARD : 0) | (list->counters ? COUNT : 0));
	fw_set(in, 0x50, (list->has_reformat ? 1u << 31 : 0) | list->count);
	fw_set(in, 0x54, list->counters);
	destinations_put(list, in, step);
	ret->entry = mlx5_fw_create(domain->context, "SET_FLOW_TABLE_ENTRY", in, length, out,
				    sizeof(out));
	return ret->entry ? 0 : -errno;
}

static int addresses_read(const struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
			  struct dr_forward *ret)
{
	uint32_t in[TABLE_IN / 4] = {}, out[TABLE_OUT / 4] = {};
	int r;

	fw_set(in, 0, MLX5_FW_QUERY_FLOW_TABLE << 16);
	fw_set(in, 0x10, list->type << TYPE_SHIFT);
	fw_set(in, 0x14, ret->table->object_id);
	r = mlx5_fw_query(ret->table, "QUERY_FLOW_TABLE", in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	ret->icm[DR_RECEIVE] = fw_get_64(out, ROOT_0);
	ret->icm[DR_SEND] = fw_get_64(out, dr_is_switch(domain) ? ROOT_1 : ROOT_0);
	return 0;
}

int dr_forward_make(struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
		    struct dr_forward *ret)
{
	int r = table_make(domain, list, ret);

	if (!r)
		r = group_make(domain, list, ret);
	if (!r)
		r = entry_make(domain, list, ret);
	if (!r)
		r = addresses_read(domain, list, ret);
	if (r < 0)
		dr_forward_free(ret);
	return r;
}

void dr_forward_free(struct dr_forward *forward)
{
	if (forward->entry)
		mlx5_fw_destroy(forward->entry);
	if (forward->group)
		mlx5_fw_destroy(forward->group);
	if (forward->table)
		mlx5_fw_destroy(forward->table);
	*forward = (struct dr_forward){};
}
