/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Building send requests. A request begins at a basic block of the ring and has segments of
 * multiples of 16 bytes. It wraps round at the end of the ring, but never inside its first 64
 * bytes.
 */
#ifndef MLX5_WQE_H
#define MLX5_WQE_H

#include <string.h>

#include "providers/kit/mmio.h"
#include "providers/mlx5/ah.h"
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/qp.h"

enum {
	UMR_CTRL_SIZE = 48,
	UMR_CONTEXT_SIZE = 64,
	UMR_DATA_SIZE = 64,
	UMR_MKEY_ANY_QP = 0xffffff,
};

#define FLAT MLX_FLAT

FLAT char *sq_slot(const struct mlx5_sq *sq, uint32_t block)
{
	return sq->ring + (size_t)(block & sq->mask) * MLX5_SEND_WQE_BB;
}

/* Return @seg, or the start of the ring if @seg is its end. */
FLAT char *sq_wrap(const struct mlx5_sq *sq, char *seg)
{
	return unlikely(seg == sq->end) ? sq->ring : seg;
}

FLAT void wqe_atomic(char *seg, bool swap, uint64_t compare_add, uint64_t value)
{
	struct mlx5_wqe_atomic_seg *atomic = (void *)seg;

	if (swap) {
		atomic->swap_add = htobe64(value);
		atomic->compare = htobe64(compare_add);
	} else {
		atomic->swap_add = htobe64(compare_add);
	}
}

FLAT void wqe_datagram(char *seg, const struct mlx5_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct mlx5_wqe_av *av = (void *)seg;

	*av = ah->av;
	av->key.qkey.qkey = htobe32(qkey);
	av->dqp_dct = htobe32(MLX5_EXTENDED_UD_AV | (qpn & 0xffffff));
}

FLAT void wqe_dc(char *seg, const struct mlx5_ah *ah, uint32_t dctn, uint64_t key)
{
	struct mlx5_wqe_av *av = (void *)seg;

	*av = ah->av;
	av->key.dc_key = htobe64(key);
	av->dqp_dct |= htobe32(MLX5_EXTENDED_UD_AV | (dctn & 0xffffff));
}

/* Write the number of the SRQ at the peer. The rest of the segment is reserved. */
FLAT void wqe_xrc(char *seg, uint32_t srqn)
{
	*(__be32 *)seg = htobe32(srqn);
}

FLAT void wqe_data(char *seg, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct mlx5_wqe_data_seg *data = (void *)seg;

	data->byte_count = htobe32(length);
	data->lkey = htobe32(lkey);
	data->addr = htobe64(addr);
}

/* Copy bytes into the ring at @at. Return: the address behind them. */
FLAT char *wqe_bytes(const struct mlx5_sq *sq, char *at, const void *from, size_t length)
{
	size_t left = sq->end - at;

	if (unlikely(length >= left)) {
		memcpy(at, from, left);
		from = (const char *)from + left;
		length -= left;
		at = sq->ring;
	}
	memcpy(at, from, length);
	return at + length;
}

/* Return the units of an inline segment of @length bytes; 0 if @length is 0. */
FLAT unsigned int wqe_inline_ds(uint32_t length)
{
	return length ? (sizeof(struct mlx5_wqe_inl_data_seg) + length + MLX_SEGMENT - 1) /
				MLX_SEGMENT
		      : 0;
}

FLAT void wqe_inline_head(char *seg, uint32_t length)
{
	((struct mlx5_wqe_inl_data_seg *)seg)->byte_count = htobe32(length | MLX5_INLINE_SEG);
}

/* Windows and keys: flags of the request, and the fields of the key that it sets. */
struct wqe_umr {
	uint8_t flags;
	uint16_t klm_octowords;
	uint64_t mask;
	uint8_t free, access;
	uint32_t qpn_mkey;
	uint64_t start, length;
};

/* Write the two segments behind the control segment. Return: the address of the data behind them.
 */
FLAT char *wqe_umr(const struct mlx5_sq *sq, char *seg, const struct wqe_umr *umr)
{
	struct mlx5_wqe_umr_ctrl_seg *ctrl = (void *)seg;
	struct mlx5_wqe_mkey_context_seg *key;

	memset(ctrl, 0, UMR_CTRL_SIZE);
	ctrl->flags = umr->flags;
	ctrl->klm_octowords = htobe16(umr->klm_octowords);
	ctrl->mkey_mask = htobe64(umr->mask);
	key = (void *)sq_wrap(sq, seg + UMR_CTRL_SIZE);
	memset(key, 0, UMR_CONTEXT_SIZE);
	key->free = umr->free;
	key->access_flags = umr->access;
	key->qpn_mkey = htobe32(umr->qpn_mkey);
	key->start_addr = htobe64(umr->start);
	key->len = htobe64(umr->length);
	return sq_wrap(sq, (char *)key + UMR_CONTEXT_SIZE);
}

