/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that the files of the responder share: resp.c executes, resp_check.c checks, answer.c
 * answers, resp_duplicate.c handles repeated requests. */
#ifndef UROCE_RESP_H
#define UROCE_RESP_H

#include "providers/uroce/engine/engine.h"

enum verdict {
	RESP_OK,
	RESP_DROP,
	RESP_DUPLICATE,
	RESP_SEQUENCE,	/* a packet before this one is missing */
	RESP_RNR,	/* no receive WQE */
	RESP_INVALID,	/* the request is invalid here */
	RESP_LENGTH,	/* the receive WQE is too short */
	RESP_ACCESS,	/* key, range or right refused */
	RESP_LOCAL,	/* the memory of the receive WQE failed */
	RESP_OPERATION, /* memory became inaccessible during execution */
	RESP_REFERENCE, /* the referenced memory of the sender cannot be read */
};

/* Return the PD of keys and receives. On XRC it is the PD of the packet's SRQ. */
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

/* Return the number of responses to a read of @length bytes. */
static inline uint32_t resp_read_packets(const struct uroce_qp *qp, uint32_t length)
{
	return length ? (length - 1) / resp_read_segment(qp) + 1 : 1;
}

/* Owe an acknowledgement or a NAK. */
void resp_ack_owe(struct uroce_qp *qp, uint8_t syndrome);
/* Send these bytes as the answer to a read, beginning with this PSN. */
void resp_resource_ask(struct uroce_resource *res, uint32_t psn, uint64_t va, uint32_t length);
/* Handle a request that was executed already. */
void resp_duplicate(struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Return whether the QP accepts packets of this transport at present. */
bool resp_check_addressed(const struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Check a packet of a connected QP, in the order of the specification. */
enum verdict resp_check_request(struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Return the IBV_ACCESS_* that the region of a request must have. */
uint32_t resp_access_needed(const struct uroce_hdr *hdr);
/*
 * Call uroce_key_get() for the @length bytes that a request names. @need: the access. A flush of
 * the whole region names no range: ignore its address and length.
 */
int resp_key_get(struct uroce_qp *qp, const struct uroce_hdr *hdr, uint32_t need, uint64_t length,
		 struct uroce_key **ret_key, uint8_t **ret_ptr);
/* Check that there is a receive WQE if the packet needs one, and room for its answer. */
enum verdict resp_check_resources(struct uroce_qp *qp, const struct uroce_packet *pkt);

#endif
