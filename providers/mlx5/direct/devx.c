/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to the firmware by programs. EREMOTEIO, which means that the firmware refused the
 * command, is returned unchanged. */
#include "providers/mlx5/direct/direct.h"

MLX5DV_EXPORT int mlx5dv_devx_general_cmd(struct ibv_context *ctx, const void *in, size_t inlen,
					  void *out, size_t outlen)
{
	if (!mlx5dv_has_firmware(ctx, __func__))
		return EOPNOTSUPP;
	return mlx5dv_errno(mlx5_fw_run(ctx, __func__, in, inlen, out, outlen));
}

MLX5DV_EXPORT struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *ctx,
							     const void *in, size_t inlen,
							     void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = NULL;
	int r;

	if (!mlx5dv_has_firmware(ctx, __func__))
		return NULL;
	r = mlx5_fw_run_create(ctx, __func__, in, inlen, out, outlen, &obj);
	return r < 0 ? mlx5dv_fail(r) : obj;
}

MLX5DV_EXPORT int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
					void *out, size_t outlen)
{
	return mlx5dv_errno(
		mlx5_fw_run_query(obj->context, __func__, obj->handle, in, inlen, out, outlen));
}

MLX5DV_EXPORT int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
					 void *out, size_t outlen)
{
	return mlx5dv_errno(
		mlx5_fw_run_modify(obj->context, __func__, obj->handle, in, inlen, out, outlen));
}

MLX5DV_EXPORT int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	return mlx5dv_errno(mlx5_fw_destroy(obj));
}

/* Firmware commands on objects of verbs. */
#define OF_VERBS(kind, verb, run, type, member)                                                   \
	MLX5DV_EXPORT int mlx5dv_devx_##kind##_##verb(type *object, const void *in, size_t inlen, \
						      void *out, size_t outlen)                   \
	{                                                                                         \
		if (!mlx5dv_context(object->context, __func__))                                   \
			return EOPNOTSUPP;                                                        \
		return mlx5dv_errno(                                                              \
			run(object->context, __func__, object->member, in, inlen, out, outlen));  \
	}

OF_VERBS(cq, query, mlx5_fw_run_query, struct ibv_cq, handle)
OF_VERBS(cq, modify, mlx5_fw_run_modify, struct ibv_cq, handle)
OF_VERBS(srq, query, mlx5_fw_run_query, struct ibv_srq, handle)
OF_VERBS(srq, modify, mlx5_fw_run_modify, struct ibv_srq, handle)
OF_VERBS(wq, query, mlx5_fw_run_query, struct ibv_wq, handle)
OF_VERBS(wq, modify, mlx5_fw_run_modify, struct ibv_wq, handle)
OF_VERBS(ind_tbl, query, mlx5_fw_run_query, struct ibv_rwq_ind_table, ind_tbl_handle)
OF_VERBS(ind_tbl, modify, mlx5_fw_run_modify, struct ibv_rwq_ind_table, ind_tbl_handle)
OF_VERBS(qp, query, mlx5_fw_run_query, struct ibv_qp, handle)

/* Return the state of a queue pair after a command; valid only if *ret_changed is set. */
static enum ibv_qp_state state_after(unsigned int opcode, bool *ret_changed)
{
	*ret_changed = true;
	switch (opcode) {
	case MLX5_FW_RST2INIT_QP:
	case MLX5_FW_INIT2INIT_QP:
		return IBV_QPS_INIT;
	case MLX5_FW_INIT2RTR_QP:
		return IBV_QPS_RTR;
	case MLX5_FW_RTR2RTS_QP:
	case MLX5_FW_RTS2RTS_QP:
	case MLX5_FW_SQERR2RTS_QP:
	case MLX5_FW_SQD_RTS_QP:
		return IBV_QPS_RTS;
	case MLX5_FW_2ERR_QP:
		return IBV_QPS_ERR;
	case MLX5_FW_2RST_QP:
		return IBV_QPS_RESET;
	default:
		*ret_changed = false;
		return 0;
	}
}

MLX5DV_EXPORT int mlx5dv_devx_qp_modify(struct ibv_qp *ibqp, const void *in, size_t inlen,
					void *out, size_t outlen)
{
	struct mlx5_qp *qp = to_mqp(ibqp);
	enum ibv_qp_state state;
	bool changed;
	int r;

	if (!mlx5dv_context(ibqp->context, __func__))
		return EOPNOTSUPP;
	r = mlx5_fw_run_modify(ibqp->context, __func__, ibqp->handle, in, inlen, out, outlen);
	if (r < 0)
		return mlx5dv_errno(r);
	/* Update the limits of posting, as ibv_modify_qp() does. */
	state = state_after(fw_get(in, 0) >> 16, &changed);
	if (changed) {
		ibqp->state = state;
		mlx_post_limits_set(&qp->vqp, state, &qp->sq.max_sge, &qp->rq);
	}
	return 0;
}
