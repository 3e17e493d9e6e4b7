/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes of refused work requests: the limits of a queue, for the messages of providers/kit. */
#include <stdio.h>

#include "providers/rxe/rxe.h"

/*
 * Return the number of requests in the send ring. *@ret_unsignalled: number of these without a
 * completion.
 */
static uint32_t sq_outstanding(const struct rxe_qp *qp, uint32_t *ret_unsignalled)
{
	uint32_t producer = rxe_queue_producer(&qp->sq), n = 0, unsignalled = 0;

	for (uint32_t i = rxe_queue_consumer(&qp->sq); i != producer;
	     i = rxe_queue_next(&qp->sq, i), n++) {
		const struct rxe_send_wqe *wqe = rxe_queue_slot(&qp->sq, i);

		if (!(wqe->wr.send_flags & IBV_SEND_SIGNALED))
			unsignalled++;
	}
	*ret_unsignalled = unsignalled;
	return n;
}

static void say_full(const struct rxe_qp *qp, char *text, size_t size)
{
	uint32_t unsignalled;
	uint32_t n = sq_outstanding(qp, &unsignalled);

	snprintf(text, size,
		 "send queue full: %u of %u requests wait for the peer (%u of them without "
		 "IBV_SEND_SIGNALED); poll for completions before posting more, or create the QP "
		 "with a larger max_send_wr",
		 n, qp->sq.mask, unsignalled);
}

static uint32_t send_limit(const struct rxe_qp *qp, enum kit_fault fault)
{
	switch (fault) {
	case KIT_FAULT_NUM_SGE:
		return qp->max_send_sge;
	case KIT_FAULT_INLINE:
		return qp->max_inline;
	default:
		return UINT32_MAX; /* limit of the bytes of a request */
	}
}

int rxe_send_fault(struct rxe_qp *qp, const char *verb, enum kit_fault fault, uint64_t value)
{
	char text[256];

	if (fault != KIT_FAULT_FULL)
		return kit_send_refuse(&qp->vqp.qp, &qp->said, verb, fault, value,
				       send_limit(qp, fault));
	say_full(qp, text, sizeof(text));
	return kit_send_refuse_as(&qp->vqp.qp, &qp->said, verb, fault, text);
}

static uint32_t recv_limit(const struct rxe_recv_queue *rq, enum kit_fault fault)
{
	switch (fault) {
	case KIT_FAULT_FULL:
		return rq->queue.mask;
	case KIT_FAULT_NUM_SGE:
		return rq->max_sge;
	default:
		return UINT32_MAX; /* limit of the bytes of a receive */
	}
}

int rxe_recv_fault(struct rxe_qp *qp, enum kit_fault fault, uint64_t value)
{
	return kit_recv_refuse(&qp->vqp.qp, &qp->rq.said, fault, value, recv_limit(&qp->rq, fault));
}

int rxe_srq_recv_fault(struct rxe_srq *srq, enum kit_fault fault, uint64_t value)
{
	return kit_srq_refuse(&srq->vsrq.srq, &srq->rq.said, fault, value,
			      recv_limit(&srq->rq, fault));
}
