/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a work request was refused: the errno, and one line in the log that says what to do. A debug
 * build has a shorter one for each refusal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "providers/rxe/rxe.h"

static const int fault_errno[RXE_FAULT_COUNT] = {
	[RXE_FAULT_STATE] = EINVAL,	    [RXE_FAULT_NO_RQ] = EINVAL,
	[RXE_FAULT_FULL] = ENOMEM,	    [RXE_FAULT_OPCODE] = EINVAL,
	[RXE_FAULT_NUM_SGE] = EINVAL,	    [RXE_FAULT_SG_LIST] = EINVAL,
	[RXE_FAULT_LENGTH] = EINVAL,	    [RXE_FAULT_INLINE] = EINVAL,
	[RXE_FAULT_ATOMIC_LENGTH] = EINVAL, [RXE_FAULT_ATOMIC_ADDR] = EINVAL,
	[RXE_FAULT_BIND] = EINVAL,	    [RXE_FAULT_AH] = EINVAL,
	[RXE_FAULT_NO_BUILDER] = EINVAL,
};

static const char *const state_names[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS",	   [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
};

static const char *const type_names[] = {
	[IBV_QPT_RC] = "RC",
	[IBV_QPT_UC] = "UC",
	[IBV_QPT_UD] = "UD",
};

