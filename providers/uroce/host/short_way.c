/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "providers/uroce/host/short_way.h"
#include "providers/uroce/host/qpn.h"

bool uroce_short_way_possible(const struct uroce_qp *qp)
{
	/*
	 * A capture replaces the operations of the path, so captured QPs do not use the short way.
	 */
	return qp->type == IBV_QPT_RC && qp->av.path && qp->av.path->ops == &uroce_shm_ops;
}

/* --- sending --- */

static bool may_send(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = &qp->req;

	return qp->state == IBV_QPS_RTS && !sq_stopped(&qp->sq) && !req->rnr_wait &&
	       !req->path_full && !qp->peer_lost && req->psn == req->max_psn && !req->offset &&
	       psn_diff(req->psn, req->una) < (int32_t)(req->window - qp->sq.size);
}

static bool is_one_send(const struct uroce_swqe *wqe)
{
	return wqe->opcode == IBV_WR_SEND && wqe->state == WQE_POSTED && !wqe->psn_assigned &&
	       !(wqe->flags & IBV_SEND_FENCE) && wqe->length <= SHM_SEGMENT && wqe->num_sge <= 1;
}

/*
 * Return whether to request an acknowledgement: for each request whose completion the application
 * waits for, and otherwise every UROCE_ACK_COALESCE requests or if the send queue is half full.
 */
static bool ack_wanted(struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	if (!(wqe->flags & IBV_SEND_SIGNALED) && !qp->sq.sig_all &&
	    ++qp->req.since_ack_req < UROCE_ACK_COALESCE &&
	    qp->sq.head - qp->sq.tail <= qp->sq.size / 2)
		return false;
	qp->req.since_ack_req = 0;
	return true;
}

static int payload_write(struct uroce_qp *qp, struct shm_link *link, const struct uroce_swqe *wqe,
			 uint8_t *to)
{
	const struct ibv_sge *sge = wqe->sge;
	struct uroce_key *key;
	uint8_t *from;
	int r;

	if (wqe->is_inline) {
		memcpy(to, wqe->data, wqe->length);
		return 0;
	}
	if (!wqe->length)
		return 0;
	r = uroce_keys_get(qp->engine->keys, sge->lkey, qp->vqp.qp.pd, 0, UROCE_ACCESS_LOCAL,
			   sge->addr, wqe->length, &key, &from);
	if (unlikely(r < 0))
		return r;
	r = uroce_shm_record_copy(link, to, from, wqe->length);
	uroce_key_put(key);
	return r;
}

/* Send one request. Under the lock of the ring. Return: false if nothing was sent. */
static bool message_send(struct uroce_qp *qp, struct shm_link *link, struct uroce_swqe *wqe)
{
	struct uroce_responder *resp = &qp->resp;
	uint32_t pad = uroce_wire_pad(wqe->length), length = BTH_LEN + wqe->length + pad;
	struct shm_record *record = shm_record_begin(link, length);
	struct uroce_bth bth = {
		.opcode = (UROCE_RC | UROCE_SEND_ONLY) << BTH_OPCODE_SHIFT |
			  (wqe->flags & IBV_SEND_SOLICITED ? BTH_SOLICITED : 0) | BTH_MIGRATED |
			  pad << BTH_PAD_SHIFT | UROCE_PKEY_DEFAULT,
		.qpn = qp->dest_qpn,
		.psn = qp->req.psn | (ack_wanted(qp, wqe) ? BTH_ACK_REQ : 0),
	};

	if (unlikely(!record || payload_write(qp, link, wqe, record->data + BTH_LEN) < 0))
		return false;
	uroce_bth_write(record->data, &bth);
	record->kind = SHM_PACKET;
	record->path_mtu = qp->av.path_mtu;
	record->has_ack = resp->ack_due && !resp->res_pending &&
			  (resp->ack_syndrome & AETH_KIND_MASK) == AETH_ACK;
	if (record->has_ack) {
		record->ack = (uint32_t)resp->ack_syndrome << 24 | psn_add(resp->psn, PSN_MASK);
		uroce_resp_acked(resp);
	}
	shm_record_commit(link, record, length);
	return true;
}

static void message_sent(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	struct uroce_requester *req = &qp->req;

	wqe->first_psn = wqe->last_psn = req->psn;
	wqe->psn_assigned = true;
	wqe->state = WQE_SENT;
	req->psn = req->max_psn = psn_add(req->psn, 1);
	qp->sq.next++;
	qp->counters.tx_packets++;
	qp->counters.tx_bytes += wqe->length;
}

