/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All environment variables that this project reads, in one table (env.c). If the program runs with
 * more privilege than its caller, the functions return the same as for a variable that is not set:
 * set-uid, set-gid or file capabilities.
 */
#ifndef UTIL_ENV_H
#define UTIL_ENV_H

#include <stdbool.h>

enum env_name {
	ENV_VERBS_LOG_LEVEL,
	ENV_VERBS_LOG_FILE,
	ENV_IBV_FORK_SAFE,
	ENV_RDMAV_FORK_SAFE,
	ENV_RDMAV_HUGEPAGES_SAFE,
	ENV_RDMAV_ALLOW_DISASSOC_DESTROY,
	ENV_IBV_SHOW_WARNINGS,
	ENV_RDMAV_DRIVERS,
	ENV_IBV_DRIVERS,
	ENV_SYSFS_PATH,
	ENV_UROCE,
	ENV_RDMA_NDD_ND_FORMAT,
	ENV_UROCE_PATH,
	ENV_UROCE_FAULTS,
	ENV_UROCE_CAPTURE,
	ENV_UROCE_STRICT,
	ENV_RS_SQ_SIZE,
	ENV_RS_RQ_SIZE,
	ENV_RS_INLINE,
	ENV_CXGB4_MA_WR,
	ENV_MLX5_CQE_SIZE,
	ENV_MLX5_SCATTER_TO_CQE,
	ENV_MLX5_SHUT_UP_BF,
	ENV_MLX5_POST_SEND_PREFER_BF,
	ENV_MLX5_TOTAL_UUARS,
	ENV_MLX5_NUM_LOW_LAT_UUARS,
	ENV_MLX5_SINGLE_THREADED,
	ENV_T5_ENABLE_WC,
	ENV_MLX_CQ_ALLOC_TYPE,
	ENV_MLX_QP_ALLOC_TYPE,
	ENV_MLX_SRQ_ALLOC_TYPE,
	ENV_COUNT,
};

struct env_variable {
	const char *name;
	const char *meaning;
};

/* The table, indexed by enum env_name; libibverbs(7) is checked against it. */
extern const struct env_variable env_variables[ENV_COUNT];

/* Return the value; NULL if it is not set or the program is privileged. Threads: like getenv(3). */
const char *env_get(enum env_name name);
/* Return NULL also if the value is empty: scripts pass an empty value for the default. */
const char *env_get_filled(enum env_name name);

/* Return whether the variable is set, whatever its value is. */
bool env_is_set(enum env_name name);

#endif
