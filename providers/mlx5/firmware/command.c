/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands to the firmware. The kernel checks the permission for a command and keeps track of the
 * objects that it creates. Commands and answers have the format of the firmware. EREMOTEIO means
 * that the firmware refused the command, and the answer has its status.
 */
#include "providers/mlx5/firmware/firmware.h"
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

int mlx5_fw_run(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
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

int mlx5_fw_run_query(struct ibv_context *ctx, const char *function, uint32_t handle,
		      const void *in, size_t inlen, void *out, size_t outlen)
{
	const struct request q = { function,
				   MLX5_IB_OBJECT_DEVX_OBJ,
				   MLX5_IB_METHOD_DEVX_OBJ_QUERY,
				   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
				   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT,
				   handle };

	return command_run(ctx, &q, in, inlen, out, outlen);
}

int mlx5_fw_run_modify(struct ibv_context *ctx, const char *function, uint32_t handle,
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

/* Fill in the fields that steering and other processes use, if the answer has them. */
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

int mlx5_fw_run_create(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
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

/* ---- commands of this library */

int mlx5_fw_general(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		    void *out, size_t outlen)
{
	return mlx5_fw_errno(mlx5_fw_run(ctx, function, in, inlen, out, outlen), out);
}

struct mlx5dv_devx_obj *mlx5_fw_create(struct ibv_context *ctx, const char *function,
				       const void *in, size_t inlen, void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = NULL;
	int r = mlx5_fw_errno(mlx5_fw_run_create(ctx, function, in, inlen, out, outlen, &obj), out);

	if (r < 0)
		errno = -r;
	return obj;
}

int mlx5_fw_query(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		  void *out, size_t outlen)
{
	return mlx5_fw_errno(
		mlx5_fw_run_query(obj->context, function, obj->handle, in, inlen, out, outlen),
		out);
}

int mlx5_fw_modify(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		   void *out, size_t outlen)
{
	return mlx5_fw_errno(
		mlx5_fw_run_modify(obj->context, function, obj->handle, in, inlen, out, outlen),
		out);
}

int mlx5_fw_qp(struct ibv_qp *qp, const char *function, bool modify, const void *in, size_t inlen,
	       void *out, size_t outlen)
{
	int r = modify ? mlx5_fw_run_modify(qp->context, function, qp->handle, in, inlen, out,
					    outlen)
		       : mlx5_fw_run_query(qp->context, function, qp->handle, in, inlen, out,
					   outlen);

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
