/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_post_send(): write WQEs for work requests and run the requester. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "providers/uroce/verbs/send.h"

static ALWAYS_INLINE int inline_copy(struct uroce_swqe *wqe, const struct uroce_sq *sq,
				     const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (unlikely(length + sge->length > sq->max_inline))
			return EINVAL;
		uroce_bytes_copy(wqe->data + length, (const void *)(uintptr_t)sge->addr,
				 sge->length);
		length += sge->length;
	}
	wqe->length = length;
	wqe->is_inline = true;
	return 0;
}

static ALWAYS_INLINE int sges_copy(struct uroce_swqe *wqe, const struct uroce_sq *sq,
				   const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	if (unlikely((uint32_t)wr->num_sge > sq->max_sge || (wr->num_sge && !wr->sg_list)))
		return EINVAL;
	for (int i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	if (unlikely(length > UROCE_MAX_MSG_SIZE))
		return EINVAL;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	return 0;
}

static int datagram_fill(struct uroce_swqe *wqe, const struct ibv_send_wr *wr)
{
	const struct uroce_ah *ah = (const struct uroce_ah *)wr->wr.ud.ah;

	if (unlikely(!ah))
		return EINVAL;
	wqe->ud.av = ah->av;
	wqe->ud.qpn = wr->wr.ud.remote_qpn & QPN_MASK;
	wqe->ud.qkey = wr->wr.ud.remote_qkey;
	uroce_av_for_qpn(&wqe->ud.av, wqe->ud.qpn);
	return 0;
}

static int atomic_fill(struct uroce_swqe *wqe, const struct ibv_send_wr *wr)
{
	if (unlikely(wqe->is_inline || wqe->length < sizeof(uint64_t) ||
		     (wr->wr.atomic.remote_addr & 7)))
		return EINVAL;
	wqe->length = sizeof(uint64_t);
	wqe->atomic.remote_addr = wr->wr.atomic.remote_addr;
	wqe->atomic.rkey = wr->wr.atomic.rkey;
	wqe->atomic.compare_add = wr->wr.atomic.compare_add;
	wqe->atomic.swap = wr->wr.atomic.swap;
	return 0;
}

static void rdma_fill(struct uroce_swqe *wqe, const struct ibv_send_wr *wr)
{
	wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
	wqe->rdma.rkey = wr->wr.rdma.rkey;
}

static ALWAYS_INLINE int operation_fill(struct uroce_qp *qp, struct uroce_swqe *wqe,
					const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm_data = wr->imm_data;
		rdma_fill(wqe, wr);
		return 0;
	case IBV_WR_RDMA_WRITE:
		rdma_fill(wqe, wr);
		return 0;
	case IBV_WR_RDMA_READ:
		rdma_fill(wqe, wr);
		return wqe->is_inline ? EINVAL : 0;
	case IBV_WR_ATOMIC_WRITE:
		rdma_fill(wqe, wr);
		return wqe->length == sizeof(uint64_t) ? 0 : EINVAL;
	case IBV_WR_SEND_WITH_IMM:
		wqe->imm_data = wr->imm_data;
		return qp->type == IBV_QPT_UD ? datagram_fill(wqe, wr) : 0;
	case IBV_WR_SEND:
		return qp->type == IBV_QPT_UD ? datagram_fill(wqe, wr) : 0;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wqe->invalidate_rkey = wr->invalidate_rkey;
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic_fill(wqe, wr);
	case IBV_WR_BIND_MW:
		if (!wr->bind_mw.mw)
			return EINVAL;
		uroce_swqe_bind(wqe, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		return 0;
	default:
		return EINVAL; /* ibv_send_wr has no fields for a flush: use ibv_wr_flush() */
	}
}

/* Write a send WQE. Return: 0 or a positive errno, as for applications. */
static ALWAYS_INLINE int swqe_write(struct uroce_qp *qp, const struct ibv_send_wr *wr)
{
	struct uroce_sq *sq = &qp->sq;
	struct uroce_swqe *wqe;
	int r;

	if (unlikely(!uroce_opcode_allowed(qp->type, wr->opcode)))
		return EINVAL;
	if (unlikely(sq_used(sq) >= sq->size))
		return ENOMEM;
	wqe = uroce_swqe_begin(sq, sq->head, wr->wr_id, wr->opcode, wr->send_flags);
	r = wr->send_flags & IBV_SEND_INLINE ? inline_copy(wqe, sq, wr) : sges_copy(wqe, sq, wr);
	if (likely(!r))
		r = operation_fill(qp, wqe, wr);
	if (unlikely(r))
		return r;
	if (unlikely(qp->type == IBV_QPT_XRC_SEND))
		wqe->xrc.srqn = wr->qp_type.xrc.remote_srqn & QPN_MASK;
	sq->head++;
	return 0;
}

/*
 * --- error messages: each cause once per QP, so that programs that retry do not flood the log ---
 */

enum cause {
	CAUSE_STATE,
	CAUSE_FULL,
	CAUSE_OPCODE,
	CAUSE_INLINE,
	CAUSE_SGES,
	CAUSE_LENGTH,
	CAUSE_ADDRESS,
	CAUSE_OPERATION,
	CAUSE_LIST,
	CAUSE_BUILDER,
	CAUSE_ALIGNMENT,
};

static bool is_atomic(unsigned int opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static enum cause cause_find(const struct uroce_qp *qp, const struct ibv_send_wr *wr, int error,
			     uint64_t length)
{
	if (qp->type == IBV_QPT_XRC_RECV)
		return CAUSE_OPCODE;
	if (qp->state < IBV_QPS_RTS)
		return CAUSE_STATE;
	if (wr->num_sge && !wr->sg_list)
		return CAUSE_LIST;
	if (error == ENOMEM)
		return CAUSE_FULL;
	if (!uroce_opcode_allowed(qp->type, wr->opcode))
		return CAUSE_OPCODE;
	if ((wr->send_flags & IBV_SEND_INLINE) && length > qp->sq.max_inline)
		return CAUSE_INLINE;
	if (!(wr->send_flags & IBV_SEND_INLINE) && (uint32_t)wr->num_sge > qp->sq.max_sge)
		return CAUSE_SGES;
	if (length > UROCE_MAX_MSG_SIZE)
		return CAUSE_LENGTH;
	if (wr->opcode == IBV_WR_FLUSH)
		return CAUSE_BUILDER;
	if (is_atomic(wr->opcode) && (wr->wr.atomic.remote_addr & 7))
		return CAUSE_ALIGNMENT;
	return qp->type == IBV_QPT_UD ? CAUSE_ADDRESS : CAUSE_OPERATION;
}

/* Describe an exceeded limit. */
static void limit_text(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum cause cause,
		       uint64_t length, char *text, size_t size)
{
	if (cause == CAUSE_FULL)
		snprintf(
			text, size,
			"send queue full: of %u requests %u wait for the peer, the others for their completions to "
			"be polled; poll before posting more, or create the QP with a larger max_send_wr",
			qp->sq.size, qp->sq.head - qp->sq.tail);
	else if (cause == CAUSE_INLINE)
		snprintf(text, size, "%" PRIu64 " bytes inline, the QP's max_inline_data is %u",
			 length, qp->sq.max_inline);
	else if (cause == CAUSE_SGES)
		snprintf(text, size, "%d scatter/gather entries, the QP's max_send_sge is %u",
			 wr->num_sge, qp->sq.max_sge);
	else
		snprintf(text, size, "%" PRIu64 " bytes in one request, at most %u are possible",
			 length, UROCE_MAX_MSG_SIZE);
}

/* Describe an opcode that does not fit the QP type, the function or the other fields. */
static void opcode_text(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum cause cause,
			uint64_t length, char *text, size_t size)
{
	static const char *const types[] = {
		[IBV_QPT_RC] = "an RC",
		[IBV_QPT_UC] = "a UC",
		[IBV_QPT_UD] = "a UD",
		[IBV_QPT_XRC_SEND] = "an XRC send",
		[IBV_QPT_XRC_RECV] = "an XRC receive",
	};
	int n = snprintf(text, size, "opcode %d (%s) ", wr->opcode, uroce_opcode_name(wr->opcode));

	text += n;
	size -= n;
	if (cause == CAUSE_OPCODE)
		snprintf(text, size, "is no operation of %s QP", types[qp->type]);
	else if (cause == CAUSE_BUILDER)
		snprintf(text, size, "cannot be posted this way: use the ibv_wr_*() functions");
	else
		snprintf(text, size,
			 "with %" PRIu64
			 " bytes, flags 0x%x: atomics and atomic writes carry 8 bytes, "
			 "reads and atomics cannot be inline, a bind needs a window",
			 length, wr->send_flags);
}

static void cause_text(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum cause cause,
		       uint64_t length, char *text, size_t size)
{
	static const char *const states[] = { "RESET", "INIT", "RTR" };

	switch (cause) {
	case CAUSE_STATE:
		snprintf(text, size, "the QP is in state %s, sending needs RTS", states[qp->state]);
		break;
	case CAUSE_FULL:
	case CAUSE_INLINE:
	case CAUSE_SGES:
	case CAUSE_LENGTH:
		limit_text(qp, wr, cause, length, text, size);
		break;
	case CAUSE_OPCODE:
	case CAUSE_BUILDER:
	case CAUSE_OPERATION:
		opcode_text(qp, wr, cause, length, text, size);
		break;
	case CAUSE_ADDRESS:
		snprintf(text, size, "a UD request needs an address handle, wr.ud.ah is NULL");
		break;
	case CAUSE_LIST:
		snprintf(text, size, "num_sge is not 0, but sg_list is NULL");
		break;
	case CAUSE_ALIGNMENT:
		snprintf(text, size,
			 "remote address 0x%" PRIx64
			 " is not a multiple of 8, which an atomic needs",
			 wr->wr.atomic.remote_addr);
		break;
	}
}

static __attribute__((noinline, cold)) void send_refused(struct uroce_qp *qp,
							 const struct ibv_send_wr *wr, int error)
{
	uint64_t length = 0;
	enum cause cause;
	char text[384];

	/* If the number of entries exceeds the limit, the list may be shorter than that number. */
	if (wr->send_flags & IBV_SEND_INLINE || (uint32_t)wr->num_sge <= qp->sq.max_sge)
		for (int i = 0; wr->sg_list && i < wr->num_sge; i++)
			length += wr->sg_list[i].length;
	cause = cause_find(qp, wr, error, length);
	verbs_data(qp->vqp.qp.context, "qp 0x%x: ibv_post_send: refused: %s", qp->vqp.qp.qp_num,
		   strerror(error));
	if (qp->send_refused >> cause & 1)
		return;
	qp->send_refused |= 1u << cause;
	cause_text(qp, wr, cause, length, text, sizeof(text));
	verbs_err(qp->vqp.qp.context, "qp 0x%x: ibv_post_send: %s", qp->vqp.qp.qp_num, text);
}

int uroce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct uroce_qp *qp = to_uqp(ibqp);
	int r = 0;

	if (unlikely(!uroce_host_here(qp_host(qp)))) {
		*bad_wr = wr;
		return -uroce_host_inherited(qp_host(qp));
	}
	uroce_lock(&qp->lock);
	uroce_builder_wait(qp);
	for (; wr; wr = wr->next) {
		r = likely(qp->state >= IBV_QPS_RTS) ? swqe_write(qp, wr) : EINVAL;
		if (unlikely(r)) {
			*bad_wr = wr;
			send_refused(qp, wr, r);
			break;
		}
	}
	uroce_qp_run(qp, uroce_post_time(qp));
	uroce_post_end(qp);
	return r;
}

/*
 * Post a write of @bytes. If the path allows it, copy them directly into the target's memory,
 * otherwise into the memory that the request names.
 */
int uroce_post_write_copy(struct ibv_qp *ibqp, struct ibv_send_wr *wr, const void *bytes)
{
	struct uroce_qp *qp = to_uqp(ibqp);
	int r = uroce_host_check(qp_host(qp));

	if (unlikely(r < 0))
		return -r;
	uroce_lock(&qp->lock);
	uroce_builder_wait(qp);
	r = likely(qp->state >= IBV_QPS_RTS) ? swqe_write(qp, wr) : EINVAL;
	if (unlikely(r))
		send_refused(qp, wr, r);
	else if (!uroce_req_place_from(qp, sq_wqe(&qp->sq, qp->sq.head - 1), bytes))
		memcpy((void *)(uintptr_t)wr->sg_list->addr, bytes, wr->sg_list->length);
	uroce_qp_run(qp, uroce_post_time(qp));
	uroce_post_end(qp);
	return r;
}
