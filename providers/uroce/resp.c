/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder: a request packet is checked in the order IBTA vol. 1, chapter 9 validates it -
 * PSN, sequence of operations, resources, length, key - then executed, then answered. Each check is
 * one function that returns a verdict; respond() is the only place that knows what a verdict means
 * on the wire.
 */
#include <string.h>

#include "providers/uroce/dev.h"
#include "providers/uroce/uroce.h"

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

static bool is_rc(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC;
}

/* --- checks --- */

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

/* The packet's transport is the QP's. */
static enum verdict check_transport(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	static const uint8_t transport[] = {
		[IBV_QPT_RC] = UROCE_RC, [IBV_QPT_UC] = UROCE_UC, [IBV_QPT_UD] = UROCE_UD
	};

	return (pkt->hdr.opcode & 0xe0) == transport[qp->type] ? RESP_OK : RESP_DROP;
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

/* UC: a gap loses the message it falls into; the next first packet starts afresh. */
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

	if (start && qp->resp.in_message && !is_rc(qp))
		qp->resp.in_message = false; /* UC: the old message is lost */
	if (start != !qp->resp.in_message)
		return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	if (start || !(flags & (PKT_SEND | PKT_WRITE)))
		return RESP_OK;
	if (qp->resp.operation != (flags & PKT_SEND ? UROCE_SEND_FIRST : UROCE_WRITE_FIRST))
		return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	return RESP_OK;
}

/* The QP admits this kind of remote operation at all. */
static enum verdict check_operation(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	uint32_t need = 0;

	if (flags & PKT_READ)
		need = IBV_ACCESS_REMOTE_READ;
	else if (flags & PKT_ATOMIC)
		need = IBV_ACCESS_REMOTE_ATOMIC;
	else if ((flags & PKT_RETH) && !(flags & PKT_FETH))
		need = IBV_ACCESS_REMOTE_WRITE;
	if ((qp->access & need) != need)
		return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	if ((flags & (PKT_READ | PKT_ATOMIC)) && !qp->resp.max_rd_atomic)
		return RESP_INVALID;
	if ((flags & PKT_ATOMIC) && (pkt->hdr.va & 7))
		return RESP_INVALID;
	return RESP_OK;
}

/*
 * The oldest one makes room for a new request; its requester has its answer by now, or asked for
 * more than was agreed. That it is being answered again is no sign: the repetition may have been on
 * its way for long.
 */
static bool resources_taken(const struct uroce_responder *resp)
{
	const struct uroce_resource *oldest;

	if (resp->res_count < resp->res_size)
		return false;
	oldest = &resp->res[resp->res_head];
	return oldest->active && !oldest->answered;
}

static enum verdict check_resources(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	if (!(flags & (PKT_SEND | PKT_WRITE)) && resources_taken(&qp->resp))
		return RESP_INVALID; /* more outstanding than this side agreed to */
	if (!(flags & PKT_RWQE) || qp->resp.have_rwqe)
		return RESP_OK;
	if (!uroce_rwqe_take(qp))
		return is_rc(qp) ? RESP_RNR : RESP_DROP;
	qp->resp.have_rwqe = true;
	return RESP_OK;
}

static enum verdict check_length(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	uint32_t length = pkt->payload.length;
	uint32_t sofar = flags & PKT_START ? 0 : qp->resp.length;

	if (!(flags & PKT_PAYLOAD))
		return RESP_OK;
	if (!pkt->any_length) {
		if (length > qp->mtu || (!(flags & PKT_END) && length != qp->mtu))
			return is_rc(qp) ? RESP_INVALID : RESP_DROP;
		if (!(flags & PKT_START) && !length)
			return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	}
	if ((uint64_t)sofar + length > UROCE_MAX_MSG_SIZE)
		return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	if (flags & PKT_SEND)
		return (uint64_t)sofar + length <= qp->resp.rwqe->length ? RESP_OK : RESP_LENGTH;
	if (flags & PKT_WRITE) {
		uint32_t total = flags & PKT_RETH ? pkt->hdr.dma_len : qp->resp.dma_len;

		if ((uint64_t)sofar + length > total ||
		    ((flags & PKT_END) && sofar + length != total))
			return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	}
	return RESP_OK;
}

