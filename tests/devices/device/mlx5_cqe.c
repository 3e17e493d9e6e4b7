/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of mlx5, and how a process arms a CQ. Two callers use this file: mlx5.c, which plays
 * the kernel to a provider, and tests/vm/pci, which plays the hardware to the kernel's driver. */
#include <endian.h>
#include "tests/devices/device/mlx5.h"

enum {
	DEVICE_ERROR = 0x22,
};

void mlx5_write_cqe(struct object *cq, struct mlx5_cqe *cqe, unsigned opcode, uint8_t low)
{
	cqe->op_own = opcode << 4 | low | !!(cq->produced & cq->ring.entries);
	mlx_write_cqe(cq, cqe, sizeof(*cqe));
}

static uint8_t syndrome(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_LOC_LEN_ERR] = 0x01,	       [IBV_WC_LOC_QP_OP_ERR] = 0x02,
		[IBV_WC_LOC_PROT_ERR] = 0x04,	       [IBV_WC_WR_FLUSH_ERR] = 0x05,
		[IBV_WC_MW_BIND_ERR] = 0x06,	       [IBV_WC_BAD_RESP_ERR] = 0x10,
		[IBV_WC_LOC_ACCESS_ERR] = 0x11,	       [IBV_WC_REM_INV_REQ_ERR] = 0x12,
		[IBV_WC_REM_ACCESS_ERR] = 0x13,	       [IBV_WC_REM_OP_ERR] = 0x14,
		[IBV_WC_RETRY_EXC_ERR] = 0x15,	       [IBV_WC_RNR_RETRY_EXC_ERR] = 0x16,
		[IBV_WC_REM_ABORT_ERR] = DEVICE_ERROR,
	};

	return status < sizeof(of) && of[status] ? of[status] : DEVICE_ERROR;
}

static unsigned cqe_opcode(const struct completion *c)
{
	if (c->wc->status)
		return c->receive ? CQE_RESP_ERROR : CQE_REQ_ERROR;
	if (!c->receive)
		return CQE_REQ;
	if (c->wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return CQE_RESP_WRITE_IMM;
	if (c->wc->wc_flags & IBV_WC_WITH_INV)
		return CQE_RESP_SEND_INV;
	return c->wc->wc_flags & IBV_WC_WITH_IMM ? CQE_RESP_SEND_IMM : CQE_RESP_SEND;
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
		cqe.error.syndrome = syndrome(wc->status);
	}
	return cqe;
}

/* The record has a serial number, the count of events that the process has read. A record with
 * an older number arms nothing. */
bool mlx5_armed(struct object *cq, struct arm *ret_arm)
{
	uint32_t word = cq->ring.record[1];

	if (word == cq->arm_seen)
		return false;
	cq->arm_seen = word;
	word = be32toh(word);
	if ((word >> 28 & 3) != (cq->events & 3))
		return false;
	ret_arm->solicited = word >> 24 & 1;
	ret_arm->consumed = cq->produced - ((cq->produced - word) & INDEX_24);
	return true;
}
