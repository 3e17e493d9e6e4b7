/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/efa/cqe.h"

bool efa_cq_find(struct efa_cq *cq, uint32_t qpn)
{
	struct efa_qp *qp = idtable_find_own(&to_ectx(cq->vcq.cq.context)->qps, qpn, cq);

	if (!qp)
		return false;
	cq->last_wqs[CQE_QUEUE_SEND] = qp->send_cq == cq ? &qp->sq.wq : NULL;
	cq->last_wqs[CQE_QUEUE_RECEIVE] = qp->recv_cq == cq ? &qp->rq.wq : NULL;
	cq->last_qpn = qpn;
	return true;
}

enum ibv_wc_status efa_status(uint8_t status)
{
	static const uint8_t statuses[] = {
		[1] = IBV_WC_WR_FLUSH_ERR,
		[2] = IBV_WC_LOC_QP_OP_ERR, /* an error of the device */
		[3] = IBV_WC_LOC_QP_OP_ERR, /* an operation that the device does not support */
		[4] = IBV_WC_LOC_QP_OP_ERR, /* the address handle */
		[5] = IBV_WC_LOC_PROT_ERR,  /* the local key */
		[6] = IBV_WC_LOC_LEN_ERR,
		[7] = IBV_WC_REM_ACCESS_ERR, /* the remote address */
		[8] = IBV_WC_REM_ABORT_ERR,
		[9] = IBV_WC_REM_INV_RD_REQ_ERR, /* the remote QPN */
		[10] = IBV_WC_RNR_RETRY_EXC_ERR,
		[11] = IBV_WC_REM_INV_REQ_ERR, /* longer than the receive */
		[12] = IBV_WC_BAD_RESP_ERR,
		[13] = IBV_WC_RESP_TIMEOUT_ERR, /* no answer */
		[14] = IBV_WC_REM_OP_ERR,	/* the peer does not know this queue pair */
		[15] = IBV_WC_RESP_TIMEOUT_ERR, /* unreachable */
		[18] = IBV_WC_REM_INV_REQ_ERR,	/* the peer lacks a required feature */
	};

	if (status < ARRAY_SIZE(statuses) && statuses[status])
		return statuses[status];
	return IBV_WC_GENERAL_ERR;
}

__attribute__((noinline, cold)) void efa_cqe_say_corrupt(const struct efa_cq *cq, uint32_t low,
							 uint32_t high)
{
	verbs_err(cq->vcq.cq.context,
		  "cq %u: an entry that makes no sense: qp 0x%x, request 0x%x, flags 0x%x",
		  cq->vcq.cq.handle, high & 0xffff, low & 0xffff, low >> 24);
}

FLAT void wc_read(const struct efa_cq *cq, const struct efa_cqe *cqe, struct ibv_wc *wc)
{
	wc->status = IBV_WC_SUCCESS;
	wc->vendor_err = 0;
	if (unlikely(cqe->low & CQE_STATUS_MASK)) {
		wc->status = cqe_status(cqe);
		wc->vendor_err = cqe->low >> CQE_STATUS_SHIFT & 0xff;
	}
	wc->opcode = cqe_opcode(cqe);
	wc->qp_num = cqe->high & 0xffff;
	wc->wc_flags = 0;
	if ((cqe->low & CQE_QUEUE_MASK) == CQE_SEND)
		return;
	wc->byte_len = cqe_length(cq, cqe);
	wc->src_qp = cqe_src_qpn(cqe);
	wc->slid = cqe_src_ah(cqe);
	wc->sl = 0;
	if (cqe->low & CQE_HAS_IMM) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = cqe_imm(cqe);
	}
}

/* Report the polled entries to the device and release the lock. The next poll begins at @sub. */
FLAT int poll_end(struct efa_cq *cq, struct efa_sub_cq *sub, int taken)
{
	cq->next = sub;
	cq_ring(cq, 0);
	spinlock_unlock(&cq->lock);
	return taken;
}

/*
 * Poll the remaining @left of @num_entries entries, beginning with the entry in @sub. The caller
 * holds the lock, and this function releases it. Entries before an invalid entry are returned, and
 * the next poll finds the invalid entry again. A part is emptied before the next part is polled.
 * Skip entries of destroyed queue pairs, but at most as many as a part holds, because a faulty
 * device may write such entries without end.
 */
