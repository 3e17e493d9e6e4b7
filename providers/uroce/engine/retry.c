/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester after a loss. After a report or a timeout it goes back to the oldest packet that
 * was not acknowledged, until its retries are exhausted.
 */
#include "providers/uroce/engine/req.h"

#define TIMEOUT_NEVER (1ull << 62) /* ns */

enum {
	PROBE_FIRST = 2000000, /* ns without progress before the oldest packet is sent again */
	PROBE_DOUBLINGS = 5,   /* times that the interval doubles */
	PROBES_REROUTE = 4,    /* unanswered probes after which another way is tried */
	PROBE_MAX = 250000000, /* ns: upper limit, regardless of the round trip */
	LOSSLESS_TIMEOUT_MIN = 20000000, /* ns: a process may wait for a processor that long */
	SLOW_PATIENCE = 2000000000,	 /* ns for which a slow peer costs no retry */
	PEER_LOST_PATIENCE = 1000000000, /* ns: longest wait for a process that is gone */
};

/* --- going back --- */

/* Prepare a WQE to be sent again. Do not ask again for responses that have been placed. */
static void rewind_wqe(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	if (wqe->state == WQE_DONE)
		return;
	uroce_req_answered(qp, wqe, wqe->requests);
	wqe->asked = wqe->received;
	wqe->state = WQE_POSTED;
}

void uroce_req_resend(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;
	struct uroce_sq *sq = &qp->sq;
	uint32_t first = sq->next, index;

	assert_held(&qp->lock);
	qp->counters.retries++;
	req->probing = false;
	req->since_ack_req = req->window; /* the first packet asks for an acknowledgement */
	/* Rewind all WQEs from the one that contains una on. */
	for (index = sq->tail; index != sq->next; index++) {
		struct uroce_swqe *wqe = sq_wqe(sq, index);

		if (wqe->state == WQE_DONE || psn_diff(wqe->last_psn, req->una) < 0)
			continue;
		if (first == sq->next)
			first = index;
		rewind_wqe(qp, wqe);
	}
	if (sq->next != sq->head) /* a read of which a part was requested */
		rewind_wqe(qp, sq_wqe(sq, sq->next));
	sq->next = first;
	req->offset = 0;
	req->psn = req->una;
	if (sq->next != sq->head) {
		const struct uroce_swqe *wqe = sq_wqe(sq, sq->next);

		if (wqe->psn_assigned && !uroce_wqe_has_response(wqe))
			req->offset =
				psn_diff(req->una, wqe->first_psn) * uroce_wqe_segment(qp, wqe);
	}
	uroce_req_run(qp, now);
}

/* The peer has dropped all packets from there on: build them again with new PSNs. */
bool uroce_req_copy_instead(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;
	bool found = false;

	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);

		if (wqe->state == WQE_DONE || !wqe->psn_assigned ||
		    psn_diff(wqe->last_psn, req->una) < 0)
			continue;
		if (!found &&
		    (!qp->av.ref_min || wqe->first_psn != req->una || wqe->length < qp->av.ref_min))
			return false;
		found = true;
		wqe->psn_assigned = false;
	}
	if (!found)
		return false;
	qp->av.ref_min = 0;
	req->max_psn = req->una;
	req->recovering = false;
	req->rtt_start = 0;
	uroce_req_resend(qp, now);
	return true;
}

/* --- the oldest packet only --- */

/* Return the unfinished WQE of @psn; NULL: none. */
static struct uroce_swqe *wqe_of(const struct uroce_qp *qp, uint32_t psn)
{
	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);

		if (!wqe->psn_assigned)
			break;
		if (wqe->state != WQE_DONE && psn_diff(psn, wqe->last_psn) <= 0)
			return wqe;
	}
	return NULL;
}

bool uroce_req_probe(struct uroce_qp *qp)
{
	struct uroce_requester *req = &qp->req;
	struct uroce_swqe *wqe = wqe_of(qp, req->una);
	uint32_t psn = req->psn, offset = req->offset;
	int r;

	assert_held(&qp->lock);
	if (!wqe || uroce_wqe_has_response(wqe))
		return false;
	req->psn = req->una;
	req->offset = psn_diff(req->una, wqe->first_psn) * uroce_wqe_segment(qp, wqe);
	req->since_ack_req = req->window;
	r = req_message_step(qp, wqe);
	req->psn = psn;
	req->offset = offset;
	if (qp->av.path->pending)
		qp->av.path->ops->flush(qp->av.path);
	return r >= 0;
}

