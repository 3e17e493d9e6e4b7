/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Environment variables for queues. Their names are those of other releases of this provider. As in
 * those releases, creating a queue reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "providers/mlx5/cq.h"
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/settings.h"
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

bool mlx5_setting_scatters(void)
{
	const char *value = env_get(ENV_MLX5_SCATTER_TO_CQE);

	return !value || strcmp(value, "0");
}

/* ---- registers */

enum {
	BFREGS = 16,		/* default minimum without MLX5_TOTAL_UUARS */
	BFREGS_LOW_LATENCY = 4, /* default minimum without MLX5_NUM_LOW_LAT_UUARS */
	BFREGS_SHARED_MOST = 12,
};

static uint32_t number_of(enum env_name name, uint32_t otherwise)
{
	const char *value = env_get(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static bool is_on(enum env_name name)
{
	const char *value = env_get(name);

	return value && strcmp(value, "0");
}

int mlx5_setting_registers(struct mlx5_context *ctx)
{
	const char *prefer = env_get(ENV_MLX5_POST_SEND_PREFER_BF);
	const char *single = env_get(ENV_MLX5_SINGLE_THREADED);
	uint32_t in_page = ctx->page_size / MLX5_UAR_SIZE * 2;
	uint32_t total = number_of(ENV_MLX5_TOTAL_UUARS, BFREGS);
	uint32_t alone = number_of(ENV_MLX5_NUM_LOW_LAT_UUARS, BFREGS_LOW_LATENCY);

	if (!total || total > MLX5_BFREGS_MAX || alone > MLX5_BFREGS_MAX) {
		verbs_err(
			&ctx->vctx.context,
			"MLX5_TOTAL_UUARS is %u, MLX5_NUM_LOW_LAT_UUARS %u: at most %d are possible",
			total, alone, MLX5_BFREGS_MAX);
		return total ? -ENOMEM : -EINVAL;
	}
	total = ROUND_UP(max_of(total, in_page), 2);
	ctx->total_bfregs = total;
	ctx->low_latency_bfregs =
		total > BFREGS_SHARED_MOST ? max_of(alone, total - BFREGS_SHARED_MOST) : alone;
	ctx->low_latency_bfregs = min_of(ctx->low_latency_bfregs, total);
	ctx->no_requests_in_registers = is_on(ENV_MLX5_SHUT_UP_BF);
	ctx->inline_in_registers = prefer && !strcmp(prefer, "0");
	ctx->single_threaded = single && !strcmp(single, "1");
	return 0;
}
