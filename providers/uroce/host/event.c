/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>

#include "providers/uroce/host/dev.h"

int uroce_pipe_open(struct uroce_pipe *ret)
{
	int fds[2], flags;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	flags = fcntl(fds[1], F_GETFL);
	fcntl(fds[1], F_SETFL, flags | O_NONBLOCK); /* the two ends have flags of their own */
	*ret = (struct uroce_pipe){ .read_fd = fds[0], .write_fd = fds[1] };
	return 0;
}

void uroce_pipe_close_write(struct uroce_pipe *pipe)
{
	close(pipe->write_fd);
	pipe->write_fd = -1;
}

int uroce_pipe_put(const struct uroce_pipe *pipe, const void *record, size_t size)
{
	/* Up to PIPE_BUF bytes are written in whole or not at all. */
	return write(pipe->write_fd, record, size) == (ssize_t)size ? 0 : -errno;
}

/* Move everything unread aside without ever blocking, whatever flags the application set on its
 * end. */
static size_t pipe_drain(const struct uroce_pipe *pipe, const struct uroce_pipe *aside)
{
	size_t total = 0;

	for (;;) {
		ssize_t n = splice(pipe->read_fd, NULL, aside->write_fd, NULL, INT_MAX,
				   SPLICE_F_NONBLOCK);

		if (n <= 0)
			return total;
		total += n;
	}
}

unsigned int uroce_pipe_purge(const struct uroce_pipe *pipe, uint64_t element, size_t size)
{
	struct uroce_pipe aside = { -1, -1 };
	unsigned int purged = 0;
	uint8_t record[64];

	if (size > sizeof(record) || uroce_pipe_open(&aside) < 0)
		return 0;
	for (size_t left = pipe_drain(pipe, &aside); left >= size; left -= size) {
		uint64_t found;

		if (read(aside.read_fd, record, size) != (ssize_t)size)
			break;
		memcpy(&found, record, sizeof(found));
		if (found == element)
			purged++;
		else
			uroce_pipe_put(pipe, record, size);
	}
	close(aside.read_fd);
	close(aside.write_fd);
	return purged;
}

/* --- asynchronous events --- */

static struct uroce_context *to_uctx(struct ibv_context *ctx)
{
	return (struct uroce_context *)to_vctx(ctx);
}

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

/* @raised: counts what destroying the object has to wait for, so only what is in the pipe; NULL for
 * the port's. */
static void event_put(struct uroce_context *ctx, uint64_t element, enum ibv_event_type type,
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

void uroce_event_qp(struct uroce_qp *qp, enum ibv_event_type type)
{
	event_put(to_uctx(qp->vqp.qp.context), (uintptr_t)&qp->vqp.qp, type, &qp->events_raised);
}

void uroce_event_srq(struct uroce_srq *srq, enum ibv_event_type type)
{
	event_put(to_uctx(srq->vsrq.srq.context), (uintptr_t)&srq->vsrq.srq, type,
		  &srq->events_raised);
}

void uroce_event_cq(struct uroce_cq *cq, enum ibv_event_type type)
{
	event_put(to_uctx(cq->vcq.cq.context), (uintptr_t)&cq->vcq.cq, type,
		  &cq->async_events_raised);
}

void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type)
{
	struct uroce_context *ctx;

	pthread_mutex_lock(&dev->lock);
	LIST_FOREACH(ctx, &dev->contexts, entry)
		event_put(ctx, 1, type, NULL);
	pthread_mutex_unlock(&dev->lock);
}
