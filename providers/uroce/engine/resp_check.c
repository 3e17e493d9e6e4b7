/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Validation of a request packet, in the order of IBTA vol. 1, chapter 9: PSN, sequence of
 * operations, resources, length, key. Each check is one function that returns a verdict.
 */
#include "providers/uroce/engine/resp.h"

static enum verdict check_state(const struct uroce_qp *qp)
{
	switch (qp->state) {
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
		return RESP_OK;
	default:
		return RESP_DROP;
	}
}

/* Check that packet and QP have the same transport. */
static enum verdict check_transport(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	if (unlikely(qp->type == IBV_QPT_XRC_SEND))
		return RESP_DROP;
	return (pkt->hdr.opcode & UROCE_TRANSPORT_MASK) == uroce_qp_transport(qp) ? RESP_OK
										  : RESP_DROP;
}

static enum verdict check_psn_rc(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	int32_t diff = psn_diff(pkt->hdr.psn, qp->resp.psn);

	if (diff == 0) {
		qp->resp.nak_sent = false;
		return RESP_OK;
	}
	if (diff < 0) {
		qp->counters.duplicates++;
		return RESP_DUPLICATE;
	}
	qp->counters.out_of_order++;
	if (qp->resp.nak_sent)
		return RESP_DROP;
	return RESP_SEQUENCE;
}

/* UC: a gap loses the message that contains it. The next first packet begins a new message. */
static enum verdict check_psn_uc(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	if (pkt->hdr.psn == qp->resp.psn)
		return RESP_OK;
	qp->counters.out_of_order++;
	qp->resp.in_message = false;
	if (!(hdr_flags(&pkt->hdr) & PKT_START))
		return RESP_DROP;
	qp->resp.psn = pkt->hdr.psn;
	return RESP_OK;
}

static enum verdict check_sequence(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	bool start = flags & PKT_START;

	if (start && qp->resp.in_message && !uroce_qp_reliable(qp))
		qp->resp.in_message = false; /* UC: the old message is lost */
	if (start != !qp->resp.in_message)
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	if (start || !(flags & (PKT_SEND | PKT_WRITE)))
		return RESP_OK;
	if (qp->resp.operation != (flags & PKT_SEND ? UROCE_SEND_FIRST : UROCE_WRITE_FIRST))
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	return RESP_OK;
}

/* XRC: each packet names its SRQ, which must be in the QP's domain. All packets of a message name
 * the same. */
static enum verdict check_srq(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_srq *srq = uroce_xrc_srq(qp->engine, qp->domain, pkt->hdr.srqn);

	if (!srq || (!(hdr_flags(&pkt->hdr) & PKT_START) && srq != qp->resp.srq))
		return RESP_INVALID;
	qp->resp.srq = srq;
	return RESP_OK;
}

/*
 * Check that qp_access_flags admit this kind of remote operation. Each packet of a write is
 * checked, because the program may revoke the right in the middle of a message.
 */
static enum verdict check_operation(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	uint32_t need = 0;

	if (flags & PKT_READ)
		need = IBV_ACCESS_REMOTE_READ;
	else if (flags & PKT_ATOMIC)
		need = IBV_ACCESS_REMOTE_ATOMIC;
	else if ((flags & PKT_WRITE) || ((flags & PKT_RETH) && !(flags & PKT_FETH)))
		need = IBV_ACCESS_REMOTE_WRITE;
	if ((qp->access & need) != need)
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	if ((flags & (PKT_READ | PKT_ATOMIC)) && !qp->resp.max_rd_atomic)
		return RESP_INVALID;
	if ((flags & PKT_ATOMIC) && (pkt->hdr.va & 7))
		return RESP_INVALID;
	return RESP_OK;
}

/*
 * Return whether there is no room for a new request. The oldest request makes room, because its
 * requester has the answer or exceeds the agreed number of requests. A second answer that is being
 * sent does not count, because the repeated request may have been delayed for long.
 */
static bool resources_taken(const struct uroce_responder *resp)
{
	const struct uroce_resource *oldest;

	if (resp->res_count < resp->res_size)
		return false;
	oldest = &resp->res[resp->res_head];
	return oldest->active && !oldest->answered;
}

enum verdict resp_check_resources(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	if (!(flags & (PKT_SEND | PKT_WRITE)) && resources_taken(&qp->resp))
		/* the peer has more requests outstanding than this side agreed to */
		return RESP_INVALID;
	if (!(flags & PKT_RWQE) || qp->resp.have_rwqe)
		return RESP_OK;
	if (!uroce_rwqe_take(qp))
		return uroce_qp_reliable(qp) ? RESP_RNR : RESP_DROP;
	qp->resp.have_rwqe = true;
	return RESP_OK;
}

/*
 * Check that the path MTUs of both QPs agree, or that the message fits in the smaller one. @length:
 * bytes of the message up to this packet. A path that passes messages as a whole carries the
 * sender's MTU in each packet.
 */
