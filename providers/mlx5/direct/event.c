/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers and events of the firmware, which programs read from a descriptor. */
#include <unistd.h>

#include "providers/mlx5/direct/direct.h"

/* Read one record. After a failure errno is that of read(). */
static int read_record(int fd, void *record, size_t length, size_t least, ssize_t *ret_length)
{
	ssize_t got;

	do {
		got = read(fd, record, length);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if ((size_t)got < least)
		return -EINVAL;
	*ret_length = got;
	return 0;
}

/* ---- answers */

struct cmd_comp {
	struct mlx5dv_devx_cmd_comp dv;
	struct ibv_context *context;
};

MLX5DV_EXPORT struct mlx5dv_devx_cmd_comp *mlx5dv_devx_create_cmd_comp(struct ibv_context *ibctx)
{
	struct cmd_comp *comp;
	int r;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	comp = calloc(1, sizeof(*comp));
	if (!comp)
		return mlx5dv_fail(-ENOMEM);
	{
		const struct uverbs_attr a[] = { uverbs_new_fd(
			MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, &comp->dv.fd) };

		r = uverbs_ioctl(ibctx, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
				 MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, a, ARRAY_SIZE(a), NULL);
	}
	if (r < 0) {
		verbs_err(ibctx, "%s: %s", __func__, strerror(-r));
		free(comp);
		return mlx5dv_fail(r);
	}
	comp->context = ibctx;
	return &comp->dv;
}

MLX5DV_EXPORT void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *dv)
{
	close(dv->fd);
	free(dv);
}

MLX5DV_EXPORT int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in,
					      size_t inlen, size_t outlen, uint64_t wr_id,
					      struct mlx5dv_devx_cmd_comp *cmd_comp)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, obj->handle),
		uverbs_in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, in, inlen),
		uverbs_u64(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, outlen),
		uverbs_u64(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, wr_id),
		uverbs_fd(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, cmd_comp->fd),
	};
	int r = inlen > UINT16_MAX ? -EINVAL : 0;

	if (!r)
		r = uverbs_ioctl(obj->context, MLX5_IB_OBJECT_DEVX_OBJ,
				 MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, a, ARRAY_SIZE(a), NULL);
	if (r < 0)
		verbs_err(obj->context, "%s: object %u: %s", __func__, obj->handle, strerror(-r));
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT int mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp,
						 struct mlx5dv_devx_async_cmd_hdr *cmd_resp,
						 size_t cmd_resp_len)
{
	ssize_t length;

	return mlx5dv_errno(
		read_record(cmd_comp->fd, cmd_resp, cmd_resp_len, sizeof(*cmd_resp), &length));
}

/* ---- events */

struct event_channel {
	struct mlx5dv_devx_event_channel dv;
	struct ibv_context *context;
};

MLX5DV_EXPORT struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *ibctx,
				 enum mlx5dv_devx_create_event_channel_flags flags)
{
	struct event_channel *channel;
	int r;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return mlx5dv_fail(-ENOMEM);
	{
		const struct uverbs_attr a[] = {
			uverbs_new_fd(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
				      &channel->dv.fd),
			uverbs_u32(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, flags),
		};

		r = uverbs_ioctl(ibctx, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
				 MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, a, ARRAY_SIZE(a), NULL);
	}
	if (r < 0) {
		verbs_err(ibctx, "%s: flags 0x%x: %s", __func__, flags, strerror(-r));
		free(channel);
		return mlx5dv_fail(r);
	}
	channel->context = ibctx;
	return &channel->dv;
}

MLX5DV_EXPORT void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *dv)
{
	close(dv->fd);
	free(dv);
}

/* Subscribe to events. @fd: event descriptor; if it is negative, events are records with @cookie */
static int subscribe(struct mlx5dv_devx_event_channel *dv, const char *function,
		     const struct mlx5dv_devx_obj *obj, const uint16_t *events, size_t length,
		     uint64_t cookie, int fd)
{
	struct ibv_context *ibctx = ((struct event_channel *)dv)->context;
	const struct uverbs_attr a[] = {
		uverbs_fd(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, dv->fd),
		uverbs_when(obj, uverbs_idr(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE,
					    obj ? obj->handle : 0)),
		uverbs_in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, events, length),
		uverbs_when(fd < 0, uverbs_u64(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie)),
		/* The kernel takes this descriptor as a plain number. */
		uverbs_when(fd >= 0, uverbs_u32(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, fd)),
	};
	int r = uverbs_ioctl(ibctx, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		verbs_err(ibctx, "%s: object %d: %s", function, obj ? (int)obj->handle : -1,
			  strerror(-r));
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *dv,
						   struct mlx5dv_devx_obj *obj, uint16_t events_sz,
						   uint16_t events_num[], uint64_t cookie)
{
	return subscribe(dv, __func__, obj, events_num, events_sz, cookie, -1);
}

MLX5DV_EXPORT int mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *dv, int fd,
						      struct mlx5dv_devx_obj *obj,
						      uint16_t event_num)
{
	if (fd < 0) {
		verbs_err(((struct event_channel *)dv)->context, "%s: fd %d is no descriptor",
			  __func__, fd);
		return mlx5dv_errno(-EBADF);
	}
	return subscribe(dv, __func__, obj, &event_num, sizeof(event_num), 0, fd);
}

MLX5DV_EXPORT ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *dv,
					    struct mlx5dv_devx_async_event_hdr *event_data,
					    size_t event_resp_len)
{
	ssize_t length = 0;
	int r = read_record(dv->fd, event_data, event_resp_len, sizeof(*event_data), &length);

	if (r < 0) {
		errno = -r;
		return -1;
	}
	return length;
}
