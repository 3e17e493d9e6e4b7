/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "util/env.h"

const struct env_variable env_variables[ENV_COUNT] = {
	[ENV_VERBS_LOG_LEVEL] = { "VERBS_LOG_LEVEL", "how much to log: 0 none to 4 debug" },
	[ENV_VERBS_LOG_FILE] = { "VERBS_LOG_FILE", "file to append log lines to" },
	[ENV_IBV_FORK_SAFE] = { "IBV_FORK_SAFE", "call ibv_fork_init() at the first device list" },
	[ENV_RDMAV_FORK_SAFE] = { "RDMAV_FORK_SAFE", "same as IBV_FORK_SAFE" },
	[ENV_RDMAV_HUGEPAGES_SAFE] = { "RDMAV_HUGEPAGES_SAFE",
				       "fork protection looks up the page size of each range" },
	[ENV_RDMAV_ALLOW_DISASSOC_DESTROY] = { "RDMAV_ALLOW_DISASSOC_DESTROY",
					       "destroying an object of a removed device succeeds" },
	[ENV_IBV_SHOW_WARNINGS] = { "IBV_SHOW_WARNINGS",
				    "warn about devices without a provider even when others work" },
	[ENV_RDMAV_DRIVERS] = { "RDMAV_DRIVERS", "providers to load beside those of driver files" },
	[ENV_IBV_DRIVERS] = { "IBV_DRIVERS", "same as RDMAV_DRIVERS, which wins" },
	[ENV_SYSFS_PATH] = { "SYSFS_PATH", "where sysfs is mounted, instead of /sys" },
	[ENV_UROCE] = { "UROCE", "policy and interfaces of the user-space RoCE device" },
	[ENV_RDMA_NDD_ND_FORMAT] = { "RDMA_NDD_ND_FORMAT",
				     "what rdma-ndd makes node descriptions of" },
	[ENV_UROCE_PATH] = { "UROCE_PATH", "how it reaches processes of its own host" },
	[ENV_UROCE_FAULTS] = { "UROCE_FAULTS", "faults it is to make, for tests" },
	[ENV_UROCE_CAPTURE] = { "UROCE_CAPTURE", "file its packets are written to" },
	[ENV_UROCE_STRICT] = { "UROCE_STRICT", "whether it checks the program's use of verbs" },
	[ENV_RS_SQ_SIZE] = { "RS_SQ_SIZE", "librspreload: RDMA_SQSIZE of its sockets" },
	[ENV_RS_RQ_SIZE] = { "RS_RQ_SIZE", "librspreload: RDMA_RQSIZE of its sockets" },
	[ENV_RS_INLINE] = { "RS_INLINE", "librspreload: RDMA_INLINE of its sockets" },
	[ENV_CXGB4_MA_WR] = { "CXGB4_MA_WR", "cxgb4: workaround for queues of a T4" },
	[ENV_MLX5_CQE_SIZE] = { "MLX5_CQE_SIZE", "mlx5: bytes of a completion" },
	[ENV_MLX5_SCATTER_TO_CQE] = { "MLX5_SCATTER_TO_CQE", "mlx5: data in completions" },
	[ENV_MLX5_SHUT_UP_BF] = { "MLX5_SHUT_UP_BF", "mlx5: no requests in registers" },
	[ENV_MLX5_POST_SEND_PREFER_BF] = { "MLX5_POST_SEND_PREFER_BF",
					   "mlx5: which requests go into registers" },
	[ENV_MLX5_TOTAL_UUARS] = { "MLX5_TOTAL_UUARS", "mlx5: registers for doorbells" },
	[ENV_MLX5_NUM_LOW_LAT_UUARS] = { "MLX5_NUM_LOW_LAT_UUARS",
					 "mlx5: registers of one queue pair each" },
	[ENV_MLX5_SINGLE_THREADED] = { "MLX5_SINGLE_THREADED", "mlx5: registers without locks" },
	[ENV_T5_ENABLE_WC] = { "T5_ENABLE_WC", "cxgb4: requests in registers" },
	[ENV_MLX_CQ_ALLOC_TYPE] = { "MLX_CQ_ALLOC_TYPE", "mlx5: pages of completion queues" },
	[ENV_MLX_QP_ALLOC_TYPE] = { "MLX_QP_ALLOC_TYPE", "mlx5: pages of queue pairs" },
	[ENV_MLX_SRQ_ALLOC_TYPE] = { "MLX_SRQ_ALLOC_TYPE", "mlx5: pages of shared receive queues" },
};

const char *env_get(enum env_name name)
{
	return secure_getenv(env_variables[name].name);
}

const char *env_get_filled(enum env_name name)
{
	const char *text = env_get(name);

	return text && *text ? text : NULL;
}

bool env_is_set(enum env_name name)
{
	return env_get(name) != NULL;
}
