/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands to the firmware. The kernel checks the permission for a command and keeps track of the
 * objects that it creates. Commands and answers have the format of the firmware. EREMOTEIO means
 * that the firmware refused the command, and the answer has its status.
 */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/vfio.h"

enum {
	STATUS_SHIFT = 24,
	HEAD_SIZE = 8, /* bytes of status and syndrome at the beginning of an answer */
	COMMAND_MIN = 2,
	LENGTH_MAX = UINT16_MAX, /* bytes of the largest kernel attribute */
};

/* A method of a kernel object, and its attributes. */
struct request {
	const char *function;
	uint16_t object, method;
	uint16_t in_id, out_id;
	uint32_t handle; /* handle of the object, in attribute in_id - 1; unused for the device */
};

static unsigned int opcode_of(const void *in)
{
	return fw_get(in, 0) >> 16;
}

static int lengths_check(struct ibv_context *ctx, const char *function, size_t inlen, size_t outlen)
{
	if (inlen >= COMMAND_MIN && inlen <= LENGTH_MAX && outlen >= HEAD_SIZE &&
	    outlen <= LENGTH_MAX)
		return 0;
	verbs_err(ctx, "%s: a command of %zu bytes with an answer of %zu (8 to %d are possible)",
		  function, inlen, outlen, LENGTH_MAX);
	return -EINVAL;
}

static void refused(struct ibv_context *ctx, const char *function, const void *in, const void *out,
		    int r)
{
	if (r == -EREMOTEIO)
		verbs_err(ctx, "%s: command 0x%x: the firmware says status 0x%x, syndrome 0x%x",
			  function, opcode_of(in), fw_get(out, 0) >> STATUS_SHIFT, fw_get(out, 4));
	else
		verbs_err(ctx, "%s: command 0x%x: %s", function, opcode_of(in), strerror(-r));
}

static int command_run(struct ibv_context *ctx, const struct request *q, const void *in,
		       size_t inlen, void *out, size_t outlen)
{
	const struct uverbs_attr a[] = {
		uverbs_when(q->in_id > MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
			    uverbs_idr(q->in_id - 1, q->handle)),
		uverbs_in(q->in_id, in, inlen),
		uverbs_out(q->out_id, out, outlen),
	};
	int r = lengths_check(ctx, q->function, inlen, outlen);

	if (r < 0)
		return r;
	r = mlx5_vfio_is(ctx) ? mlx5_vfio_command(ctx, in, inlen, out, outlen)
			      : uverbs_ioctl(ctx, q->object, q->method, a, ARRAY_SIZE(a), NULL);
	if (r < 0)
		refused(ctx, q->function, in, out, r);
	return r;
}

static int general_run(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		       void *out, size_t outlen)
{
	const struct request q = { function,
				   MLX5_IB_OBJECT_DEVX,
				   MLX5_IB_METHOD_DEVX_OTHER,
				   MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
				   MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT,
				   0 };

	return command_run(ctx, &q, in, inlen, out, outlen);
}

static int query_run(struct ibv_context *ctx, const char *function, uint32_t handle, const void *in,
		     size_t inlen, void *out, size_t outlen)
{
	const struct request q = { function,
				   MLX5_IB_OBJECT_DEVX_OBJ,
				   MLX5_IB_METHOD_DEVX_OBJ_QUERY,
				   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
				   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT,
				   handle };

	return command_run(ctx, &q, in, inlen, out, outlen);
}

static int modify_run(struct ibv_context *ctx, const char *function, uint32_t handle,
		      const void *in, size_t inlen, void *out, size_t outlen)
{
	const struct request q = { function,
				   MLX5_IB_OBJECT_DEVX_OBJ,
				   MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
				   MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
				   MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT,
				   handle };

	return command_run(ctx, &q, in, inlen, out, outlen);
}

