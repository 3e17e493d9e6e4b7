/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the rings of a queue pair. Programs see the results in the granted capabilities. */
#include "providers/mlx4/mlx4.h"

#define DIV_ROUND_UP(n, by) (((n) + (by)-1) / (by))

enum {
	CTRL = sizeof(struct mlx4_wqe_ctrl_seg),
	RADDR = sizeof(struct mlx4_wqe_raddr_seg),
	ATOMIC = sizeof(struct mlx4_wqe_atomic_seg),
	BIND = sizeof(struct mlx4_wqe_bind_seg),
	DATAGRAM = sizeof(struct mlx4_wqe_datagram_seg),
	INLINE_HEAD = sizeof(struct mlx4_wqe_inline_seg),
	LSO_HEAD = sizeof(__be32),
	WQE_SHIFT_MIN = 6,
	WQE_MAX = 63 * MLX_SEGMENT, /* largest length that fits the field of a request */
	INLINE_MAX = 1024,
};

/* Return the bytes between the control segment and the data. */
static uint32_t head_size(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UD:
		return DATAGRAM;
	case IBV_QPT_RAW_PACKET:
		return 0;
	default:
		return RADDR;
	}
}

/* Return the bytes that inline data of @length need. A header precedes the data in each 64-byte
 * unit. */
static uint32_t inline_size(enum ibv_qp_type type, uint32_t length)
{
	uint32_t chunk = MLX4_INLINE_ALIGN - INLINE_HEAD, pad = type == IBV_QPT_UD ? 0 : 32;
	uint32_t heads = DIV_ROUND_UP(length + pad, chunk);

	return ROUND_UP(length + INLINE_HEAD * heads, MLX_SEGMENT);
}

#define OP(name) (1u << IBV_WR_##name)

static uint32_t ops_possible(const struct mlx4_context *ctx, enum ibv_qp_type type)
{
	uint32_t ops = OP(SEND);

	if (type == IBV_QPT_RAW_PACKET)
		return ops;
	ops |= OP(SEND_WITH_IMM);
	if (type == IBV_QPT_UD)
		return ops;
	ops |= OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(BIND_MW) | OP(LOCAL_INV);
	if (type == IBV_QPT_UC)
		return ops;
	ops |= OP(SEND_WITH_INV) | OP(RDMA_READ);
	if (ctx->atomics)
		ops |= OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD);
	return ops;
}

static int refuse(const struct mlx4_context *ctx, const char *verb, const char *what,
		  uint32_t value, uint32_t limit)
{
	verbs_err(&ctx->vctx.context, "%s: %s %u is too much (at most %u)", verb, what, value,
		  limit);
	return -EINVAL;
}

static const char *const create = "ibv_create_qp";

/* Return the room for the packet headers of segmentation. Programs that write to the ring directly
 * use it. */
static uint32_t tso_size(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER
		       ? ROUND_UP(LSO_HEAD + attr->max_tso_header, MLX_SEGMENT)
		       : 0;
}

static int sq_size(const struct mlx4_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		   struct mlx4_qp_size *size)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t head = head_size(attr->qp_type), data, wqe, room;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (cap->max_send_wr > ctx->max_qp_wr)
		return refuse(ctx, create, "max_send_wr", cap->max_send_wr, ctx->max_qp_wr);
	if (cap->max_send_sge > ctx->max_sge)
		return refuse(ctx, create, "max_send_sge", cap->max_send_sge, ctx->max_sge);
	if (cap->max_inline_data > INLINE_MAX)
		return refuse(ctx, create, "max_inline_data", cap->max_inline_data, INLINE_MAX);
	data = max_of(inline_size(attr->qp_type, cap->max_inline_data),
		      MLX_SEGMENT * cap->max_send_sge);
	wqe = head + data;
	if (attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_XRC_SEND)
		wqe = max_of(wqe, (uint32_t)(RADDR + ATOMIC + MLX_SEGMENT));
	wqe = CTRL + max_of(wqe, (uint32_t)BIND) + tso_size(attr);
	if (wqe > WQE_MAX)
		return refuse(ctx, create,
			      "max_send_sge or max_inline_data: a request of that many bytes,", wqe,
			      WQE_MAX);
	size->sq_shift = max_of((uint32_t)__builtin_ctz(round_up_pow2(wqe)), WQE_SHIFT_MIN + 0u);
	size->sq_spare = (MLX4_WQE_PREFETCH >> size->sq_shift) + 1;
	size->sq_count = round_up_pow2(cap->max_send_wr + size->sq_spare);
	size->sq_max_post = size->sq_count - size->sq_spare;
	room = min_of(1u << size->sq_shift, (uint32_t)WQE_MAX) - CTRL - head;
	size->sq_max_sge = room / MLX_SEGMENT;
	size->max_inline = room - INLINE_HEAD * DIV_ROUND_UP(room, MLX4_INLINE_ALIGN);
	size->sq_ops = ops_possible(ctx, attr->qp_type);
	return 0;
}

int mlx4_rq_size(const struct mlx4_context *ctx, const char *verb, uint32_t max_wr,
		 uint32_t max_sge, uint32_t inl_recv, struct mlx4_qp_size *size)
{
	/* Limit the value of the kernel, because no larger power of two fits. */
	uint32_t max_inl_recv = min_of(ctx->max_inl_recv, (uint32_t)INLINE_MAX);

	if (max_wr > ctx->max_qp_wr)
		return refuse(ctx, verb, "max_recv_wr", max_wr, ctx->max_qp_wr);
	if (max_sge > ctx->max_sge)
		return refuse(ctx, verb, "max_recv_sge", max_sge, ctx->max_sge);
	if (inl_recv > max_inl_recv)
		return refuse(ctx, verb, "inl_recv_sz", inl_recv, max_inl_recv);
	size->rq_wr = max_of(max_wr, 1u);
	size->rq_sge = max_of(max_sge, 1u);
	size->rq_count = round_up_pow2(size->rq_wr);
	size->rq_shift = __builtin_ctz(round_up_pow2(max_of(MLX_SEGMENT * size->rq_sge, inl_recv)));
	return 0;
}

/* Return whether the queue pair needs a receive queue. The adapter requires a ring with entries,
 * unless the queue pair receives through other objects. */
static bool has_rq(const struct ibv_qp_init_attr_ex *attr)
{
	return !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND && attr->qp_type != IBV_QPT_XRC_RECV;
}

int mlx4_qp_size(struct mlx4_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		 uint32_t inl_recv, struct mlx4_qp_size *ret_size)
{
	struct mlx4_qp_size size = {};
	int r = sq_size(ctx, attr, &size);

	if (!r && has_rq(attr))
		r = mlx4_rq_size(ctx, create, attr->cap.max_recv_wr, attr->cap.max_recv_sge,
				 inl_recv, &size);
	if (!r)
		*ret_size = size;
	return r;
}