static uint32_t access_needed(const struct uroce_hdr *hdr)
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

/* The whole range of a request is checked at its first packet, before a byte moves. */
static enum verdict check_key(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_hdr *hdr = &pkt->hdr;
	pkt_flags_t flags = hdr_flags(hdr);
	uint64_t length = hdr->dma_len;
	struct uroce_key *key;
	uint8_t *ptr;

	if (!(flags & (PKT_RETH | PKT_ATOMIC_ETH)))
		return RESP_OK;
	if (flags & PKT_ATOMIC_ETH || hdr->opcode == (UROCE_RC | UROCE_ATOMIC_WRITE))
		length = sizeof(uint64_t);
	if (length > UROCE_MAX_MSG_SIZE)
		return is_rc(qp) ? RESP_INVALID : RESP_DROP;
	if (uroce_key_get(qp->dev, hdr->rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num, access_needed(hdr),
			  hdr->va, length, &key, &ptr) < 0)
		return is_rc(qp) ? RESP_ACCESS : RESP_DROP;
	uroce_key_put(key);
	return RESP_OK;
}

/* --- execution --- */

/* What a failed copy means; @ours: this side's memory was at fault. */
static enum verdict copied(const struct uroce_qp *qp, int r, enum verdict ours)
{
	if (likely(!r))
		return RESP_OK;
	if (r == -ESTALE)
		return is_rc(qp) ? RESP_REFERENCE : RESP_DROP;
	return ours;
}

static enum verdict execute_send(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_rwqe *wqe = qp->resp.rwqe;
	int r;

	r = uroce_scatter(qp->dev, qp->vqp.qp.pd, wqe->sge, wqe->num_sge, qp->resp.length,
			  &pkt->payload);
	return copied(qp, r, RESP_LOCAL);
}

static enum verdict execute_write(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &qp->resp;
	struct uroce_payload payload = pkt->payload;
	struct uroce_key *key;
	uint8_t *ptr;
	int r;

	if (!payload.length)
		return RESP_OK;
	if (uroce_key_get(qp->dev, resp->rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
			  IBV_ACCESS_REMOTE_WRITE, resp->va + resp->length, payload.length, &key,
			  &ptr) < 0)
		return is_rc(qp) ? RESP_ACCESS : RESP_DROP;
	r = payload.data ? uroce_copy(ptr, payload.data, payload.length)
			 : payload.path->ops->fetch(payload.path, &payload, 0, ptr, payload.length);
	uroce_key_put(key);
	return copied(qp, r, is_rc(qp) ? RESP_OPERATION : RESP_DROP);
}

/* The slot for a request whose result may be asked for again; the oldest finished one makes room.
 */
static struct uroce_resource *resource_new(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &qp->resp;
	struct uroce_resource *res;

	if (resp->res_count == resp->res_size) {
		resp->res_pending -= resp->res[resp->res_head].active;
		resp->res_head = (resp->res_head + 1) % resp->res_size;
		resp->res_count--;
	}
	res = &resp->res[(resp->res_head + resp->res_count++) % resp->res_size];
	*res = (struct uroce_resource){
		.first_psn = pkt->hdr.psn,
		.last_psn = pkt->hdr.psn,
		.opcode = pkt->hdr.opcode,
		.va = pkt->hdr.va,
		.rkey = pkt->hdr.rkey,
		.active = true,
	};
	resp->res_pending++;
	return res;
}

/* Payload of one read response packet. */
static uint32_t read_segment(const struct uroce_qp *qp)
{
	return qp->av.path && qp->av.path->lossless ? qp->av.mtu : qp->mtu;
}

