/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that copy memory of the process. The adapter needs a few bytes of registered memory for
 * its own use. */
#include "providers/mlx5/copy.h"
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

enum {
	OPAQUE = 64,
	OPMOD_COPY = 1,
};
static const uint64_t length_most = 1ull << 31;

uint64_t mlx5_copies_most(struct mlx5_context *ctx)
{
	bool by_sq = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x38) >> 12 & 1,
	     by_qp = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0xf8) >> 23 & 1;
	unsigned int log = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x1c) >> 16 & 0x1f;

	if (!by_sq && !by_qp)
		return 0;
	return log ? 1ull << log : length_most;
}

static int opaque_make(struct mlx5_pd *pd)
{
	void *memory;

	if (posix_memalign(&memory, OPAQUE, OPAQUE))
		return -ENOMEM;
	memset(memory, 0, OPAQUE);
	pd->opaque = ibv_reg_mr(&pd->vpd.pd, memory, OPAQUE, IBV_ACCESS_LOCAL_WRITE);
	if (!pd->opaque) {
		free(memory);
		return -errno;
	}
	return 0;
}

int mlx5_copies_get(struct mlx5_qp *qp)
{
	struct mlx5_pd *pd = (struct mlx5_pd *)verbs_pd_protection(qp->vqp.qp.pd);
	int r = 0;

	pthread_mutex_lock(&pd->lock);
	if (!pd->opaque)
		r = opaque_make(pd);
	if (!r) {
		pd->copiers++;
		qp->copies = pd;
	}
	pthread_mutex_unlock(&pd->lock);
	return r;
}

/* Release the memory. The last queue pair frees it. */
void mlx5_copies_put(struct mlx5_qp *qp)
{
	struct mlx5_pd *pd = qp->copies;
	void *memory;

	if (!pd)
		return;
	pthread_mutex_lock(&pd->lock);
	memory = pd->opaque->addr;
	if (!--pd->copiers && !ibv_dereg_mr(pd->opaque)) {
		free(memory);
		pd->opaque = NULL;
	}
	pthread_mutex_unlock(&pd->lock);
	qp->copies = NULL;
}

void mlx5_wr_memcpy(struct mlx5dv_qp_ex *dv, uint32_t dest_lkey, uint64_t dest_addr,
		    uint32_t src_lkey, uint64_t src_addr, size_t length)
{
	struct mlx5_qp *qp = (struct mlx5_qp *)((char *)dv - offsetof(struct mlx5_qp, dv));
	const struct ibv_mr *opaque = qp->copies->opaque;
	struct mlx5_batch *batch;

	if (!length || length > mlx5_copies_most(to_mctx(qp->vqp.qp.context))) {
		mlx5_wr_fail(qp, EINVAL, "mlx5dv_wr_memcpy",
			     "no bytes, or more than max_wr_memcpy_length");
		return;
	}
	batch = mlx5_wr_begin(qp, MLX5_OPCODE_MMO, OPMOD_COPY, 0, (uint32_t)MLX5DV_WC_MEMCPY);
	if (!batch)
		return;
	length %= length_most; /* the maximum is encoded as 0 */
	wqe_data(batch->seg, (uintptr_t)opaque->addr, 0, opaque->lkey);
	wqe_data(batch->seg + MLX_SEGMENT, src_addr, length, src_lkey);
	wqe_data(batch->seg + 2 * MLX_SEGMENT, dest_addr, length, dest_lkey);
	batch->ds += 3;
	mlx5_wr_finish(qp);
	batch->ctrl = NULL;
}