/* Send @wqe, the next request of the queue, and all sends that follow it directly. */
static void messages_send(struct uroce_qp *qp, struct shm_link *link, struct uroce_swqe *wqe)
{
	struct uroce_sq *sq = &qp->sq;

	uroce_lock(&link->tx_lock);
	while (message_send(qp, link, wqe)) {
		message_sent(qp, wqe);
		wqe = sq_wqe(sq, sq->next);
		if (sq->next == sq->head || !is_one_send(wqe))
			break;
	}
	uroce_unlock(&link->tx_lock);
}

bool uroce_short_way_send(struct uroce_qp *qp)
{
	struct uroce_swqe *wqe = sq_wqe(&qp->sq, qp->sq.next);
	struct shm_peer *peer = qp->av.peer;
	bool any = qp->sq.next != qp->sq.head;
	struct shm_link *link;

	assert_held(&qp->lock);
	if (any && !is_one_send(wqe))
		return false;
	if (unlikely(!may_send(qp) || peer->dead))
		return false;
	link = shm_peer_link(peer, uroce_qpn_strand(qp->dest_qpn));
	if (unlikely(!link))
		return false;
	if (any)
		messages_send(qp, link, wqe);
	if (unlikely(!uroce_timer_armed(&qp->timer)))
		uroce_req_timer(qp, 0);
	return qp->sq.next == qp->sq.head;
}

/* --- acknowledgements --- */

/* Return whether only sends and writes are outstanding and none was repeated. */
static bool ack_is_plain(const struct uroce_qp *qp, uint32_t psn)
{
	const struct uroce_requester *req = &qp->req;

	return qp->state == IBV_QPS_RTS && req->psn == req->max_psn && !req->rd_atomic &&
	       !req->recovering && !req->rtt_start && psn_diff(psn, req->una) >= 0 &&
	       psn_diff(psn, req->max_psn) < 0;
}

/* Complete all requests up to @psn. */
static void ack_take(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = &qp->req;
	struct uroce_sq *sq = &qp->sq;

	while (sq->tail != sq->next) {
		struct uroce_swqe *wqe = sq_wqe(sq, sq->tail);

		if (wqe->state != WQE_SENT || psn_diff(wqe->last_psn, psn) > 0)
			break;
		wqe->state = WQE_DONE;
		uroce_comp_push(qp, wqe);
		sq->tail++;
	}
	req->una = psn_add(psn, 1);
	req->retry_left = req->retry_cnt;
	req->rnr_left = req->rnr_retry;
	req->probes = 0;
	req->window += req->window < req->window_max;
	if (unlikely(sq->tail != sq->next))
		uroce_comp_retire(qp); /* for requests that were completed out of order */
}

static void ack_receive(struct uroce_qp *qp, uint32_t ack)
{
	uint32_t psn = ack & PSN_MASK;

	if (likely(ack_is_plain(qp, psn)))
		ack_take(qp, psn);
	else
		uroce_comp_ack(qp, psn, ack >> 24, 0);
}

void uroce_qp_run(struct uroce_qp *qp, uint64_t now)
{
	if (!qp->short_way || !uroce_short_way_send(qp))
		uroce_req_run(qp, now);
}

/* --- receiving --- */

static void ack_owe(struct uroce_qp *qp, bool asked)
{
	struct uroce_responder *resp = &qp->resp;

	resp->ack_syndrome = AETH_ACK | AETH_ACK_NO_CREDIT;
	resp->ack_asked = asked || (resp->ack_due && resp->ack_asked);
	resp->ack_due = true;
	uroce_ack_enlist(qp);
	if (++resp->ack_messages >= UROCE_ACK_COALESCE)
		uroce_qp_strand(qp)->acks_urgent = true;
}

static ALWAYS_INLINE void recv_complete(struct uroce_qp *qp, uint64_t wr_id, uint32_t length,
					bool solicited)
{
	struct uroce_cq_place place = uroce_cq_begin(qp->recv_cq, qp);

	if (unlikely(!place.wc))
		return;
	*place.wc = (struct ibv_wc){ .wr_id = wr_id,
				     .status = IBV_WC_SUCCESS,
				     .opcode = IBV_WC_RECV,
				     .byte_len = length,
				     .qp_num = qp->vqp.qp.qp_num,
				     .src_qp = qp->dest_qpn };
	uroce_cq_end(qp->recv_cq, place, NULL, solicited);
}

static bool may_receive(const struct uroce_qp *qp, uint32_t psn)
{
	const struct uroce_responder *resp = &qp->resp;

	return qp->state == IBV_QPS_RTS && psn == resp->psn && !resp->in_message &&
	       !resp->have_rwqe && !resp->res_pending && qp->rq.tail != qp->rq.head;
}

/*
 * Copy the payload into the oldest receive, if that has one SGE with enough room. Return: false
 * with nothing changed.
 */
