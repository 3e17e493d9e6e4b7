/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wrong signatures that completions report: the list of keys, and the format of the completion. */
#include "providers/mlx5/sig_error.h"
#include "providers/mlx5/cqe.h"

enum {
	LOW_BITS = 7,
};

/* The format of a completion that reports a wrong signature. */
struct sig_error_cqe {
	uint8_t reserved_0[16];
	__be32 expected_signature;
	__be32 actual_signature;
	__be32 expected_ref_tag;
	__be32 actual_ref_tag;
	__be16 syndrome;
	uint8_t type;
	uint8_t domain;
	__be32 mkey;
	__be64 offset;
	uint8_t reserved_48[15];
	uint8_t op_own;
};
_Static_assert(sizeof(struct sig_error_cqe) == sizeof(struct mlx5_cqe64), "the adapter's");

void mlx5_sig_errors_publish(struct mlx5_context *ctx, struct mlx5_sig_errors *errors, uint32_t key)
{
	errors->key = key;
	errors->published = true;
	pthread_mutex_lock(&ctx->sig_lock);
	LIST_INSERT_HEAD(&ctx->sigs, errors, entry);
	pthread_mutex_unlock(&ctx->sig_lock);
}

void mlx5_sig_errors_unpublish(struct mlx5_context *ctx, struct mlx5_sig_errors *errors)
{
	pthread_mutex_lock(&ctx->sig_lock);
	if (errors->published)
		LIST_REMOVE(errors, entry);
	pthread_mutex_unlock(&ctx->sig_lock);
}

bool mlx5_sig_errors_count(struct mlx5_context *ctx, struct mlx5_sig_errors *errors,
			   uint32_t *ret_count)
{
	bool changed;

	pthread_mutex_lock(&ctx->sig_lock);
	changed = errors->changed;
	errors->changed = false;
	*ret_count = errors->count;
	pthread_mutex_unlock(&ctx->sig_lock);
	return changed;
}

static struct mlx5_sig_errors *errors_find(struct mlx5_context *ctx, uint32_t key)
{
	struct mlx5_sig_errors *errors;

	LIST_FOREACH(errors, &ctx->sigs, entry)
		if (errors->key == key)
			return errors;
	return NULL;
}

bool mlx5_sig_error_take(struct mlx5_context *ctx, const void *entry)
{
	const struct sig_error_cqe *cqe = entry;
	const struct mlx5_sig_error error = {
		.syndrome = be16toh(cqe->syndrome),
		.type = cqe->type & LOW_BITS,
		.domain = cqe->domain & LOW_BITS,
		.expected = (uint64_t)be32toh(cqe->expected_signature) << 32 |
			    be32toh(cqe->expected_ref_tag),
		.actual = (uint64_t)be32toh(cqe->actual_signature) << 32 |
			  be32toh(cqe->actual_ref_tag),
		.offset = be64toh(cqe->offset),
	};
	struct mlx5_sig_errors *errors;

	pthread_mutex_lock(&ctx->sig_lock);
	errors = errors_find(ctx, be32toh(cqe->mkey) >> 8);
	if (errors) {
		errors->last = error;
		errors->count++;
		errors->changed = errors->waits = true;
	}
	pthread_mutex_unlock(&ctx->sig_lock);
	return errors;
}