/* Fill in the fields that steering and other processes use, as far as the answer has them. */
static void obj_describe(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, const void *out,
			 size_t outlen)
{
	uint32_t words[4] = {};

	memcpy(words, out, min_of(outlen, sizeof(words)));
	obj->object_id = fw_get(words, 8);
	switch (opcode_of(in)) {
	case MLX5_FW_CREATE_FLOW_TABLE:
		obj->type = MLX5_DEVX_FLOW_TABLE;
		obj->object_id &= 0xffffff;
		break;
	case MLX5_FW_CREATE_FLOW_GROUP:
		obj->type = MLX5_DEVX_FLOW_GROUP;
		obj->object_id &= 0xffffff;
		break;
	case MLX5_FW_SET_FLOW_ENTRY:
		obj->type = MLX5_DEVX_FLOW_ENTRY;
		obj->object_id = inlen >= 0x24 ? fw_get(in, 0x20) : 0;
		break;
	case MLX5_FW_ALLOC_FLOW_COUNTER:
		obj->type = MLX5_DEVX_FLOW_COUNTER;
		break;
	case MLX5_FW_CREATE_GENERAL_OBJECT:
		obj->type = MLX5_DEVX_GENERAL;
		obj->general = inlen >= FW_HEAD ? fw_get(in, 4) & 0xffff : 0;
		obj->log_range = inlen >= FW_HEAD ? fw_get(in, 0xc) >> 24 & 0x1f : 0;
		break;
	case MLX5_FW_CREATE_QP:
		obj->type = MLX5_DEVX_QP;
		obj->object_id &= 0xffffff;
		break;
	case MLX5_FW_CREATE_TIR:
		obj->type = MLX5_DEVX_TIR;
		obj->rx_icm_addr = (uint64_t)fw_get(words, 12) |
				   (uint64_t)(obj->object_id >> 24) << 32 |
				   (uint64_t)(fw_get(words, 0) & 0xffffff) << 40;
		obj->object_id &= 0xffffff;
		break;
	case MLX5_FW_ALLOC_PACKET_REFORMAT:
		obj->type = MLX5_DEVX_PACKET_REFORMAT;
		break;
	}
}

static int create_run(struct mlx5dv_devx_obj *obj, const char *function, const void *in,
		      size_t inlen, void *out, size_t outlen)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, &obj->handle),
		uverbs_in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, inlen),
		uverbs_out(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, outlen),
	};
	int r = lengths_check(obj->context, function, inlen, outlen);

	if (r < 0)
		return r;
	r = mlx5_vfio_is(obj->context)
		    ? mlx5_vfio_create(obj, in, inlen, out, outlen)
		    : uverbs_ioctl(obj->context, MLX5_IB_OBJECT_DEVX_OBJ,
				   MLX5_IB_METHOD_DEVX_OBJ_CREATE, a, ARRAY_SIZE(a), NULL);
	if (r < 0)
		refused(obj->context, function, in, out, r);
	else
		obj_describe(obj, in, inlen, out, outlen);
	return r;
}

static int obj_create(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		      void *out, size_t outlen, struct mlx5dv_devx_obj **ret_obj)
{
	struct mlx5dv_devx_obj *obj = calloc(1, sizeof(*obj));
	int r = -ENOMEM;

	if (obj) {
		obj->context = ctx;
		r = create_run(obj, function, in, inlen, out, outlen);
	}
	if (r < 0) {
		if (obj)
			free(obj->undo);
		free(obj);
		return r;
	}
	*ret_obj = obj;
	return 0;
}

/* ---- for this library */

