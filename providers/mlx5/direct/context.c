/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Return the context of a program as that of this provider. */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/vfio.h"

struct mlx5_context *mlx5dv_context(struct ibv_context *ctx, const char *function)
{
	if (verbs_device_is(ctx->device, "mlx5"))
		return to_mctx(ctx);
	verbs_err(ctx, "%s: this is no device of mlx5", function);
	errno = EOPNOTSUPP;
	return NULL;
}

bool mlx5dv_has_firmware(struct ibv_context *ctx, const char *function)
{
	return mlx5_vfio_is(ctx) || mlx5dv_context(ctx, function);
}
