/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP1 of user-space devices: the interface for the connection manager in librdmacm. */
#include "libibverbs/library.h"

int verbs_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint16_t *ret_prefix)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_open ? ops->gsi_open(ctx, taker, ret_fd, ret_prefix) : -EOPNOTSUPP;
}

int verbs_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_listen ? ops->gsi_listen(ctx, service_id, gid, on) : -EOPNOTSUPP;
}

int verbs_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_send ? ops->gsi_send(ctx, mad) : -EOPNOTSUPP;
}

int verbs_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_recv ? ops->gsi_recv(ctx, ret_mad) : -EOPNOTSUPP;
}

int verbs_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_offer ? ops->gsi_offer(ctx, mad) : -EOPNOTSUPP;
}

int verbs_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_probe ? ops->gsi_probe(ctx, mad, fd) : -EOPNOTSUPP;
}

void verbs_gsi_poll(struct ibv_context *ctx)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	if (ops->gsi_poll)
		ops->gsi_poll(ctx);
}

void verbs_gsi_leave(struct ibv_context *ctx)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	if (ops->gsi_leave)
		ops->gsi_leave(ctx);
}

int verbs_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_guard ? ops->gsi_guard(ctx, remote) : -EOPNOTSUPP;
}

int verbs_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad)
{
	const struct verbs_ops *ops = ctx_ops(ctx);

	return ops->gsi_last_word ? ops->gsi_last_word(ctx, index, mad) : -EOPNOTSUPP;
}
