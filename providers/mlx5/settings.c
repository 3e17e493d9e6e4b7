/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What administrators say of queues by variables in the environment, under the names that other
 * releases of this provider gave them. They are read whenever a queue is made, as there.
 */
#include <string.h>

#include "providers/mlx5/mlx5.h"
#include "util/env.h"

struct pages_name {
	const char *name;
	enum kit_pages pages;
};

/* CONTIG asks for memory that the kernel allocates, which this library does not do. */
static const struct pages_name pages_names[] = {
	{ "ANON", KIT_PAGES_ORDINARY },		 { "HUGE", KIT_PAGES_HUGE },
	{ "PREFER_HUGE", KIT_PAGES_HUGE_FIRST }, { "CONTIG", KIT_PAGES_ORDINARY },
	{ "PREFER_CONTIG", KIT_PAGES_ORDINARY }, { "ALL", KIT_PAGES_HUGE_FIRST },
};

static enum kit_pages pages_of(enum env_name name)
{
	const char *value = env_get(name);

	if (!value)
		return KIT_PAGES_ORDINARY;
	for (unsigned int i = 0; i < ARRAY_SIZE(pages_names); i++)
		if (!strcmp(value, pages_names[i].name))
			return pages_names[i].pages;
	log_warn("mlx5: %s is '%s', and taken for ANON: ANON, HUGE and PREFER_HUGE are possible",
		 env_variables[name].name, value);
	return KIT_PAGES_ORDINARY;
}

struct kit_memory mlx5_memory(uint64_t type)
{
	enum env_name name = type == MLX5_MEMORY_CQ    ? ENV_MLX_CQ_ALLOC_TYPE
			     : type == MLX5_MEMORY_SRQ ? ENV_MLX_SRQ_ALLOC_TYPE
						       : ENV_MLX_QP_ALLOC_TYPE;

	return (struct kit_memory){ .type = type, .pages = pages_of(name) };
}

int mlx5_cq_size(struct ibv_context *ctx, const struct mlx5dv_cq_init_attr *dv, uint32_t *ret_size)
{
	const char *value = env_get(ENV_MLX5_CQE_SIZE);

	*ret_size = mlx5_cq_dv_size(dv);
	if (!value || (dv && dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE))
		return 0;
	if (strcmp(value, "64") && strcmp(value, "128")) {
		verbs_err(ctx, "ibv_create_cq: MLX5_CQE_SIZE is '%s': 64 and 128 are possible",
			  value);
		return -EINVAL;
	}
	*ret_size = *value == '6' ? 64 : 128;
	return 0;
}
