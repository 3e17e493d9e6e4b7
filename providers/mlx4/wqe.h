/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Building send requests. Each request has a slot of the ring and does not wrap round. The adapter
 * prefetches units of 64 bytes. A slot holds a request if the owner bit of its first word matches
 * the round. A unit inside a slot holds data if its first word is not 0xffffffff. Therefore first
 * words are written last, and slots behind the requests are stamped with 0xffffffff.
 */
#ifndef MLX4_WQE_H
#define MLX4_WQE_H

#include <string.h>

#include "providers/kit/mmio.h"
#include "providers/mlx4/mlx4.h"

enum {
	WQE_UNIT = 64,
	WQE_SIZE_MASK = 0x3f, /* bits of fence_size: length in units of 16 bytes */
};
#define WQE_OWNER    (1u << 31)
#define WQE_STAMP    0xffffffff
#define WQE_ZERO_LEN (1u << 31) /* byte_count of a segment of length 0 */

#define FLAT	     MLX_FLAT

FLAT char *sq_slot(const struct mlx4_sq *sq, uint32_t index)
{
	return sq->ring + ((size_t)(index & sq->mask) << sq->shift);
}

/* Stamp a slot as far as its previous request reached, but not beyond the slot. */
FLAT void sq_stamp(const struct mlx4_sq *sq, uint32_t index)
{
	char *slot = sq_slot(sq, index);
	uint32_t used = ((const struct mlx4_wqe_ctrl_seg *)slot)->fence_size & WQE_SIZE_MASK;
	int left = (int)min_of(used, sq->slot_ds) - WQE_UNIT / MLX_SEGMENT;

	if (left <= 0)
		return;
	*(uint32_t *)(slot + WQE_UNIT) = WQE_STAMP;
	for (slot += WQE_UNIT; unlikely((left -= WQE_UNIT / MLX_SEGMENT) > 0);) {
		slot += WQE_UNIT;
		*(uint32_t *)slot = WQE_STAMP;
	}
}

FLAT void wqe_atomic(char *seg, bool swap, uint64_t compare_add, uint64_t value)
{
	struct mlx4_wqe_atomic_seg *atomic = (void *)seg;

	atomic->swap_add = htobe64(swap ? value : compare_add);
	atomic->compare = swap ? htobe64(compare_add) : 0;
}

FLAT void wqe_local_inv(char *seg, uint32_t key)
{
	*(struct mlx4_wqe_local_inval_seg *)seg =
		(struct mlx4_wqe_local_inval_seg){ .mem_key = htobe32(key) };
}

static inline void wqe_bind(char *seg, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	uint32_t access = info->mw_access_flags, flags1 = 0, flags2 = 0;

	if (access & IBV_ACCESS_REMOTE_READ)
		flags1 |= MLX4_WQE_MW_REMOTE_READ;
	if (access & IBV_ACCESS_REMOTE_WRITE)
		flags1 |= MLX4_WQE_MW_REMOTE_WRITE;
	if (access & IBV_ACCESS_REMOTE_ATOMIC)
		flags1 |= (uint32_t)MLX4_WQE_MW_ATOMIC;
	if (wr->bind_mw.mw->type == IBV_MW_TYPE_2)
		flags2 |= (uint32_t)MLX4_WQE_BIND_TYPE_2;
	if (access & IBV_ACCESS_ZERO_BASED)
		flags2 |= MLX4_WQE_BIND_ZERO_BASED;
	*(struct mlx4_wqe_bind_seg *)seg = (struct mlx4_wqe_bind_seg){
		.flags1 = htobe32(flags1),
		.flags2 = htobe32(flags2),
		.new_rkey = htobe32(wr->bind_mw.rkey),
		.lkey = htobe32(info->mr ? info->mr->lkey : 0),
		.addr = htobe64(info->addr),
		.length = htobe64(info->length),
	};
}

FLAT void wqe_datagram(char *seg, const struct mlx4_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct mlx4_wqe_datagram_seg *datagram = (void *)seg;

	datagram->av = ah->av;
	datagram->dqpn = htobe32(qpn);
	datagram->qkey = htobe32(qkey);
	datagram->vlan = htobe16(ah->vlan);
	memcpy(datagram->mac, ah->mac, sizeof(datagram->mac));
}

/* Write the length last, because it may be the first word of a 64-byte unit. */
FLAT void wqe_data(char *seg, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct mlx4_wqe_data_seg *data = (void *)seg;

	data->lkey = htobe32(lkey);
	data->addr = htobe64(addr);
	barrier_to_device();
	data->byte_count = htobe32(likely(length) ? length : WQE_ZERO_LEN);
}

#endif
