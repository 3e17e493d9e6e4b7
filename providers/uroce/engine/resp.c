/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder: a request packet is checked (resp_check.c), then executed, then answered
 * (answer.c). Only respond() maps verdicts to packets.
 */
#include <string.h>

#include "providers/uroce/engine/resp.h"

/* --- execution --- */

/* Return the verdict of a copy. @ours: the verdict if memory of this side failed. */
static enum verdict copied(const struct uroce_qp *qp, int r, enum verdict ours)
{
	if (likely(!r))
		return RESP_OK;
	if (r == -ESTALE)
		return uroce_qp_reliable(qp) ? RESP_REFERENCE : RESP_DROP;
	return ours;
}

static enum verdict execute_send(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_rwqe *wqe = qp->resp.rwqe;
	int r;

	r = uroce_scatter(qp->engine->keys, resp_pd(qp), wqe->sge, wqe->num_sge, qp->resp.length,
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
	if (uroce_key_get(qp->engine->keys, resp->rkey, resp_pd(qp), qp->vqp.qp.qp_num,
			  IBV_ACCESS_REMOTE_WRITE, resp->va + resp->length, payload.length, &key,
			  &ptr) < 0)
		return uroce_qp_reliable(qp) ? RESP_ACCESS : RESP_DROP;
	r = payload.data ? uroce_copy(ptr, payload.data, payload.length)
			 : payload.path->ops->fetch(payload.path, &payload, 0, ptr, payload.length);
	uroce_key_put(key);
	return copied(qp, r, uroce_qp_reliable(qp) ? RESP_OPERATION : RESP_DROP);
}

/* Return the slot of a request whose result may be requested again. The oldest finished one makes
 * room. */
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
		.srq = resp->srq,
		.answer_psn = pkt->hdr.psn,
		.active = true,
	};
	resp->res_pending++;
	return res;
}

void resp_resource_ask(struct uroce_resource *res, uint32_t psn, uint64_t va, uint32_t length)
{
	res->answer_psn = psn;
	res->answer_va = va;
	res->answer_length = length;
	res->offset = 0;
}

/* Enter a read. Its responses are sent later. */
static enum verdict execute_read(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_resource *res = resource_new(qp, pkt);

	res->length = pkt->hdr.dma_len;
	res->last_psn = psn_add(res->first_psn, resp_read_packets(qp, res->length) - 1);
	resp_resource_ask(res, res->first_psn, res->va, res->length);
	return RESP_OK;
}

/*
 * Execute an atomic operation. Atomics of all QPs of the process use atomic instructions of the
 * processor. A checked copy reads the application's memory first, so that an unmapped page is an
 * error here, too.
 */
