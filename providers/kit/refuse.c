/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/provider.h"

static const int fault_errno[KIT_FAULT_COUNT] = {
	[KIT_FAULT_STATE] = EINVAL,	  [KIT_FAULT_NO_QUEUE] = EINVAL,
	[KIT_FAULT_FULL] = ENOMEM,	  [KIT_FAULT_OPCODE] = EINVAL,
	[KIT_FAULT_ATOMICS] = EOPNOTSUPP, [KIT_FAULT_NUM_SGE] = EINVAL,
	[KIT_FAULT_SG_LIST] = EINVAL,	  [KIT_FAULT_LENGTH] = EINVAL,
	[KIT_FAULT_INLINE] = EINVAL,	  [KIT_FAULT_ATOMIC_LENGTH] = EINVAL,
	[KIT_FAULT_ATOMIC_ADDR] = EINVAL, [KIT_FAULT_BIND] = EOPNOTSUPP,
	[KIT_FAULT_BIND_WR] = EINVAL,	  [KIT_FAULT_AH] = EINVAL,
	[KIT_FAULT_NO_BUILDER] = EINVAL,  [KIT_FAULT_SEND_FLAGS] = EINVAL,
	[KIT_FAULT_UNSIGNALED] = EINVAL,  [KIT_FAULT_SETTER] = EINVAL,
	[KIT_FAULT_HEADER] = EINVAL,	  [KIT_FAULT_ATOMIC_LIST] = EINVAL,
};

