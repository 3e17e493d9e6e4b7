/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands to the firmware, and the objects that they create. Commands and answers have the format
 * of the firmware. This is the lowest room of mlx5: queues, direct verbs and steering use it.
 */
#ifndef MLX5_FIRMWARE_H
#define MLX5_FIRMWARE_H

#include <string.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/mlx5/mlx5.h"

enum mlx5_fw_opcode {
	MLX5_FW_QUERY_HCA_CAP = 0x100,
	MLX5_FW_CREATE_MKEY = 0x200,
	MLX5_FW_CREATE_QP = 0x500,
	MLX5_FW_RST2INIT_QP = 0x502,
	MLX5_FW_INIT2RTR_QP = 0x503,
	MLX5_FW_RTR2RTS_QP = 0x504,
	MLX5_FW_RTS2RTS_QP = 0x505,
	MLX5_FW_SQERR2RTS_QP = 0x506,
	MLX5_FW_2ERR_QP = 0x507,
	MLX5_FW_2RST_QP = 0x50a,
	MLX5_FW_QUERY_QP = 0x50b,
	MLX5_FW_SQD_RTS_QP = 0x50c,
	MLX5_FW_INIT2INIT_QP = 0x50e,
	MLX5_FW_CREATE_PSV = 0x600,
	MLX5_FW_QUERY_DCT = 0x713,
	MLX5_FW_QUERY_LAG = 0x842,
	MLX5_FW_CREATE_TIR = 0x900,
	MLX5_FW_MODIFY_SQ = 0x905,
	MLX5_FW_MODIFY_TIS = 0x913,
	MLX5_FW_QUERY_TIS = 0x915,
	MLX5_FW_CREATE_FLOW_TABLE = 0x930,
	MLX5_FW_QUERY_FLOW_TABLE = 0x932,
	MLX5_FW_CREATE_FLOW_GROUP = 0x933,
	MLX5_FW_SET_FLOW_ENTRY = 0x936,
	MLX5_FW_ALLOC_FLOW_COUNTER = 0x939,
	MLX5_FW_ALLOC_PACKET_REFORMAT = 0x93d,
	MLX5_FW_CREATE_GENERAL_OBJECT = 0xa00,
	MLX5_FW_MODIFY_GENERAL_OBJECT = 0xa01,
	MLX5_FW_QUERY_GENERAL_OBJECT = 0xa02,
};

/* Objects of CREATE_GENERAL_OBJECT. */
enum mlx5_fw_object {
	MLX5_FW_OBJ_METER = 0x0a,
	MLX5_FW_OBJ_DEK = 0x0c,
	MLX5_FW_OBJ_DEFINER = 0x18,
	MLX5_FW_OBJ_LOGIN = 0x1f,
	MLX5_FW_OBJ_SAMPLER = 0x20,
	MLX5_FW_OBJ_ARGUMENT = 0x23,
	MLX5_FW_OBJ_ASO_METER = 0x24,
	MLX5_FW_OBJ_ASO_HIT = 0x25,
	MLX5_FW_OBJ_SCHED = 0x26,
	MLX5_FW_OBJ_RESERVED_QPN = 0x2c,
	MLX5_FW_OBJ_ASO_CT = 0x31,
	MLX5_FW_OBJ_AV_QP_MAPPING = 0x3a,
};

/* The type of an object in the data of mlx5dv_export_*(), which other processes read. */
enum mlx5_devx_type {
	MLX5_DEVX_FLOW_TABLE = 1,
	MLX5_DEVX_FLOW_GROUP,
	MLX5_DEVX_FLOW_ENTRY,
	MLX5_DEVX_FLOW_COUNTER,
	MLX5_DEVX_FLOW_METER,
	MLX5_DEVX_QP,
	MLX5_DEVX_PACKET_REFORMAT,
	MLX5_DEVX_TIR,
	MLX5_DEVX_GENERAL,
};