static bool mtu_agrees(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t length)
{
	if (hdr_flags(&pkt->hdr) & PKT_RETH)
		length = pkt->hdr.dma_len;
	qp->resp.mtu_agreed = pkt->path_mtu == qp->av.path_mtu;
	return !path_mtu_fails(pkt->path_mtu, qp->av.path_mtu, length);
}

static enum verdict check_length(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	uint32_t length = pkt->payload.length;
	uint32_t sofar = flags & PKT_START ? 0 : qp->resp.length;

	if (!(flags & PKT_PAYLOAD))
		return RESP_OK;
	if (pkt->any_length && unlikely(!mtu_agrees(qp, pkt, (uint64_t)sofar + length)))
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	if (!pkt->any_length) {
		if (length > qp->mtu || (!(flags & PKT_END) && length != qp->mtu))
			return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
		if (!(flags & PKT_START) && !length)
			return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	}
	if ((uint64_t)sofar + length > UROCE_MAX_MSG_SIZE)
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	if (flags & PKT_SEND)
		return (uint64_t)sofar + length <= qp->resp.rwqe->length ? RESP_OK : RESP_LENGTH;
	if (flags & PKT_WRITE) {
		uint32_t total = flags & PKT_RETH ? pkt->hdr.dma_len : qp->resp.dma_len;

		if ((uint64_t)sofar + length > total ||
		    ((flags & PKT_END) && sofar + length != total))
			return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	}
	return RESP_OK;
}

uint32_t resp_access_needed(const struct uroce_hdr *hdr)
{
	pkt_flags_t flags = hdr_flags(hdr);

	if (flags & PKT_FETH)
		return hdr->flush_type & FETH_TYPE_PERSISTENT ? IBV_ACCESS_FLUSH_PERSISTENT
							      : IBV_ACCESS_FLUSH_GLOBAL;
	if (flags & PKT_READ)
		return IBV_ACCESS_REMOTE_READ;
	if (flags & PKT_ATOMIC)
		return IBV_ACCESS_REMOTE_ATOMIC;
	return IBV_ACCESS_REMOTE_WRITE;
}

/* Return whether a flush is for the whole region. Then its address and length have no meaning. */
static bool flushes_region(const struct uroce_hdr *hdr)
{
	return hdr_flags(hdr) & PKT_FETH && hdr->flush_level == FETH_LEVEL_MR;
}

int resp_key_get(struct uroce_qp *qp, const struct uroce_hdr *hdr, uint32_t need, uint64_t length,
		 struct uroce_key **ret_key, uint8_t **ret_ptr)
{
	const struct uroce_key *key = uroce_key_at(qp->engine->keys, hdr->rkey);
	uint64_t va = hdr->va;

	/* If the region changes meanwhile, the look-up of its first byte fails. */
	if (key && flushes_region(hdr)) {
		va = key->iova;
		length = 1;
	}
	return uroce_key_get(qp->engine->keys, hdr->rkey, resp_pd(qp), qp->vqp.qp.qp_num, need, va,
			     length, ret_key, ret_ptr);
}

/* Check the whole range of a request at its first packet, before any byte is copied. */
static enum verdict check_key(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_hdr *hdr = &pkt->hdr;
	pkt_flags_t flags = hdr_flags(hdr);
	uint64_t length = hdr->dma_len;
	struct uroce_key *key;
	uint8_t *ptr;

	if (!(flags & (PKT_RETH | PKT_ATOMIC_ETH)))
		return RESP_OK;
	if (flags & PKT_ATOMIC_ETH || hdr_operation(hdr) == UROCE_ATOMIC_WRITE)
		length = sizeof(uint64_t);
	if (length > UROCE_MAX_MSG_SIZE && !flushes_region(hdr))
		return uroce_qp_reliable(qp) ? RESP_INVALID : RESP_DROP;
	if (resp_key_get(qp, hdr, resp_access_needed(hdr), length, &key, &ptr) < 0)
		return uroce_qp_reliable(qp) ? RESP_ACCESS : RESP_DROP;
	uroce_key_put(key);
	return RESP_OK;
}

enum verdict resp_check_request(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	bool start = hdr_flags(&pkt->hdr) & PKT_START;
	enum verdict v = uroce_qp_reliable(qp) ? check_psn_rc(qp, pkt) : check_psn_uc(qp, pkt);

	if (v == RESP_OK)
		v = check_sequence(qp, pkt);
	if (v == RESP_OK && unlikely(qp->type == IBV_QPT_XRC_RECV))
		v = check_srq(qp, pkt);
	if (v == RESP_OK && (start || (hdr_flags(&pkt->hdr) & PKT_WRITE)))
		v = check_operation(qp, pkt);
	if (v == RESP_OK)
		v = resp_check_resources(qp, pkt);
	if (v == RESP_OK)
		v = check_length(qp, pkt);
	if (v == RESP_OK && start)
		v = check_key(qp, pkt);
	return v;
}

bool resp_check_addressed(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	return check_state(qp) == RESP_OK && check_transport(qp, pkt) == RESP_OK;
}
