/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester after a loss: it goes back to the oldest packet that was not acknowledged, when it
 * is told or when time has passed, until its retries are exhausted.
 */
#include "providers/uroce/engine/req.h"

#define TIMEOUT_NEVER (1ull << 62) /* ns */

enum {
	PROBE_FIRST = 2000000, /* ns without progress before the oldest packet is sent again */
	PROBE_DOUBLINGS = 5,   /* the interval doubles that often */
	PROBES_DOUBT = 4,      /* in vain: perhaps it is not chance that loses them */
	PROBE_MAX = 250000000, /* ns: however long the round trip seems */
	LOSSLESS_TIMEOUT_MIN = 20000000, /* ns: a process may be off the processor that long */
	SLOW_PATIENCE = 2000000000,	 /* ns for which a peer that is slow costs no retry */
	PEER_LOST_PATIENCE = 1000000000, /* ns: at most so long, for a process that is gone */
};

/* --- going back --- */

/* The WQE that @psn belongs to; responses already placed are not asked for again. */
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
	req->since_ack_req = req->window; /* the first one asks */
	/* From the newest back to the one that holds una. */
	for (index = sq->tail; index != sq->next; index++) {
		struct uroce_swqe *wqe = sq_wqe(sq, index);

		if (wqe->state == WQE_DONE || psn_diff(wqe->last_psn, req->una) < 0)
			continue;
		if (first == sq->next)
			first = index;
		rewind_wqe(qp, wqe);
	}
	if (sq->next != sq->head) /* a read that was asked for in part */
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

/* Everything from there on was dropped by the peer: its packets, and their PSNs, are made anew. */
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

/* --- the oldest packet alone --- */

/* The WQE that @psn belongs to; NULL: none that is not done. */
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
 * The specification lets an interval last up to four times what the QP asks for (vol. 1, chapter 9,
 * transport timer). The second is twice, the others four times as long: a peer that is a process
 * may have to wait for its processor longer than a network adapter ever does.
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
 * The time from the last progress to the next probe. Each interval is twice the one before, then
 * they stay equal; the first one is well above the round trip, so that a slow peer is not taken for
 * a lossy wire.
 */
static uint64_t probe_wait(const struct uroce_requester *req)
{
	uint64_t first = min_of((uint64_t)PROBE_MAX, 2ull * req->rtt + 4ull * req->rtt_var);
	uint32_t doublings = min_of(req->probes, (uint32_t)PROBE_DOUBLINGS);

	first = max_of(first, (uint64_t)PROBE_FIRST);
	return (first << doublings) * (1 + req->probes - doublings);
}

/* The next moment at which something is to be decided while nothing is acknowledged. */
static uint64_t probe_deadline(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = &qp->req;
	uint64_t wait = probe_wait(req);

	/* Nothing gets lost on the way there, but a QP that is not ready drops what comes. */
	return req->progress_time +
	       (qp->av.path->lossless ? timeout_ns(qp) : min_of(wait, timeout_ns(qp)));
}

void uroce_req_timer(struct uroce_qp *qp, uint64_t now)
{
	/* Armed once, it stays armed until it fires, and then looks at what has happened since. */
	if (uroce_timer_armed(&qp->timer) || qp->req.rnr_wait || !outstanding(qp) || !qp->av.path)
		return;
	qp->req.progress_time = now ? now : uroce_now();
	qp->req.timer_una = qp->req.una;
	uroce_qp_timer(qp, probe_deadline(qp));
}

/* Retries are exhausted: the oldest WQE ends with @status. */
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

/* The path can see that the peer's QP still receives: then it is late, not lost. */
static bool peer_only_slow(const struct uroce_qp *qp)
{
	const struct uroce_path_ops *ops = qp->av.path->ops;

	return ops->receiving &&
	       ops->receiving(qp->av.path, &qp->av, qp->dest_qpn, qp->vqp.qp.qp_num);
}

/*
 * A slow peer has more time, and not for ever: it may have been stopped. One that copies has as
 * much as it takes: an adapter would acknowledge on the way.
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
 * What is late is mostly not lost: the peer waits for its processor, and has all of it. So the
 * oldest packet goes alone, as often as it takes: a peer that is stopped for long is not sent the
 * rest again and again. The answer covers what the peer has, and if that is no more than this
 * packet the rest was lost: uroce_req_probed().
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
		uroce_qp_flush(qp); /* it was put off */
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
		req->progress_time = now; /* there, acknowledgements do not look at the clock */
	req->timer_una = req->una;
	if (now < probe_deadline(qp)) { /* progress was made since it was armed */
		uroce_qp_timer(qp, probe_deadline(qp));
		return;
	}
	if (now - req->progress_time >= timeout_ns(qp)) {
		bool costs = timeout_costs(qp, now);

		qp->counters.timeouts++;
		if (costs && !req->retry_left) {
			qp->counters.retry_exceeded++;
			uroce_req_give_up(qp, IBV_WC_RETRY_EXC_ERR);
			return;
		}
		req->retry_left -= costs;
		req->progress_time = now;
		req->probes = 0;
	} else {
		req->probes++;
	}
	if (req->probes == PROBES_DOUBT && qp->av.path->ops->doubt)
		qp->av.path->ops->doubt(qp->av.path, &qp->av, qp->dest_qpn);
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
	/* What comes this soon is the late answer to the packet's first time. */
	if (now - req->probe_time < req->rtt / 2)
		return;
	if (req->una == psn_add(before, 1) && outstanding(qp))
		uroce_req_loss(qp, now);
}

/* A NAK told of a loss at una: one loss costs the window one halving. */
void uroce_req_loss(struct uroce_qp *qp, uint64_t now)
{
	struct uroce_requester *req = &qp->req;

	req->rtt_start = 0; /* the answer would tell how long the loss took to repair */
	if (!req->recovering) {
		req->recovering = true;
		req->recover = req->max_psn;
		uroce_window_halve(qp);
	}
	uroce_req_resend(qp, now);
}
