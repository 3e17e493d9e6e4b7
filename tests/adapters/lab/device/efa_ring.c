/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of efa: requests and receives are read, completions are written. All numbers are
 * little-endian. */
#include "tests/adapters/lab/device/efa_ring.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	HAS_IMM = 1 << 4,
	INLINE = 1 << 5,
	RECEIVE_LAST = 1u << 31,
};

/* A buffer: length, key, address in two halves. */
static struct ibv_sge sge_at(const uint8_t *at)
{
	return (struct ibv_sge){
		.length = bytes_le32(at),
		.lkey = bytes_le32(at + 4) & 0xffffff,
		.addr = bytes_le32(at + 8) | (uint64_t)bytes_le32(at + 12) << 32,
	};
}

static int read_buffers(const uint8_t *wqe, struct work *work)
{
	uint16_t length = bytes_le16(wqe + 6);

	if (!(wqe[2] & INLINE)) {
		if (length > 2)
			return -EINVAL;
		for (int i = 0; i < length; i++)
			work->sge[i] = sge_at(wqe + 32 + 16 * i);
		work->wr.num_sge = length;
		return 0;
	}
	if (length > 32)
		return -EINVAL;
	memcpy(work->data, wqe + 32, length);
	work->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)work->data, .length = length };
	work->wr.num_sge = 1;
	work->wr.send_flags |= IBV_SEND_INLINE;
	return 0;
}

int efa_ring_next_send(const struct object *qp, struct work *work, uint16_t *ret_ah)
{
	uint16_t index = qp->sq.consumed;
	const uint8_t *wqe;

	if (!qp->sq.base || !qp->sq.record || (uint16_t)*qp->sq.record == index)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	wqe = qp->sq.base + (size_t)(index & (qp->sq.entries - 1)) * EFA_WQE;
	work->wr = (struct ibv_send_wr){ .sg_list = work->sge, .send_flags = IBV_SEND_SIGNALED };
	work->id = bytes_le16(wqe);
	work->note = wqe[2] & 0xf;
	work->entries = 1;
	/* Each round of the ring has the other phase; a request is one descriptor. */
	if ((wqe[2] & 0xf) != EFA_OP_SEND || (wqe[3] & 1) != (qp->sq.consumed / qp->sq.entries & 1))
		return -EINVAL;
	*ret_ah = bytes_le16(wqe + 12);
	work->wr.opcode = wqe[2] & HAS_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	work->wr.imm_data = htobe32(bytes_le32(wqe + 8));
	work->wr.wr.ud.remote_qpn = bytes_le16(wqe + 4);
	work->wr.wr.ud.remote_qkey = bytes_le32(wqe + 16);
	return read_buffers(wqe, work) ?: 1;
}

int efa_ring_next_receive(struct object *qp, struct work *work)
{
	struct queue *rq = &qp->rq;
	const uint8_t *descriptor;
	uint32_t control;

	if (!rq->base || !rq->record || (uint16_t)*rq->record == (uint16_t)rq->consumed)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	work->wr.num_sge = 0;
	work->cursor = 0;
	for (work->entries = 0; work->entries < 16;) {
		descriptor =
			rq->base + (size_t)((rq->consumed + work->entries++) & (rq->entries - 1)) *
					   EFA_RECEIVE;
		control = bytes_le32(descriptor + 12);
		if (control & EFA_RECEIVE_FIRST)
			work->id = bytes_le16(descriptor + 8);
		work->sge[work->wr.num_sge++] = (struct ibv_sge){
			.addr = bytes_le32(descriptor) | (uint64_t)bytes_le32(descriptor + 4) << 32,
			.length = bytes_le16(descriptor + 10),
			.lkey = control & 0xffffff,
		};
		if (control & RECEIVE_LAST)
			return 1;
	}
	return -EINVAL;
}

static uint8_t status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_WR_FLUSH_ERR:
		return 1;
	case IBV_WC_LOC_QP_OP_ERR:
		return 2;
	case IBV_WC_LOC_PROT_ERR:
		return 5;
	case IBV_WC_LOC_LEN_ERR:
		return 6;
	case IBV_WC_REM_ACCESS_ERR:
		return 7;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return 10;
	case IBV_WC_REM_INV_REQ_ERR:
		return 11;
	case IBV_WC_RESP_TIMEOUT_ERR:
		return 13;
	default:
		return 8;
	}
}

uint8_t *efa_ring_completion(struct object *cq, const struct completion *c, uint8_t *ret_cqe)
{
	struct efa_parts *parts = cq->device;
	uint32_t part = c->receive, n = parts->produced[part]++;
	bool immediate = c->receive && c->wc->wc_flags & IBV_WC_WITH_IMM;
	uint16_t words[] = { c->qp->number, c->wc->byte_len, c->receive ? c->wc->slid : 0,
			     c->wc->src_qp };

	memset(ret_cqe, 0, EFA_CQE);
	memcpy(ret_cqe, &c->id, sizeof(c->id));
	ret_cqe[2] = status_of(c->wc->status);
	ret_cqe[3] = (~(n / cq->ring.entries) & 1) | (c->receive ? 2 : 1) << 1 | immediate << 3;
	memcpy(ret_cqe + 4, words, c->receive ? sizeof(words) : sizeof(words[0]));
	if (immediate)
		memcpy(ret_cqe + 12, &(uint32_t){ be32toh(c->wc->imm_data) }, sizeof(uint32_t));
	cq->produced++;
	return cq->ring.base +
	       ((size_t)part * cq->ring.entries + n % cq->ring.entries) * cq->ring.stride;
}

void efa_ring_write(uint8_t *at, const uint8_t *cqe, uint32_t stride)
{
	uint32_t first;

	memcpy(at + sizeof(first), cqe + sizeof(first), stride - sizeof(first));
	memcpy(&first, cqe, sizeof(first));
	__atomic_store_n((uint32_t *)at, first, __ATOMIC_RELEASE);
}

/* A register keeps the last store only, and a store that reports polling may follow a store that
 * arms at once. Both carry the number of events that the process has read. Therefore a CQ counts
 * as armed as long as no event is on its way. */
bool efa_ring_armed(struct object *cq, struct arm *ret_arm)
{
	if (!cq->ring.record || (*cq->ring.record >> 29 & 3) != (cq->events & 3) ||
	    cq->arm_seen == cq->events + 1)
		return false;
	cq->arm_seen = cq->events + 1;
	*ret_arm = (struct arm){ .consumed = cq->announced };
	return true;
}