int mlx5_fw_errno(int r, const void *out)
{
	if (r != -EREMOTEIO)
		return r;
	switch (fw_get(out, 0) >> STATUS_SHIFT) {
	case 0x02:
	case 0x03:
	case 0x05:
	case 0x09:
	case 0x0a:
	case 0x10:
	case 0x30:
	case 0x40:
		return -EINVAL;
	case 0x06:
		return -EBUSY;
	case 0x08:
		return -ENOMEM;
	case 0x0f:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

int mlx5_fw_general(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		    void *out, size_t outlen)
{
	return mlx5_fw_errno(general_run(ctx, function, in, inlen, out, outlen), out);
}

struct mlx5dv_devx_obj *mlx5_fw_create(struct ibv_context *ctx, const char *function,
				       const void *in, size_t inlen, void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = NULL;
	int r = mlx5_fw_errno(obj_create(ctx, function, in, inlen, out, outlen, &obj), out);

	return r < 0 ? mlx5dv_fail(r) : obj;
}

int mlx5_fw_query(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		  void *out, size_t outlen)
{
	return mlx5_fw_errno(query_run(obj->context, function, obj->handle, in, inlen, out, outlen),
			     out);
}

int mlx5_fw_modify(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		   void *out, size_t outlen)
{
	return mlx5_fw_errno(
		modify_run(obj->context, function, obj->handle, in, inlen, out, outlen), out);
}

int mlx5_fw_qp(struct ibv_qp *qp, const char *function, bool modify, const void *in, size_t inlen,
	       void *out, size_t outlen)
{
	int r = modify ? modify_run(qp->context, function, qp->handle, in, inlen, out, outlen)
		       : query_run(qp->context, function, qp->handle, in, inlen, out, outlen);

	return mlx5_fw_errno(r, out);
}

int mlx5_fw_destroy(struct mlx5dv_devx_obj *obj)
{
	const struct uverbs_attr a[] = { uverbs_idr(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE,
						    obj->handle) };
	int r = obj->undo ? mlx5_vfio_destroy(obj)
			  : uverbs_ioctl(obj->context, MLX5_IB_OBJECT_DEVX_OBJ,
					 MLX5_IB_METHOD_DEVX_OBJ_DESTROY, a, ARRAY_SIZE(a), NULL);

	if (r < 0) {
		verbs_err(obj->context, "devx object %u: cannot be destroyed: %s", obj->handle,
			  strerror(-r));
		return r;
	}
	free(obj);
	return 0;
}

/* ---- for programs: EREMOTEIO is returned unchanged */

MLX5DV_EXPORT int mlx5dv_devx_general_cmd(struct ibv_context *ctx, const void *in, size_t inlen,
					  void *out, size_t outlen)
{
	if (!mlx5dv_has_firmware(ctx, __func__))
		return EOPNOTSUPP;
	return mlx5dv_errno(general_run(ctx, __func__, in, inlen, out, outlen));
}

MLX5DV_EXPORT struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *ctx,
							     const void *in, size_t inlen,
							     void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = NULL;
	int r;

	if (!mlx5dv_has_firmware(ctx, __func__))
		return NULL;
	r = obj_create(ctx, __func__, in, inlen, out, outlen, &obj);
	return r < 0 ? mlx5dv_fail(r) : obj;
}

MLX5DV_EXPORT int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
					void *out, size_t outlen)
{
	return mlx5dv_errno(query_run(obj->context, __func__, obj->handle, in, inlen, out, outlen));
}

MLX5DV_EXPORT int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
					 void *out, size_t outlen)
{
	return mlx5dv_errno(
		modify_run(obj->context, __func__, obj->handle, in, inlen, out, outlen));
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

OF_VERBS(cq, query, query_run, struct ibv_cq, handle)
OF_VERBS(cq, modify, modify_run, struct ibv_cq, handle)
OF_VERBS(srq, query, query_run, struct ibv_srq, handle)
OF_VERBS(srq, modify, modify_run, struct ibv_srq, handle)
OF_VERBS(wq, query, query_run, struct ibv_wq, handle)
OF_VERBS(wq, modify, modify_run, struct ibv_wq, handle)
OF_VERBS(ind_tbl, query, query_run, struct ibv_rwq_ind_table, ind_tbl_handle)
OF_VERBS(ind_tbl, modify, modify_run, struct ibv_rwq_ind_table, ind_tbl_handle)
OF_VERBS(qp, query, query_run, struct ibv_qp, handle)

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
	r = modify_run(ibqp->context, __func__, ibqp->handle, in, inlen, out, outlen);
	if (r < 0)
		return mlx5dv_errno(r);
	/* Update the limits of posting, as ibv_modify_qp() does. */
	state = state_after(opcode_of(in), &changed);
	if (changed) {
		ibqp->state = state;
		mlx_gates_set(&qp->vqp, state, &qp->sq.max_sge, &qp->rq);
	}
	return 0;
}