/* --- time --- */

static bool outstanding(const struct uroce_qp *qp)
{
	return psn_diff(qp->req.max_psn, qp->req.una) > 0;
}

/*
 * Return the interval of the retransmission timer. The specification permits up to four times the
 * value of the QP (vol. 1, chapter 9, transport timer). The second interval is twice as long, the
 * others four times, because a process may wait for its processor longer than any adapter.
 */
static uint64_t timeout_ns(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = &qp->req;

	if (!req->timeout)
		return TIMEOUT_NEVER;
	if (qp->av.path->lossless)
		return max_of(4096ull << req->timeout, (uint64_t)LOSSLESS_TIMEOUT_MIN);
	return 4096ull << req->timeout << min_of(req->retry_cnt - req->retry_left, 2);
}

/*
 * Return the time from the last progress to the next probe. The intervals double up to a limit,
 * then stay equal. The first one is well above the round trip, so that a slow peer is not mistaken
 * for a lossy network.
 */
static uint64_t probe_wait(const struct uroce_requester *req)
{
	uint64_t first = min_of((uint64_t)PROBE_MAX, 2ull * req->rtt + 4ull * req->rtt_var);
	uint32_t doublings = min_of(req->probes, (uint32_t)PROBE_DOUBLINGS);

	first = max_of(first, (uint64_t)PROBE_FIRST);
	return (first << doublings) * (1 + req->probes - doublings);
}

/* Return the time of the next decision if no acknowledgement arrives. */
static uint64_t probe_deadline(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = &qp->req;
	uint64_t wait = probe_wait(req);

	/* A lossless path delivers all packets, but a QP that is not ready drops them. */
	return req->progress_time +
	       (qp->av.path->lossless ? timeout_ns(qp) : min_of(wait, timeout_ns(qp)));
}

void uroce_req_timer(struct uroce_qp *qp, uint64_t now)
{
	/* An armed timer stays armed until it fires. Then the handler checks the progress since. */
	if (uroce_timer_armed(&qp->timer) || qp->req.rnr_wait || !outstanding(qp) || !qp->av.path)
		return;
	qp->req.progress_time = now ? now : uroce_now();
	qp->req.timer_una = qp->req.una;
	uroce_qp_timer(qp, probe_deadline(qp));
}

/* Complete the oldest WQE with @status, because retries are exhausted. */
void uroce_req_give_up(struct uroce_qp *qp, enum ibv_wc_status status)
{
	for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++) {
		struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);

		if (wqe->state == WQE_DONE)
			continue;
		wqe_fail(wqe, status);
		if (i - qp->sq.tail >= qp->sq.next - qp->sq.tail)
			qp->sq.next = i + 1;
		break;
	}
	uroce_comp_retire(qp);
}

void uroce_req_peer_lost(struct uroce_qp *qp, uint64_t now)
{
	uint64_t patience = min_of(timeout_ns(qp), (uint64_t)PEER_LOST_PATIENCE);

	if (qp->sq.tail == qp->sq.head)
		return;
	patience = min_of(patience * (qp->req.retry_cnt + 1), (uint64_t)PEER_LOST_PATIENCE);
	uroce_qp_timer(qp, (now ? now : uroce_now()) + patience);
}

/* Return whether the path sees that the peer's QP still receives. Then the peer is late, not
 * lost. */
static bool peer_only_slow(const struct uroce_qp *qp)
{
	const struct uroce_path_ops *ops = qp->av.path->ops;

	return ops->receiving &&
	       ops->receiving(qp->av.path, &qp->av, qp->dest_qpn, qp->vqp.qp.qp_num);
}

/*
 * Return whether the peer is still reading the packets that were sent before the last timeout. The
 * wait begins again whenever the peer makes progress, even if the progress is slow. On a loaded
 * machine this may take any time, and repeated packets would make the peer slower. Do this for one
 * mark only: a peer that has read the packet and does not answer may go on to read packets of other
 * QPs.
 */
