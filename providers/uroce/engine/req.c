/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester: send WQEs become request packets (req_packet.c), in order, as far as the windows
 * allow. retry.c handles losses.
 */
#include "providers/uroce/engine/req.h"

enum {
	ACK_REQ_INTERVAL = 16, /* packets between two acknowledgement requests on a lossless path */
};

/* The packets of a WQE: opcodes by place in the message. */
struct send_kind {
	uint8_t first, middle, last, only;
	bool imm, inv;
};

static const struct send_kind kinds[] = {
	[IBV_WR_SEND] = { UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST, UROCE_SEND_ONLY },
	[IBV_WR_SEND_WITH_IMM] = { UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST_IMM,
				   UROCE_SEND_ONLY_IMM, .imm = true },
	[IBV_WR_SEND_WITH_INV] = { UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST_INV,
				   UROCE_SEND_ONLY_INV, .inv = true },
	[IBV_WR_RDMA_WRITE] = { UROCE_WRITE_FIRST, UROCE_WRITE_MIDDLE, UROCE_WRITE_LAST,
				UROCE_WRITE_ONLY },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { UROCE_WRITE_FIRST, UROCE_WRITE_MIDDLE,
					 UROCE_WRITE_LAST_IMM, UROCE_WRITE_ONLY_IMM, .imm = true },
	[IBV_WR_RDMA_READ] = { .only = UROCE_READ_REQUEST },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { .only = UROCE_CMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { .only = UROCE_FETCH_ADD },
	[IBV_WR_FLUSH] = { .only = UROCE_FLUSH },
	[IBV_WR_ATOMIC_WRITE] = { .only = UROCE_ATOMIC_WRITE },
};

bool uroce_wqe_has_response(const struct uroce_swqe *wqe)
{
	switch (wqe->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_FLUSH:
	case IBV_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

static bool is_local(const struct uroce_swqe *wqe)
{
	return wqe->opcode == IBV_WR_BIND_MW || wqe->opcode == IBV_WR_LOCAL_INV;
}

static bool is_read(const struct uroce_swqe *wqe)
{
	return wqe->opcode == IBV_WR_RDMA_READ;
}

uint32_t uroce_wqe_segment(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	const struct uroce_av *av = &qp->av;

	if (wqe->placed)
		return wqe->length;
	if (av->ref_min && uroce_qp_reliable(qp) && wqe->length >= av->ref_min && !wqe->is_inline &&
	    !is_read(wqe))
		return wqe->length;
	return av->mtu;
}

/*
 * Return the packets of one part of a read. A responder sends all responses to a request without
 * further permission. Therefore, on a network, one request asks for about as many packets as the
 * window permits, so that a loss wastes only these. A longer part is cheaper, because the two ends
 * of a part leave apart from the packets between them. All parts of a read have one size, because a
 * responder refuses a repeated request that goes beyond the end of the original one.
 */
static uint16_t read_part_packets(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	uint32_t least = min_of((uint32_t)UROCE_READ_PART,
				UROCE_READ_PART_BYTES / uroce_wqe_segment(qp, wqe));

	return max_of(least, min_of(qp->req.window, (uint32_t)UROCE_WINDOW) / 2);
}

uint64_t uroce_wqe_read_part(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	if (qp->av.path->lossless)
		return UINT64_MAX;
	return (uint64_t)wqe->part * uroce_wqe_segment(qp, wqe);
}

void uroce_req_answered(struct uroce_qp *qp, struct uroce_swqe *wqe, uint16_t requests)
{
	qp->req.rd_atomic -= requests;
	wqe->requests -= requests;
}

static void psn_assign(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	uint32_t segment = uroce_wqe_segment(qp, wqe);
	uint32_t packets = 1;

	/* Atomics and atomic writes are one packet, regardless of their length field. */
	if (wqe->length > segment && (!uroce_wqe_has_response(wqe) || is_read(wqe)))
		packets = (wqe->length - 1) / segment + 1;
	wqe->first_psn = qp->req.psn;
	wqe->last_psn = psn_add(qp->req.psn, packets - 1);
	wqe->psn_assigned = true;
	if (is_read(wqe))
		wqe->part = read_part_packets(qp, wqe);
}

/* --- one packet of the current WQE --- */

static void header_fill(struct uroce_hdr *hdr, const struct uroce_qp *qp,
			const struct uroce_swqe *wqe)
{
	pkt_flags_t flags = hdr_flags(hdr);

	if (unlikely(flags & PKT_XRC_ETH))
		hdr->srqn = wqe->xrc.srqn;
	if (flags & PKT_IMM)
		hdr->imm = wqe->imm_data;
	if (flags & PKT_IETH)
		hdr->invalidate_rkey = wqe->invalidate_rkey;
	if (flags & PKT_RETH) {
		hdr->va = wqe->rdma.remote_addr;
		hdr->rkey = wqe->rdma.rkey;
		hdr->dma_len = wqe->length;
	}
	if (flags & PKT_FETH) {
		hdr->flush_type = wqe->rdma.flush_type;
		hdr->flush_level = wqe->rdma.flush_level;
	}
	if (flags & PKT_ATOMIC_ETH) {
		bool swap = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		hdr->va = wqe->atomic.remote_addr;
		hdr->rkey = wqe->atomic.rkey;
		hdr->swap_add = swap ? wqe->atomic.swap : wqe->atomic.compare_add;
		hdr->compare = swap ? wqe->atomic.compare_add : 0;
	}
	if (flags & PKT_DETH) {
		hdr->qkey = wqe->ud.qkey & 0x80000000 ? qp->qkey : wqe->ud.qkey;
		hdr->src_qpn = qp->vqp.qp.qp_num;
	}
}

static bool window_open(const struct uroce_qp *qp)
{
	return !uroce_qp_reliable(qp) ||
	       psn_diff(qp->req.psn, qp->req.una) < (int32_t)qp->req.window;
}

/*
 * Return whether to request an acknowledgement for the end of @wqe. It is needed if the application
 * waits for the completion, if the queue needs the room, or if no later packet may cover the
 * request soon.
 */
static bool end_waited_for(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	const struct uroce_sq *sq = &qp->sq;
	const struct uroce_swqe *next = sq_wqe(sq, sq->next + 1);

	return qp->av.path->lossless || (wqe->flags & IBV_SEND_SIGNALED) || sq->sig_all ||
	       sq->head - sq->tail > sq->size / 2 || qp->state != IBV_QPS_RTS ||
	       sq->next + 1 == sq->head || is_local(next) || next->state == WQE_DONE ||
	       (next->flags & IBV_SEND_FENCE);
}

/* Return whether to ask for an acknowledgement, which costs a packet and a wake-up on a network.
 * Ask for enough to keep the window open. */
static bool ack_req_wanted(struct uroce_qp *qp, const struct uroce_swqe *wqe, bool last)
{
	struct uroce_requester *req = &qp->req;
	uint32_t interval = qp->av.path->lossless ? ACK_REQ_INTERVAL : req->window / 4;

	if (++req->since_ack_req < interval &&
	    psn_diff(req->psn, req->una) + 1 < (int32_t)req->window &&
	    !(last && end_waited_for(qp, wqe)))
		return false;
	req->since_ack_req = 0;
	return true;
}

static void psn_advance(struct uroce_qp *qp, uint32_t psn)
{
	qp->req.psn = psn;
	if (psn_diff(psn, qp->req.max_psn) > 0)
		qp->req.max_psn = psn;
	else
		qp->counters.resent++;
}

/* Begin to measure the round trip by a packet that asks for an acknowledgement and leaves for the
 * first time. */
static void rtt_begin(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = &qp->req;

	if (req->rtt_start || !req->run_time || psn != req->max_psn)
		return;
	req->rtt_start = req->run_time;
	req->rtt_psn = psn;
}

int req_message_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	const struct send_kind *kind = &kinds[wqe->opcode];
	uint32_t offset = qp->req.offset;
	uint32_t length = min_of(wqe->length - offset, uroce_wqe_segment(qp, wqe));
	bool first = !offset, last = offset + length == wqe->length;
	uint8_t operation = first && last ? kind->only
			    : first	  ? kind->first
			    : last	  ? kind->last
					  : kind->middle;
	struct uroce_hdr hdr = {
		.opcode = uroce_qp_transport(qp) | operation,
		.solicited = last && (wqe->flags & IBV_SEND_SOLICITED),
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = qp->req.psn,
	};
	int r;

	hdr.ack_req = uroce_qp_reliable(qp) && ack_req_wanted(qp, wqe, last);
	header_fill(&hdr, qp, wqe);
	r = req_packet_send(qp, wqe, &qp->av, &hdr, offset, length);
	if (r < 0) {
		r = req_send_failed(qp, wqe, r);
		if (r < 0)
			return r;
	}
	if (hdr.ack_req)
		rtt_begin(qp, hdr.psn);
	psn_advance(qp, psn_add(hdr.psn, 1));
	qp->req.offset = offset + length;
	return last;
}

/* Send a request that has a response. Return: 0; -EBUSY: wait for other responses; another
 * -errno. */
static int request_send(struct uroce_qp *qp, struct uroce_swqe *wqe, struct uroce_hdr *hdr,
			uint32_t length)
{
	int r;

	if (!qp->req.max_rd_atomic) {
		wqe_fail(wqe, IBV_WC_LOC_QP_OP_ERR);
		return -EINVAL;
	}
	if (qp->req.rd_atomic >= qp->req.max_rd_atomic)
		return -EBUSY;
	r = req_packet_send(qp, wqe, &qp->av, hdr, 0, length);
	if (r < 0)
		r = req_send_failed(qp, wqe, r);
	if (r < 0)
		return r;
	qp->req.rd_atomic++;
	wqe->requests++;
	rtt_begin(qp, hdr->psn);
	return 0;
}

/* Send the next read request, from the first byte on that was not requested. */
static int read_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	uint32_t segment = uroce_wqe_segment(qp, wqe);
	/* Late responses may have arrived after the requester went back. */
	uint32_t offset = max_of(wqe->asked, wqe->received);
	uint64_t part = uroce_wqe_read_part(qp, wqe);
	uint32_t length = min_of((uint64_t)wqe->length - offset, part - offset % part);
	struct uroce_hdr hdr = {
		.opcode = uroce_qp_transport(qp) | UROCE_READ_REQUEST,
		.ack_req = true,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = psn_add(wqe->first_psn, offset / segment),
	};
	uint32_t packets = length ? (length - 1) / segment + 1 : 1;
	int r;

	header_fill(&hdr, qp, wqe);
	hdr.va += offset;
	hdr.dma_len = length;
	r = request_send(qp, wqe, &hdr, 0);
	if (r < 0)
		return r;
	wqe->asked = offset + length;
	psn_advance(qp, psn_add(hdr.psn, packets));
	return wqe->asked == wqe->length;
}

/* Send an atomic, flush or atomic write. */
static int request_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	bool carries = wqe->opcode == IBV_WR_ATOMIC_WRITE;
	struct uroce_hdr hdr = {
		.opcode = uroce_qp_transport(qp) | kinds[wqe->opcode].only,
		.ack_req = true,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = wqe->first_psn,
	};
	int r;

	header_fill(&hdr, qp, wqe);
	r = request_send(qp, wqe, &hdr, carries ? sizeof(uint64_t) : 0);
	if (r < 0)
		return r;
	psn_advance(qp, psn_add(wqe->last_psn, 1));
	return 1;
}

