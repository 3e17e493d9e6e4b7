/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filling a work queue element. A slot still has its request from before the last wrap. Therefore
 * set all fields that the kernel reads before it writes them, and no others: the kernel expects new
 * values of state, dma.resid, dma.cur_sge and dma.sge_offset.
 */
#ifndef RXE_WQE_H
#define RXE_WQE_H

#include <string.h>

#include "providers/rxe/rxe.h"

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct rxe_sge), "copied as it is");
_Static_assert(offsetof(struct ibv_sge, length) == offsetof(struct rxe_sge, length), "");
_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct rxe_sge, lkey), "");

/* Copy the list. Return: its bytes, in 64 bits so that no sum wraps below a limit. */
static inline uint64_t rxe_sge_copy(struct rxe_sge *to, const struct ibv_sge *from, uint32_t count)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < count; i++) {
		__builtin_memcpy(&to[i], &from[i], sizeof(to[i]));
		length += from[i].length;
	}
	return length;
}

/* Copy inline data. A buffer without bytes may have no address. */
static inline void rxe_bytes_copy(uint8_t *to, const void *from, size_t length)
{
	if (length)
		memcpy(to, from, length);
}

static inline void rxe_dma_init(struct rxe_dma_info *dma, uint32_t length, uint32_t num_sge)
{
	dma->length = length;
	dma->resid = length;
	dma->cur_sge = 0;
	dma->num_sge = num_sge;
	dma->sge_offset = 0;
	dma->reserved = 0;
}

/* @ex: immediate data in wire order, or the rkey to invalidate */
static inline void rxe_wqe_init(struct rxe_send_wqe *wqe, uint64_t wr_id, uint32_t opcode,
				uint32_t send_flags, uint32_t ex)
{
	wqe->wr.wr_id = wr_id;
	wqe->wr.reserved = 0;
	wqe->wr.opcode = opcode;
	wqe->wr.send_flags = send_flags;
	wqe->wr.ex.invalidate_rkey = ex;
	wqe->status = 0;
	wqe->state = 0;
	wqe->iova = 0;
	wqe->ssn = 0;
	wqe->has_rd_atomic = 0;
}

/* The kernel puts iova into packets, not remote_addr. */
static inline void rxe_wqe_set_rdma(struct rxe_send_wqe *wqe, uint64_t remote_addr, uint32_t rkey)
{
	wqe->wr.wr.rdma.remote_addr = remote_addr;
	wqe->wr.wr.rdma.rkey = rkey;
	wqe->wr.wr.rdma.reserved = 0;
	wqe->iova = remote_addr;
}

static inline void rxe_wqe_set_atomic(struct rxe_send_wqe *wqe, uint64_t remote_addr, uint32_t rkey,
				      uint64_t compare_add, uint64_t swap)
{
	wqe->wr.wr.atomic.remote_addr = remote_addr;
	wqe->wr.wr.atomic.compare_add = compare_add;
	wqe->wr.wr.atomic.swap = swap;
	wqe->wr.wr.atomic.rkey = rkey;
	wqe->wr.wr.atomic.reserved = 0;
	wqe->iova = remote_addr;
}

static inline void rxe_wqe_set_ud(struct rxe_send_wqe *wqe, const struct rxe_ah *ah,
				  uint32_t remote_qpn, uint32_t remote_qkey)
{
	wqe->wr.wr.ud.remote_qpn = remote_qpn;
	wqe->wr.wr.ud.remote_qkey = remote_qkey;
	wqe->wr.wr.ud.pkey_index = 0;
	wqe->wr.wr.ud.reserved = 0;
	wqe->wr.wr.ud.ah_num = ah->ah_num;
	if (unlikely(!ah->ah_num))
		wqe->wr.wr.ud.av = ah->av;
}

static inline void rxe_wqe_set_mw(struct rxe_send_wqe *wqe, const struct ibv_mw *mw, uint32_t rkey,
				  const struct ibv_mw_bind_info *info)
{
	wqe->wr.wr.mw.addr = info->addr;
	wqe->wr.wr.mw.length = info->length;
	wqe->wr.wr.mw.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->wr.wr.mw.mw_rkey = mw->rkey;
	wqe->wr.wr.mw.rkey = rkey;
	wqe->wr.wr.mw.access = info->mw_access_flags;
}

#endif
