/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to the firmware, and its objects. @in and @out have the format of the firmware. */
#ifndef INFINIBAND_MLX5_DEVX_H
#define INFINIBAND_MLX5_DEVX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <asm/byteorder.h>
#include <infiniband/verbs.h>
#include <infiniband/mlx5_api.h>
#include <infiniband/mlx5/object.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen);
int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj);
int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out,
			    size_t outlen);

int mlx5dv_devx_cq_query(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_cq_modify(struct ibv_cq *cq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_srq_query(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_srq_modify(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			   size_t outlen);
int mlx5dv_devx_wq_query(struct ibv_wq *wq, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_wq_modify(struct ibv_wq *wq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_ind_tbl_query(struct ibv_rwq_ind_table *ind_tbl, const void *in, size_t inlen,
			      void *out, size_t outlen);
int mlx5dv_devx_ind_tbl_modify(struct ibv_rwq_ind_table *ind_tbl, const void *in, size_t inlen,
			       void *out, size_t outlen);

/* Memory of the program that the device may use. */
struct mlx5dv_devx_umem {
	uint32_t umem_id;
};

enum mlx5dv_devx_umem_in_mask {
	MLX5DV_UMEM_MASK_DMABUF = 1 << 0,
};

struct mlx5dv_devx_umem_in {
	void *addr;
	size_t size;
	uint32_t access;
	uint64_t pgsz_bitmap;
	uint64_t comp_mask;
	int dmabuf_fd;
};

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ctx, void *addr, size_t size,
					      uint32_t access);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *ctx,
						 struct mlx5dv_devx_umem_in *umem_in);
int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem);

/* A page of doorbells. */
struct mlx5dv_devx_uar {
	void *reg_addr;
	void *base_addr;
	uint32_t page_id;
	off_t mmap_off;
	uint64_t comp_mask;
};

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags);
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *devx_uar);
int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar);

struct mlx5dv_var {
	uint32_t page_id;
	uint32_t length;
	off_t mmap_off;
	uint64_t comp_mask;
};

struct mlx5dv_var *mlx5dv_alloc_var(struct ibv_context *context, uint32_t flags);
void mlx5dv_free_var(struct mlx5dv_var *dv_var);

struct mlx5dv_pp {
	uint16_t index;
};

struct mlx5dv_pp *mlx5dv_pp_alloc(struct ibv_context *context, size_t pp_context_sz,
				  const void *pp_context, uint32_t flags);
void mlx5dv_pp_free(struct mlx5dv_pp *pp);

int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn);

/* Queries whose answers are read from a descriptor. */
struct mlx5dv_devx_cmd_comp {
	int fd;
};

struct mlx5dv_devx_cmd_comp *mlx5dv_devx_create_cmd_comp(struct ibv_context *context);
void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
				size_t outlen, uint64_t wr_id,
				struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp,
				   struct mlx5dv_devx_async_cmd_hdr *cmd_resp, size_t cmd_resp_len);

/* Events of objects. @events_sz counts bytes. */
struct mlx5dv_devx_event_channel {
	int fd;
};

struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *context,
				 enum mlx5dv_devx_create_event_channel_flags flags);
void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *event_channel);
int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *event_channel,
				     struct mlx5dv_devx_obj *obj, uint16_t events_sz,
				     uint16_t events_num[], uint64_t cookie);
int mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *event_channel, int fd,
					struct mlx5dv_devx_obj *obj, uint16_t event_num);
ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *event_channel,
			      struct mlx5dv_devx_async_event_hdr *event_data,
			      size_t event_resp_len);

/* Only for devices without a kernel driver. */
struct mlx5dv_devx_msi_vector {
	int vector;
	int fd;
};

struct mlx5dv_devx_eq {
	void *vaddr;
};

struct mlx5dv_devx_msi_vector *mlx5dv_devx_alloc_msi_vector(struct ibv_context *ibctx);
int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector *msi);
struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *ibctx, const void *in,
					     size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *eq);

/* Objects shared with another process. mlx5dv_get_export_sizes() returns the sizes of @data. */
struct mlx5dv_export_sizes {
	uint32_t var_attrs_size;
	uint32_t devx_umem_attrs_size;
	uint32_t devx_obj_attrs_size;
};

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len);
int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data);
struct mlx5dv_devx_obj *mlx5dv_devx_obj_import(struct ibv_context *context, void *data);
void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj);
int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data);
void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem);
int mlx5dv_var_export(struct mlx5dv_var *dv_var, void *data);
struct mlx5dv_var *mlx5dv_var_import(struct ibv_context *context, void *data);
void mlx5dv_var_unimport(struct mlx5dv_var *dv_var);