static enum verdict execute_read(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_resource *res = resource_new(qp, pkt);
	uint32_t segment = read_segment(qp);
	uint32_t packets = pkt->hdr.dma_len ? (pkt->hdr.dma_len + segment - 1) / segment : 1;

	res->length = pkt->hdr.dma_len;
	res->last_psn = psn_add(res->first_psn, packets - 1);
	return RESP_OK;
}

/*
 * Atomics of all QPs of the process meet in the processor's own atomic instructions. The address is
 * the application's memory: it is read once by a checked copy first, so that a vanished page is an
 * error here too.
 */
static enum verdict execute_atomic(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_hdr *hdr = &pkt->hdr;
	struct uroce_key *key;
	uint8_t *ptr;
	uint64_t orig;
	int r;

	if (uroce_key_get(qp->dev, hdr->rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
			  IBV_ACCESS_REMOTE_ATOMIC, hdr->va, sizeof(uint64_t), &key, &ptr) < 0)
		return RESP_ACCESS;
	if ((uintptr_t)ptr & 7)
		r = -EINVAL;
	else if (hdr->opcode == (UROCE_RC | UROCE_CMP_SWAP))
		r = uroce_atomic_cmp_swap(ptr, hdr->compare, hdr->swap_add, &orig);
	else
		r = uroce_atomic_fetch_add(ptr, hdr->swap_add, &orig);
	uroce_key_put(key);
	if (r < 0)
		return r == -EINVAL ? RESP_INVALID : RESP_OPERATION;
	resource_new(qp, pkt)->orig = orig;
	return RESP_OK;
}

static enum verdict execute_atomic_write(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_key *key;
	uint64_t value;
	uint8_t *ptr;
	int r;

	if (pkt->payload.length != sizeof(value) || !pkt->payload.data)
		return RESP_INVALID;
	if (pkt->hdr.va & 7)
		return RESP_INVALID;
	if (uroce_key_get(qp->dev, pkt->hdr.rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
			  IBV_ACCESS_REMOTE_WRITE, pkt->hdr.va, sizeof(value), &key, &ptr) < 0)
		return RESP_ACCESS;
	memcpy(&value, pkt->payload.data, sizeof(value));
	r = (uintptr_t)ptr & 7 ? -EINVAL : uroce_atomic_store(ptr, value);
	uroce_key_put(key);
	if (r < 0)
		return r == -EINVAL ? RESP_INVALID : RESP_OPERATION;
	resource_new(qp, pkt);
	return RESP_OK;
}

/* Stores of this processor are globally visible in order; persistence is the file's behind the
 * mapping. */
static enum verdict execute_flush(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_key *key;
	uint8_t *ptr;
	int r = 0;

	atomic_thread_fence(memory_order_seq_cst);
	if (pkt->hdr.flush_type & FETH_TYPE_PERSISTENT) {
		if (uroce_key_get(qp->dev, pkt->hdr.rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
				  IBV_ACCESS_FLUSH_PERSISTENT, pkt->hdr.va, pkt->hdr.dma_len, &key,
				  &ptr) < 0)
			return RESP_ACCESS;
		r = uroce_key_sync(key, ptr, pkt->hdr.dma_len,
				   pkt->hdr.flush_level == FETH_LEVEL_MR);
		uroce_key_put(key);
	}
	if (r < 0)
		return RESP_OPERATION;
	resource_new(qp, pkt);
	return RESP_OK;
}

static enum verdict execute(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	if (flags & PKT_SEND)
		return execute_send(qp, pkt);
	if (flags & PKT_WRITE)
		return execute_write(qp, pkt);
	if (flags & PKT_READ)
		return execute_read(qp, pkt);
	if (flags & PKT_ATOMIC)
		return execute_atomic(qp, pkt);
	if (flags & PKT_FETH)
		return execute_flush(qp, pkt);
	return execute_atomic_write(qp, pkt);
}

