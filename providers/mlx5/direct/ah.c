/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mappings of an address handle to a queue pair: the firmware assigns packets from this address to
 * the queue pair. */
#include "providers/mlx5/ah.h"
#include "providers/mlx5/direct/direct.h"

enum {
	IN_SIZE = 0x50,
	OUT_SIZE = 0x10,
};

static struct mlx5dv_devx_obj *mapping_create(struct mlx5_ah *ah, const char *function,
					      uint32_t qpn)
{
	uint32_t in[IN_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_AV_QP_MAPPING);
	fw_set(in, 0x1c, qpn);
	fw_set(in, 0x2c, (uint32_t)(ah->av.stat_rate_sl & 0xf) << 24);
	fw_set(in, 0x3c, be32toh(ah->av.grh_gid_fl) & 0xff << 20);
	memcpy((char *)in + 0x40, ah->av.rgid, sizeof(ah->av.rgid));
	return mlx5_fw_create(ah->ah.context, function, in, sizeof(in), out, sizeof(out));
}

MLX5DV_EXPORT int mlx5dv_map_ah_to_qp(struct ibv_ah *ibah, uint32_t qp_num)
{
	struct mlx5_context *ctx = mlx5dv_context(ibah->context, __func__);
	struct mlx5dv_devx_obj *mapping, *none = NULL;
	struct mlx5_ah *ah = to_mah(ibah);

	if (!ctx)
		return EOPNOTSUPP;
	if (!mlx5_fw_has_object(ctx, MLX5_FW_OBJ_AV_QP_MAPPING) || !ah->is_global) {
		verbs_err(ibah->context, "%s: an address with a GID can, where the firmware can",
			  __func__);
		return mlx5dv_errno(-EOPNOTSUPP);
	}
	if (ah->mapping)
		return 0;
	mapping = mapping_create(ah, __func__, qp_num);
	if (!mapping)
		return errno;
	if (!atomic_compare_exchange_strong(&ah->mapping, &none, mapping))
		mlx5_fw_destroy(mapping); /* another thread has already made the mapping */
	return 0;
}
