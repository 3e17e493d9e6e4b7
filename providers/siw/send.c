/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting sends: work request -> slot in the ring, then at most one doorbell for the list. */
#include <string.h>

#include "providers/siw/siw.h"

/*
 * The kernel's opcode of each operation, and the flags that the kernel does not support for the
 * operation. The kernel would stop at such a request for ever.
 */
struct send_op {
	bool known;
	uint8_t opcode;
	uint8_t no_flags; /* IBV_SEND_ */
};

enum {
	READ_SGE = 1, /* maximum entries of a read: the kernel would fill only the first */
};

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { true, SIW_OP_WRITE, 0 },
	[IBV_WR_RDMA_READ] = { true, SIW_OP_READ, IBV_SEND_INLINE | IBV_SEND_FENCE },
	[IBV_WR_SEND] = { true, SIW_OP_SEND, 0 },
	[IBV_WR_SEND_WITH_INV] = { true, SIW_OP_SEND_REMOTE_INV, IBV_SEND_INLINE },
};

static inline uint16_t flags_of(const struct siw_qp *qp, unsigned int send_flags)
{
	return qp->always | (send_flags & IBV_SEND_SIGNALED ? SIW_WQE_SIGNALLED : 0) |
	       (send_flags & IBV_SEND_SOLICITED ? SIW_WQE_SOLICITED : 0) |
	       (send_flags & IBV_SEND_INLINE ? SIW_WQE_INLINE : 0) |
	       (send_flags & IBV_SEND_FENCE ? SIW_WQE_READ_FENCE : 0);
}

/* Build inline data. The bytes take the place of the entries from the second on, and the first
 * entry has their number. */
