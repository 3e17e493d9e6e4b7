/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that is best suited for access by a device. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

static int buf_alloc_plain(struct ibv_buf *buf)
{
	/* The allocator of a sanitizer ends the program if the size is larger. */
	if (buf->size > PTRDIFF_MAX)
		return -ENOMEM;
	return -posix_memalign(&buf->addr, sysconf(_SC_PAGESIZE), buf->size);
}

static int buf_alloc(struct ibv_pd *pd, size_t size, struct ibv_buf **ret_buf)
{
	const struct verbs_ops *ops = ctx_ops(pd->context);
	struct ibv_buf *buf = malloc(sizeof(*buf));
	int r;

	if (!buf)
		return -ENOMEM;
	*buf = (struct ibv_buf){ .context = pd->context, .pd = pd, .size = size, .dmabuf_fd = -1 };
	r = ops->alloc_buf ? ops->alloc_buf(buf) : buf_alloc_plain(buf);
	if (r < 0) {
		verbs_err(pd->context, "ibv_alloc_buf: %zu bytes: %s", size, strerror(-r));
		free(buf);
		return r;
	}
	*ret_buf = buf;
	return 0;
}

VERBS_EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	int r = pd && buf ? buf_alloc(pd, size, buf)
			  : explain_null("ibv_alloc_buf", pd ? "buf" : "pd");

	return r < 0 ? ret_null(r) : (*buf)->addr;
}

VERBS_EXPORT void ibv_free_buf(struct ibv_buf *buf)
{
	const struct verbs_ops *ops = ctx_ops(buf->context);

	if (ops->free_buf)
		ops->free_buf(buf);
	else
		free(buf->addr);
	free(buf);
}

VERBS_EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	int fd;

	/*
	 * Return plain memory. Log no error, because programs call this function to detect dma-buf.
	 */
	if (buf->dmabuf_fd < 0)
		return ret_neg1(-ENODATA);
	fd = fcntl(buf->dmabuf_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? ret_neg1(-errno) : fd;
}