static int local_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	int r;

	if (wqe->opcode == IBV_WR_BIND_MW)
		r = uroce_key_bind(qp, wqe);
	else
		r = uroce_key_invalidate(qp->engine->keys, qp->vqp.qp.pd, qp->vqp.qp.qp_num,
					 wqe->invalidate_rkey);
	wqe_fail(wqe, r < 0 ? IBV_WC_MW_BIND_ERR : IBV_WC_SUCCESS);
	if (r < 0 && wqe->opcode == IBV_WR_LOCAL_INV)
		wqe->status = IBV_WC_LOC_QP_OP_ERR;
	return 1;
}

static int datagram_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	bool imm = kinds[wqe->opcode].imm;
	struct uroce_hdr hdr = {
		.opcode = UROCE_UD | (imm ? UROCE_SEND_ONLY_IMM : UROCE_SEND_ONLY),
		.solicited = wqe->flags & IBV_SEND_SOLICITED,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = wqe->ud.qpn,
		.psn = qp->req.psn,
	};
	int r;

	if (unlikely(!wqe->ud.av.path)) {
		wqe_fail(wqe, IBV_WC_LOC_QP_OP_ERR);
		return 1;
	}
	if (wqe->length > wqe->ud.av.mtu) {
		wqe_fail(wqe, IBV_WC_LOC_LEN_ERR);
		return 1;
	}
	header_fill(&hdr, qp, wqe);
	r = req_packet_send(qp, wqe, &wqe->ud.av, &hdr, 0, wqe->length);
	if (r < 0) {
		r = req_send_failed(qp, wqe, r);
		if (r < 0)
			return r == -EAGAIN ? r : 1;
	}
	qp->req.psn = psn_add(qp->req.psn, 1);
	wqe_fail(wqe, IBV_WC_SUCCESS);
	return 1;
}

