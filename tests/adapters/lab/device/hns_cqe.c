/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of hns. The first word has the bit that changes with each wrap. */
#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/hns.h"

#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	CQE_WORDS = 16,
	INDEX_MASK = 0xffffff,
	RECEIVE = 1 << 6,
	OWNER = 1 << 7,
	PORT_IPV4 = 1 << 16,
	RECV_WRITE_IMM = 0,
	RECV_SEND = 1,
	RECV_SEND_IMM = 2,
	RECV_SEND_INV = 3,
	GENERAL_ERROR = 0x23,
};

uint32_t hns_room(struct object *cq)
{
	uint32_t used = (cq->produced - *cq->ring.record) & INDEX_MASK;

	return used < cq->ring.entries ? cq->ring.entries - used : 0;
}

/* A process arms a CQ by a store into the register of all queues. Therefore a CQ counts as armed
 * unless the process has an event to read. */
bool hns_armed(struct object *cq, struct arm *ret_arm)
{
	uint32_t unread = (cq->produced - *cq->ring.record) & INDEX_MASK;

	*ret_arm = (struct arm){ .consumed = cq->produced - unread };
	return !event_is_unread(cq);
}

/* Write an entry whose first word lacks the owner's bit. */
static void write_entry(struct object *cq, uint32_t *cqe)
{
	uint8_t *at =
		cq->ring.base + (size_t)(cq->produced & (cq->ring.entries - 1)) * cq->ring.stride;

	cqe[0] |= cq->produced & cq->ring.entries ? 0 : htole32(OWNER);
	cq->produced++;
	if (!model_on()) {
		trace_device_writes(at, cqe, cq->ring.stride);
		return;
	}
	memcpy(at + 4, &cqe[1], cq->ring.stride - 4);
	__atomic_store_n((uint32_t *)(void *)at, cqe[0], __ATOMIC_RELEASE);
}

void hns_entry(struct object *cq, const void *bytes, size_t length)
{
	uint32_t cqe[CQE_WORDS] = { 0 };

	memcpy(cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	cqe[0] &= ~htole32(OWNER);
	write_entry(cq, cqe);
}

static uint32_t status_of(enum ibv_wc_status status)
{
	static const uint8_t of[] = {
		[IBV_WC_LOC_LEN_ERR] = 0x01,	[IBV_WC_LOC_QP_OP_ERR] = 0x02,
		[IBV_WC_LOC_PROT_ERR] = 0x04,	[IBV_WC_WR_FLUSH_ERR] = 0x05,
		[IBV_WC_MW_BIND_ERR] = 0x06,	[IBV_WC_BAD_RESP_ERR] = 0x10,
		[IBV_WC_LOC_ACCESS_ERR] = 0x11, [IBV_WC_REM_INV_REQ_ERR] = 0x12,
		[IBV_WC_REM_ACCESS_ERR] = 0x13, [IBV_WC_REM_OP_ERR] = 0x14,
		[IBV_WC_RETRY_EXC_ERR] = 0x15,	[IBV_WC_RNR_RETRY_EXC_ERR] = 0x16,
		[IBV_WC_REM_ABORT_ERR] = 0x22,	[IBV_WC_REM_INV_RD_REQ_ERR] = 0x24,
	};

	if (!status)
		return 0;
	return status < sizeof(of) && of[status] ? of[status] : GENERAL_ERROR;
}

static uint32_t sent_opcode(const struct completion *c)
{
	static const uint8_t of[] = {
		[IBV_WC_SEND] = HNS_OP_SEND,	       [IBV_WC_RDMA_WRITE] = HNS_OP_WRITE,
		[IBV_WC_RDMA_READ] = HNS_OP_READ,      [IBV_WC_COMP_SWAP] = HNS_OP_CMP_SWAP,
		[IBV_WC_FETCH_ADD] = HNS_OP_FETCH_ADD,
	};

	if (!model_on())
		return c->note;
	return !c->wc->status && c->wc->opcode < sizeof(of) ? of[c->wc->opcode] : HNS_OP_SEND;
}

static uint32_t received_opcode(const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return RECV_WRITE_IMM;
	if (wc->wc_flags & IBV_WC_WITH_INV)
		return RECV_SEND_INV;
	return wc->wc_flags & IBV_WC_WITH_IMM ? RECV_SEND_IMM : RECV_SEND;
}

static void complete_receive(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	const struct queue *rq = c->srq ? &c->srq->rq : &c->qp->rq;
	bool xrc = c->srq && c->srq->xrcd;
	uint32_t cqe[CQE_WORDS] = {
		htole32(received_opcode(wc) | RECEIVE | status_of(wc->status) << 8 |
			(uint32_t)(c->id & (rq->entries - 1)) << 16),
		htole32(wc->wc_flags & IBV_WC_WITH_INV ? wc->invalidated_rkey
						       : be32toh(wc->imm_data)),
		htole32(xrc ? c->srq->number : 0),
		htole32((c->qp ? c->qp->number : wc->qp_num) | wc->vendor_err << 24),
		htole32(wc->byte_len),
		0,
		htole32(PORT_IPV4),
		htole32(wc->src_qp | (wc->sl & 7u) << 24 |
			(wc->wc_flags & IBV_WC_GRH ? 1u << 30 : 0)),
	};

	write_entry(cq, cqe);
}

void hns_complete(struct object *cq, const struct completion *c)
{
	const struct ibv_wc *wc = c->wc;
	uint32_t cqe[CQE_WORDS] = { 0 };

	if (c->receive) {
		complete_receive(cq, c);
		return;
	}
	cqe[0] = htole32(sent_opcode(c) | status_of(wc->status) << 8 |
			 (uint32_t)(c->id & (c->qp->sq.entries - 1)) << 16);
	cqe[3] = htole32(c->qp->number | wc->vendor_err << 24);
	cqe[4] = htole32(wc->byte_len);
	write_entry(cq, cqe);
}
