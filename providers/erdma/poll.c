/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Most completions are plain: successful, and of the same queue pair as the
 * completion before. Their loop makes no function call. poll_rest() polls the first completion
 * that is not plain, and all completions after it.
 */
#include "providers/erdma/wqe.h"

#define FLAT __attribute__((always_inline)) static inline

/* Bytes of an ibv_wc from pkey_index to the end. */
#define WC_ADDRESS_BYTES (sizeof(struct ibv_wc) - offsetof(struct ibv_wc, pkey_index))

/* The verbs opcode and the flags of each opcode of the device. */
struct cqe_op {
	uint8_t opcode, flags; /* IBV_WC_ */
};

static const struct cqe_op cqe_ops[CQE_OPS] = {
	[OP_WRITE] = { IBV_WC_RDMA_WRITE, 0 },
	[OP_READ] = { IBV_WC_RDMA_READ, 0 },
	[OP_SEND] = { IBV_WC_SEND, 0 },
	[OP_RECV] = { IBV_WC_RECV, 0 },
	[OP_RECV_WRITE_IMM] = { IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM },
	[OP_RECV_INV] = { IBV_WC_RECV, IBV_WC_WITH_INV },
	[OP_WRITE_IMM] = { IBV_WC_RDMA_WRITE, 0 },
	[OP_LOCAL_INV] = { IBV_WC_LOCAL_INV, 0 },
	[OP_RECV_SEND_IMM] = { IBV_WC_RECV, IBV_WC_WITH_IMM },
	[OP_READ_INV] = { IBV_WC_RDMA_READ, 0 },
	[OP_CMP_SWAP] = { IBV_WC_COMP_SWAP, 0 },
	[OP_FETCH_ADD] = { IBV_WC_FETCH_ADD, 0 },
};

/* The causes of a failed request; other numbers have the meaning of number 1. */
static const struct {
	uint8_t status, vendor_err;
} syndromes[] = {
	[0] = { IBV_WC_SUCCESS, 0 },
	[1] = { IBV_WC_GENERAL_ERR, 0 },
	[2] = { IBV_WC_GENERAL_ERR, 1 },    /* format of a receive */
	[3] = { IBV_WC_REM_ACCESS_ERR, 2 }, /* receive: key, address, right, domain, end */
	[4] = { IBV_WC_REM_ACCESS_ERR, 3 },
	[5] = { IBV_WC_REM_ACCESS_ERR, 4 },
	[6] = { IBV_WC_REM_ACCESS_ERR, 5 },
	[7] = { IBV_WC_REM_ACCESS_ERR, 6 },
	[8] = { IBV_WC_LOC_QP_OP_ERR, 0x20 },	/* format of a send */
	[9] = { IBV_WC_GENERAL_ERR, 0x21 },	/* too many outstanding reads */
	[10] = { IBV_WC_LOC_ACCESS_ERR, 0x30 }, /* send: key, address, right, domain, end */
	[11] = { IBV_WC_LOC_ACCESS_ERR, 0x31 },
	[12] = { IBV_WC_LOC_ACCESS_ERR, 0x32 },
	[13] = { IBV_WC_LOC_ACCESS_ERR, 0x33 },
	[14] = { IBV_WC_LOC_ACCESS_ERR, 0x34 },
	[15] = { IBV_WC_WR_FLUSH_ERR, 0 },
	[16] = { IBV_WC_RETRY_EXC_ERR, 0 },
};

/*
 * Retire a send and the sends before it. Return: whether the index belongs to a request that waits
 * for its completion.
 */
FLAT bool sent_take(struct erdma_sq *sq, uint32_t index, struct ibv_wc *wc)
{
	uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	const struct erdma_sent *sent = &sq->sent[index & sq->mask];

	if (unlikely((uint16_t)(sent->end - tail - 1) > sq->mask))
		return false;
	wc->wr_id = sent->wr_id;
	/* release: @sent is read before a new request replaces it */
	atomic_store_explicit(&sq->tail, sent->end, memory_order_release);
	return true;
}

FLAT void received_take(struct erdma_rq *rq, uint32_t index, struct ibv_wc *wc)
{
	uint16_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

	wc->wr_id = rq->ring.wr_ids[index & rq->ring.mask];
	/* release: the number is read before a new receive replaces it */
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
}

/*
 * Fill in @wc, except for its status, from an entry of @qp whose first word is @head. Return:
 * whether the entry completes a request.
 */
FLAT bool wc_read(struct erdma_qp *qp, const struct erdma_cqe *cqe, uint32_t head,
		  struct ibv_wc *wc)
{
	uint32_t opcode = head >> CQE_OPCODE_SHIFT & 0x7f, index = be32toh(cqe->index);

