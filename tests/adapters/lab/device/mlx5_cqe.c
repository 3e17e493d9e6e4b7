/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of mlx5, and how a process arms a CQ. Two callers use this file: mlx5.c, which plays
 * the kernel to a provider, and tests/hosts/vm/pci, which plays the hardware to the kernel's
 * driver. */
#include <endian.h>
#include "tests/adapters/lab/device/mlx5.h"

void mlx5_write_cqe(struct object *cq, struct mlx5_cqe *cqe, unsigned opcode, uint8_t low)
{
	cqe->op_own = opcode << 4 | low | !!(cq->produced & cq->ring.entries);
	mlx_write_cqe(cq, cqe, sizeof(*cqe));
}

static unsigned cqe_opcode(const struct completion *c)
{
	if (c->wc->status)
		return c->receive ? CQE_RESP_ERROR : CQE_REQ_ERROR;
	return c->receive ? CQE_RESP_WRITE_IMM + mlx_received(c) : CQE_REQ;
}

struct mlx5_cqe mlx5_completion(const struct completion *c, uint64_t timestamp)
{
	const struct ibv_wc *wc = c->wc;
	struct mlx5_cqe cqe = {
		.flags_rqpn = htobe32((wc->wc_flags & IBV_WC_GRH ? 1u << 28 : 0) |
				      (wc->sl & 0xfu) << 24 | wc->src_qp),
		.srqn_uidx =
			htobe32(c->srq && c->srq->xrcd ? c->srq->user_index : c->qp->user_index),
		.immediate = wc->wc_flags & IBV_WC_WITH_INV ? htobe32(wc->invalidated_rkey)
							    : wc->imm_data,
		.byte_count = htobe32(wc->byte_len),
		.timestamp = htobe64(timestamp),
		.opcode_qpn = htobe32((c->receive ? 0 : (uint32_t)c->note << 24) |
				      (c->qp ? c->qp->number : wc->qp_num)),
		.wqe_counter = htobe16(c->id),
		.op_own = cqe_opcode(c) << 4,
	};

	if (wc->status) {
		cqe.error.vendor = wc->vendor_err;
		cqe.error.syndrome = mlx_syndrome(wc->status);
	}
	return cqe;
}

bool mlx5_armed(struct object *cq, struct arm *ret_arm)
{
	return mlx_armed(cq, cq->events, ret_arm);
}