__attribute__((noinline)) static int poll_rest(struct efa_cq *cq, int num_entries,
					       struct ibv_wc *wc, struct efa_sub_cq *sub,
					       uint32_t low, int left)
{
	struct efa_sub_cq *next;
	int gone = 0;

	for (;;) {
		enum efa_taken taken;
		struct efa_cqe cqe;

		sub_take(cq, sub, low, &cqe);
		cq->consumed++;
		taken = cqe_done(cq, &cqe, &wc->wr_id);
		if (likely(taken == EFA_TAKEN)) {
			wc_read(cq, &cqe, wc);
			verbs_data_wc(&cq->vcq.cq, wc);
			wc++;
			if (!--left)
				break;
		} else if (taken == EFA_TAKEN_CORRUPT) {
			if (left != num_entries) {
				sub_give_back(cq, sub, &cqe);
				return poll_end(cq, sub, num_entries - left);
			}
			efa_cqe_say_corrupt(cq, cqe.low, cqe.high);
			left = num_entries + EINVAL;
			break;
		} else if (++gone >= cq->vcq.cq.cqe) {
			break;
		}
		next = sub_next(sub, &low);
		if (!next)
			break;
		sub = next;
	}
	return poll_end(cq, sub->next, num_entries - left);
}

/* Bits of an entry that is not plain. They send a completion to the slow path. */
#define CQE_NOT_PLAIN (CQE_STATUS_MASK | CQE_OP_MASK | CQE_HAS_IMM | CQE_UNSOLICITED)

/* Fill in @wc from a plain entry. */
FLAT void wc_read_plain(const char *at, uint32_t low, uint32_t high, struct ibv_wc *wc)
{
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = IBV_WC_SEND;
	wc->vendor_err = 0;
	wc->qp_num = high & 0xffff;
	wc->wc_flags = 0;
	if (!(low & CQE_SEND)) {
		uint32_t sender = cqe_load(at + 8);

		wc->opcode = IBV_WC_RECV;
		wc->byte_len = high >> CQE_LENGTH_SHIFT;
		wc->src_qp = sender >> CQE_SRC_QPN_SHIFT;
		wc->slid = sender;
		wc->sl = 0;
	}
}

/* Take the entry if it is plain: successful, of the last queue pair, and without other features.
 * Return: whether it was taken. If not, the contents of @wc are not valid. */
FLAT bool take_plain(struct efa_cq *cq, struct efa_sub_cq *sub, uint32_t low, struct ibv_wc *wc)
{
	uint32_t high, index, left;
	struct efa_wq *wq;

	/* The rest of the entry was written before its first word. */
	barrier_from_device();
	high = cqe_load(sub->at + 4);
	if (unlikely(low & CQE_NOT_PLAIN) || unlikely((high & 0xffff) != cq->last_qpn))
		return false;
	wc_read_plain(sub->at, low, high, wc);
	wq = cq_last_wq(cq, low);
	if (unlikely(!wq))
		return false;
	index = (uint16_t)(low ^ wq->generation);
	if (unlikely(index > wq->id_mask) || unlikely(!spinlock_try(&wq->lock)))
		return false;
	left = wq->used - 1;
	if (unlikely(left == UINT32_MAX)) {
		spinlock_unlock(&wq->lock);
		return false;
	}
	wc->wr_id = wq->wr_ids[index];
	wq->ids[left] = index;
	wq->used = left;
	spinlock_unlock(&wq->lock);
	cq->consumed++;
	sub_advance(cq, sub, sub->at);
	return true;
}

/* Poll from the beginning. Plain entries need no function call. poll_rest() polls from the first
 * other entry on. The caller holds the lock, and this function releases it. */
__attribute__((noinline)) static int poll_found(struct efa_cq *cq, int num_entries,
						struct ibv_wc *wc, struct efa_sub_cq *sub,
						uint32_t low)
{
	struct efa_sub_cq *next;
	int left = num_entries;

	for (;;) {
		if (unlikely(!take_plain(cq, sub, low, wc)))
			return poll_rest(cq, num_entries, wc, sub, low, left);
		wc++;
		if (!--left)
			break;
		next = sub_next(sub, &low);
		if (!next)
			break;
		sub = next;
	}
	return poll_end(cq, sub->next, num_entries - left);
}

/* Poll. The caller holds the lock, and this function releases it. */
FLAT int poll_locked(struct efa_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct efa_sub_cq *sub;
	uint32_t low;

	sub = sub_find(cq->next, &low);
	if (sub && likely(num_entries > 0))
		return poll_found(cq, num_entries, wc, sub, low);
	spinlock_unlock(&cq->lock);
	return 0;
}

__attribute__((noinline, cold)) static int poll_contended(struct efa_cq *cq, int num_entries,
							  struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int efa_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct efa_cq *cq = to_ecq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_contended(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