/* --- completion --- */

static void recv_complete(struct uroce_qp *qp, const struct uroce_packet *pkt,
			  enum ibv_wc_status status)
{
	const struct uroce_hdr *hdr = &pkt->hdr;
	pkt_flags_t flags = hdr_flags(hdr);
	bool imm = flags & PKT_IMM, inv = flags & PKT_IETH;
	struct uroce_cqe cqe = {
		.wr_id = qp->resp.rwqe->wr_id,
		.byte_len = qp->resp.length,
		.qp_num = qp->vqp.qp.qp_num,
		.status = status,
		.opcode = flags & PKT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.wc_flags = (imm ? IBV_WC_WITH_IMM : 0) | (inv ? IBV_WC_WITH_INV : 0) |
			    (pkt->grh ? IBV_WC_GRH : 0),
		.src_qp = flags & PKT_DETH ? hdr->src_qpn : qp->dest_qpn,
		.sl = pkt->sl,
		.solicited = hdr->solicited || status,
	};

	if (imm)
		cqe.imm_data = hdr->imm;
	else if (inv)
		cqe.invalidated_rkey = hdr->invalidate_rkey;
	qp->resp.have_rwqe = false;
	uroce_cq_push(qp->recv_cq, &cqe);
}

static enum verdict complete(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	if ((flags & PKT_IETH) && uroce_key_invalidate(qp->dev, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
						       pkt->hdr.invalidate_rkey) < 0)
		return RESP_ACCESS;
	if (flags & PKT_END) {
		qp->resp.msn = (qp->resp.msn + 1) & PSN_MASK;
		qp->resp.in_message = false;
	} else {
		qp->resp.in_message = true;
	}
	if (flags & PKT_CQE)
		recv_complete(qp, pkt, IBV_WC_SUCCESS);
	return RESP_OK;
}

/* --- answers --- */

static void ack_owe(struct uroce_qp *qp, uint8_t syndrome)
{
	/* A NAK of a gap stands until the gap is closed: a duplicate's acknowledgement must not
	 * replace it. */
	if (qp->resp.ack_due && qp->resp.nak_sent && syndrome == (AETH_ACK | AETH_ACK_NO_CREDIT))
		return;
	qp->resp.ack_syndrome = syndrome;
	qp->resp.ack_due = true;
	qp->resp.ack_messages++;
	uroce_ack_later(qp);
}

/* The receive WQE in use ends with @status; the QP goes to the error state. */
static void resp_fail(struct uroce_qp *qp, const struct uroce_packet *pkt,
		      enum ibv_wc_status status)
{
	struct uroce_first_error error = {
		.valid = true,
		.status = status,
		.opcode =
			hdr_flags(&pkt->hdr) & PKT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.is_recv = true,
		.psn = pkt->hdr.psn,
	};

	if (qp->resp.have_rwqe) {
		error.wr_id = qp->resp.rwqe->wr_id;
		recv_complete(qp, pkt, status);
	} else {
		/* No work request of ours is at fault: the peer's request was refused. */
		uroce_event_qp(qp, status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR
								   : IBV_EVENT_QP_REQ_ERR);
	}
	uroce_qp_first_error(qp, &error);
	uroce_resp_run(qp, 0); /* the NAK leaves before the QP stops */
	uroce_qp_error(qp);
}

static void duplicate(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &qp->resp;

	if (hdr_flags(&pkt->hdr) & (PKT_SEND | PKT_WRITE)) {
		ack_owe(qp, AETH_ACK | AETH_ACK_NO_CREDIT);
		return;
	}
	for (uint32_t i = 0; i < resp->res_count; i++) {
		struct uroce_resource *res = &resp->res[(resp->res_head + i) % resp->res_size];
		int32_t skip = psn_diff(pkt->hdr.psn, res->first_psn);

		if (skip < 0 || psn_diff(pkt->hdr.psn, res->last_psn) > 0)
			continue;
		/* A read may be asked for again from the middle; the range must lie in the original
		 * one. */
		if (res->length && (uint64_t)skip * read_segment(qp) > res->length)
			return;
		res->offset = skip * read_segment(qp);
		if (!res->active)
			resp->res_pending++;
		res->active = true;
		uroce_ack_later(qp);
		return;
	}
}