static int connected_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	int r;

	/* The peer's process is gone. */
	if (unlikely(!qp->av.path)) {
		wqe_fail(wqe, uroce_qp_reliable(qp) ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
		return 1;
	}
	if (qp->av.path->ops->rdma) {
		r = uroce_req_direct(qp, wqe);
		if (r != -EOPNOTSUPP)
			return r;
	}
	if (!wqe->psn_assigned) {
		if (wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			uroce_req_place(qp, wqe);
		psn_assign(qp, wqe);
	}
	if (!window_open(qp))
		return -EBUSY;
	if (is_read(wqe))
		return read_step(qp, wqe);
	return uroce_wqe_has_response(wqe) ? request_step(qp, wqe) : req_message_step(qp, wqe);
}

/* Advance a WQE. Return: 1: the WQE has left the requester; 0: a packet has left; -errno: stop
 * here. A failed WQE is WQE_DONE. */
static int wqe_step(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	int r;

	if (wqe->state == WQE_DONE)
		return 1;
	if ((wqe->flags & IBV_SEND_FENCE) && qp->req.rd_atomic)
		return -EBUSY;
	if (is_local(wqe))
		return local_step(qp, wqe);
	r = qp->type == IBV_QPT_UD ? datagram_step(qp, wqe) : connected_step(qp, wqe);
	if (r < 0)
		return wqe->state == WQE_DONE ? 1 : r;
	if (r && wqe->state != WQE_DONE) {
		if (uroce_qp_reliable(qp))
			wqe->state = WQE_SENT;
		else
			wqe_fail(wqe, IBV_WC_SUCCESS);
	}
	return r;
}

void uroce_req_run(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_path *path = qp->av.path;
	struct uroce_sq *sq = &qp->sq;
	bool done = false;

	assert_held(&qp->lock);
	qp->req.run_time = now;
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE) {
		uroce_qp_flush(qp);
		return;
	}
	if (unlikely(qp->peer_lost)) {
		if (!uroce_timer_armed(&qp->timer))
			uroce_req_peer_lost(qp, now);
		return;
	}
	if (qp->resp.ack_due && path && !path->piggyback && sq->next != sq->head)
		uroce_resp_before(qp);
	while (sq->next != sq->head && uroce_req_may_send(qp)) {
		struct uroce_swqe *wqe = sq_wqe(sq, sq->next);
		int r = wqe_step(qp, wqe);

		if (r < 0)
			break;
		if (!r)
			continue;
		path = qp->type == IBV_QPT_UD && !is_local(wqe) ? wqe->ud.av.path : path;
		qp->req.offset = 0;
		sq->next++;
		if (wqe->state != WQE_DONE)
			continue;
		done = true;
		if (wqe->status != IBV_WC_SUCCESS) {
			/*
			 * The acknowledgement of this request might have covered earlier packets.
			 */
			if (uroce_qp_reliable(qp) && path && !path->lossless)
				uroce_req_probe(qp);
			break;
		}
		/* Retire the request at once, so that no WQE is in flight before the next one. */
		uroce_comp_retire(qp);
		done = false;
	}
	if (path && path->pending) {
		uroce_resp_piggyback(qp);
		path->ops->flush(path);
	}
	if (done)
		uroce_comp_retire(qp);
	if (uroce_qp_reliable(qp))
		uroce_req_timer(qp, now);
}
