/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Domains: the packets that one direction of a port receives or sends. */
#include "providers/mlx5/steering/steering.h"

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
	return domain;
}

MLX5DV_EXPORT int mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain *domain)
{
	if (dr_is_used(&domain->users))
		return EBUSY;
	free(domain);
	return 0;
}

/* The kernel writes rules of root tables before the call returns: there is nothing to wait for. */
MLX5DV_EXPORT int mlx5dv_dr_domain_sync(struct mlx5dv_dr_domain *domain, uint32_t flags)
{
	return mlx5dv_errno(dr_refuse(domain->context, __func__, "the domain has only root tables",
				      -EOPNOTSUPP));
}
