/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the responder's files share: resp.c executes, resp_check.c validates, answer.c
 * answers, resp_duplicate.c does it again. */
#ifndef UROCE_RESP_H
#define UROCE_RESP_H

#include "providers/uroce/engine/engine.h"

enum verdict {
	RESP_OK,
	RESP_DROP,
	RESP_DUPLICATE,
	RESP_SEQUENCE,	/* a packet is missing before this one */
	RESP_RNR,	/* no receive WQE */
	RESP_INVALID,	/* the request makes no sense here */
	RESP_LENGTH,	/* the receive WQE is too short */
	RESP_ACCESS,	/* key, range or right refused */
	RESP_LOCAL,	/* the receive WQE's own memory is at fault */
	RESP_OPERATION, /* memory gone while executing */
	RESP_REFERENCE, /* the sender's memory that the packet refers to cannot be read */
};

/* The PD that keys and receives are checked against: on XRC that of the SRQ the packet names. */
static inline const struct ibv_pd *resp_pd(const struct uroce_qp *qp)
{
	return unlikely(qp->type == IBV_QPT_XRC_RECV) ? qp->resp.srq->vsrq.srq.pd : qp->vqp.qp.pd;
}

static inline struct uroce_cq *resp_cq(const struct uroce_qp *qp)
{
	return unlikely(qp->type == IBV_QPT_XRC_RECV) ? qp->resp.srq->cq : qp->recv_cq;
}

static inline uint8_t hdr_operation(const struct uroce_hdr *hdr)
{
	return hdr->opcode & UROCE_OPERATION_MASK;
}

static inline uint32_t resp_read_segment(const struct uroce_qp *qp)
{
	return qp->av.path && qp->av.path->lossless ? qp->av.mtu : qp->mtu;
}

/* Responses that a read of @length bytes has. */
static inline uint32_t resp_read_packets(const struct uroce_qp *qp, uint32_t length)
{
	return length ? (length - 1) / resp_read_segment(qp) + 1 : 1;
}

/* An acknowledgement is due, or a refusal. */
void resp_ack_owe(struct uroce_qp *qp, uint8_t syndrome);
/* The answer to a read is for these bytes, from this number on. */
void resp_resource_ask(struct uroce_resource *res, uint32_t psn, uint64_t va, uint32_t length);
/* A request that was executed already. */
void resp_duplicate(struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Whether the QP takes packets, and such ones. */
bool resp_check_addressed(const struct uroce_qp *qp, const struct uroce_packet *pkt);
/* A packet of a connected QP, in the order of the specification. */
enum verdict resp_check_request(struct uroce_qp *qp, const struct uroce_packet *pkt);
/*
 * Find the @length bytes of a request for @need, as uroce_key_get() does. A flush of the whole
 * region names no range: whatever address and length it has are ignored.
 */
int resp_key_get(struct uroce_qp *qp, const struct uroce_hdr *hdr, uint32_t need, uint64_t length,
		 struct uroce_key **ret_key, uint8_t **ret_ptr);
/* That there is a receive WQE for it, when it needs one, and room for its answer. */
enum verdict resp_check_resources(struct uroce_qp *qp, const struct uroce_packet *pkt);

#endif
