/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending code of both families: segments that the adapter reads, room in the ring, and checks. */
#ifndef PROVIDERS_MLX_WQE_H
#define PROVIDERS_MLX_WQE_H

#include <endian.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/bytes.h"
#include "providers/kit/dbrec.h"
#include "providers/kit/idtable.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

#define MLX_FLAT __attribute__((always_inline)) static inline

enum {
	MLX_SEGMENT = 16, /* bytes: the unit of a request */
	MLX_INVALID_LKEY = 0x100,
};

struct mlx_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

/* The first segment of a request of a shared receive queue. */
struct mlx_srq_next_seg {
	uint8_t reserved1[2];
	__be16 next_wqe_index;
	uint8_t reserved2[12];
};

/* Memory of the peer, for RDMA and atomics. */
struct mlx_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

/* Return two adjacent 32-bit words of memory, each converted to big endian, ready to be stored in
 * the ring. */
static inline uint64_t mlx_be32_both(const uint32_t *pair)
{
	uint64_t both;

	memcpy(&both, pair, sizeof(both));
#if __BYTE_ORDER == __LITTLE_ENDIAN
	both = htobe64(both);
	both = both << 32 | both >> 32;
#endif
	return both;
}

/* Combine two adjacent 32-bit words into one of 64 bits. */
static inline uint64_t mlx_both(__be32 first, __be32 second)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	return first | (uint64_t)second << 32;
#else
	return (uint64_t)first << 32 | second;
#endif
}

_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct ibv_sge, length) + 4 &&
		       offsetof(struct mlx_data_seg, lkey) ==
			       offsetof(struct mlx_data_seg, byte_count) + 4,
	       "neighbours in verbs and in the ring");

/* Write the length last, because it may be the first word of a 64-byte block, which makes the
 * block valid. */
static inline void mlx_segment_write_sge(void *seg, const struct ibv_sge *sge)
{
	uint64_t both = mlx_be32_both(&sge->length);

	((struct mlx_data_seg *)seg)->addr = htobe64(sge->addr);
	barrier_to_device();
	memcpy(seg, &both, sizeof(both));
}

/* ---- sending */

static inline void mlx_raddr_write(void *seg, uint64_t addr, uint32_t rkey)
{
	struct mlx_raddr_seg *raddr = seg;

	raddr->raddr = htobe64(addr);
	raddr->rkey = htobe32(rkey);
	raddr->reserved = 0;
}

/* Return the number of completed requests. */
MLX_FLAT uint32_t mlx_sq_tail(atomic_uint *tail)
{
	/* acquire: pairs with the release of the polling thread, which has read the slots */
	return atomic_load_explicit(tail, memory_order_acquire);
}

/* Return whether there is no room for another request. A tail past the head, which only a faulty
 * completion can cause, counts as full. */
MLX_FLAT bool mlx_sq_full(uint32_t head, uint32_t tail, uint32_t max_post)
{
	return head - tail >= max_post;
}

/* Return how many requests fit. A tail past the head, which only a faulty completion can cause,
 * leaves no room. */
MLX_FLAT uint32_t mlx_room(uint32_t head, const atomic_uint *tail, uint32_t max_post)
{
	/* acquire: pairs with the release of the polling thread, which has read the slots */
	uint32_t used = head - atomic_load_explicit(tail, memory_order_acquire);

	return likely(used <= max_post) ? max_post - used : 0;
}

enum {
	MLX_PLAIN_FLAGS = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};

/* Opcodes of plain requests: requests without a key whose list follows the header directly. */
#define MLX_PLAIN_OPS                                                                  \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV | \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_RDMA_READ)

/*
 * Return whether the request is plain, as most requests are: one entry that is not empty, and no
 * flag that depends on other requests. @ops: bit n is set if IBV_WR_n can be plain
 */
MLX_FLAT bool mlx_is_plain(uint32_t ops, const struct ibv_send_wr *wr)
{
	if (unlikely(wr->num_sge != 1))
		return false;
	if (unlikely((unsigned int)wr->opcode >= 32))
		return false;
	if (unlikely(!(ops >> wr->opcode & 1)))
		return false;
	if (unlikely(wr->send_flags & ~MLX_PLAIN_FLAGS))
		return false;
	if (unlikely(!wr->sg_list))
		return false;
	return likely(wr->sg_list->length);
}

/* Check the part of a request that does not depend on its opcode. @ops: bit n is set if IBV_WR_n is
 * possible */
MLX_FLAT enum kit_fault mlx_send_check(const uint32_t *ops, const struct ibv_send_wr *wr,
				       uint32_t sge_limit, bool full)
{
	/* Also refuses requests in a state without sending, because sge_limit is 0 then. */
	if (unlikely((uint32_t)wr->num_sge >= sge_limit))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(full))
		return KIT_FAULT_FULL;
	if (unlikely((unsigned int)wr->opcode >= 32))
		return KIT_FAULT_OPCODE;
	if (unlikely(!(*ops & 1u << wr->opcode)))
		return KIT_FAULT_OPCODE;
	if (unlikely(!wr->sg_list) && wr->num_sge)
		return KIT_FAULT_SG_LIST;
	return KIT_FAULT_NONE;
}

#endif