static void respond(struct uroce_qp *qp, const struct uroce_packet *pkt, enum verdict verdict)
{
	switch (verdict) {
	case RESP_OK:
		if (!is_rc(qp))
			break;
		if (!(hdr_flags(&pkt->hdr) & (PKT_SEND | PKT_WRITE)))
			uroce_ack_later(qp); /* its response acknowledges it */
		else if (pkt->hdr.ack_req)
			ack_owe(qp, AETH_ACK | AETH_ACK_NO_CREDIT);
		break;
	case RESP_DROP:
		break;
	case RESP_DUPLICATE:
		duplicate(qp, pkt);
		break;
	case RESP_SEQUENCE:
		qp->resp.nak_sent = true;
		qp->counters.naks_sent++;
		ack_owe(qp, AETH_NAK | NAK_PSN_SEQUENCE);
		break;
	case RESP_RNR:
		qp->resp.nak_sent = true;
		qp->counters.rnr_naks_sent++;
		ack_owe(qp, AETH_RNR_NAK | qp->resp.min_rnr_timer);
		break;
	case RESP_REFERENCE:
		/* This side stays as it was: the message comes again, copied, unless its owner
		 * cannot read it either. */
		qp->resp.nak_sent = true;
		ack_owe(qp, AETH_NAK | NAK_REFERENCE);
		break;
	case RESP_INVALID:
		ack_owe(qp, AETH_NAK | NAK_INVALID_REQUEST);
		resp_fail(qp, pkt, IBV_WC_REM_INV_REQ_ERR);
		break;
	case RESP_LENGTH:
		if (is_rc(qp))
			ack_owe(qp, AETH_NAK | NAK_INVALID_REQUEST);
		resp_fail(qp, pkt, IBV_WC_LOC_LEN_ERR);
		break;
	case RESP_ACCESS:
		ack_owe(qp, AETH_NAK | NAK_REMOTE_ACCESS);
		resp_fail(qp, pkt, IBV_WC_REM_ACCESS_ERR);
		break;
	case RESP_LOCAL:
		if (is_rc(qp))
			ack_owe(qp, AETH_NAK | NAK_REMOTE_OPERATION);
		resp_fail(qp, pkt, IBV_WC_LOC_PROT_ERR);
		break;
	case RESP_OPERATION:
		ack_owe(qp, AETH_NAK | NAK_REMOTE_OPERATION);
		resp_fail(qp, pkt, IBV_WC_LOC_PROT_ERR);
		break;
	}
}

/* --- one packet --- */

static void message_begin(struct uroce_qp *qp, const struct uroce_hdr *hdr)
{
	struct uroce_responder *resp = &qp->resp;
	pkt_flags_t flags = hdr_flags(hdr);

	resp->length = 0;
	resp->operation = flags & PKT_SEND ? UROCE_SEND_FIRST : UROCE_WRITE_FIRST;
	if (flags & PKT_RETH) {
		resp->va = hdr->va;
		resp->rkey = hdr->rkey;
		resp->dma_len = hdr->dma_len;
	}
}

