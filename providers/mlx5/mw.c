/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows and keys: requests that change a key's context in the adapter. */
#include "providers/kit/mw.h"
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

enum {
	BIND_LENGTH_MAX = 1u << 31,
	DS_FREE = (UMR_CTRL_SIZE + UMR_CONTEXT_SIZE) / MLX_SEGMENT,
	DS_BIND = DS_FREE + UMR_DATA_SIZE / MLX_SEGMENT,
	KLM_OCTOWORDS = 4,
};

#define MASK_FREE (MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY)
#define MASK_ACCESS                                        \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |  \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |  \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE | \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)
#define MASK_BIND                                                    \
	(MASK_FREE | MASK_ACCESS | MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR)

unsigned int mlx5_wqe_local_inv(const struct mlx5_sq *sq, char *seg)
{
	const struct wqe_umr umr = {
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
			 MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN,
		.mask = MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN,
		.free = MLX5_WQE_MKEY_CONTEXT_FREE,
		.qpn_mkey = (uint32_t)UMR_MKEY_ANY_QP << 8,
	};

	wqe_umr(sq, seg, &umr);
	return DS_FREE;
}

uint8_t mlx5_access_code(unsigned int access)
{
	return (access & IBV_ACCESS_REMOTE_ATOMIC ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC : 0) |
	       (access & IBV_ACCESS_REMOTE_WRITE ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE
						 : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ
						: 0) |
	       (access & IBV_ACCESS_LOCAL_WRITE ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE
						: 0);
}

/* Build an unbind request. A bind of length 0 frees the key. */
static unsigned int unbind(const struct mlx5_sq *sq, char *seg, const struct ibv_mw *mw,
			   uint32_t rkey)
{
	bool type_2 = mw->type == IBV_MW_TYPE_2;
	const struct wqe_umr umr = {
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
			 (type_2 ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN : 0),
		.mask = MASK_FREE | (type_2 ? MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN : 0),
		.free = MLX5_WQE_MKEY_CONTEXT_FREE,
		.qpn_mkey = (uint32_t)UMR_MKEY_ANY_QP << 8 | (rkey & 0xff),
	};

	wqe_umr(sq, seg, &umr);
	return DS_FREE;
}

int mlx5_wqe_bind(const struct mlx5_qp *qp, char *seg, const struct ibv_mw *mw, uint32_t rkey,
		  const struct ibv_mw_bind_info *info, unsigned int *ret_ds)
{
	bool type_2 = mw->type == IBV_MW_TYPE_2;
	bool zero_based = info->mw_access_flags & IBV_ACCESS_ZERO_BASED;
	const struct wqe_umr umr = {
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
			 (type_2 ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE : 0),
		.klm_octowords = KLM_OCTOWORDS,
		.mask = MASK_BIND | (type_2 ? MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN : 0),
		.access = mlx5_access_code(info->mw_access_flags),
		.qpn_mkey = (type_2 ? qp->vqp.qp.qp_num : (uint32_t)UMR_MKEY_ANY_QP) << 8 |
			    (rkey & 0xff),
		.start = zero_based ? 0 : info->addr,
		.length = info->length,
	};
	char *data;

	if (info->length > BIND_LENGTH_MAX)
		return -EOPNOTSUPP;
	if (!info->length) {
		*ret_ds = unbind(&qp->sq, seg, mw, rkey);
		return 0;
	}
	data = wqe_umr(&qp->sq, seg, &umr);
	memset(data, 0, UMR_DATA_SIZE);
	wqe_data(data, info->addr, info->length, info->mr->lkey);
	*ret_ds = DS_BIND;
	return 0;
}

static int bind_check(struct ibv_qp *ibqp, const struct ibv_mw *mw,
		      const struct ibv_mw_bind_info *info)
{
	if (info->mr && to_vmr(info->mr)->mr_type != VERBS_MR_PLAIN) {
		verbs_err(ibqp->context, "mw 0x%x: ibv_bind_mw: mr 0x%x is no plain region",
			  mw->rkey, info->mr->rkey);
		return EOPNOTSUPP;
	}
	return mlx_bind_check(ibqp, mw, info);
}

int mlx5_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int r = bind_check(ibqp, mw, &bind->bind_info);

	if (r) {
		errno = r;
		return r;
	}
	return kit_bind_mw(ibqp, mw, bind, mlx5_post_send);
}