static const char *const opcode_names[] = {
	[IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
	[IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
	[IBV_WR_SEND] = "SEND",
	[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
	[IBV_WR_RDMA_READ] = "RDMA_READ",
	[IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
	[IBV_WR_LOCAL_INV] = "LOCAL_INV",
	[IBV_WR_BIND_MW] = "BIND_MW",
	[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
	[IBV_WR_TSO] = "TSO",
	[IBV_WR_FLUSH] = "FLUSH",
	[IBV_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
};

static const char *name_of(const char *const names[], size_t count, uint64_t value)
{
	return value < count && names[value] ? names[value] : "unknown";
}
#define NAME_OF(names, value) name_of(names, ARRAY_SIZE(names), value)

/* Whether @fault is new to this queue; remembers it. */
static bool fault_first(atomic_uint *said, enum rxe_fault fault)
{
	unsigned int bit = 1u << fault;

	/* relaxed: only the bit itself counts */
	return !(atomic_fetch_or_explicit(said, bit, memory_order_relaxed) & bit);
}

/* Requests in the send ring, and how many of them will give no completion. */
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

static void say_opcode(const struct rxe_qp *qp, uint64_t opcode, char *text, size_t size)
{
	bool builder_only = opcode == IBV_WR_FLUSH || opcode == IBV_WR_ATOMIC_WRITE;

	snprintf(text, size, "opcode %" PRIu64 " (%s) %s", opcode, NAME_OF(opcode_names, opcode),
		 builder_only ? "cannot be posted this way: use the ibv_wr_*() functions"
		 : qp->vqp.qp.qp_type == IBV_QPT_RC ? "is no operation of an RC QP"
		 : qp->vqp.qp.qp_type == IBV_QPT_UC
			 ? "is no operation of a UC QP; RC has all of them"
			 : "is no operation of a UD QP, which can only send");
}

static void send_fault_text(const struct rxe_qp *qp, enum rxe_fault fault, uint64_t value,
			    char *text, size_t size)
{
	switch (fault) {
	case RXE_FAULT_STATE:
		snprintf(text, size, "the QP is in state %s, sending needs RTS",
			 NAME_OF(state_names, qp->vqp.qp.state));
		break;
	case RXE_FAULT_FULL:
		say_full(qp, text, size);
		break;
	case RXE_FAULT_OPCODE:
		say_opcode(qp, value, text, size);
		break;
	case RXE_FAULT_NUM_SGE:
		snprintf(text, size, "%d scatter/gather entries, the QP's max_send_sge is %u",
			 (int)value, qp->max_send_sge);
		break;
	case RXE_FAULT_SG_LIST:
		snprintf(text, size, "num_sge is not 0, but sg_list is NULL");
		break;
	case RXE_FAULT_LENGTH:
		snprintf(text, size, "%" PRIu64 " bytes in one request, at most %u are possible",
			 value, UINT32_MAX);
		break;
	case RXE_FAULT_INLINE:
		snprintf(text, size, "%" PRIu64 " bytes inline, the QP's max_inline_data is %u",
			 value, qp->max_inline);
		break;
	case RXE_FAULT_ATOMIC_LENGTH:
		snprintf(text, size, "%" PRIu64 " bytes for the result of an atomic, it needs 8",
			 value);
		break;
	case RXE_FAULT_ATOMIC_ADDR:
		snprintf(text, size,
			 "remote address 0x%" PRIx64 " is not a multiple of 8, "
			 "which an atomic needs",
			 value);
		break;
	case RXE_FAULT_BIND:
		snprintf(text, size,
			 "BIND_MW needs a window, no scatter/gather entries and no "
			 "immediate data");
		break;
	case RXE_FAULT_AH:
		snprintf(text, size, "a UD request needs an address handle, wr.ud.ah is NULL");
		break;
	case RXE_FAULT_NO_BUILDER:
		snprintf(text, size, "ibv_wr_set_*() before any operation such as ibv_wr_send()");
		break;
	default:
		snprintf(text, size, "refused");
	}
}

int rxe_send_fault(struct rxe_qp *qp, const char *verb, enum rxe_fault fault, uint64_t value)
{
	char text[256];

	verbs_data(qp->vqp.qp.context, "qp 0x%x: %s: refused: %s", qp->vqp.qp.qp_num, verb,
		   strerror(fault_errno[fault]));
	if (fault_first(&qp->said, fault)) {
		send_fault_text(qp, fault, value, text, sizeof(text));
		verbs_err(qp->vqp.qp.context, "%s qp 0x%x: %s: %s",
			  NAME_OF(type_names, qp->vqp.qp.qp_type), qp->vqp.qp.qp_num, verb, text);
	}
	return fault_errno[fault];
}

static void recv_fault_text(const struct rxe_recv_queue *rq, enum rxe_fault fault, uint64_t value,
			    char *text, size_t size)
{
	switch (fault) {
	case RXE_FAULT_STATE:
		snprintf(text, size, "the QP is in state RESET, receives need INIT or a later one");
		break;
	case RXE_FAULT_NO_RQ:
		snprintf(text, size, "the QP receives from an SRQ: use ibv_post_srq_recv()");
		break;
	case RXE_FAULT_FULL:
		snprintf(text, size,
			 "receive queue full: all %u receives are still waiting for "
			 "a message",
			 rq->queue.mask);
		break;
	case RXE_FAULT_NUM_SGE:
		snprintf(text, size,
			 "%d scatter/gather entries, at most %u were asked for at "
			 "creation",
			 (int)value, rq->max_sge);
		break;
	case RXE_FAULT_SG_LIST:
		snprintf(text, size, "num_sge is not 0, but sg_list is NULL");
		break;
	case RXE_FAULT_LENGTH:
		snprintf(text, size, "the buffers of one receive exceed %u bytes", UINT32_MAX);
		break;
	default:
		snprintf(text, size, "refused");
	}
}

int rxe_recv_fault(struct rxe_qp *qp, enum rxe_fault fault, uint64_t value)
{
	char text[256];

	verbs_data(qp->vqp.qp.context, "qp 0x%x: ibv_post_recv: refused: %s", qp->vqp.qp.qp_num,
		   strerror(fault_errno[fault]));
	if (fault_first(&qp->rq.said, fault)) {
		recv_fault_text(&qp->rq, fault, value, text, sizeof(text));
		verbs_err(qp->vqp.qp.context, "qp 0x%x: ibv_post_recv: %s", qp->vqp.qp.qp_num,
			  text);
	}
	return fault_errno[fault];
}

int rxe_srq_recv_fault(struct rxe_srq *srq, enum rxe_fault fault, uint64_t value)
{
	char text[256];

	verbs_data(srq->vsrq.srq.context, "srq %u: ibv_post_srq_recv: refused: %s",
		   srq->vsrq.srq.handle, strerror(fault_errno[fault]));
	if (fault_first(&srq->rq.said, fault)) {
		recv_fault_text(&srq->rq, fault, value, text, sizeof(text));
		verbs_err(srq->vsrq.srq.context, "srq %u: ibv_post_srq_recv: %s",
			  srq->vsrq.srq.handle, text);
	}
	return fault_errno[fault];
}
