/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interrupt vectors and event queues that the program handles. Vector 0 belongs to the library. */
#include <sys/eventfd.h>

#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/function.h"

int mlx5_vfio_uar(struct ibv_context *ctx, uint32_t flags, char **ret_reg, uint32_t *ret_page_id)
{
	struct vfio_context *v = to_vfio(ctx);

	if (flags != MLX5DV_UAR_ALLOC_TYPE_NC) {
		verbs_err(ctx, "mlx5dv_devx_alloc_uar: flags 0x%x (only 0x%x is possible)", flags,
			  MLX5DV_UAR_ALLOC_TYPE_NC);
		return -EOPNOTSUPP;
	}
	*ret_reg = v->uar + MLX5_BFREG_FIRST;
	*ret_page_id = v->uar_page;
	return 0;
}

int mlx5_vfio_eqn(struct ibv_context *ctx, uint32_t vector, uint32_t *ret_eqn)
{
	if (vector) {
		verbs_err(ctx, "mlx5dv_devx_query_eqn: vector %u: only 0 is possible", vector);
		return -EINVAL;
	}
	*ret_eqn = to_vfio(ctx)->eq.number;
	return 0;
}

/* ---- vectors */

struct vector {
	struct mlx5dv_devx_msi_vector dv;
	struct vfio_context *v;
};

/* Connect the first free vector with the descriptor. The caller holds the lock. */
static int vector_take(struct vfio_context *v, int fd)
{
	int r;

	for (unsigned int i = 1; i < v->vector_count; i++) {
		if (v->vectors[i] >= 0)
			continue;
		r = vfio_bus_vectors(v, i, 1, &fd);
		if (r < 0)
			return r;
		v->vectors[i] = fd;
		return i;
	}
	return -ENOSPC;
}

static int vector_make(struct vfio_context *v, struct vector *vector)
{
	int r, fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&v->vector_lock);
	r = vector_take(v, fd);
	pthread_mutex_unlock(&v->vector_lock);
	if (r < 0) {
		close(fd);
		return r;
	}
	*vector = (struct vector){ { .vector = r, .fd = fd }, v };
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_devx_msi_vector *mlx5dv_devx_alloc_msi_vector(struct ibv_context *ctx)
{
	struct vfio_context *v = vfio_of(ctx, __func__);
	struct vector *vector = v ? calloc(1, sizeof(*vector)) : NULL;
	int r;

	if (!v)
		return NULL;
	r = vector ? vector_make(v, vector) : -ENOMEM;
	if (r < 0) {
		verbs_err(ctx, "%s: %s (the device has %u vectors)", __func__, strerror(-r),
			  v->vector_count);
		free(vector);
		return mlx5dv_fail(r);
	}
	return &vector->dv;
}

static int vector_put(struct vector *vector)
{
	struct vfio_context *v = vector->v;
	unsigned int i = vector->dv.vector;
	const int none = -1;
	int r = -EINVAL;

	pthread_mutex_lock(&v->vector_lock);
	if (i && i < v->vector_count && v->vectors[i] == vector->dv.fd)
		r = vfio_bus_vectors(v, i, 1, &none);
	if (!r)
		v->vectors[i] = -1;
	pthread_mutex_unlock(&v->vector_lock);
	return r;
}

MLX5DV_EXPORT int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector *msi)
{
	struct vector *vector = (struct vector *)msi;
	int r = vector_put(vector);

	if (r < 0) {
		verbs_err(&vector->v->vctx.context, "%s: vector %d, fd %d: %s", __func__,
			  msi->vector, msi->fd, strerror(-r));
		return mlx5dv_errno(r);
	}
	close(msi->fd);
	free(vector);
	return 0;
}

/* ---- event queues */

enum {
	CREATE_EQ_SIZE = 0x110, /* without the addresses of its pages */
	EQ_ENTRY = 64,
};

struct eq {
	struct mlx5dv_devx_eq dv;
	struct vfio_context *v;
	struct vfio_map map;
	uint32_t number;
};

static int eq_check(struct vfio_context *v, const void *in, size_t inlen, size_t outlen)
{
	if (inlen < CREATE_EQ_SIZE || inlen > UINT16_MAX || outlen < FW_HEAD ||
	    outlen > UINT16_MAX) {
		verbs_err(&v->vctx.context,
			  "mlx5dv_devx_create_eq: %zu bytes (at least %d), an answer of %zu (at "
			  "least %d)",
			  inlen, CREATE_EQ_SIZE, outlen, FW_HEAD);
		return -EINVAL;
	}
	if (fw_get(in, 0) >> 16 == VFIO_OP_CREATE_EQ && fw_get(in, 0x24) & 0xff)
		return 0;
	verbs_err(&v->vctx.context,
		  "mlx5dv_devx_create_eq: command 0x%x, vector %u: command 0x%x and a vector above "
		  "0 are possible",
		  fw_get(in, 0) >> 16, fw_get(in, 0x24) & 0xff, VFIO_OP_CREATE_EQ);
	return -EINVAL;
}

/* Run the program's command with the memory of the queue. */
static int eq_make(struct eq *eq, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct vfio_context *v = eq->v;
	size_t length = CREATE_EQ_SIZE + 8;
	size_t size = max_of((uint64_t)EQ_ENTRY << (fw_get(in, 0x1c) >> 24 & 0x1f), v->page_size);
	_cleanup_free_ uint32_t *command = calloc(1, max_of(inlen, length));
	int r = command ? vfio_buffer_make(v, size, size, &eq->map) : -ENOMEM;

	if (r < 0)
		return r;
	memcpy(command, in, CREATE_EQ_SIZE);
	fw_set(command, 0x28, (uint32_t)(__builtin_ctzll(size) - 12) << 24);
	fw_set_64(command, CREATE_EQ_SIZE, eq->map.iova);
	r = mlx5_vfio_command(&v->vctx.context, command, length, out, outlen);
	if (r < 0) {
		vfio_refused(v, command, out, r);
		vfio_buffer_free(v, &eq->map);
		return r;
	}
	eq->dv.vaddr = eq->map.addr;
	eq->number = fw_get(out, 8) & 0xff;
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *ctx, const void *in,
							   size_t inlen, void *out, size_t outlen)
{
	struct vfio_context *v = vfio_of(ctx, __func__);
	struct eq *eq;
	int r;

	if (!v)
		return NULL;
	r = eq_check(v, in, inlen, outlen);
	eq = r < 0 ? NULL : calloc(1, sizeof(*eq));
	if (!eq)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	eq->v = v;
	r = eq_make(eq, in, inlen, out, outlen);
	if (r < 0) {
		free(eq);
		return mlx5dv_fail(r);
	}
	return &eq->dv;
}

MLX5DV_EXPORT int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *dv)
{
	struct eq *eq = (struct eq *)dv;
	int r = vfio_command_word(eq->v, VFIO_OP_DESTROY_EQ, eq->number, NULL);

	if (r < 0)
		return mlx5dv_errno(r);
	vfio_buffer_free(eq->v, &eq->map);
	free(eq);
	return 0;
}
