/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of mlx4, and how a process arms a CQ. Two callers use this file: mlx4.c, which plays
 * the kernel to a provider, and tests/hosts/vm/pci, which plays the hardware to the kernel's
 * driver. */
#include <endian.h>
#include <string.h>
#include "tests/adapters/lab/device/mlx4.h"

enum {
	NOT_OWNED = 0xcc,	/* what a new ring is filled with */
	XRC_RECEIVER = 1 << 23, /* of a completion's QPN */
};

void mlx4_disown(struct object *cq)
{
	for (uint32_t n = cq->produced; n != cq->produced + cq->ring.entries; n++) {
		uint8_t not_owned = n & cq->ring.entries ? NOT_OWNED & ~0x80 : NOT_OWNED;

		memset(cq->ring.base + (size_t)(n & (cq->ring.entries - 1)) * cq->ring.stride,
		       not_owned, cq->ring.stride);
	}
}

void mlx4_write_cqe(struct object *cq, struct mlx4_cqe *cqe, unsigned opcode, bool is_send)
{
	cqe->owner_opcode =
		(cq->produced & cq->ring.entries ? 0x80 : 0) | (is_send ? 0x40 : 0) | opcode;
	mlx_write_cqe(cq, cqe, sizeof(*cqe));
}

unsigned mlx4_cqe_opcode(const struct completion *c)
{
	if (c->wc->status)
		return CQE_ERROR;
	return c->receive ? CQE_RESP_WRITE_IMM + mlx_received(c) : c->note;
}

struct mlx4_cqe mlx4_completion(const struct completion *c, bool ethernet, uint16_t timestamp)
{
	const struct ibv_wc *wc = c->wc;
	bool xrc = c->srq && c->srq->xrcd; /* which is known by its own number */
	struct mlx4_cqe cqe = {
		.my_qpn = htobe32(xrc ? XRC_RECEIVER | wc->qp_num : c->qp->number),
		.immediate = wc->wc_flags & IBV_WC_WITH_INV ? htobe32(wc->invalidated_rkey)
							    : wc->imm_data,
		.grh_rqpn = htobe32((wc->wc_flags & IBV_WC_GRH ? 1u << 31 : 0) |
				    (xrc ? c->srq->number : wc->src_qp)),
		.sl_vid = htobe16(ethernet ? (wc->sl & 7) << 13 : (wc->sl & 15) << 12),
		.byte_count = htobe32(wc->byte_len),
		.wqe_index = htobe16(c->id),
		.stamp_8 = timestamp >> 8,
		.stamp_0 = timestamp,
	};

	if (wc->status) {
		cqe.error.vendor = wc->vendor_err;
		cqe.error.syndrome = mlx_syndrome(wc->status);
	}
	return cqe;
}

/* The serial numbers begin with 1. */
bool mlx4_armed(struct object *cq, struct arm *ret_arm)
{
	return mlx_armed(cq, cq->events + 1, ret_arm);
}