static const char *const state_names[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS",	   [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
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

static const char *type_name(const struct ibv_qp *qp)
{
	static const char *const names[] = {
		[IBV_QPT_RC] = "RC",
		[IBV_QPT_UC] = "UC",
		[IBV_QPT_UD] = "UD",
		[IBV_QPT_RAW_PACKET] = "RAW_PACKET",
		[IBV_QPT_XRC_SEND] = "XRC_SEND",
		[IBV_QPT_XRC_RECV] = "XRC_RECV",
		[IBV_QPT_DRIVER] = "the driver's",
	};

	return NAME_OF(names, qp->qp_type);
}

static void opcode_text(const struct ibv_qp *qp, uint64_t opcode, char *text, size_t size)
{
	bool builder_only = opcode == IBV_WR_FLUSH || opcode == IBV_WR_ATOMIC_WRITE;

	snprintf(text, size, "opcode %" PRIu64 " (%s) %s", opcode, NAME_OF(opcode_names, opcode),
		 builder_only ? "cannot be posted this way: use the ibv_wr_*() functions"
		 : qp->qp_type == IBV_QPT_RC
			 ? "is no operation of an RC QP, or not of one created for others"
		 : qp->qp_type == IBV_QPT_UC ? "is no operation of a UC QP; RC has all of them"
		 : qp->qp_type == IBV_QPT_UD ? "is no operation of a UD QP, which can only send"
					     : "is no operation of this QP by this call");
}

static void send_text(const struct ibv_qp *qp, enum kit_fault fault, uint64_t value, uint32_t limit,
		      char *text, size_t size)
{
	switch (fault) {
	case KIT_FAULT_STATE:
		snprintf(text, size, "the QP is in state %s, sending needs RTS",
			 NAME_OF(state_names, qp->state));
		break;
	case KIT_FAULT_NO_QUEUE:
		snprintf(text, size, "the QP has no send queue");
		break;
	case KIT_FAULT_FULL:
		snprintf(text, size,
			 "send queue full: %" PRIu64 " of %u requests wait for a completion; poll "
			 "for completions before posting more, or create the QP with a larger "
			 "max_send_wr",
			 value, limit);
		break;
	case KIT_FAULT_OPCODE:
		opcode_text(qp, value, text, size);
		break;
	case KIT_FAULT_ATOMICS:
		snprintf(text, size, "the device has no atomic operations");
		break;
	case KIT_FAULT_NUM_SGE:
		snprintf(text, size, "%d scatter/gather entries, the QP's max_send_sge is %u",
			 (int)value, limit);
		break;
	case KIT_FAULT_LENGTH:
		snprintf(text, size, "%" PRIu64 " bytes in one request, at most %u are possible",
			 value, limit);
		break;
	case KIT_FAULT_ATOMIC_LENGTH:
		snprintf(text, size, "%" PRIu64 " bytes for the result of an atomic, it needs 8",
			 value);
		break;
	case KIT_FAULT_INLINE:
		snprintf(text, size, "%" PRIu64 " bytes inline, the QP's max_inline_data is %u",
			 value, limit);
		break;
	case KIT_FAULT_ATOMIC_ADDR:
		snprintf(text, size,
			 "remote address 0x%" PRIx64 " is not a multiple of 8, which an atomic "
			 "needs",
			 value);
		break;
	case KIT_FAULT_ATOMIC_LIST:
		snprintf(text, size,
			 "%d scatter/gather entries, or inline data: the result of an atomic needs "
			 "one entry",
			 (int)value);
		break;
	case KIT_FAULT_BIND:
		snprintf(text, size, "a window of %" PRIu64 " bytes, at most %u are possible",
			 value, limit);
		break;
	case KIT_FAULT_BIND_WR:
		snprintf(text, size,
			 "BIND_MW needs a window, no scatter/gather entries and no immediate data");
		break;
	case KIT_FAULT_AH:
		snprintf(text, size, "a UD request needs an address handle, wr.ud.ah is NULL");
		break;
	case KIT_FAULT_SEND_FLAGS:
		snprintf(text, size, "send_flags 0x%" PRIx64 " are not supported by the device",
			 value);
		break;
	case KIT_FAULT_UNSIGNALED:
		snprintf(text, size,
			 "the device completes each request: IBV_SEND_SIGNALED is needed, or a QP "
			 "with sq_sig_all");
		break;
	case KIT_FAULT_HEADER:
		snprintf(text, size,
			 "the packet is shorter than what the device wants to see of it, or its "
			 "headers and data exceed what the device can cut");
		break;
	case KIT_FAULT_SETTER:
		snprintf(text, size,
			 "a request lacks ibv_wr_set_*(): of data, or of where it goes to");
		break;
	case KIT_FAULT_NO_BUILDER:
		snprintf(text, size, "ibv_wr_set_*() before any operation such as ibv_wr_send()");
		break;
	default:
		snprintf(text, size, "num_sge is not 0, but sg_list is NULL");
	}
}

static void recv_text(enum kit_fault fault, uint64_t value, uint32_t limit, char *text, size_t size)
{
	switch (fault) {
	case KIT_FAULT_STATE:
		snprintf(text, size, "the QP is in state %s, receives need INIT or a later one",
			 NAME_OF(state_names, value));
		break;
	case KIT_FAULT_NO_QUEUE:
		snprintf(text, size,
			 "the QP has no receive queue: use ibv_post_srq_recv() if it has an SRQ");
		break;
	case KIT_FAULT_FULL:
		snprintf(text, size,
			 "receive queue full: all %u receives are still waiting for a message",
			 limit);
		break;
	case KIT_FAULT_NUM_SGE:
		snprintf(text, size,
			 value ? "%d scatter/gather entries, at most %u were asked for at creation"
			       : "%d scatter/gather entries, the device needs at least 1 (of %u)",
			 (int)value, limit);
		break;
	case KIT_FAULT_LENGTH:
		snprintf(text, size, "the buffers of one receive exceed %u bytes", limit);
		break;
	default:
		snprintf(text, size, "num_sge is not 0, but sg_list is NULL");
	}
}

/* Return whether @fault is new to this queue, and mark it as known. */
static bool fault_first(atomic_uint *said, enum kit_fault fault)
{
	unsigned int bit = 1u << fault;

	/* relaxed: the bit orders no other data */
	return !(atomic_fetch_or_explicit(said, bit, memory_order_relaxed) & bit);
}

/* @text: message; NULL: the message of this file, which contains @value and @limit */
static int send_refuse(struct ibv_qp *qp, atomic_uint *said, const char *verb, enum kit_fault fault,
		       const char *text, uint64_t value, uint32_t limit)
{
	char own[256];

	verbs_data(qp->context, "qp 0x%x: %s: refused: %s", qp->qp_num, verb,
		   strerror(fault_errno[fault]));
	if (fault_first(said, fault)) {
		if (!text)
			send_text(qp, fault, value, limit, own, sizeof(own));
		verbs_err(qp->context, "%s qp 0x%x: %s: %s", type_name(qp), qp->qp_num, verb,
			  text ? text : own);
	}
	return fault_errno[fault];
}

__attribute__((noinline, cold)) int kit_send_refuse(struct ibv_qp *qp, atomic_uint *said,
						    const char *verb, enum kit_fault fault,
						    uint64_t value, uint32_t limit)
{
	return send_refuse(qp, said, verb, fault, NULL, value, limit);
}

__attribute__((noinline, cold)) int kit_send_refuse_as(struct ibv_qp *qp, atomic_uint *said,
						       const char *verb, enum kit_fault fault,
						       const char *text)
{
	return send_refuse(qp, said, verb, fault, text, 0, 0);
}

static uint64_t wr_length(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

__attribute__((noinline, cold)) int kit_post_refuse(struct ibv_qp *qp, atomic_uint *said,
						    const struct ibv_send_wr *wr,
						    enum kit_fault fault,
						    const struct kit_sq_limits *limits)
{
	uint64_t value = 0;
	uint32_t limit = 0;

	if (limits->closed)
		fault = KIT_FAULT_STATE;
	switch (fault) {
	case KIT_FAULT_FULL:
		value = limit = limits->max_post;
		break;
	case KIT_FAULT_OPCODE:
		value = wr->opcode;
		if (qp->qp_type == IBV_QPT_RC && !limits->atomics && is_atomic(wr->opcode))
			fault = KIT_FAULT_ATOMICS;
		break;
	case KIT_FAULT_NUM_SGE:
		value = (uint32_t)wr->num_sge;
		limit = limits->max_sge;
		break;
	case KIT_FAULT_LENGTH:
		value = wr_length(wr);
		limit = limits->max_length ? limits->max_length : UINT32_MAX;
		break;
	case KIT_FAULT_INLINE:
		value = wr_length(wr);
		limit = limits->max_inline;
		break;
	case KIT_FAULT_ATOMIC_ADDR:
		value = wr->wr.atomic.remote_addr;
		break;
	case KIT_FAULT_ATOMIC_LIST:
		value = (uint32_t)wr->num_sge;
		break;
	case KIT_FAULT_BIND:
		value = wr->bind_mw.bind_info.length;
		limit = limits->max_bind;
		break;
	case KIT_FAULT_SEND_FLAGS:
		value = wr->send_flags & limits->no_flags;
		fault = value ? fault : KIT_FAULT_UNSIGNALED;
		break;
	default:
		break;
	}
	return kit_send_refuse(qp, said, "ibv_post_send", fault, value, limit);
}

__attribute__((noinline, cold)) int kit_wr_refuse(struct ibv_qp *qp, atomic_uint *said,
						  enum kit_fault fault, uint64_t value,
						  uint32_t limit)
{
	int r = kit_send_refuse(qp, said, "ibv_wr_complete", fault, value, limit);

	if (fault == KIT_FAULT_INLINE || fault == KIT_FAULT_NUM_SGE)
		return ENOSPC;
	return r;
}

__attribute__((noinline, cold)) int kit_recv_refuse(struct ibv_qp *qp, atomic_uint *said,
						    enum kit_fault fault, uint64_t value,
						    uint32_t limit)
{
	char text[256];

	verbs_data(qp->context, "qp 0x%x: ibv_post_recv: refused: %s", qp->qp_num,
		   strerror(fault_errno[fault]));
	if (fault_first(said, fault)) {
		recv_text(fault, value, limit, text, sizeof(text));
		verbs_err(qp->context, "qp 0x%x: ibv_post_recv: %s", qp->qp_num, text);
	}
	return fault_errno[fault];
}

__attribute__((noinline, cold)) int kit_srq_refuse(struct ibv_srq *srq, atomic_uint *said,
						   enum kit_fault fault, uint64_t value,
						   uint32_t limit)
{
	char text[256];

	verbs_data(srq->context, "srq %u: ibv_post_srq_recv: refused: %s", srq->handle,
		   strerror(fault_errno[fault]));
	if (fault_first(said, fault)) {
		recv_text(fault, value, limit, text, sizeof(text));
		verbs_err(srq->context, "srq %u: ibv_post_srq_recv: %s", srq->handle, text);
	}
	return fault_errno[fault];
}

/* Find the cause of a refused receive, its offending value and the limit. */
static enum kit_fault recv_fault(const struct ibv_recv_wr *wr, const struct kit_rq_limits *limits,
				 uint64_t *ret_value, uint32_t *ret_limit)
{
	bool is_short = wr->num_sge < 0 || (uint32_t)wr->num_sge < limits->min_sge;

	*ret_value = 0;
	*ret_limit = limits->max_post;
	if (limits->none)
		return KIT_FAULT_NO_QUEUE;
	if (limits->closed)
		return KIT_FAULT_STATE;
	if (is_short || (uint32_t)wr->num_sge > limits->max_sge) {
		*ret_value = (uint32_t)wr->num_sge;
		*ret_limit = limits->max_sge;
		return KIT_FAULT_NUM_SGE;
	}
	return wr->num_sge && !wr->sg_list ? KIT_FAULT_SG_LIST : KIT_FAULT_FULL;
}

__attribute__((noinline, cold)) int kit_post_recv_refuse(struct ibv_qp *qp, atomic_uint *said,
							 const struct ibv_recv_wr *wr,
							 const struct kit_rq_limits *limits)
{
	uint64_t value;
	uint32_t limit;
	enum kit_fault fault = recv_fault(wr, limits, &value, &limit);

	return kit_recv_refuse(qp, said, fault, fault == KIT_FAULT_STATE ? qp->state : value,
			       limit);
}

__attribute__((noinline, cold)) int kit_post_srq_refuse(struct ibv_srq *srq, atomic_uint *said,
							const struct ibv_recv_wr *wr,
							const struct kit_rq_limits *limits)
{
	uint64_t value;
	uint32_t limit;
	enum kit_fault fault = recv_fault(wr, limits, &value, &limit);

	return kit_srq_refuse(srq, said, fault, value, limit);
}
