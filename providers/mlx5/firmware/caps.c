/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities of the firmware: queried at first use, and then kept. */
#include "providers/mlx5/firmware/firmware.h"

enum {
	ANSWER_SIZE = 0x1010,
	CURRENT = 1, /* enabled capabilities, not possible ones */
};

uint32_t mlx5_fw_cap(struct mlx5_context *ctx, enum mlx5_fw_caps group, unsigned int offset)
{
	static const uint16_t numbers[] = {
		[MLX5_FW_CAPS_GENERAL] = 0,	 [MLX5_FW_CAPS_ODP] = 2,
		[MLX5_FW_CAPS_QOS] = 0xc,	 [MLX5_FW_CAPS_CRYPTO] = 0x1a,
		[MLX5_FW_CAPS_GENERAL_2] = 0x20, [MLX5_FW_CAPS_ROCE] = 4,
		[MLX5_FW_CAPS_NIC_TABLES] = 7,	 [MLX5_FW_CAPS_SWITCH_TABLES] = 8,
		[MLX5_FW_CAPS_MEMORY] = 0xf,
	};
	uint32_t in[FW_HEAD / 4] = {};
	uint32_t *answer;
	uint32_t value;

	pthread_mutex_lock(&ctx->uar_lock);
	answer = ctx->fw_caps[group];
	if (!answer) {
		answer = calloc(1, ANSWER_SIZE);
		fw_set(in, 0, MLX5_FW_QUERY_HCA_CAP << 16);
		fw_set(in, 4, (uint32_t)numbers[group] << 1 | CURRENT);
		/* Treat a failed query as no capabilities. */
		if (answer && mlx5_fw_general(&ctx->vctx.context, "QUERY_HCA_CAP", in, sizeof(in),
					      answer, ANSWER_SIZE) < 0)
			memset(answer, 0, ANSWER_SIZE);
		ctx->fw_caps[group] = answer;
	}
	value = answer ? fw_get(answer, offset) : 0;
	pthread_mutex_unlock(&ctx->uar_lock);
	return value;
}

/* The types are a bit mask of two words, the higher word first. */
bool mlx5_fw_has_object(struct mlx5_context *ctx, enum mlx5_fw_object type)
{
	enum {
		TYPES_HIGH = 0x90,
		TYPES_LOW = 0x94
	};

	return mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, type >= 32 ? TYPES_HIGH : TYPES_LOW) >>
		       (type % 32) &
	       1;
}