struct mlx5dv_devx_obj {
	struct ibv_context *context;
	uint32_t handle;
	uint32_t type; /* enum mlx5_devx_type; 0: any other type */
	uint32_t object_id;
	uint64_t rx_icm_addr;
	uint16_t general;  /* enum mlx5_fw_object of MLX5_DEVX_GENERAL */
	uint8_t log_range; /* log2 of the number of objects in a range */
	void *undo;	   /* with VFIO the command that destroys it; otherwise NULL */
	uint32_t undo_size;
	atomic_uint links; /* number of uses of the object by other domains of steering */
};

/* Access big-endian words of the structs of the firmware. @offset: in bytes */
static inline void fw_set(void *base, unsigned int offset, uint32_t value)
{
	((__be32 *)base)[offset / 4] |= htobe32(value);
}

static inline uint32_t fw_get(const void *base, unsigned int offset)
{
	return be32toh(((const __be32 *)base)[offset / 4]);
}

static inline void fw_set_64(void *base, unsigned int offset, uint64_t value)
{
	fw_set(base, offset, value >> 32);
	fw_set(base, offset + 4, value);
}

static inline uint64_t fw_get_64(const void *base, unsigned int offset)
{
	return (uint64_t)fw_get(base, offset) << 32 | fw_get(base, offset + 4);
}

enum {
	FW_HEAD = 16, /* bytes of the header of a command, and of its answer */
};

/* status.c. Translate the status of a refused command (-EREMOTEIO) to an errno, and return other
 * @r. */
int mlx5_fw_errno(int r, const void *out);
/*
 * Run a command of a program. The commands differ in the object of the kernel that they belong to:
 * the device, an existing object, or a new object. A refusal of the firmware is logged with
 * @function and returned as -EREMOTEIO.
 */
int mlx5_fw_run(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		void *out, size_t outlen);
int mlx5_fw_run_query(struct ibv_context *ctx, const char *function, uint32_t handle,
		      const void *in, size_t inlen, void *out, size_t outlen);
int mlx5_fw_run_modify(struct ibv_context *ctx, const char *function, uint32_t handle,
		       const void *in, size_t inlen, void *out, size_t outlen);
int mlx5_fw_run_create(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		       void *out, size_t outlen, struct mlx5dv_devx_obj **ret_obj);

/*
 * Run a command of this library. @out begins with a status, which is translated to the errno. A
 * refusal of the firmware is logged with @function.
 */
int mlx5_fw_general(struct ibv_context *ctx, const char *function, const void *in, size_t inlen,
		    void *out, size_t outlen);
/* Create an object. NULL with errno. */
struct mlx5dv_devx_obj *mlx5_fw_create(struct ibv_context *ctx, const char *function,
				       const void *in, size_t inlen, void *out, size_t outlen);
int mlx5_fw_query(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		  void *out, size_t outlen);
int mlx5_fw_modify(struct mlx5dv_devx_obj *obj, const char *function, const void *in, size_t inlen,
		   void *out, size_t outlen);
/* Destroy an object, and free @obj. */
int mlx5_fw_destroy(struct mlx5dv_devx_obj *obj);
/* Run a command on a queue pair of verbs. */
int mlx5_fw_qp(struct ibv_qp *qp, const char *function, bool modify, const void *in, size_t inlen,
	       void *out, size_t outlen);

enum {
	MLX5_FW_QP_MODIFY_SIZE = 0x1d0, /* bytes of the command of a transition */
};
/* ../qp_firmware.c. Run a transition. @in: the command without its head, which is filled in here */
int mlx5_fw_qp_modify(struct ibv_qp *qp, const char *function, enum mlx5_fw_opcode opcode,
		      void *in);

/* caps.c */
/* Return whether the firmware supports general objects of this type. */
bool mlx5_fw_has_object(struct mlx5_context *ctx, enum mlx5_fw_object type);
/* Return the word at @offset of a group of capabilities; 0 if the firmware does not report it. */
uint32_t mlx5_fw_cap(struct mlx5_context *ctx, enum mlx5_fw_caps group, unsigned int offset);

#endif
