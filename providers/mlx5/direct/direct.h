/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of direct verbs share. */
#ifndef MLX5_DIRECT_H
#define MLX5_DIRECT_H

#include "providers/mlx5/dm.h"
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/qp.h"

#define MLX5DV_EXPORT __attribute__((visibility("default")))

/* context.c. Return the context as that of mlx5. If it belongs to another device, log this and
 * return NULL with errno. */
struct mlx5_context *mlx5dv_context(struct ibv_context *ctx, const char *function);
/* Return whether the context can run commands of the firmware: one of mlx5, also with VFIO. */
bool mlx5dv_has_firmware(struct ibv_context *ctx, const char *function);

/* Set errno to -@r, in functions that return a pointer or an errno. */
static inline void *mlx5dv_fail(int r)
{
	errno = -r;
	return NULL;
}

static inline int mlx5dv_errno(int r)
{
	if (r < 0)
		errno = -r;
	return -r;
}

/* sched.c: return the firmware's number; 0 if @leaf is NULL */
uint32_t mlx5_sched_leaf_id(const struct mlx5dv_sched_leaf *leaf);

/* ---- umem.c, uar.c */

struct mlx5_umem {
	struct mlx5dv_devx_umem dv;
	struct ibv_context *context;
	uint32_t handle;
	void *addr; /* in this process; NULL: in a DMA buffer or another process */
	size_t size;
	struct vfio_map *map; /* with VFIO its addresses for the adapter; otherwise NULL */
};

struct mlx5_var {
	struct mlx5dv_var dv;
	struct ibv_context *context;
	uint32_t handle;
};

/* support.c. Return the largest number of receives of queue pairs whose data may arrive out of
 * order.
 */
struct mlx5dv_ooo_recv_wrs_caps mlx5_ooo_caps(struct mlx5_context *ctx);
/* umr.c */
int mlx5_wr_dv_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		     uint64_t ops);
void mlx5_wr_set_dv_slots(struct mlx5_qp *qp, uint64_t ops);

#endif