static enum verdict connected_packet(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	uint32_t next_psn = psn_add(pkt->hdr.psn, 1);
	enum verdict v;

	v = is_rc(qp) ? check_psn_rc(qp, pkt) : check_psn_uc(qp, pkt);
	if (v == RESP_OK)
		v = check_sequence(qp, pkt);
	if (v == RESP_OK && (flags & PKT_START))
		v = check_operation(qp, pkt);
	if (v == RESP_OK)
		v = check_resources(qp, pkt);
	if (v == RESP_OK)
		v = check_length(qp, pkt);
	if (v == RESP_OK && (flags & PKT_START))
		v = check_key(qp, pkt);
	if (v != RESP_OK)
		return v;
	if (flags & PKT_START)
		message_begin(qp, &pkt->hdr);
	v = execute(qp, pkt);
	if (v != RESP_OK)
		return v;
	if (flags & (PKT_READ | PKT_ATOMIC | PKT_FETH) ||
	    pkt->hdr.opcode == (UROCE_RC | UROCE_ATOMIC_WRITE)) {
		const struct uroce_responder *r = &qp->resp;

		next_psn =
			psn_add(r->res[(r->res_head + r->res_count - 1) % r->res_size].last_psn, 1);
	}
	qp->resp.length += pkt->payload.length;
	qp->resp.psn = next_psn;
	return complete(qp, pkt);
}

static enum verdict datagram_packet(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_payload grh = { .data = pkt->grh, .length = sizeof(struct ibv_grh) };
	struct uroce_responder *resp = &qp->resp;
	enum verdict v = RESP_OK;

	if (pkt->hdr.qkey != qp->qkey || !pkt->grh)
		return RESP_DROP;
	if (check_resources(qp, pkt) != RESP_OK)
		return RESP_DROP;
	resp->length = 0;
	if ((uint64_t)grh.length + pkt->payload.length > resp->rwqe->length)
		return RESP_LENGTH;
	if (uroce_scatter(qp->dev, qp->vqp.qp.pd, resp->rwqe->sge, resp->rwqe->num_sge, 0, &grh) <
	    0)
		return RESP_LOCAL;
	resp->length = grh.length;
	v = execute_send(qp, pkt);
	if (v != RESP_OK)
		return v;
	resp->length += pkt->payload.length;
	recv_complete(qp, pkt, IBV_WC_SUCCESS);
	return RESP_OK;
}

void uroce_resp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now)
{
	enum verdict v;

	assert_held(&qp->lock);
	if (check_state(qp) != RESP_OK || check_transport(qp, pkt) != RESP_OK)
		return;
	if (qp->state == IBV_QPS_RTR && qp->type != IBV_QPT_UD && !qp->established_raised) {
		qp->established_raised = true;
		uroce_event_qp(qp, IBV_EVENT_COMM_EST);
	}
	qp->counters.rx_packets++;
	qp->counters.rx_bytes += pkt->payload.length;
	v = qp->type == IBV_QPT_UD ? datagram_packet(qp, pkt) : connected_packet(qp, pkt);
	respond(qp, pkt, v);
}

/* --- what is owed --- */

static int resp_send(struct uroce_qp *qp, const struct uroce_hdr *hdr, const struct iovec *iov,
		     int iovcnt, uint32_t length)
{
	struct uroce_tx tx = {
		.hdr = hdr, .iov = iov, .iovcnt = iovcnt, .length = length, .qp = qp
	};
	int r;

	if (!qp->av.path)
		return -ENETUNREACH;
	r = qp->av.path->ops->send(qp->av.path, &qp->av, &tx);
	if (!r) {
		qp->counters.tx_packets++;
		qp->counters.tx_bytes += length;
	}
	return r;
}

static uint8_t read_opcode(const struct uroce_resource *res, uint32_t length)
{
	bool first = !res->offset, last = res->offset + length == res->length;

	if (first && last)
		return UROCE_RC | UROCE_READ_RESP_ONLY;
	if (first)
		return UROCE_RC | UROCE_READ_RESP_FIRST;
	return UROCE_RC | (last ? UROCE_READ_RESP_LAST : UROCE_READ_RESP_MIDDLE);
}

