/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events. */
#include <rdma/ib_user_verbs.h>

#include "providers/uroce/host/event.h"

int uroce_event_open(struct uroce_context *ctx)
{
	int r = uroce_pipe_open(&ctx->async);

	if (r < 0)
		return r;
	pthread_mutex_init(&ctx->event_lock, NULL);
	ctx->vctx.context.async_fd = ctx->async.read_fd;
	return 0;
}

void uroce_event_close(struct uroce_context *ctx)
{
	uroce_pipe_close_write(&ctx->async);
	pthread_mutex_destroy(&ctx->event_lock);
}

void uroce_event_put(struct uroce_context *ctx, uint64_t element, enum ibv_event_type type,
		     uint32_t *raised)
{
	struct ib_uverbs_async_event_desc desc = { .element = element, .event_type = type };
	int r;

	pthread_mutex_lock(&ctx->event_lock);
	r = uroce_pipe_put(&ctx->async, &desc, sizeof(desc));
	if (!r && raised)
		(*raised)++;
	pthread_mutex_unlock(&ctx->event_lock);
	if (r == -EAGAIN)
		verbs_err(&ctx->vctx.context,
			  "async event %s lost: the application does not read its events",
			  ibv_event_type_str(type));
}

void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised)
{
	pthread_mutex_lock(&ctx->event_lock);
	if (*raised)
		*raised -= uroce_pipe_purge(&ctx->async, (uintptr_t)object,
					    sizeof(struct ib_uverbs_async_event_desc));
	pthread_mutex_unlock(&ctx->event_lock);
}

void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type)
{
	struct uroce_context *ctx;

	pthread_mutex_lock(&dev->lock);
	LIST_FOREACH(ctx, &dev->contexts, entry)
		uroce_event_put(ctx, 1, type, NULL);
	pthread_mutex_unlock(&dev->lock);
}
