/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wrong signatures that completions report. The sig_lock of the context protects them. */
#ifndef MLX5_SIG_ERROR_H
#define MLX5_SIG_ERROR_H

#include "providers/mlx5/mlx5.h"

/* A wrong signature that a completion reported. */
struct mlx5_sig_error {
	uint16_t syndrome;
	uint8_t type, domain;
	uint64_t expected, actual, offset;
};

/* The errors of a key. */
struct mlx5_sig_errors {
	LIST_ENTRY(mlx5_sig_errors) entry;
	uint32_t key; /* number of the key in completions */
	bool published;
	uint32_t count;
	bool changed; /* @count has changed since a request told the adapter about it */
	bool waits;   /* the program has not read the last error */
	struct mlx5_sig_error last;
};

/* Add the key to the list in which completions find it. */
void mlx5_sig_errors_publish(struct mlx5_context *ctx, struct mlx5_sig_errors *errors,
			     uint32_t key);
/* Remove the key from this list, if it is there. */
void mlx5_sig_errors_unpublish(struct mlx5_context *ctx, struct mlx5_sig_errors *errors);
/* Get the number of errors. Return: whether the number changed since the last call. */
bool mlx5_sig_errors_count(struct mlx5_context *ctx, struct mlx5_sig_errors *errors,
			   uint32_t *ret_count);
/* Record the error of a completion with opcode MLX5_CQE_SIG_ERR. Return: whether the key belongs to
 * this context */
bool mlx5_sig_error_take(struct mlx5_context *ctx, const void *cqe);

#endif
