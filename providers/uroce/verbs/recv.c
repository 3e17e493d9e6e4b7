/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. */
#include <string.h>

#include "providers/uroce/verbs/verbs.h"

/* Write a receive WQE. Return: 0 or a positive errno, as for applications. */
static int rwqe_write(struct uroce_rq *rq, const struct ibv_recv_wr *wr)
{
	struct uroce_rwqe *wqe = rq_wqe(rq, rq->head);
	uint64_t length = 0;

	if (unlikely(rq->head - rq->tail >= rq->size))
		return ENOMEM;
	if (unlikely((uint32_t)wr->num_sge > rq->max_sge))
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	wqe->length = min_of(length, (uint64_t)UINT32_MAX);
	rq->head++;
	return 0;
}

/* --- error messages: each cause once per queue --- */

enum cause {
	CAUSE_FULL,
	CAUSE_SGES,
	CAUSE_STATE,
	CAUSE_SHARED,
	CAUSE_XRC,
};

static __attribute__((noinline, cold)) void
recv_refused(struct ibv_context *ctx, const char *object, uint32_t number, enum cause cause,
	     const struct uroce_rq *rq, int num_sge, uint8_t *said)
{
	verbs_data(ctx, "%s 0x%x: post_recv: refused", object, number);
	if (*said >> cause & 1)
		return;
	*said |= 1u << cause;
	switch (cause) {
	case CAUSE_FULL:
		verbs_err(
			ctx,
			"%s 0x%x: post_recv: receive queue full: all %u receives still wait for a message",
			object, number, rq->size);
		break;
	case CAUSE_SGES:
		verbs_err(ctx,
			  "%s 0x%x: post_recv: %d scatter/gather entries, at most %u are possible",
			  object, number, num_sge, rq->max_sge);
		break;
	case CAUSE_STATE:
		verbs_err(
			ctx,
			"%s 0x%x: post_recv: the QP is in state RESET, receives need INIT or a later one",
			object, number);
		break;
	case CAUSE_SHARED:
		verbs_err(
			ctx,
			"%s 0x%x: post_recv: the QP receives from an SRQ: use ibv_post_srq_recv()",
			object, number);
		break;
	case CAUSE_XRC:
		verbs_err(
			ctx,
			"%s 0x%x: post_recv: an XRC QP has no receives: post them to the SRQ that the "
			"sender names",
			object, number);
		break;
	}
}

static void qp_refused(struct uroce_qp *qp, const struct ibv_recv_wr *wr, int error)
{
	enum cause cause = qp->srq			? CAUSE_SHARED
			   : !uroce_qp_has_rq(qp)	? CAUSE_XRC
			   : qp->state == IBV_QPS_RESET ? CAUSE_STATE
			   : error == ENOMEM		? CAUSE_FULL
							: CAUSE_SGES;

	recv_refused(qp->vqp.qp.context, "qp", qp->vqp.qp.qp_num, cause, &qp->rq, wr->num_sge,
		     &qp->recv_refused);
}

int uroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_qp *qp = to_uqp(ibqp);
	int r = 0;

	if (unlikely(!uroce_host_here(qp_host(qp)))) {
		*bad_wr = wr;
		return -uroce_host_inherited(qp_host(qp));
	}
	uroce_lock(&qp->lock);
	for (; wr; wr = wr->next) {
		r = likely(uroce_qp_has_rq(qp) && qp->state != IBV_QPS_RESET)
			    ? rwqe_write(&qp->rq, wr)
			    : EINVAL;
		if (unlikely(r)) {
			*bad_wr = wr;
			qp_refused(qp, wr, r);
			break;
		}
	}
	if (unlikely(qp->state == IBV_QPS_ERR))
		uroce_qp_flush(qp);
	uroce_unlock(&qp->lock);
	return r;
}

int uroce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_srq *srq = to_usrq(ibsrq);
	struct uroce_host *host = ctx_host(ibsrq->context);
	int r = 0;

	if (unlikely(!uroce_host_here(host))) {
		*bad_wr = wr;
		return -uroce_host_inherited(host);
	}
	uroce_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		r = rwqe_write(&srq->rq, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			recv_refused(ibsrq->context, "srq", ibsrq->handle,
				     r == ENOMEM ? CAUSE_FULL : CAUSE_SGES, &srq->rq, wr->num_sge,
				     &srq->refused);
			break;
		}
	}
	uroce_unlock(&srq->lock);
	return r;
}
