/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first error of a QP in words: the failed operation, the answer of the peer, and advice. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "providers/uroce/engine/engine.h"

const char *uroce_opcode_name(unsigned int opcode)
{
	static const char *const names[] = {
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

	return opcode < ARRAY_SIZE(names) && names[opcode] ? names[opcode] : "unknown";
}

static const char *nak_text(uint8_t syndrome)
{
	static const char *const codes[] = {
		[NAK_PSN_SEQUENCE] = "PSN sequence error",
		[NAK_INVALID_REQUEST] = "invalid request",
		[NAK_REMOTE_ACCESS] = "remote access error",
		[NAK_REMOTE_OPERATION] = "remote operational error",
	};
	uint8_t code = syndrome & AETH_VALUE_MASK;

	if ((syndrome & AETH_KIND_MASK) == AETH_RNR_NAK)
		return "receiver not ready";
	return code < ARRAY_SIZE(codes) ? codes[code] : "unknown NAK";
}

static bool is_answered(unsigned int opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Return what may be wrong at the peer, which refused a request of this side. */
static const char *invalid_advice(unsigned int opcode)
{
	if (is_answered(opcode))
		return "the peer's qp_access_flags refuse the operation, or its max_dest_rd_atomic "
		       "is too small";
	return "the peer's receive was too short, its qp_access_flags refuse the operation, or its "
	       "path_mtu differs";
}

/* Return advice for the administrator or programmer. */
static const char *advice(const struct uroce_first_error *e)
{
	switch (e->status) {
	case IBV_WC_RETRY_EXC_ERR:
		if (e->psns_differ)
			return "the peer answers, but to PSNs that were not sent: its rq_psn and the sq_psn here "
			       "differ";
		return "the peer does not answer: is its process alive, its QP in RTR, dest_qp_num its number, "
		       "UDP port 4791 open, the GID right?";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer has no receive posted: post receives earlier, or set rnr_retry to 7";
	case IBV_WC_REM_ACCESS_ERR:
		return e->is_recv
			       ? "the peer used an rkey, range or access that no memory region of this PD "
				 "allows"
			       : "check rkey, range and access flags of the peer's memory region";
	case IBV_WC_REM_INV_REQ_ERR:
		return e->is_recv
			       ? "the peer asked for an operation this QP's qp_access_flags do not permit, or "
				 "named a queue that is not in its XRC domain and process, or has another "
				 "path_mtu, or sent an impossible packet"
			       : invalid_advice(e->opcode);
	case IBV_WC_LOC_LEN_ERR:
		return e->is_recv
			       ? "the message is longer than the receive's buffers (UD: 40 bytes of GRH come "
				 "first)"
			       : "the message is longer than the path allows (UD: one MTU)";
	case IBV_WC_LOC_PROT_ERR:
		return e->is_recv
			       ? "an lkey, address or length of the receive is not covered by a region of this "
				 "PD with IBV_ACCESS_LOCAL_WRITE, or its memory was unmapped"
			       : "an lkey, address or length of the work request is not covered by a region of "
				 "this PD, which must exist until the completion, or its memory was unmapped";
	case IBV_WC_REM_OP_ERR:
		return "the peer could not store or execute the request: its own first error names the cause";
	case IBV_WC_LOC_QP_OP_ERR:
		return is_answered(e->opcode)
			       ? "an RDMA read or an atomic needs a max_rd_atomic above 0"
			       : "the operation needs max_rd_atomic > 0, or a key to invalidate is not valid";
	case IBV_WC_MW_BIND_ERR:
		return "the region lacks MW_BIND, the range is outside it, or the window belongs elsewhere";
	default:
		return "see ibv_wc_status(7)";
	}
}

/* Return whether the program connected the queue pair to itself, which is seldom intended. */
static bool is_own_peer(const struct uroce_qp *qp)
{
	const struct uroce_route *route = &qp->av.route;

	return qp->type != IBV_QPT_UD && qp->dest_qpn == qp->vqp.qp.qp_num &&
	       !memcmp(&route->dgid, &route->sgid, sizeof(route->dgid));
}

/* Return the cause if it is known, otherwise advice. */
static const char *reason(const struct uroce_qp *qp, char *text, size_t size)
{
	const struct uroce_first_error *e = &qp->first_error;

	if (uroce_refusal_text(qp, e, text, size))
		return text;
	if (!is_own_peer(qp))
		return advice(e);
	snprintf(
		text, size,
		"dest_qp_num is the number of this queue pair: is it that of the peer's? Otherwise %s",
		advice(e));
	return text;
}

/* Return whether rdma-symptoms(7) has a section about the status. */
static bool has_section(uint8_t status)
{
	return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ||
	       status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_REM_ACCESS_ERR ||
	       status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_LOC_QP_OP_ERR;
}

static const char *operation(const struct uroce_first_error *e)
{
	if (!e->is_recv)
		return uroce_opcode_name(e->opcode);
	return e->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? "RDMA_WRITE_WITH_IMM received" : "RECV";
}

/* Write what failed. */
static void subject(const struct uroce_first_error *e, char *text, size_t size)
{
	if (e->of_peer)
		snprintf(text, size, "a request of the peer");
	else
		snprintf(text, size, "%s work request %llu (%s)", e->is_recv ? "receive" : "send",
			 (unsigned long long)e->wr_id, operation(e));
}

/* Write the peer of a connected QP. Datagrams of other QPs have different peers. */
static void peer(const struct uroce_qp *qp, char *text, size_t size)
{
	char gid[INET6_ADDRSTRLEN] = "";

	text[0] = '\0';
	if (qp->type == IBV_QPT_UD)
		return;
	inet_ntop(AF_INET6, qp->av.route.dgid.raw, gid, sizeof(gid));
	snprintf(text, size, ", peer qp 0x%x at %s", qp->dest_qpn, gid);
}

void uroce_qp_explain(const struct uroce_qp *qp)
{
	const struct uroce_first_error *e = &qp->first_error;
	char what[80], whom[INET6_ADDRSTRLEN + 32], why[256];

	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	subject(e, what, sizeof(what));
	peer(qp, whom, sizeof(whom));
	verbs_err(qp->vqp.qp.context,
		  "qp 0x%x: first error: %s of %s%s, PSN %u, %u retries used%s%s: %s%s",
		  qp->vqp.qp.qp_num, ibv_wc_status_str(e->status), what, whom, e->psn, e->retries,
		  e->syndrome ? ", the peer said " : "", e->syndrome ? nak_text(e->syndrome) : "",
		  reason(qp, why, sizeof(why)),
		  has_section(e->status) ? "; see rdma-symptoms(7)" : "");
}