static enum verdict execute_atomic(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	const struct uroce_hdr *hdr = &pkt->hdr;
	struct uroce_key *key;
	uint8_t *ptr;
	uint64_t orig;
	int r;

	if (uroce_key_get(qp->engine->keys, hdr->rkey, resp_pd(qp), qp->vqp.qp.qp_num,
			  IBV_ACCESS_REMOTE_ATOMIC, hdr->va, sizeof(uint64_t), &key, &ptr) < 0)
		return RESP_ACCESS;
	if ((uintptr_t)ptr & 7)
		r = -EINVAL;
	else if (hdr_operation(hdr) == UROCE_CMP_SWAP)
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
	if (uroce_key_get(qp->engine->keys, pkt->hdr.rkey, resp_pd(qp), qp->vqp.qp.qp_num,
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

/* Execute a flush. Stores of this processor are globally visible in order. The file behind the
 * mapping provides persistence. */
static enum verdict execute_flush(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_key *key;
	uint8_t *ptr;
	int r = 0;

	atomic_thread_fence(memory_order_seq_cst);
	if (pkt->hdr.flush_type & FETH_TYPE_PERSISTENT) {
		if (resp_key_get(qp, &pkt->hdr, IBV_ACCESS_FLUSH_PERSISTENT, pkt->hdr.dma_len, &key,
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

/* Invalidate a window, by the last packet of a message. */
static enum verdict execute_invalidate(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	int r = uroce_key_invalidate(qp->engine->keys, resp_pd(qp), qp->vqp.qp.qp_num,
				     pkt->hdr.invalidate_rkey);

	return r < 0 ? RESP_ACCESS : RESP_OK;
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
	struct ibv_wc wc = {
		.wr_id = qp->resp.rwqe->wr_id,
		.byte_len = status == IBV_WC_SUCCESS ? qp->resp.length : 0,
		.qp_num = qp->vqp.qp.qp_num,
		.status = status,
		.opcode = flags & PKT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.wc_flags = (imm ? IBV_WC_WITH_IMM : 0) | (inv ? IBV_WC_WITH_INV : 0) |
			    (pkt->grh ? IBV_WC_GRH : 0),
		.src_qp = flags & PKT_DETH ? hdr->src_qpn : qp->dest_qpn,
		.sl = pkt->grh ? uroce_grh_sl(pkt->grh) : 0,
	};

	if (imm)
		wc.imm_data = hdr->imm;
	else if (inv)
		wc.invalidated_rkey = hdr->invalidate_rkey;
	qp->resp.have_rwqe = false;
	uroce_cq_push(resp_cq(qp), qp, &wc, NULL, hdr->solicited || status);
}

static void complete(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	if (flags & PKT_END) {
		qp->resp.msn = (qp->resp.msn + 1) & PSN_MASK;
		qp->resp.in_message = false;
	} else {
		qp->resp.in_message = true;
	}
	if (flags & PKT_CQE)
		recv_complete(qp, pkt, IBV_WC_SUCCESS);
}

/* --- answers --- */

void resp_ack_owe(struct uroce_qp *qp, uint8_t syndrome)
{
	/* The NAK of a gap stays valid until the gap is closed. The acknowledgement of a duplicate
	 * must not replace it. */
	if (qp->resp.ack_due && qp->resp.nak_sent && syndrome == (AETH_ACK | AETH_ACK_NO_CREDIT))
		return;
	if (qp->resp.ack_withheld) /* the peer continued without the acknowledgement */
		qp->resp.ack_piggyback_next = 0;
	qp->resp.ack_passes = 0;
	qp->resp.ack_syndrome = syndrome;
	qp->resp.ack_due = qp->resp.ack_asked = true;
	qp->resp.ack_messages++;
	uroce_ack_later(qp);
}

/* Complete the current receive WQE with @status; the QP goes to the error state. */
static void resp_fail(struct uroce_qp *qp, const struct uroce_packet *pkt,
		      enum ibv_wc_status status)
{
	struct uroce_first_error error = {
		.valid = true,
		.status = status,
		.opcode =
			hdr_flags(&pkt->hdr) & PKT_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.is_recv = true,
		.of_peer = !qp->resp.have_rwqe,
		.psn = pkt->hdr.psn,
		.refused = pkt,
	};

	if (qp->resp.have_rwqe) {
		error.wr_id = qp->resp.rwqe->wr_id;
		recv_complete(qp, pkt, status);
	} else {
		/* No work request of this side failed. Only a request of the peer was refused. */
		uroce_event_qp(qp, status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR
								   : IBV_EVENT_QP_REQ_ERR);
	}
	uroce_qp_first_error(qp, &error);
	uroce_resp_turn(qp); /* the NAK leaves before the QP stops */
	uroce_comp_own_nak(qp);
	uroce_qp_error(qp);
}

void uroce_resp_took(struct uroce_qp *qp, bool ack_req)
{
	if (ack_req) {
		resp_ack_owe(qp, AETH_ACK | AETH_ACK_NO_CREDIT);
	} else if (qp->resp.ack_due) {
		qp->resp.ack_messages++; /* the acknowledgement will cover one more message */
		uroce_ack_later(qp);
	}
}

static void respond_ok(struct uroce_qp *qp, const struct uroce_hdr *hdr)
{
	pkt_flags_t flags = hdr_flags(hdr);

	if (!uroce_qp_reliable(qp))
		return;
	if (!(flags & (PKT_SEND | PKT_WRITE)))
		uroce_ack_later(qp); /* the response acknowledges the request */
	else if (hdr->ack_req || (flags & PKT_END))
		uroce_resp_took(qp, hdr->ack_req);
	qp->resp.ack_inside |= hdr->ack_req && !(flags & PKT_END);
	qp->resp.ack_hurry |= !(flags & PKT_END) || !(flags & PKT_START);
}

/* Ask the peer to send the packet again. */
static void ask_again(struct uroce_qp *qp, uint8_t syndrome)
{
	qp->resp.nak_sent = true;
	resp_ack_owe(qp, syndrome);
}

/*
 * Send the answers to earlier requests before a refusal. A long answer takes more than this turn.
 * Then ask for the packet again, as if it were lost, and refuse it when it arrives, so that no
 * state has to be kept until then. Return: whether the packet was asked for again.
 */
static bool answers_first(struct uroce_qp *qp)
{
	if (!qp->resp.res_pending || !uroce_resp_turn(qp) || !qp->resp.res_pending)
		return false;
	qp->counters.naks_sent++;
	ask_again(qp, AETH_NAK | NAK_PSN_SEQUENCE);
	return true;
}

/* Fail the QP: send a NAK to the peer, and complete and report the error here. */
static void refuse(struct uroce_qp *qp, const struct uroce_packet *pkt, enum verdict verdict)
{
	static const struct {
		uint8_t nak;
		enum ibv_wc_status status;
	} words[] = {
		[RESP_INVALID] = { NAK_INVALID_REQUEST, IBV_WC_REM_INV_REQ_ERR },
		[RESP_LENGTH] = { NAK_INVALID_REQUEST, IBV_WC_LOC_LEN_ERR },
		[RESP_ACCESS] = { NAK_REMOTE_ACCESS, IBV_WC_REM_ACCESS_ERR },
		[RESP_LOCAL] = { NAK_REMOTE_OPERATION, IBV_WC_LOC_PROT_ERR },
		[RESP_OPERATION] = { NAK_REMOTE_OPERATION, IBV_WC_LOC_PROT_ERR },
	};

	if (answers_first(qp) || qp->state == IBV_QPS_ERR)
		return;
	if (verdict != RESP_LOCAL || uroce_qp_reliable(qp))
		resp_ack_owe(qp, AETH_NAK | words[verdict].nak);
	resp_fail(qp, pkt, words[verdict].status);
}

static void respond(struct uroce_qp *qp, const struct uroce_packet *pkt, enum verdict verdict)
{
	switch (verdict) {
	case RESP_OK:
		respond_ok(qp, &pkt->hdr);
		break;
	case RESP_DROP:
		break;
	case RESP_DUPLICATE:
		resp_duplicate(qp, pkt);
		break;
	case RESP_SEQUENCE:
		qp->counters.naks_sent++;
		ask_again(qp, AETH_NAK | NAK_PSN_SEQUENCE);
		break;
	case RESP_RNR:
		qp->counters.rnr_naks_sent++;
		ask_again(qp, AETH_RNR_NAK | qp->resp.min_rnr_timer);
		break;
	case RESP_REFERENCE:
		/*
		 * Keep the state of this side. The sender then sends the message again as a copy,
		 * if it can read its own memory.
		 */
		ask_again(qp, AETH_NAK | NAK_REFERENCE);
		break;
	case RESP_LENGTH:
		if (!uroce_qp_reliable(qp)) {
			/* the message is lost; its receive waits for the next one */
			qp->resp.in_message = false;
			break;
		}
		refuse(qp, pkt, verdict);
		break;
	case RESP_INVALID:
	case RESP_ACCESS:
	case RESP_LOCAL:
	case RESP_OPERATION:
		refuse(qp, pkt, verdict);
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
	enum verdict v = resp_check_request(qp, pkt);

	if (v != RESP_OK)
		return v;
	if (flags & PKT_START)
		message_begin(qp, &pkt->hdr);
	v = execute(qp, pkt);
	if (v == RESP_OK && (flags & PKT_IETH))
		v = execute_invalidate(qp, pkt);
	if (v != RESP_OK)
		return v;
	if (flags & (PKT_READ | PKT_ATOMIC | PKT_FETH) ||
	    hdr_operation(&pkt->hdr) == UROCE_ATOMIC_WRITE) {
		const struct uroce_responder *r = &qp->resp;

		next_psn =
			psn_add(r->res[(r->res_head + r->res_count - 1) % r->res_size].last_psn, 1);
	}
	qp->resp.length += pkt->payload.length;
	qp->resp.psn = next_psn;
	complete(qp, pkt);
	return RESP_OK;
}

/* Count a datagram that is dropped, and log the first one of the QP. */
static enum verdict datagram_drop(struct uroce_qp *qp, uint64_t *counter, const char *cause)
{
	if (!(*counter)++)
		verbs_warn(qp->vqp.qp.context, "qp 0x%x: a datagram was dropped: %s",
			   qp->vqp.qp.qp_num, cause);
	return RESP_DROP;
}

static enum verdict datagram_packet(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_payload grh = { .data = pkt->grh, .length = sizeof(struct ibv_grh) };
	struct uroce_responder *resp = &qp->resp;
	enum verdict v = RESP_OK;

	if (!pkt->grh)
		return RESP_DROP;
	if (pkt->hdr.qkey != qp->qkey) {
		atomic_store_explicit(&qp->engine->qkey_wrong, true, memory_order_relaxed);
		return datagram_drop(qp, &qp->counters.wrong_qkey,
				     "its Q_Key is not that of the queue pair");
	}
	if (resp_check_resources(qp, pkt) != RESP_OK)
		return datagram_drop(qp, &qp->counters.no_receive, "no receive is posted");
	resp->length = 0;
	if ((uint64_t)grh.length + pkt->payload.length > resp->rwqe->length) {
		datagram_drop(qp, &qp->counters.short_receive,
			      "the receive is shorter than the message and 40 bytes for the GRH");
		return RESP_LENGTH;
	}
	if (uroce_scatter(qp->engine->keys, resp_pd(qp), resp->rwqe->sge, resp->rwqe->num_sge, 0,
			  &grh) < 0)
		return RESP_LOCAL;
	resp->length = grh.length;
	v = execute_send(qp, pkt);
	if (v != RESP_OK)
		return v;
	resp->length += pkt->payload.length;
	recv_complete(qp, pkt, IBV_WC_SUCCESS);
	return RESP_OK;
}

void uroce_resp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	enum verdict v;

	assert_held(&qp->lock);
	if (!resp_check_addressed(qp, pkt))
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
