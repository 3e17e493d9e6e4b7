/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the rings of a queue pair. Programs see the results in the granted capabilities. */
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/wqe.h"

enum {
	INLINE_HEAD = 4,
	/* Largest part of a request without data and address, in bytes. */
	HEAD_SEND = 16,
	HEAD_RDMA = 32,
	HEAD_ATOMIC = 48,
	HEAD_UMR = 192,
	/* The address of a request, in bytes. */
	ADDRESS_UD = 48,
	ADDRESS_XRC = 16,
	ADDRESS_RAW = 32,
	ADDRESS_UNDERLAY = ADDRESS_UD + 16 + ADDRESS_RAW,
};

static uint32_t address_size(const struct ibv_qp_init_attr_ex *attr)
{
	enum ibv_qp_type type = attr->qp_type;

	return mlx5_is_underlay(attr)			      ? ADDRESS_UNDERLAY
	       : type == IBV_QPT_UD || type == IBV_QPT_DRIVER ? ADDRESS_UD
	       : type == IBV_QPT_XRC_SEND		      ? ADDRESS_XRC
	       : type == IBV_QPT_RAW_PACKET		      ? ADDRESS_RAW
							      : 0;
}

/* Return the bytes of the request header without the address. */
static uint32_t head_size(const struct ibv_qp_init_attr_ex *attr, bool umr)
{
	bool told = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	uint64_t ops = told ? attr->send_ops_flags : ~0ull;

	if (attr->qp_type == IBV_QPT_UD || attr->qp_type == IBV_QPT_RAW_PACKET)
		return HEAD_SEND;
	if (umr || ops & (IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV))
		return HEAD_UMR;
	if (ops & (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD))
		return HEAD_ATOMIC;
	if (ops & (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		   IBV_QP_EX_WITH_RDMA_READ))
		return HEAD_RDMA;
	return HEAD_SEND;
}

static uint32_t tso_header(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? attr->max_tso_header : 0;
}

#define OP(name) (1u << IBV_WR_##name)

/* Return the opcodes that the device and the type of queue pair support and whose header fits into
 * @head bytes. */
static uint32_t ops_possible(const struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
			     uint32_t head)
{
	uint32_t ops = OP(SEND) | OP(SEND_WITH_IMM);
	bool rc = attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_XRC_SEND;

	if (attr->qp_type == IBV_QPT_DRIVER) /* ibv_send_wr has no DC address */
		return 0;
	if (attr->qp_type == IBV_QPT_RAW_PACKET)
		return OP(SEND) | (tso_header(attr) ? OP(TSO) : 0);
	if (attr->qp_type == IBV_QPT_UD)
		return mlx5_is_underlay(attr) ? OP(SEND) : ops;
	if (rc)
		ops |= OP(SEND_WITH_INV);
	if (head >= HEAD_RDMA)
		ops |= OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | (rc ? OP(RDMA_READ) : 0);
	if (head >= HEAD_ATOMIC && rc && ctx->atomics)
		ops |= OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD);
	if (head >= HEAD_UMR)
		ops |= OP(BIND_MW) | OP(LOCAL_INV);
	return ops;
}

static int refuse(struct mlx5_context *ctx, const char *what, uint64_t value, uint64_t limit)
{
	verbs_err(&ctx->vctx.context, "ibv_create_qp: %s %llu is too much (at most %llu)", what,
		  (unsigned long long)value, (unsigned long long)limit);
	return -EINVAL;
}

static int sq_size(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr, bool umr,
		   struct mlx5_qp_size *size)
{
	uint32_t limit = ctx->info.max_sq_desc_sz, address = address_size(attr);
	uint32_t head = head_size(attr, umr) + address;
	uint32_t fixed = head + ROUND_UP(tso_header(attr), MLX_SEGMENT);
	const struct ibv_qp_cap *cap = &attr->cap;
	uint64_t inlined = 0, wqe, bytes;

	if (!cap->max_send_wr || attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (fixed > limit || cap->max_send_sge > (limit - fixed) / MLX_SEGMENT)
		return refuse(ctx, "max_send_sge", cap->max_send_sge,
			      fixed > limit ? 0 : (limit - fixed) / MLX_SEGMENT);
	if (cap->max_inline_data)
		inlined =
			head + ROUND_UP((uint64_t)INLINE_HEAD + cap->max_inline_data, MLX_SEGMENT);
	if (inlined > limit)
		return refuse(ctx, "max_inline_data", cap->max_inline_data,
			      limit - head - INLINE_HEAD);
	wqe = max_of((uint64_t)fixed + (uint64_t)MLX_SEGMENT * cap->max_send_sge, inlined);
	wqe = ROUND_UP(wqe, MLX5_SEND_WQE_BB);
	if (cap->max_send_wr > INT32_MAX / limit)
		return refuse(ctx, "max_send_wr", cap->max_send_wr, INT32_MAX / limit);
	bytes = round_up_pow2(cap->max_send_wr * wqe);
	if (bytes / MLX5_SEND_WQE_BB > ctx->info.max_send_wqebb)
		return refuse(ctx, "max_send_wr", cap->max_send_wr,
			      ctx->info.max_send_wqebb * (uint64_t)MLX5_SEND_WQE_BB / wqe);
	size->address_size = address;
	size->max_tso_header = tso_header(attr);
	size->sq_ops = ops_possible(ctx, attr, head - address);
	size->sq_bytes = bytes;
	size->sq_blocks = bytes / MLX5_SEND_WQE_BB;
	size->sq_max_post = bytes / wqe;
	/* If the program asks for no entries and no inline data, there may be no room for inline
	 * data. */
	size->max_inline = wqe >= head + INLINE_HEAD ? wqe - head - INLINE_HEAD : 0;
	size->wqe_bytes = wqe;
	return 0;
}

static int rq_size(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		   struct mlx5_qp_size *size)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t limit = ctx->info.max_rq_desc_sz, wqe;

	if (!cap->max_recv_wr || attr->srq || attr->qp_type == IBV_QPT_XRC_SEND ||
	    attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (cap->max_recv_wr > ctx->info.max_recv_wr)
		return refuse(ctx, "max_recv_wr", cap->max_recv_wr, ctx->info.max_recv_wr);
	if (cap->max_recv_sge > limit / MLX_SEGMENT)
		return refuse(ctx, "max_recv_sge", cap->max_recv_sge, limit / MLX_SEGMENT);
	wqe = round_up_pow2(MLX_SEGMENT * max_of(cap->max_recv_sge, 1u));
	if (wqe > limit)
		return refuse(ctx, "max_recv_sge", cap->max_recv_sge, limit / MLX_SEGMENT / 2);
	size->rq_bytes = max_of(round_up_pow2(cap->max_recv_wr) * wqe, (uint32_t)MLX5_SEND_WQE_BB);
	size->rq_count = size->rq_bytes / wqe;
	size->rq_shift = __builtin_ctz(wqe);
	size->rq_max_sge = wqe / MLX_SEGMENT;
	size->rq_max_post = size->rq_count;
	return 0;
}

int mlx5_qp_size(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr, bool umr,
		 struct mlx5_qp_size *ret_size)
{
	struct mlx5_qp_size size = {};
	int r = sq_size(ctx, attr, umr, &size);

	if (!r)
		r = rq_size(ctx, attr, &size);
	if (!r)
		*ret_size = size;
	return r;
}