static enum kit_fault build_inline(struct siw_sqe *sqe, const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)&sqe->sge[1];
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (length + sge->length > SIW_MAX_INLINE)
			return KIT_FAULT_INLINE;
		if (sge->length)
			memcpy(to + length, (const void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	sqe->sge[0].length = length;
	sqe->num_sge = 1;
	return KIT_FAULT_NONE;
}

/*
 * Build the list. Leave out entries of length 0, because the kernel looks up no region for them and
 * then reads from none. A single entry of length 0 is an empty message.
 */
static enum kit_fault build_sges(struct siw_sqe *sqe, const struct ibv_send_wr *wr)
{
	uint64_t length = 0;
	int n = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(&sqe->sge[n], &wr->sg_list[i], sizeof(sqe->sge[n]));
		length += wr->sg_list[i].length;
		n += wr->sg_list[i].length > 0;
	}
	sqe->num_sge = n || !wr->num_sge ? n : 1;
	return unlikely(length > UINT32_MAX) ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

static inline uint32_t sge_limit(const struct siw_qp *qp, const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ ? READ_SGE : qp->max_sge;
}

static enum kit_fault send_check(const struct siw_qp *qp, const struct siw_sqe *sqe,
				 const struct ibv_send_wr *wr)
{
	if (unlikely(siw_slot_taken(&sqe->flags)))
		return KIT_FAULT_FULL;
	if (unlikely((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) ||
		     !send_ops[wr->opcode].known))
		return KIT_FAULT_OPCODE;
	if (unlikely(wr->send_flags & send_ops[wr->opcode].no_flags))
		return KIT_FAULT_SEND_FLAGS;
	if (unlikely((uint32_t)wr->num_sge > sge_limit(qp, wr)))
		return KIT_FAULT_NUM_SGE;
	return unlikely(wr->num_sge && !wr->sg_list) ? KIT_FAULT_SG_LIST : KIT_FAULT_NONE;
}

static enum kit_fault send_build(struct siw_qp *qp, const struct ibv_send_wr *wr)
{
	struct siw_sqe *sqe = &qp->slots[qp->next & qp->mask];
	enum kit_fault fault = send_check(qp, sqe, wr);

	if (unlikely(fault))
		return fault;
	fault = wr->send_flags & IBV_SEND_INLINE ? build_inline(sqe, wr) : build_sges(sqe, wr);
	if (unlikely(fault))
		return fault;
	sqe->id = wr->wr_id;
	sqe->opcode = send_ops[wr->opcode].opcode;
	sqe->raddr = wr->wr.rdma.remote_addr;
	/* The field of the RDMA rkey also carries the key to invalidate. */
	sqe->rkey = wr->opcode == IBV_WR_SEND_WITH_INV ? wr->invalidate_rkey : wr->wr.rdma.rkey;
	siw_slot_give(&sqe->flags, flags_of(qp, wr->send_flags));
	qp->next++;
	return KIT_FAULT_NONE;
}

/*
 * Return whether the kernel needs a doorbell. Once started, the kernel goes from slot to slot until
 * it finds one that it does not own. Therefore it reaches the first new slot without a doorbell
 * while it still owns the slot before.
 */
static bool kernel_sleeps(const struct siw_qp *qp, uint32_t first)
{
	/* seq_cst: the new slots are visible before the slot in front of them is read */
	atomic_thread_fence(memory_order_seq_cst);
	return qp->next - first > qp->mask ||
	       !siw_slot_taken(&qp->slots[(first - 1) & qp->mask].flags);
}

/*
 * Without a connection the kernel takes no request. It also does not read the ring again when a
 * connection is made later. The kernel completes requests that it took before the connection ended.
 */
static void send_withdraw(struct siw_qp *qp, uint32_t first)
{
	while (qp->next != first) {
		struct siw_sqe *sqe = &qp->slots[(qp->next - 1) & qp->mask];

		/* acq_rel: this process takes the slot back, or the kernel has taken the request */
		if (!(atomic_exchange_explicit((_Atomic uint16_t *)&sqe->flags, 0,
					       memory_order_acq_rel) &
		      SIW_WQE_VALID))
			return;
		qp->next--;
	}
}

/*
 * Call with the lock held. Return: 0, or a positive errno if the kernel did not take all new
 * requests; @ret_posted: number of requests that it took.
 */
static int kernel_tell(struct siw_qp *qp, uint32_t first, uint32_t *ret_posted)
{
	uint32_t end = qp->next;
	int error = 0;

	if (end != first && kernel_sleeps(qp, first)) {
		error = kit_doorbell_ring(&qp->doorbell, qp->vqp.qp.context);
		if (unlikely(error))
			send_withdraw(qp, first);
	}
	*ret_posted = qp->next - first;
	return qp->next == end ? 0 : error;
}

__attribute__((noinline, cold)) static int send_refuse(struct siw_qp *qp, enum kit_fault fault,
						       const struct ibv_send_wr *wr)
{
	const struct kit_sq_limits limits = {
		.max_post = qp->mask + 1,
		.max_sge = sge_limit(qp, wr),
		.max_inline = SIW_MAX_INLINE,
		.no_flags = wr->opcode < ARRAY_SIZE(send_ops) ? send_ops[wr->opcode].no_flags : 0,
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->said, wr, fault, &limits);
}

__attribute__((noinline, cold)) static int doorbell_refused(struct siw_qp *qp, int error)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (error == ENOTCONN)
		return kit_send_refuse_as(ibqp, &qp->said, "ibv_post_send", KIT_FAULT_STATE,
					  "the QP has no connection, sending needs one");
	verbs_err(ibqp->context, "qp 0x%x: the kernel refuses the doorbell: %s", ibqp->qp_num,
		  strerror(error));
	return error;
}

int siw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct siw_qp *qp = to_sqp(ibqp);
	enum kit_fault fault = KIT_FAULT_NONE;
	struct ibv_send_wr *last = wr, *ignored;
	uint32_t first, posted;
	int error;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = NULL;
	spinlock_lock(&qp->sq_lock);
	first = qp->next;
	for (; last; last = last->next) {
		fault = send_build(qp, last);
		if (unlikely(fault))
			break;
	}
	error = kernel_tell(qp, first, &posted);
	spinlock_unlock(&qp->sq_lock);

	if (unlikely(error)) {
		while (posted--)
			wr = wr->next;
		*bad_wr = wr;
		return doorbell_refused(qp, error);
	}
	if (likely(!fault))
		return 0;
	*bad_wr = last;
	return send_refuse(qp, fault, last);
}
