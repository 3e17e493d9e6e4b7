/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a port that only this driver reports, and the path of its other function. */
#include "providers/mlx5/direct/direct.h"

MLX5DV_EXPORT int _mlx5dv_query_port(struct ibv_context *ibctx, uint32_t port_num,
				     struct mlx5dv_port *info, size_t info_len)
{
	const struct uverbs_attr a[] = {
		uverbs_u32(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, port_num),
		uverbs_out(MLX5_IB_ATTR_QUERY_PORT, info, min_of(info_len, (size_t)UINT16_MAX)),
	};
	int r;

	if (!mlx5dv_context(ibctx, "mlx5dv_query_port"))
		return EOPNOTSUPP;
	r = uverbs_ioctl(ibctx, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, a, ARRAY_SIZE(a),
			 NULL);
	if (r < 0)
		verbs_err(ibctx, "mlx5dv_query_port: port %u: %s", port_num, strerror(-r));
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *ibctx, char *buf,
						    size_t buf_len)
{
	const struct uverbs_attr a[] = {
		uverbs_out(MLX5_IB_ATTR_GET_DATA_DIRECT_SYSFS_PATH, buf,
			   min_of(buf_len, (size_t)UINT16_MAX)),
	};
	int r;

	if (!mlx5dv_context(ibctx, __func__))
		return EOPNOTSUPP;
	r = uverbs_ioctl(ibctx, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_GET_DATA_DIRECT_SYSFS_PATH, a,
			 ARRAY_SIZE(a), NULL);
	if (r < 0)
		verbs_err(ibctx, "%s: %s", __func__, strerror(-r));
	return mlx5dv_errno(r);
}