/* Build a request. Return: its units without the control segment. In mw.c. */
unsigned int mlx5_wqe_local_inv(const struct mlx5_sq *sq, char *seg);
/* -EOPNOTSUPP: the length exceeds the field of the request. */
int mlx5_wqe_bind(const struct mlx5_qp *qp, char *seg, const struct ibv_mw *mw, uint32_t rkey,
		  const struct ibv_mw_bind_info *info, unsigned int *ret_ds);

/* Return whether the data of a send or a write are inline. send.c */
bool mlx5_wqe_is_inline(const struct mlx5_sq *sq, const struct mlx5_wqe_ctrl_seg *ctrl);

/* Write the segments behind the control segment. raw.c */
enum kit_fault mlx5_wqe_raw(const struct mlx5_qp *qp, char *seg, const struct mlx5_raw *raw,
			    unsigned int *ret_ds);

/* Write the control segment when the length of the request is known. @imm: big endian */
FLAT void wqe_ctrl(struct mlx5_wqe_ctrl_seg *ctrl, uint32_t cur_post, uint8_t opcode,
		   uint32_t qp_num, uint8_t fm_ce_se, unsigned int ds, __be32 imm)
{
	/* The signature and the stream of DCI are 0. */
	uint64_t words[] = {
		htobe64((uint64_t)((cur_post & 0xffff) << 8 | opcode) << 32 |
			(uint32_t)(qp_num << 8 | ds)),
		mlx_both(htobe32(fm_ce_se), imm),
	};

	memcpy(ctrl, words, sizeof(words));
}

/* Move each flag to its bit of the control segment. */
FLAT uint8_t wqe_send_flags(unsigned int send_flags)
{
	return (send_flags & IBV_SEND_SIGNALED) * (MLX5_WQE_CTRL_CQ_UPDATE / IBV_SEND_SIGNALED) |
	       (send_flags & IBV_SEND_SOLICITED) / (IBV_SEND_SOLICITED / MLX5_WQE_CTRL_SOLICITED);
}

/* Return the flags of the control segment, with the fence that the last request left.
 * @next_fence: the fence for the next request */
FLAT uint8_t wqe_flags(struct mlx5_sq *sq, unsigned int send_flags, uint8_t next_fence)
{
	uint8_t flags = sq->signal | wqe_send_flags(send_flags);

	flags |= unlikely(send_flags & IBV_SEND_FENCE) ? MLX5_WQE_CTRL_FENCE : sq->fence;
	sq->fence = next_fence;
	return flags;
}

FLAT uint32_t wqe_blocks(unsigned int ds)
{
	return (ds + 3) / 4;
}

/* Write the request itself into the register, in one burst. */
FLAT void sq_blueflame(const struct mlx5_sq *sq, char *reg, const char *from, unsigned int ds)
{
	for (;;) {
		mmio_copy_64(reg, from);
		if (likely(ds <= MLX5_SEND_WQE_BB / MLX_SEGMENT))
			break;
		ds -= MLX5_SEND_WQE_BB / MLX_SEGMENT;
		reg += MLX5_SEND_WQE_BB;
		from = sq_wrap(sq, (char *)from + MLX5_SEND_WQE_BB);
	}
}

/*
 * Ring the doorbell for @nreq requests in the ring, up to cur_post. @last: the last request, of @ds
 * units
 */
FLAT void sq_ring(struct mlx5_sq *sq, uint32_t nreq, const struct mlx5_wqe_ctrl_seg *last,
		  unsigned int ds)
{
	struct mlx5_bfreg *bfreg = sq->bfreg;
	char *reg;

	sq->head += nreq;
	/* The requests must be visible before the record announces them. */
	barrier_to_device();
	*sq->record = htobe32(sq->cur_post & 0xffff);
	/* The record must be visible before the register is written. */
	if (bfreg->shared)
		barrier_wc_lock(&bfreg->lock);
	else
		barrier_wc_start();
	reg = bfreg->reg + bfreg->offset;
	if (nreq == 1 && ds > 1 &&
	    (ds <= bfreg->bf_ds ||
	     (unlikely(ds <= bfreg->bf_inline_ds) && mlx5_wqe_is_inline(sq, last)))) {
		sq_blueflame(sq, reg, (const char *)last, ds);
	} else {
		uint64_t word;

		memcpy(&word, last, sizeof(word));
		mmio_write_64(reg, word);
	}
	barrier_wc_flush();
	bfreg->offset ^= bfreg->size;
	if (bfreg->shared)
		spinlock_unlock(&bfreg->lock);
}

#endif