/* The next response packet of @res. Return: 0 sent, with active cleared after the last; -EAGAIN;
 * -EACCES gone. */
static int resource_send(struct uroce_qp *qp, struct uroce_resource *res)
{
	bool atomic = uroce_opcodes[res->opcode].flags & PKT_ATOMIC;
	uint32_t segment = read_segment(qp);
	uint32_t length = atomic ? 0 : min_of(res->length - res->offset, segment);
	struct uroce_hdr hdr = {
		.opcode = atomic ? UROCE_RC | UROCE_ATOMIC_ACK : read_opcode(res, length),
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = psn_add(res->first_psn, res->offset / segment),
		.syndrome = AETH_ACK | AETH_ACK_NO_CREDIT,
		.msn = qp->resp.msn,
		.orig = res->orig,
	};
	struct iovec iov = { .iov_len = length };
	struct uroce_key *key = NULL;
	int r;

	if (length) {
		r = uroce_key_get(qp->dev, res->rkey, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
				  IBV_ACCESS_REMOTE_READ, res->va + res->offset, length, &key,
				  (uint8_t **)&iov.iov_base);
		if (r < 0)
			return -EACCES;
	}
	r = resp_send(qp, &hdr, &iov, length ? 1 : 0, length);
	uroce_key_put(key);
	if (r < 0)
		return r == -EFAULT ? -EACCES : r;
	res->offset += length;
	if (res->offset == res->length || atomic) {
		res->active = false;
		res->answered = true;
		qp->resp.res_pending--;
	}
	return 0;
}

static int ack_send(struct uroce_qp *qp)
{
	struct uroce_responder *resp = &qp->resp;
	bool nak = (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK;
	struct uroce_hdr hdr = {
		.opcode = UROCE_RC | UROCE_ACK,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = nak ? resp->psn : psn_add(resp->psn, PSN_MASK),
		.syndrome = resp->ack_syndrome,
		.msn = resp->msn,
	};
	int r = resp_send(qp, &hdr, NULL, 0, 0);

	if (r != -EAGAIN) {
		resp->ack_due = false;
		resp->ack_messages = 0;
	}
	return r;
}

void uroce_resp_ride(struct uroce_qp *qp)
{
	struct uroce_responder *resp = &qp->resp;

	if (resp->ack_due && !resp->res_pending &&
	    (resp->ack_syndrome & AETH_KIND_MASK) == AETH_ACK)
		ack_send(qp);
}

/* The region of a read went away between request and response: the requester learns it by a NAK. */
static void resource_refused(struct uroce_qp *qp, struct uroce_resource *res)
{
	struct uroce_first_error error = { .valid = true,
					   .status = IBV_WC_REM_ACCESS_ERR,
					   .is_recv = true,
					   .psn = res->first_psn };

	qp->resp.psn = psn_add(res->first_psn, res->offset / read_segment(qp));
	qp->resp.res_pending = 0;
	qp->resp.res_count = 0;
	qp->resp.ack_syndrome = AETH_NAK | NAK_REMOTE_ACCESS;
	ack_send(qp);
	uroce_event_qp(qp, IBV_EVENT_QP_ACCESS_ERR);
	uroce_qp_first_error(qp, &error);
	uroce_qp_error(qp);
}

bool uroce_resp_run(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_responder *resp = &qp->resp;

	assert_held(&qp->lock);
	for (uint32_t i = 0; resp->res_pending && i < resp->res_count; i++) {
		struct uroce_resource *res = &resp->res[(resp->res_head + i) % resp->res_size];

		while (res->active) {
			int r = resource_send(qp, res);

			if (r == -EAGAIN)
				return false;
			if (r == -EACCES) {
				resource_refused(qp, res);
				return true;
			}
			if (r < 0) {
				res->active = false; /* unreachable: the requester will ask again */
				resp->res_pending--;
			}
		}
	}
	return !resp->ack_due || ack_send(qp) != -EAGAIN;
}
