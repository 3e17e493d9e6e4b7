/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions: taking an entry, its queue pair, and the request that it frees. ibv_poll_cq() and
 * the extended poll use them. */
#ifndef EFA_CQE_H
#define EFA_CQE_H

#include <endian.h>
#include <string.h>

#include "providers/efa/efa.h"

/*
 * The first word of an entry has the id of the request (16 bits), its status (8) and flags (8), and
 * in its upper half the QPN (16) and the length of a receive (16). The second word has the address
 * handle of the sender (16), its QPN (16) and the immediate data (32). Large entries also have the
 * GID of the sender, or the upper half of the length of an RDMA write.
 */
enum {
	CQE_STATUS_SHIFT = 16,
	CQE_QUEUE_SHIFT = 25,
	CQE_QUEUE_SEND = 1,
	CQE_QUEUE_RECEIVE = 2,
	CQE_LENGTH_SHIFT = 16,
	CQE_SRC_QPN_SHIFT = 16,
	CQE_IMM_SHIFT = 32,
	CQE_MORE = 16, /* offset of the additional fields of large entries */
	CQE_AH_UNKNOWN = 0xffff,
};
#define CQE_STATUS_MASK (0xffu << CQE_STATUS_SHIFT)
#define CQE_PHASE	(1u << 24)
#define CQE_SEND	(CQE_QUEUE_SEND << CQE_QUEUE_SHIFT)
#define CQE_QUEUE_MASK	(3u << CQE_QUEUE_SHIFT)
#define CQE_HAS_IMM	(1u << 27)
#define CQE_OP_WRITE	(2u << 28)
#define CQE_OP_MASK	(7u << 28)
#define CQE_UNSOLICITED (1u << 31)

enum efa_taken {
	EFA_TAKEN,
	EFA_TAKEN_GONE,	   /* its queue pair is destroyed or reset: ignore it */
	EFA_TAKEN_CORRUPT, /* invalid entry */
};

enum ibv_wc_status efa_status(uint8_t status);
/* Make the queue pair with the number the last one. Return: whether it exists and uses this queue.
 */
bool efa_cq_find(struct efa_cq *cq, uint32_t qpn);
/* Log an invalid entry. @low, @high: the halves of its first word */
void efa_cqe_say_corrupt(const struct efa_cq *cq, uint32_t low, uint32_t high);

FLAT uint32_t cqe_load(const char *at)
{
	return le32toh(*(const volatile uint32_t *)at);
}

/* Return whether this part has an entry. *ret_low: its first word */
FLAT bool sub_has(const struct efa_sub_cq *sub, uint32_t *ret_low)
{
	*ret_low = cqe_load(sub->at);
	return !((*ret_low ^ sub->phase) & CQE_PHASE);
}

/* Return the part with the next entry, from @first on; NULL: all are empty. */
FLAT struct efa_sub_cq *sub_find(struct efa_sub_cq *first, uint32_t *ret_low)
{
	struct efa_sub_cq *sub = first;

	do {
		if (sub_has(sub, ret_low))
			return sub;
		sub = sub->next;
	} while (sub != first);
	return NULL;
}

/* Return @sub if it has an entry, else the next part with an entry; NULL: all are empty. */
FLAT struct efa_sub_cq *sub_next(struct efa_sub_cq *sub, uint32_t *ret_low)
{
	if (likely(sub_has(sub, ret_low)))
		return sub;
	for (struct efa_sub_cq *other = sub->next; other != sub; other = other->next)
		if (sub_has(other, ret_low))
			return other;
	return NULL;
}

/* Advance behind the entry at @at. */
FLAT void sub_advance(const struct efa_cq *cq, struct efa_sub_cq *sub, const char *at)
{
	at += cq->stride;
	sub->at = at;
	if (unlikely(at == sub->end)) {
		sub->at = sub->ring;
		sub->phase ^= CQE_PHASE;
	}
}

/* Take the entry that sub_has() found. */
FLAT void sub_take(const struct efa_cq *cq, struct efa_sub_cq *sub, uint32_t low,
		   struct efa_cqe *cqe)
{
	/* The rest of the entry was written before its first word. */
	barrier_from_device();
	cqe->low = low;
	cqe->high = cqe_load(sub->at + 4);
	cqe->tail = le64toh(*(const volatile uint64_t *)(sub->at + 8));
	cqe->at = sub->at;
	sub_advance(cq, sub, sub->at);
}

