/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Domains: the packets that one direction of a port receives or sends. */
#include "providers/mlx5/steering/action.h"

enum {
	SYNC_STEERING = 0xb00,
	SYNC_IN = 0x20,
};

int dr_refuse(struct ibv_context *ctx, const char *function, const char *why, int r)
{
	verbs_err(ctx, "%s: %s", function, why);
	return r;
}

/* Check that the first port is Ethernet. */
static int port_check(struct ibv_context *ctx, const char *function)
{
	struct ibv_port_attr port;
	int r = ibv_query_port(ctx, 1, &port);

	if (r)
		return dr_refuse(ctx, function, "port 1 cannot be queried", -r);
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return dr_refuse(ctx, function, "port 1 is not Ethernet", -EOPNOTSUPP);
	return 0;
}

static int domain_check(struct ibv_context *ctx, const char *function,
			enum mlx5dv_dr_domain_type type)
{
	if ((unsigned int)type > MLX5DV_DR_DOMAIN_TYPE_FDB)
		return dr_refuse(ctx, function, "the type of the domain is unknown", -EINVAL);
	return port_check(ctx, function);
}

static void software_close(struct mlx5dv_dr_domain *domain)
{
	dr_patterns_close(domain->patterns);
	dr_pools_close(domain);
	dr_ring_close(domain->ring);
	dr_vports_close(domain);
	if (domain->pd)
		ibv_dealloc_pd(domain->pd);
}

static int pd_open(struct mlx5dv_dr_domain *domain)
{
	struct mlx5dv_pd pd;
	struct mlx5dv_obj obj = { .pd = { .out = &pd } };
	int r;

	domain->pd = ibv_alloc_pd(domain->context);
	if (!domain->pd)
		return -errno;
	obj.pd.in = domain->pd;
	r = -mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);
	domain->pdn = r ? 0 : pd.pdn;
	return r;
}

/* Prepare tables above level 0. */
static int software_open(struct mlx5dv_dr_domain *domain)
{
	int r = pd_open(domain);

	domain->format = domain->caps.format ? &dr_format_1 : &dr_format_0;
	dr_pools_open(domain);
	if (!r)
		r = dr_vports_open(domain);
	if (!r)
		r = dr_ring_open(domain->context, domain->pd, &domain->ring);
	if (r < 0)
		return r;
	domain->patterns = dr_patterns_open(domain);
	domain->has_software = true;
	return 0;
}

static int domain_open(struct mlx5dv_dr_domain *domain)
{
	int r = dr_caps_read(domain->context, domain->type, &domain->caps);

	if (r == -EOPNOTSUPP)
		return 0;
	if (r < 0)
		return r;
	r = software_open(domain);
	if (r < 0)
		software_close(domain);
	return r;
}

MLX5DV_EXPORT struct mlx5dv_dr_domain *mlx5dv_dr_domain_create(struct ibv_context *ctx,
							       enum mlx5dv_dr_domain_type type)
{
	struct mlx5dv_dr_domain *domain;
	int r;

	if (!mlx5dv_context(ctx, __func__))
		return NULL;
	r = domain_check(ctx, __func__, type);
	domain = r < 0 ? NULL : calloc(1, sizeof(*domain));
	if (!domain)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	domain->context = ctx;
	domain->type = type;
	pthread_mutex_init(&domain->lock, NULL);
	TAILQ_INIT(&domain->tables);
	LIST_INIT(&domain->links);
	r = domain_open(domain);
	if (r < 0) {
		dr_refuse(ctx, __func__, strerror(-r), r);
		pthread_mutex_destroy(&domain->lock);
		free(domain);
		return mlx5dv_fail(r);
	}
	return domain;
}

MLX5DV_EXPORT int mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain *domain)
{
	if (dr_is_used(&domain->users))
		return EBUSY;
	if (domain->has_software) {
		dr_steering_sync(domain);
		software_close(domain);
	}
	pthread_mutex_destroy(&domain->lock);
	free(domain);
	return 0;
}

int dr_steering_sync(struct mlx5dv_dr_domain *domain)
{
	uint32_t in[SYNC_IN / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, SYNC_STEERING << 16);
	return mlx5_fw_general(domain->context, "SYNC_STEERING", in, sizeof(in), out, sizeof(out));
}

static int parts_sync(struct mlx5dv_dr_domain *domain, uint32_t flags)
{
	int r = 0;

	if (flags & MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW)
		r = dr_ring_drain(domain->ring);
	if (!r && flags & MLX5DV_DR_DOMAIN_SYNC_FLAGS_HW)
		r = dr_steering_sync(domain);
	if (!r && flags & MLX5DV_DR_DOMAIN_SYNC_FLAGS_MEM)
		r = dr_pools_reclaim(domain);
	return r;
}

MLX5DV_EXPORT int mlx5dv_dr_domain_sync(struct mlx5dv_dr_domain *domain, uint32_t flags)
{
	const uint32_t known = MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW | MLX5DV_DR_DOMAIN_SYNC_FLAGS_HW |
			       MLX5DV_DR_DOMAIN_SYNC_FLAGS_MEM;
	int r;

	if (!domain->has_software || flags & ~known)
		return mlx5dv_errno(dr_refuse(
			domain->context, __func__,
			"the domain has only root tables, or flags are unknown", -EOPNOTSUPP));
	dr_lock(domain);
	r = parts_sync(domain, flags);
	dr_unlock(domain);
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT void mlx5dv_dr_domain_set_reclaim_device_memory(struct mlx5dv_dr_domain *dmn,
							      bool enable)
{
	if (!dmn->has_software)
		return;
	dr_lock(dmn);
	dmn->reclaims = enable;
	dr_unlock(dmn);
}

MLX5DV_EXPORT void mlx5dv_dr_domain_allow_duplicate_rules(struct mlx5dv_dr_domain *domain,
							  bool allow)
{
	if (!domain->has_software)
		return;
	dr_lock(domain);
	domain->refuses_duplicates = !allow;
	dr_unlock(domain);
}