static bool peer_is_behind(struct uroce_qp *qp, uint64_t now)
{
	const struct uroce_path_ops *ops = qp->av.path->ops;
	struct uroce_requester *req = &qp->req;
	bool same = req->unread_una == req->una, anew = !req->unread || !same;
	uint32_t unread;

	if (!ops->unread)
		return false;
	unread = ops->unread(qp->av.path, &qp->av, qp->dest_qpn, &req->unread_mark, anew);
	req->unread_over &= same;
	if (!anew && unread != req->unread && !req->unread_over)
		req->slow_since = now;
	req->unread_over |= !anew && !unread;
	req->unread = unread;
	req->unread_una = req->una;
	return unread;
}

/*
 * Return whether a timeout costs a retry. A slow peer has more time, but not unlimited time,
 * because it may have been stopped. A peer that copies has unlimited time, because an adapter would
 * send acknowledgements during the copy.
 */
static bool timeout_costs(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	if (uroce_qp_peer_at_work(qp))
		return false;
	if (!peer_only_slow(qp))
		return true;
	if (req->slow_since && req->slow_una == req->una) {
		if (now - req->slow_since < SLOW_PATIENCE)
			return false;
		req->slow_since = now;
		return true;
	}
	req->slow_una = req->una;
	req->slow_since = now;
	return false;
}

/*
 * Send only the oldest packet. Return: whether it was sent. Late packets are mostly not lost: the
 * peer has them and waits for its processor. Only the oldest is repeated, so that a peer that is
 * stopped for long does not get the rest again and again. The answer shows how much the peer has.
 * If it has only this packet, the rest was lost: uroce_req_probed().
 */
static bool probe_is_enough(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	req->probe_time = now;

	req->probing = !qp->av.path->lossless && uroce_req_probe(qp);
	return req->probing;
}

void uroce_req_timeout(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	assert_held(&qp->lock);
	if (qp->state == IBV_QPS_ERR) {
		uroce_qp_flush(qp); /* the flush was delayed */
		return;
	}
	if (qp->peer_lost) {
		if (qp->sq.tail != qp->sq.head)
			uroce_req_give_up(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	if (req->rnr_wait) {
		req->rnr_wait = false;
		req->progress_time = now;
		uroce_req_resend(qp, now);
		return;
	}
	if (!outstanding(qp) || (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	if (req->timer_una != req->una && qp->av.path->lossless)
		/* on such paths, acknowledgements do not read the clock */
		req->progress_time = now;
	req->timer_una = req->una;
	if (now < probe_deadline(qp)) { /* there was progress after the timer was armed */
		uroce_qp_timer(qp, probe_deadline(qp));
		return;
	}
	if (now - req->progress_time >= timeout_ns(qp)) {
		bool behind = peer_is_behind(qp, now), costs = timeout_costs(qp, now);

		qp->counters.timeouts++;
		if (costs && !req->retry_left) {
			qp->counters.retry_exceeded++;
			uroce_req_give_up(qp, IBV_WC_RETRY_EXC_ERR);
			return;
		}
		req->retry_left -= costs;
		req->progress_time = now;
		req->probes = 0;
		if (behind) {
			uroce_qp_timer(qp, probe_deadline(qp));
			return;
		}
	} else {
		req->probes++;
	}
	if (req->probes == PROBES_REROUTE && qp->av.path->ops->reroute)
		qp->av.path->ops->reroute(qp->av.path, &qp->av, qp->dest_qpn);
	if (probe_is_enough(qp, now)) {
		uroce_qp_timer(qp, probe_deadline(qp));
		return;
	}
	uroce_window_restart(qp);
	uroce_qp_timer(qp, probe_deadline(qp));
	req->path_full = false;
	uroce_req_resend(qp, now);
}

void uroce_req_probed(struct uroce_qp *qp, uint32_t before, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	if (!req->probing || req->una == before)
		return;
	req->probing = false;
	/* An answer this early is a late answer to the first transmission. */
	if (now - req->probe_time < req->rtt / 2)
		return;
	if (req->una == psn_add(before, 1) && outstanding(qp))
		uroce_req_loss(qp, now);
}

/* Handle a NAK for a loss at una. One loss halves the window once. */
void uroce_req_loss(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	req->rtt_start = 0; /* the round trip would include the repair of the loss */
	if (!req->recovering) {
		req->recovering = true;
		req->recover = req->max_psn;
		uroce_window_halve(qp);
	}
	uroce_req_resend(qp, now);
}