	if (unlikely(opcode >= CQE_OPS))
		return false;
	if (head & 1u << CQE_RECV_SHIFT)
		received_take(&qp->rq, index, wc);
	else if (unlikely(!sent_take(&qp->sq, index, wc)))
		return false;
	wc->opcode = (enum ibv_wc_opcode)cqe_ops[opcode].opcode;
	wc->wc_flags = cqe_ops[opcode].flags;
	/* The key that a sender invalidated is big-endian, immediate data are not. */
	if (unlikely(opcode == OP_RECV_INV))
		wc->invalidated_rkey = be32toh((__be32)cqe->imm);
	else
		wc->imm_data = htobe32(le32toh(cqe->imm));
	wc->byte_len = be32toh(cqe->length);
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->src_qp = 0;
	memset(&wc->pkey_index, 0, WC_ADDRESS_BYTES);
	return true;
}

/* Find the queue pair of an entry among the queue pairs that complete here. */
static bool qp_find(struct erdma_cq *cq, uint32_t raw)
{
	uint32_t number = be32toh(raw);

	cq->last = number <= IDTABLE_MASK
			   ? idtable_find_own(&to_ectx(cq->vcq.cq.context)->qps, number, cq)
			   : NULL;
	cq->last_qpn = cq->last ? raw : ERDMA_QPN_NONE;
	return cq->last;
}

/* Read an entry of any kind. Return: whether it completes a request. */
static bool take(struct erdma_cq *cq, const struct erdma_cqe *cqe, uint32_t head, struct ibv_wc *wc)
{
	uint32_t syndrome = head & CQE_SYNDROME_MASK;
	uint32_t raw = ((const volatile struct erdma_cqe *)cqe)->qpn;

	/* A queue with a higher number belongs to the kernel. */
	if ((head >> CQE_RECV_SHIFT & 0xff) > 1)
		return false;
	if (raw != cq->last_qpn && !qp_find(cq, raw))
		return false;
	if (!wc_read(cq->last, cqe, head, wc))
		return false;
	if (syndrome >= ARRAY_SIZE(syndromes))
		syndrome = 1;
	wc->status = (enum ibv_wc_status)syndromes[syndrome].status;
	wc->vendor_err = syndromes[syndrome].vendor_err;
	verbs_data_wc(&cq->vcq.cq, wc);
	return true;
}

/*
 * Poll the remaining @left of @num_entries entries. The caller holds the lock, and this function
 * releases it. Skip entries that complete no request, at most as many as the ring has.
 */
__attribute__((noinline)) static int poll_rest(struct erdma_cq *cq, int num_entries,
					       struct ibv_wc *wc, int left)
{
	uint32_t head, skips = cq->end - cq->ring;

	while (left && skips && erdma_cqe_look(cq->next, cq->phase, &head)) {
		const struct erdma_cqe *cqe = cq->next;

		barrier_from_device();
		cq->counter++;
		erdma_cqe_step(cq, &cq->next, &cq->phase);
		if (unlikely(!take(cq, cqe, head, wc))) {
			skips--;
			continue;
		}
		wc++;
		left--;
	}
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

/* Poll a ring whose next entry begins with @head. The caller holds the lock, and this function
 * releases it. It is not inline, so that a poll of an empty ring saves no registers. */
__attribute__((noinline)) static int poll_found(struct erdma_cq *cq, int num_entries,
						struct ibv_wc *wc, uint32_t head)
{
	const struct erdma_cqe *cqe = cq->next;
	uint32_t phase = cq->phase;
	int left = num_entries;

	do {
		barrier_from_device();
		/* Bits of the syndrome and of an unknown kind of queue. */
		if (unlikely(head & 0xfeff) || unlikely(cqe->qpn != cq->last_qpn) ||
		    unlikely(!wc_read(cq->last, cqe, head, wc)))
			break;
		wc->status = IBV_WC_SUCCESS;
		wc->vendor_err = 0;
		wc++;
		erdma_cqe_step(cq, &cqe, &phase);
	} while (--left && erdma_cqe_look(cqe, phase, &head));
	cq->next = cqe;
	cq->phase = phase;
	cq->counter += num_entries - left;
	if (unlikely(left) && erdma_cqe_look(cqe, phase, &head))
		return poll_rest(cq, num_entries, wc, left);
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

static inline int poll_locked(struct erdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t head;

	if (likely(num_entries > 0) && erdma_cqe_look(cq->next, cq->phase, &head))
		return poll_found(cq, num_entries, wc, head);
	spinlock_unlock(&cq->lock);
	return 0;
}

__attribute__((noinline)) static int poll_waited(struct erdma_cq *cq, int num_entries,
						 struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int erdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct erdma_cq *cq = to_ecq(ibcq);

	/* The wait is in another function, so that a poll without contention saves no registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