/* Undo the last sub_take(). */
FLAT void sub_give_back(struct efa_cq *cq, struct efa_sub_cq *sub, const struct efa_cqe *cqe)
{
	sub->at = cqe->at;
	sub->phase = cqe->low & CQE_PHASE;
	cq->consumed--;
}

/* Complete a request: return its wr_id and free its id. */
FLAT enum efa_taken wq_done(struct efa_wq *wq, uint16_t id, uint64_t *ret_wr_id)
{
	/* For ids of other generations the result exceeds id_mask. */
	uint16_t index = id ^ wq->generation;
	uint32_t left;

	if (unlikely(index > wq->id_mask))
		return EFA_TAKEN_GONE;
	spinlock_lock(&wq->lock);
	left = wq->used - 1;
	if (likely(wq->used)) {
		*ret_wr_id = wq->wr_ids[index];
		wq->ids[left] = index;
		wq->used = left;
	}
	spinlock_unlock(&wq->lock);
	return likely(left != UINT32_MAX) ? EFA_TAKEN : EFA_TAKEN_CORRUPT;
}

/* Return the queue of the last queue pair that an entry belongs to; NULL: the queue does not use
 * this completion queue. */
FLAT struct efa_wq *cq_last_wq(const struct efa_cq *cq, uint32_t low)
{
	return cq->last_wqs[low >> CQE_QUEUE_SHIFT & (EFA_CQE_QUEUES - 1)];
}

FLAT enum efa_taken cqe_done(struct efa_cq *cq, const struct efa_cqe *cqe, uint64_t *ret_wr_id)
{
	uint32_t qpn = cqe->high & 0xffff;
	struct efa_wq *wq;

	if (unlikely(cq->last_qpn != qpn) && !efa_cq_find(cq, qpn))
		return EFA_TAKEN_GONE;
	wq = cq_last_wq(cq, cqe->low);
	if (unlikely(!wq))
		return EFA_TAKEN_CORRUPT;
	/* Unsolicited: the program has posted no receive for it. */
	if (unlikely(cqe->low & CQE_UNSOLICITED) && !(cqe->low & CQE_SEND)) {
		*ret_wr_id = 0;
		return EFA_TAKEN;
	}
	return wq_done(wq, cqe->low, ret_wr_id);
}

/* Report the number of polled entries to the device. */
FLAT void cq_ring(struct efa_cq *cq, uint32_t flags)
{
	mmio_write_32(cq->doorbell, htole32((cq->consumed & 0xffff) | flags | cq->events));
}

FLAT enum ibv_wc_status cqe_status(const struct efa_cqe *cqe)
{
	uint8_t status = cqe->low >> CQE_STATUS_SHIFT;

	return likely(!status) ? IBV_WC_SUCCESS : efa_status(status);
}

FLAT bool cqe_is_write(const struct efa_cqe *cqe)
{
	return (cqe->low & CQE_OP_MASK) == CQE_OP_WRITE;
}

/* Return the opcode as other releases of this provider report it: an RDMA read is a send, too. */
FLAT enum ibv_wc_opcode cqe_opcode(const struct efa_cqe *cqe)
{
	if ((cqe->low & CQE_QUEUE_MASK) == CQE_SEND)
		return cqe_is_write(cqe) ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
	return cqe_is_write(cqe) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

FLAT uint32_t cqe_length(const struct efa_cq *cq, const struct efa_cqe *cqe)
{
	uint32_t length = cqe->high >> CQE_LENGTH_SHIFT;

	if (unlikely(cqe_is_write(cqe) && cq->stride == EFA_CQE_LARGE))
		length |= cqe_load(cqe->at + CQE_MORE) << 16;
	return length;
}

FLAT unsigned int cqe_wc_flags(const struct efa_cqe *cqe)
{
	return cqe->low & CQE_HAS_IMM ? IBV_WC_WITH_IMM : 0;
}

FLAT __be32 cqe_imm(const struct efa_cqe *cqe)
{
	return htobe32(cqe->tail >> CQE_IMM_SHIFT);
}

FLAT uint32_t cqe_src_qpn(const struct efa_cqe *cqe)
{
	return cqe->tail >> CQE_SRC_QPN_SHIFT & 0xffff;
}

FLAT uint16_t cqe_src_ah(const struct efa_cqe *cqe)
{
	return cqe->tail & 0xffff;
}

#endif
