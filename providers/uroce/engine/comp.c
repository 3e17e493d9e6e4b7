/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The completer: acknowledgements, NAKs and responses retire send WQEs. All requests up to an
 * acknowledged PSN are done, except those that still wait for response data.
 */
#include <string.h>

#include "providers/uroce/engine/resp.h"

/* Field order of the 5-bit RNR timer: IBTA vol. 1, chapter 9, in units of 10 us. */
static const uint32_t rnr_units[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

enum {
	RTT_LEAST_SAMPLES = 256,
};

static uint64_t rnr_ns(uint8_t timer)
{
	return rnr_units[timer & AETH_VALUE_MASK] * 10000ull;
}

/* --- retiring --- */

static const uint8_t wc_opcodes[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
	[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
	[IBV_WR_FLUSH] = IBV_WC_FLUSH,
	[IBV_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
};

uint8_t uroce_wc_opcode(uint8_t wr_opcode)
{
	return wc_opcodes[wr_opcode];
}

/* Push the completion of @wqe. Its opcode is valid on errors, too. */
void uroce_comp_push(struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	bool failed = wqe->status != IBV_WC_SUCCESS;
	struct uroce_cq_place place;

	if (!failed && !(wqe->flags & IBV_SEND_SIGNALED) && !qp->sq.sig_all)
		return;
	place = uroce_cq_begin(qp->send_cq, qp);
	if (unlikely(!place.wc))
		return;
	*place.wc = (struct ibv_wc){
		.wr_id = wqe->wr_id,
		.status = wqe->status,
		.opcode = wc_opcodes[wqe->opcode],
		.byte_len = wqe->length,
		.qp_num = qp->vqp.qp.qp_num,
		.vendor_err = wqe->vendor_err,
	};
	uroce_cq_end(qp->send_cq, place, &qp->sq, failed);
}

/* Return how often requests of the QP were repeated before it gave up with @status. */
static uint32_t retries_used(const struct uroce_requester *req, enum ibv_wc_status status)
{
	if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		return req->rnr_retry - req->rnr_left;
	return req->retry_cnt - req->retry_left;
}

static void send_failed(struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	struct uroce_first_error error = {
		.valid = true,
		.status = wqe->status,
		.opcode = wqe->opcode,
		.syndrome = wqe->vendor_err,
		.wr_id = wqe->wr_id,
		.psn = wqe->psn_assigned ? qp->req.una : qp->req.psn,
		.retries = retries_used(&qp->req, wqe->status),
		.psns_differ = qp->req.psn_unsent && qp->req.una == qp->sq_psn,
	};

	uroce_qp_first_error(qp, &error);
	uroce_qp_send_error(qp);
}

void uroce_comp_retire(struct uroce_qp *qp)
{
	struct uroce_sq *sq = &qp->sq;

	while (sq->tail != sq->next) {
		struct uroce_swqe *wqe = sq_wqe(sq, sq->tail);
		bool failed = wqe->status != IBV_WC_SUCCESS;

		if (wqe->state != WQE_DONE)
			break;
		/* The flush of a failing QP completes this WQE, too. */
		if (!failed || !uroce_qp_reliable(qp)) {
			uroce_comp_push(qp, wqe);
			sq->tail++;
		}
		if (failed) {
			send_failed(qp, wqe);
			return;
		}
	}
	if (qp->sq_draining && sq->tail == sq->next)
		uroce_qp_drained(qp);
}

/* --- acknowledgements --- */

/* End a measurement of the round trip. Smooth it like TCP: RFC 6298. Forget the shortest one
 * slowly, because the route may have changed. */
static void rtt_end(struct uroce_requester *req, uint64_t now)
{
	uint32_t sample = min_of(now - req->rtt_start, (uint64_t)UINT32_MAX);
	uint32_t off = sample > req->rtt ? sample - req->rtt : req->rtt - sample;

	if (!req->rtt) {
		req->rtt = req->rtt_least = sample;
		req->rtt_var = sample / 2;
	} else {
		req->rtt_least =
			sample < req->rtt_least
				? sample
				: req->rtt_least + (sample - req->rtt_least) / RTT_LEAST_SAMPLES;
		req->rtt_var += ((int64_t)off - req->rtt_var) / 4;
		req->rtt += ((int64_t)sample - req->rtt) / 8;
	}
	req->rtt_start = 0;
}

static void una_advance(struct uroce_qp *qp, uint32_t una, uint64_t now)
{
	struct uroce_requester *req = &qp->req;
	uint32_t before = req->una;

	if (psn_diff(una, before) <= 0)
		return;
	if (req->rtt_start && psn_diff(una, req->rtt_psn) > 0 && now)
		rtt_end(req, now);
	req->una = una;
	if (psn_diff(req->psn, una) < 0)
		/* an old packet was acknowledged after the requester had gone back */
		req->psn = una;
	req->retry_left = req->retry_cnt;
	req->rnr_left = req->rnr_retry;
	req->probes = 0;
	if (now)
		req->progress_time = now;
	if (req->recovering && psn_diff(una, req->recover) >= 0)
		req->recovering = false;
	uroce_window_acked(qp, before);
}

/*
 * Handle the execution of all requests up to @psn by the peer. Return: false if they include a
 * request whose response has not arrived and therefore was lost.
 */
static bool ack_through(struct uroce_qp *qp, uint32_t psn, uint64_t now)
{
	struct uroce_sq *sq = &qp->sq;
	uint32_t una = psn_add(psn, 1);
	bool complete = true;

	for (uint32_t i = sq->tail; i != sq->head; i++) {
		struct uroce_swqe *wqe = sq_wqe(sq, i);

		if (wqe->state == WQE_DONE)
			continue;
		if (!wqe->psn_assigned || psn_diff(wqe->first_psn, psn) > 0)
			break;
		if (uroce_wqe_has_response(wqe)) {
			una = psn_add(wqe->first_psn, wqe->received / uroce_wqe_segment(qp, wqe));
			complete = false;
			break;
		}
		if (psn_diff(wqe->last_psn, psn) > 0)
			break;
		wqe->state = WQE_DONE;
		wqe->status = IBV_WC_SUCCESS;
		if (i == sq->next) { /* acknowledged before the requester sent it again */
			sq->next++;
			qp->req.offset = 0;
		}
	}
	una_advance(qp, una, now);
	uroce_comp_retire(qp);
	return complete;
}

/* Return whether @psn was sent and is not acknowledged. Any other PSN is old or invalid. */
static bool psn_expected(const struct uroce_qp *qp, uint32_t psn)
{
	return psn_diff(psn, qp->req.una) >= 0 && psn_diff(psn, qp->req.max_psn) < 0;
}

/* Note a PSN that this side has never sent: one before the first, or one after the last. */
static void psn_unexpected(struct uroce_qp *qp, uint32_t psn)
{
	if (psn_diff(psn, qp->sq_psn) < 0 || psn_diff(psn, qp->req.max_psn) >= 0)
		qp->req.psn_unsent = true;
}

/* Move the position of the requester within a message that is being sent again, after una has
 * moved. */
static void requester_follow(struct uroce_qp *qp)
{
	struct uroce_sq *sq = &qp->sq;
	const struct uroce_swqe *wqe;

	if (sq->next == sq->head)
		return;
	wqe = sq_wqe(sq, sq->next);
	if (wqe->state == WQE_DONE || !wqe->psn_assigned || uroce_wqe_has_response(wqe))
		return;
	if (psn_diff(qp->req.psn, wqe->first_psn) > 0 && psn_diff(qp->req.psn, wqe->last_psn) <= 0)
		qp->req.offset = psn_diff(qp->req.psn, wqe->first_psn) * uroce_wqe_segment(qp, wqe);
}

void uroce_comp_ack(struct uroce_qp *qp, uint32_t psn, uint8_t syndrome, uint64_t now)
{
	uint32_t una = qp->req.una;

	assert_held(&qp->lock);
	if (!psn_expected(qp, psn))
		return;
	if (ack_through(qp, psn, now)) {
		requester_follow(qp);
		uroce_req_probed(qp, una, now);
	} else if (qp->state != IBV_QPS_ERR)
		uroce_req_loss(qp, now);
}

/* --- NAKs --- */

static void nak_rnr(struct uroce_qp *qp, uint8_t syndrome, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	qp->counters.rnr_naks_received++;
	if (!req->rnr_left) {
		qp->counters.rnr_exceeded++;
		uroce_req_give_up(qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (req->rnr_retry != 7)
		req->rnr_left--;
	req->rnr_wait = true;
	uroce_window_restart(qp);
	uroce_qp_timer(qp, now + rnr_ns(syndrome));
}

static void nak_fatal(struct uroce_qp *qp, uint8_t syndrome)
{
	static const uint8_t status[] = {
		[NAK_INVALID_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
		[NAK_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[NAK_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
	};
	uint8_t code = syndrome & AETH_VALUE_MASK;

	if (qp->sq.tail != qp->sq.head)
		sq_wqe(&qp->sq, qp->sq.tail)->vendor_err = syndrome;
	uroce_req_give_up(qp, code < ARRAY_SIZE(status) && status[code] ? status[code]
									: IBV_WC_BAD_RESP_ERR);
}

static void nak(struct uroce_qp *qp, const struct uroce_hdr *hdr, uint64_t now)
{
	/* The peer has executed all requests before the refused packet. */
	if (psn_diff(hdr->psn, qp->req.una) > 0 &&
	    !ack_through(qp, psn_add(hdr->psn, PSN_MASK), now)) {
		if (qp->state != IBV_QPS_ERR)
			uroce_req_loss(qp, now);
		return;
	}
	if (qp->state == IBV_QPS_ERR)
		return;
	if ((hdr->syndrome & AETH_KIND_MASK) == AETH_RNR_NAK) {
		nak_rnr(qp, hdr->syndrome, now);
	} else if (hdr->syndrome == (AETH_NAK | NAK_PSN_SEQUENCE)) {
		qp->counters.seq_naks_received++;
		uroce_req_loss(qp, now);
	} else if (hdr->syndrome != (AETH_NAK | NAK_REFERENCE) ||
		   !uroce_req_copy_instead(qp, now)) {
		qp->counters.fatal_naks_received++;
		nak_fatal(qp, hdr->syndrome);
	}
}

static bool takes_responses(const struct uroce_qp *qp)
{
	return (qp->type == IBV_QPT_RC || qp->type == IBV_QPT_XRC_SEND) &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

/* Return whether the packets of the QP arrive at the QP itself. */
static bool is_own_peer(const struct uroce_qp *qp)
{
	const struct uroce_av *av = &qp->av;

	return qp->dest_qpn == qp->vqp.qp.qp_num && av->path &&
	       (av->path->lossless ||
		!memcmp(&av->route.sgid, &av->route.dgid, sizeof(av->route.sgid)));
}

void uroce_comp_own_nak(struct uroce_qp *qp)
{
	const struct uroce_hdr hdr = { .psn = qp->resp.psn, .syndrome = qp->resp.ack_syndrome };

	if (is_own_peer(qp) && takes_responses(qp) && psn_expected(qp, hdr.psn))
		nak(qp, &hdr, uroce_now());
}

/* --- responses --- */

/* Return the oldest WQE if it waits for a response. */
static struct uroce_swqe *response_wqe(struct uroce_qp *qp)
{
	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);

		if (wqe->state != WQE_DONE)
			return wqe->psn_assigned && uroce_wqe_has_response(wqe) ? wqe : NULL;
	}
	return NULL;
}

static void response_done(struct uroce_qp *qp, struct uroce_swqe *wqe, enum ibv_wc_status status,
			  uint64_t now)
{
	uroce_req_answered(qp, wqe, wqe->requests);
	if (wqe->state != WQE_SENT && sq_wqe(&qp->sq, qp->sq.next) == wqe)
		qp->sq.next++; /* answered before the requester sent it again */
	wqe->state = WQE_DONE;
	wqe->status = status;
	una_advance(qp, psn_add(wqe->last_psn, 1), now);
	uroce_comp_retire(qp);
}

static enum ibv_wc_status response_place(struct uroce_qp *qp, const struct uroce_swqe *wqe,
					 uint32_t offset, const struct uroce_payload *payload)
{
	int r = uroce_scatter(qp->engine->keys, qp->vqp.qp.pd, wqe->sge, wqe->num_sge, offset,
			      payload);

	return r < 0 ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

static void read_response(struct uroce_qp *qp, struct uroce_swqe *wqe,
			  const struct uroce_packet *pkt, uint64_t now)
{
	uint32_t segment = uroce_wqe_segment(qp, wqe);
	uint32_t total = wqe->opcode == IBV_WR_RDMA_READ ? wqe->length : 0;
	uint32_t expected = min_of(total - wqe->received, segment);
	enum ibv_wc_status status;

	if (pkt->payload.length != expected ||
	    (pkt->any_length && path_mtu_fails(pkt->path_mtu, qp->av.path_mtu, total))) {
		response_done(qp, wqe, IBV_WC_BAD_RESP_ERR, now);
		return;
	}
	status = response_place(qp, wqe, wqe->received, &pkt->payload);
	wqe->received += expected;
	/* Only reads have parts. */
	if (total && wqe->requests && wqe->received % uroce_wqe_read_part(qp, wqe) == 0)
		uroce_req_answered(qp, wqe, 1);
	if (status != IBV_WC_SUCCESS || wqe->received == total)
		response_done(qp, wqe, status, now);
	else
		una_advance(qp, psn_add(pkt->hdr.psn, 1), now);
}

static void atomic_response(struct uroce_qp *qp, struct uroce_swqe *wqe,
			    const struct uroce_packet *pkt, uint64_t now)
{
	struct uroce_payload orig = { .data = (const uint8_t *)&pkt->hdr.orig,
				      .length = sizeof(pkt->hdr.orig) };

	response_done(qp, wqe, response_place(qp, wqe, 0, &orig), now);
}

static bool response_matches(const struct uroce_swqe *wqe, uint8_t opcode)
{
	bool atomic = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	return atomic == ((opcode & UROCE_OPERATION_MASK) == UROCE_ATOMIC_ACK);
}

static void response(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now)
{
	uint32_t psn = pkt->hdr.psn;
	struct uroce_swqe *wqe;
	int32_t diff;

	if (!psn_expected(qp, psn))
		return;
	/* A response acknowledges every message before its own request. */
	wqe = response_wqe(qp);
	if (!wqe) {
		ack_through(qp, psn_add(psn, PSN_MASK), now);
		if (qp->state == IBV_QPS_ERR)
			return;
		wqe = response_wqe(qp);
	}
	if (!wqe)
		return;
	diff = psn_diff(psn, psn_add(wqe->first_psn, wqe->received / uroce_wqe_segment(qp, wqe)));
	if (diff < 0)
		return; /* a repeated response */
	if (diff > 0) {
		if (!qp->req.recovering)
			uroce_req_loss(qp, now);
		return;
	}
	if (!response_matches(wqe, pkt->hdr.opcode))
		response_done(qp, wqe, IBV_WC_BAD_RESP_ERR, now);
	else if (hdr_operation(&pkt->hdr) == UROCE_ATOMIC_ACK)
		atomic_response(qp, wqe, pkt, now);
	else
		read_response(qp, wqe, pkt, now);
}

void uroce_comp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now)
{
	assert_held(&qp->lock);
	if (!takes_responses(qp) ||
	    (pkt->hdr.opcode & UROCE_TRANSPORT_MASK) != uroce_qp_transport(qp))
		return;
	qp->counters.rx_packets++;
	qp->counters.rx_bytes += pkt->payload.length;
	if (hdr_operation(&pkt->hdr) != UROCE_ACK) {
		response(qp, pkt, now);
	} else if (!psn_expected(qp, pkt->hdr.psn)) {
		psn_unexpected(qp, pkt->hdr.psn);
	} else if ((pkt->hdr.syndrome & AETH_KIND_MASK) == AETH_ACK) {
		uroce_comp_ack(qp, pkt->hdr.psn, pkt->hdr.syndrome, now);
	} else {
		nak(qp, &pkt->hdr, now);
	}
	if (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)
		uroce_req_run(qp, now);
}
