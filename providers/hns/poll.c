/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_poll_cq(). Most completions are plain: successful, of a send or a receive of a connection,
 * and of the same queue pair as the completion before. Their loop makes no function call. */
#include "providers/hns/wqe.h"

/* The bits of the status. They are 0 in a plain completion. */
#define CQE_STATUS (CQE_STATUS_MASK << CQE_STATUS_SHIFT)

enum {
	STATUS_FLUSHED = 0x05,
	STATUS_GENERAL = 0x23,
};

static const uint8_t statuses[] = {
	[0x00] = IBV_WC_SUCCESS,
	[0x01] = IBV_WC_LOC_LEN_ERR,
	[0x02] = IBV_WC_LOC_QP_OP_ERR,
	[0x04] = IBV_WC_LOC_PROT_ERR,
	[STATUS_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
	[0x06] = IBV_WC_MW_BIND_ERR,
	[0x10] = IBV_WC_BAD_RESP_ERR,
	[0x11] = IBV_WC_LOC_ACCESS_ERR,
	[0x12] = IBV_WC_REM_INV_REQ_ERR,
	[0x13] = IBV_WC_REM_ACCESS_ERR,
	[0x14] = IBV_WC_REM_OP_ERR,
	[0x15] = IBV_WC_RETRY_EXC_ERR,
	[0x16] = IBV_WC_RNR_RETRY_EXC_ERR,
	[0x22] = IBV_WC_REM_ABORT_ERR,
	[STATUS_GENERAL] = IBV_WC_GENERAL_ERR,
	[0x24] = IBV_WC_REM_INV_RD_REQ_ERR,
};

static enum ibv_wc_status status_of(uint32_t status)
{
	return status < ARRAY_SIZE(statuses) && (statuses[status] || !status)
		       ? (enum ibv_wc_status)statuses[status]
		       : IBV_WC_GENERAL_ERR;
}

/* Members of the completion of a successful send, by opcode. An unknown opcode counts as a send. */
static const struct {
	uint32_t status, opcode; /* in the order of an ibv_wc */
	uint32_t flags;
	uint32_t unused; /* makes the size of an element a power of 2 */
} sent[CQE_OPCODE_MASK + 1] = {
	[OP_SEND_IMM] = { .flags = IBV_WC_WITH_IMM },
	[OP_WRITE] = { .opcode = IBV_WC_RDMA_WRITE },
	[OP_WRITE_IMM] = { .opcode = IBV_WC_RDMA_WRITE, .flags = IBV_WC_WITH_IMM },
	[OP_READ] = { .opcode = IBV_WC_RDMA_READ },
	[OP_CMP_SWAP] = { .opcode = IBV_WC_COMP_SWAP },
	[OP_FETCH_ADD] = { .opcode = IBV_WC_FETCH_ADD },
};

/* Complete this send and all before it. Return: its wr_id. */
FLAT uint64_t sent_take(struct hns_sq *sq, uint32_t first)
{
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	uint64_t wr_id;

	tail += ((first >> CQE_INDEX_SHIFT) - tail) & sq->index_mask;
	wr_id = sq->wr_ids[tail & sq->mask];
	/* release: pairs with the acquire of a post, which replaces the request */
	atomic_store_explicit(&sq->tail, tail + 1, memory_order_release);
	return wr_id;
}

FLAT uint64_t received_take(struct hns_rq *rq)
{
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint64_t wr_id = rq->wr_ids[tail & rq->mask];

	/* release: as in sent_take() */
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
	return wr_id;
}

/* Fill in the members of a successful send. */
FLAT void sent_fill(struct ibv_wc *wc, const char *cqe, uint32_t first)
{
	uint32_t opcode = first & CQE_OPCODE_MASK;

	_Static_assert(offsetof(struct ibv_wc, opcode) == offsetof(struct ibv_wc, status) + 4,
		       "both are copied at once");
	memcpy(&wc->status, &sent[opcode], 8);
	wc->byte_len = get_32(cqe + CQE_AT_LENGTH);
	wc->wc_flags = sent[opcode].flags;
}

FLAT void received_fill(struct ibv_wc *wc, const char *cqe, uint32_t first)
{
	uint32_t opcode = first & CQE_OPCODE_MASK;

	wc->status = IBV_WC_SUCCESS;
	wc->opcode = IBV_WC_RECV;
	wc->byte_len = get_32(cqe + CQE_AT_LENGTH);
	wc->wc_flags = 0;
	if (likely(opcode == RECV_SEND))
		return;
	if (opcode == RECV_SEND_INV) {
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = get_32(cqe + CQE_AT_KEY);
		return;
	}
	wc->wc_flags = IBV_WC_WITH_IMM;
	wc->imm_data = htobe32(get_32(cqe + CQE_AT_KEY));
	if (opcode == RECV_WRITE_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
}

/* Fill in the members that only datagrams have. */
static void datagram_fill(struct ibv_wc *wc, const char *cqe)
{
	uint32_t peer = get_32(cqe + CQE_AT_PEER);

	wc->src_qp = peer & HNS_NUMBER_MASK;
	wc->sl = peer >> CQE_SL_SHIFT & CQE_SL_MASK;
	wc->slid = 0;
	wc->pkey_index = 0;
	wc->dlid_path_bits = 0;
	if (peer & CQE_GRH)
		wc->wc_flags |= IBV_WC_GRH;
}

/* ---- entries of any kind. The caller holds the lock. */

/* Find the queue pair with this number among those that complete here. */
static struct hns_qp *qp_find(struct hns_cq *cq, uint32_t number)
{
	struct hns_qp *qp = idtable_find_own(&to_hctx(cq->kit.vcq.cq.context)->qps, number, cq);

	cq->last = qp;
	cq->last_number = qp ? number : HNS_NO_NUMBER;
	return qp;
}

/* Find the request of an entry. *@ret_qp: its queue pair, or NULL. NULL can be valid for an XRC
 * receive, because its queue pair may belong to another process. Return: whether a request was
 * found. */
static bool request_take(struct hns_cq *cq, const char *cqe, uint32_t first, uint64_t *ret_wr_id,
			 struct hns_qp **ret_qp)
{
	struct hns_qp *qp = qp_find(cq, get_32(cqe + CQE_AT_QP) & HNS_NUMBER_MASK);
	struct hns_srq *srq;

	*ret_qp = qp;
	if (qp && !(first & CQE_RECEIVE)) {
		*ret_wr_id = sent_take(&qp->sq, first);
		return true;
	}
	if (qp && !qp->srq && qp->rq.max_post) {
		*ret_wr_id = received_take(&qp->rq);
		return true;
	}
	srq = qp ? qp->srq
		 : idtable_find_own(&to_hctx(cq->kit.vcq.cq.context)->xrc_srqs,
				    get_32(cqe + CQE_AT_SRQ) & HNS_NUMBER_MASK, cq);
	return srq && first & CQE_RECEIVE && hns_srq_take(srq, first >> CQE_INDEX_SHIFT, ret_wr_id);
}

/* Poll an entry whose first word is @first. Return: whether it completes a request. */
SEPARATE static bool entry_poll(struct hns_cq *cq, const char *cqe, uint32_t first,
				struct ibv_wc *wc)
{
	uint32_t status = first >> CQE_STATUS_SHIFT & CQE_STATUS_MASK, third;
	struct hns_qp *qp;

	if (!request_take(cq, cqe, first, &wc->wr_id, &qp))
		return false;
	third = get_32(cqe + CQE_AT_QP);
	wc->qp_num = third & HNS_NUMBER_MASK;
	wc->vendor_err = third >> CQE_VENDOR_SHIFT;
	if (first & CQE_RECEIVE)
		received_fill(wc, cqe, first);
	else
		sent_fill(wc, cqe, first);
	wc->status = status_of(status);
	if (first & CQE_RECEIVE && qp && qp->sq.datagrams)
		datagram_fill(wc, cqe);
	/* After a failure the kernel completes the other requests of the queue pair. */
	if (status && status != STATUS_FLUSHED && status != STATUS_GENERAL && qp)
		hns_qp_fail(qp);
	verbs_data_wc(&cq->kit.vcq.cq, wc);
	return true;
}

/* ---- polling */

/* Fill in a plain entry of @qp. @first and @third: its words. Return: whether the entry is plain.
 */
FLAT bool plain_fill(struct hns_qp *qp, const char *cqe, uint32_t first, uint32_t third,
		     struct ibv_wc *wc)
{
	if (!(first & CQE_RECEIVE)) {
		wc->wr_id = sent_take(&qp->sq, first);
		sent_fill(wc, cqe, first);
	} else {
		if (unlikely(!qp->rq.completes))
			return false;
		wc->wr_id = received_take(&qp->rq);
		received_fill(wc, cqe, first);
	}
	wc->vendor_err = third >> CQE_VENDOR_SHIFT;
	wc->qp_num = third & HNS_NUMBER_MASK;
	return true;
}

/* Poll a queue whose next entry is valid and has the word @first. The caller holds the lock, and
 * this function releases it. Skip entries without completions, but at most as many as the ring has.
 */
SEPARATE static int poll_found(struct hns_cq *cq, int num_entries, struct ibv_wc *wc,
			       const char *cqe, uint32_t first)
{
	uint32_t stale = ~first & CQE_OWNER, skips = cq->count;
	int left = num_entries;

	do {
		uint32_t third;

		/* The rest of the entry was written before its first word. */
		barrier_from_device();
		third = get_32(cqe + CQE_AT_QP);
		cq->consumer++;
		if ((likely((third & HNS_NUMBER_MASK) == cq->last_number) &&
		     likely(!(first & CQE_STATUS)) &&
		     likely(plain_fill(cq->last, cqe, first, third, wc))) ||
		    entry_poll(cq, cqe, first, wc)) {
			wc++;
			if (!--left)
				break;
		} else if (!--skips) {
			break;
		}
		cqe += cq->size;
		if (unlikely(!(cq->consumer & cq->mask))) {
			cqe = cq->ring;
			stale ^= CQE_OWNER;
		}
		first = get_32(cqe);
	} while ((first & CQE_OWNER) != stale);
	hns_cq_publish(cq);
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

bool hns_poll_one(struct hns_cq *cq, struct ibv_wc *wc)
{
	for (uint32_t skips = cq->count; skips; skips--) {
		const char *cqe = cqe_at(cq, cq->consumer);
		uint32_t first = get_32(cqe), vlan;

		if (!cqe_is_valid(cq, cq->consumer, first))
			return false;
		barrier_from_device();
		cq->consumer++;
		vlan = get_32(cqe + CQE_AT_VLAN);
		if (!entry_poll(cq, cqe, first, wc))
			continue;
		cq->vlan = vlan & CQE_VLAN ? vlan >> CQE_VLAN_SHIFT & CQE_VLAN_MASK : 0;
		return true;
	}
	return false;
}

/* The caller holds the lock, and this function releases it. */
FLAT int poll_locked(struct hns_cq *cq, int num_entries, struct ibv_wc *wc)
{
	const char *cqe = cqe_at(cq, cq->consumer);
	uint32_t first = get_32(cqe);

	if (cqe_is_valid(cq, cq->consumer, first) && likely(num_entries > 0))
		return poll_found(cq, num_entries, wc, cqe, first);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int poll_contended(struct hns_cq *cq, int num_entries, struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int hns_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct hns_cq *cq = to_hcq(ibcq);

	/* This waiting is a separate function, so that a poll without contention saves no
	 * registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_contended(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