static ALWAYS_INLINE bool payload_place(struct uroce_qp *qp, const struct uroce_rwqe *rwqe,
					const uint8_t *from, uint32_t length)
{
	struct uroce_keys *keys = qp->engine->keys;
	const struct ibv_sge *sge = rwqe->sge;
	uint8_t *to;
	bool placed;

	if (unlikely(rwqe->num_sge != 1 || !length || length > sge->length))
		return false;
	to = uroce_keys_pass(keys, qp->strand, sge->lkey, qp->vqp.qp.pd,
			     UROCE_ACCESS_LOCAL | IBV_ACCESS_LOCAL_WRITE, sge->addr, length);
	placed = to && !uroce_copy(to, from, length);
	uroce_keys_passed(keys, qp->strand);
	return placed;
}

/* Receive a message of @length bytes. Return: false with nothing changed. */
static ALWAYS_INLINE bool receive(struct uroce_qp *qp, const struct uroce_bth *bth,
				  const uint8_t *data, uint32_t length)
{
	struct uroce_responder *resp = &qp->resp;
	uint32_t psn = bth->psn & PSN_MASK;
	const struct uroce_rwqe *rwqe;

	if (unlikely(!may_receive(qp, psn)))
		return false;
	rwqe = rq_wqe(&qp->rq, qp->rq.tail);
	if (unlikely(!payload_place(qp, rwqe, data, length)))
		return false;
	qp->rq.tail++;
	resp->psn = psn_add(psn, 1);
	resp->msn = (resp->msn + 1) & PSN_MASK;
	resp->nak_sent = false;
	qp->counters.rx_packets++;
	qp->counters.rx_bytes += length;
	recv_complete(qp, rwqe->wr_id, length, bth->opcode & BTH_SOLICITED);
	return true;
}

/*
 * Return whether the packet is a well-formed RC SEND_ONLY with the default P_Key of a full member.
 */
static bool is_send(const struct uroce_bth *bth, uint32_t length, uint32_t *ret_pad)
{
	*ret_pad = bth->opcode >> BTH_PAD_SHIFT & 3;
	return !(length & 3) && bth->opcode >> BTH_OPCODE_SHIFT == (UROCE_RC | UROCE_SEND_ONLY) &&
	       !(bth->opcode & BTH_VERSION) && (uint16_t)bth->opcode == UROCE_PKEY_DEFAULT &&
	       length >= BTH_LEN + *ret_pad;
}

bool uroce_short_way_receive(struct path_host *paths, const void *peer, unsigned int strand,
			     const uint8_t *data, uint32_t length, uint32_t ack)
{
	struct uroce_bth bth = uroce_bth_read(data);
	struct uroce_qp *qp;
	uint32_t pad;
	bool done;

	if (!is_send(&bth, length, &pad))
		return false;
	qp = uroce_qp_find(path_host_host(paths), bth.qpn & QPN_MASK);
	if (unlikely(!qp))
		return false;
	uroce_lock(&qp->lock);
	done = qp->short_way && qp->av.peer == peer && qp->strand == strand;
	if (done && ack != PATH_NO_ACK)
		ack_receive(qp, ack);
	/* The first packet for which the path MTU matters shows whether both QPs have the same. */
	length -= BTH_LEN + pad;
	done = done && (length <= PATH_MTU_LEAST || qp->resp.mtu_agreed);
	done = done && receive(qp, &bth, data + BTH_LEN, length);
	if (done)
		ack_owe(qp, bth.psn & BTH_ACK_REQ);
	uroce_unlock(&qp->lock);
	return done;
}

bool uroce_short_way_datagram(struct path_host *paths, const union ibv_gid *sgid,
			      const uint8_t *data, uint32_t length)
{
	struct uroce_host *host = path_host_host(paths);
	struct uroce_bth bth = uroce_bth_read(data);
	struct uroce_qp *qp;
	uint32_t pad;
	bool done;

	if (!is_send(&bth, length, &pad) || unlikely(host->faults))
		return false;
	qp = uroce_qp_find(host, bth.qpn & QPN_MASK);
	if (unlikely(!qp))
		return false;
	length -= BTH_LEN + pad;
	path_strand_enter(paths, qp->strand);
	uroce_lock(&qp->lock);
	done = qp->type == IBV_QPT_RC && qp->av.path && !qp->av.path->lossless &&
	       length <= qp->mtu && !memcmp(sgid, &qp->av.route.dgid, sizeof(*sgid)) &&
	       receive(qp, &bth, data + BTH_LEN, length);
	if (done)
		uroce_resp_took(qp, bth.psn & BTH_ACK_REQ);
	uroce_unlock(&qp->lock);
	path_strand_leave(paths, qp->strand);
	return done;
}