static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)
{
	_mlx5dv_get_export_sizes(sizes, sizeof(*sizes));
}

/*
 * Fields of the firmware's structs. The program has a struct mlx5_ifc_<typ>_bits in which each byte
 * stands for one bit, the first for the highest bit of the first big-endian dword. A field of up to
 * 32 bits does not cross a dword.
 */
#define __devx_nullp(typ)	 ((struct mlx5_ifc_##typ##_bits *)NULL)
#define __devx_st_sz_bits(typ)	 sizeof(struct mlx5_ifc_##typ##_bits)
#define __devx_bit_sz(typ, fld)	 sizeof(__devx_nullp(typ)->fld)
#define __devx_bit_off(typ, fld) offsetof(struct mlx5_ifc_##typ##_bits, fld)

/* The place of a field in its dword or quadword, and masks of its bits. */
#define __devx_dw_off(bit_off)		   ((bit_off) / 32)
#define __devx_64_off(bit_off)		   ((bit_off) / 64)
#define __devx_dw_bit_off(bit_sz, bit_off) (32 - (bit_sz) - (bit_off) % 32)
#define __devx_mask(bit_sz)		   ((uint32_t)((1ull << (bit_sz)) - 1))
#define __devx_dw_mask(bit_sz, bit_off)	   (__devx_mask(bit_sz) << __devx_dw_bit_off(bit_sz, bit_off))

#define DEVX_FLD_SZ_BYTES(typ, fld)	   (__devx_bit_sz(typ, fld) / 8)
#define DEVX_ST_SZ_BYTES(typ)		   (__devx_st_sz_bits(typ) / 8)
#define DEVX_ST_SZ_DW(typ)		   (__devx_st_sz_bits(typ) / 32)
#define DEVX_ST_SZ_QW(typ)		   (__devx_st_sz_bits(typ) / 64)
#define DEVX_UN_SZ_BYTES(typ)		   (sizeof(union mlx5_ifc_##typ##_bits) / 8)
#define DEVX_UN_SZ_DW(typ)		   (sizeof(union mlx5_ifc_##typ##_bits) / 32)
#define DEVX_BYTE_OFF(typ, fld)		   (__devx_bit_off(typ, fld) / 8)
#define DEVX_ADDR_OF(typ, p, fld)	   ((unsigned char *)(p) + DEVX_BYTE_OFF(typ, fld))

static inline void _devx_set(void *p, uint32_t value, size_t bit_off, size_t bit_sz)
{
	__be32 *dword = (__be32 *)p + __devx_dw_off(bit_off);
	uint32_t mask = __devx_dw_mask(bit_sz, bit_off);

	value <<= __devx_dw_bit_off(bit_sz, bit_off);
	*dword = __cpu_to_be32((__be32_to_cpu(*dword) & ~mask) | (value & mask));
}

static inline uint32_t _devx_get(const void *p, size_t bit_off, size_t bit_sz)
{
	const __be32 *dword = (const __be32 *)p + __devx_dw_off(bit_off);

	return __be32_to_cpu(*dword) >> __devx_dw_bit_off(bit_sz, bit_off) & __devx_mask(bit_sz);
}

static inline void _devx_set64(void *p, uint64_t value, size_t bit_off)
{
	((__be64 *)p)[__devx_64_off(bit_off)] = __cpu_to_be64(value);
}

static inline uint64_t _devx_get64(const void *p, size_t bit_off)
{
	return __be64_to_cpu(((const __be64 *)p)[__devx_64_off(bit_off)]);
}

#define DEVX_SET(typ, p, fld, v)   _devx_set(p, v, __devx_bit_off(typ, fld), __devx_bit_sz(typ, fld))
#define DEVX_GET(typ, p, fld)	   _devx_get(p, __devx_bit_off(typ, fld), __devx_bit_sz(typ, fld))
#define DEVX_SET64(typ, p, fld, v) _devx_set64(p, v, __devx_bit_off(typ, fld))
#define DEVX_GET64(typ, p, fld)	   _devx_get64(p, __devx_bit_off(typ, fld))
#define DEVX_ARRAY_SET64(typ, p, fld, idx, v) \
	_devx_set64(p, v, __devx_bit_off(typ, fld[0]) + (idx)*64)

#ifdef __cplusplus
}
#endif

#endif
