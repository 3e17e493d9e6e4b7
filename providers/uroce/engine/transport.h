/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What requester, completer and responder call of each other, and their owner of them. qp->lock is
 * held. */
#ifndef UROCE_TRANSPORT_H
#define UROCE_TRANSPORT_H

#include "providers/uroce/engine/qp.h"

/* rwqe.c */

/*
 * Copy the oldest receive WQE of the QP (or its SRQ) into qp->resp.rwqe. Return: false when there
 * is none. Raises the SRQ limit event.
 */
bool uroce_rwqe_take(struct uroce_qp *qp);

/* req.c, req_direct.c, retry.c */

/* Whether a request may leave that is next, as far as the queue pair is concerned. */
static inline bool uroce_req_may_send(const struct uroce_qp *qp)
{
	if (unlikely(sq_stopped(&qp->sq)))
		return false;
	if (likely(qp->state == IBV_QPS_RTS))
		return !qp->req.rnr_wait && !qp->req.path_full;
	if (qp->state != IBV_QPS_SQD || qp->req.rnr_wait || qp->req.path_full)
		return false;
	/* Draining: what was begun is finished, nothing new is begun. */
	return qp->sq.next != qp->sq.head && sq_wqe(&qp->sq, qp->sq.next)->psn_assigned;
}

/* Send what the windows allow. */
void uroce_req_run(struct uroce_qp *qp, uint64_t now);
/* The timer of the QP fired: resend, end of an RNR wait, retries exhausted. */
void uroce_req_timeout(struct uroce_qp *qp, uint64_t now);
/* Go back to the oldest unacknowledged packet. */
void uroce_req_resend(struct uroce_qp *qp, uint64_t now);
/*
 * Send the oldest packet once more, by itself, and ask for its acknowledgement. Return: false when
 * nothing was sent, for it is a request that has a response, or could not be.
 */
bool uroce_req_probe(struct uroce_qp *qp);
/* By the path, one-sided, where path->ops->rdma is. Return: 1: it is done; -EOPNOTSUPP: packets
 * have to do it. */
int uroce_req_direct(struct uroce_qp *qp, struct uroce_swqe *wqe);
/* What a write with immediate carries is put into its target before its packet, which says so,
 * leaves. */
void uroce_req_place(struct uroce_qp *qp, struct uroce_swqe *wqe);
/* The same for the WQE that was posted last, whose bytes lie at @bytes and not yet in its memory.
 * Return: whether they are in the target. */
bool uroce_req_place_from(struct uroce_qp *qp, struct uroce_swqe *wqe, const void *bytes);
/* A loss at the oldest unacknowledged packet was reported: shrink the window once, go back. */
void uroce_req_loss(struct uroce_qp *qp, uint64_t now);
/* una moved from @before by an acknowledgement: the answer to a probe, perhaps. */
void uroce_req_probed(struct uroce_qp *qp, uint32_t before, uint64_t now);
/* The peer cannot read what the oldest unacknowledged packet refers to: from here on copies travel.
 * Return: false when that packet referred to nothing. */
bool uroce_req_copy_instead(struct uroce_qp *qp, uint64_t now);
/* The peer's process is gone: what is posted ends as if it did not answer, and as late, so that who
 * is through with its own work and leaves does not disturb those who are about to be. */
void uroce_req_peer_lost(struct uroce_qp *qp, uint64_t now);
/* The oldest WQE ends with @status, the QP with it. */
void uroce_req_give_up(struct uroce_qp *qp, enum ibv_wc_status status);
/* Whether the WQE waits for a response: read, atomic, flush, atomic write. */
bool uroce_wqe_has_response(const struct uroce_swqe *wqe);
/* Payload bytes of each of its packets but the last. */
uint32_t uroce_wqe_segment(const struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Bytes that one of its read requests asks for at most. */
uint64_t uroce_wqe_read_part(const struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Requests of the WQE are answered, or will not be. */
void uroce_req_answered(struct uroce_qp *qp, struct uroce_swqe *wqe, uint16_t requests);
/* due.c: arm the QP's timer, and see to it that somebody is awake then. */
void uroce_qp_timer(struct uroce_qp *qp, uint64_t deadline);
/* Set or stop the retransmission timer according to what is outstanding. */
void uroce_req_timer(struct uroce_qp *qp, uint64_t now);

/* congestion.c: the requester begins on its path. */
void uroce_window_start(struct uroce_qp *qp);
/* What was sent seems to be lost in part. */
void uroce_window_halve(struct uroce_qp *qp);
/* The same, or refused, and nothing tells how much of it: begin again with little. */
void uroce_window_restart(struct uroce_qp *qp);
/* una moved on from @before. */
void uroce_window_acked(struct uroce_qp *qp, uint32_t before);
/* The peer tells that what is sent to it meets congestion. */
void uroce_congestion_notified(struct uroce_qp *qp);
/* The network marked a packet that came: tell the peer, and be told. */
void uroce_congestion_seen(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now);

/* One request packet: check, execute, answer. */
void uroce_resp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Continue read responses, up to some packets of a long one, and owed acknowledgements. Return: 0:
 * nothing is owed any more; -EAGAIN: no room for more; -EBUSY: its turn is over. */
int uroce_resp_turn(struct uroce_qp *qp);
/* A send or write was executed, or its last packet: what is owed for it. */
void uroce_resp_took(struct uroce_qp *qp, bool ack_req);
/* An acknowledgement left. */
static inline void uroce_resp_acked(struct uroce_responder *resp)
{
	resp->ack_due = false;
	resp->ack_hurry = false;
	resp->ack_inside = false;
	resp->ack_withheld = false;
	resp->ack_passes = 0;
	resp->ack_messages = 0;
}

/* Packets are about to leave: an owed acknowledgement goes with them, or is withheld. */
void uroce_resp_ride(struct uroce_qp *qp);
/* An acknowledgement is due, and something is about to be sent. The QP's lock is held. */
void uroce_resp_before(struct uroce_qp *qp);
/* The peer sent nothing more while its acknowledgement was withheld: it may have waited for it. */
void uroce_resp_waited(struct uroce_qp *qp);

/* One response packet: acknowledge, NAK, read or atomic response. */
void uroce_comp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now);
/* An acknowledgement that came along with another packet. */
void uroce_comp_ack(struct uroce_qp *qp, uint32_t psn, uint8_t syndrome, uint64_t now);
/* What its completion says: enum ibv_wc_opcode of an enum ibv_wr_opcode. */
uint8_t uroce_wc_opcode(uint8_t wr_opcode);
/* The completion of one WQE, if it is signalled or failed. */
void uroce_comp_push(struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Complete WQEs that are done, oldest first. */
void uroce_comp_retire(struct uroce_qp *qp);

/* Acknowledgements wait for company: those that still do leave now. The QP's lock is held.
 * Return: false when there is no room for them now. */
bool uroce_qp_owed_flush(struct uroce_qp *qp);
/* qp_error.c: move to the error state. The WQE of @cqe completes with its status, all others are
 * flushed.
 */
void uroce_qp_error(struct uroce_qp *qp);
/* A send WQE failed: RC goes to the error state; UC and UD to SQE, where receiving goes on. */
void uroce_qp_send_error(struct uroce_qp *qp);
/* Flush whatever is posted: the QP is in the error state (or its SQ is in SQE). By a timer, if the
 * peer is still at work. */
void uroce_qp_flush(struct uroce_qp *qp);
/* Whether the peer is in the middle of a copy to or from this process's memory that the QP let it
 * begin. */
bool uroce_qp_peer_at_work(const struct uroce_qp *qp);
/* Remember the first error of the QP, and log it. */
void uroce_qp_first_error(struct uroce_qp *qp, const struct uroce_first_error *error);
/* explain.c: log it in words. */
void uroce_qp_explain(const struct uroce_qp *qp);
/* The name of an enum ibv_wr_opcode, for messages. */
const char *uroce_opcode_name(unsigned int opcode);
/* The SQ is empty while draining: raise SQ_DRAINED. */
void uroce_qp_drained(struct uroce_qp *qp);

/* xrc.c */

/* The SRQ of a number in that domain; NULL: there is none. Under progress_lock, and valid as long
 * as that is held. */
struct uroce_srq *uroce_xrc_srq(struct uroce_engine *engine, const struct uroce_domain *domain,
				uint32_t srqn);
/* The SRQ is about to go: what the QP had begun with it is over. The QP's lock is held. */
void uroce_xrc_srq_forget(struct uroce_qp *qp, const struct uroce_srq *srq);
/* An event of each handle of an XRC receive QP. */
void uroce_xrc_event(struct uroce_qp *qp, enum ibv_event_type type);

/* An asynchronous event of the queue pair. */
static inline void uroce_event_qp(struct uroce_qp *qp, enum ibv_event_type type)
{
	if (unlikely(qp->type == IBV_QPT_XRC_RECV)) {
		uroce_xrc_event(qp, type);
		return;
	}
	qp->engine->events->async(qp->vqp.qp.context, (uintptr_t)&qp->vqp.qp, type,
				  &qp->events_raised);
}

/* The QP owes an acknowledgement, which leaves along with a packet or at the end of a progress pass
 * that has nothing else to do. */
static inline void uroce_ack_enlist(struct uroce_qp *qp)
{
	if (qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&uroce_qp_strand(qp)->acks, qp, ack_entry);
}

/* The same at the end of this pass, unless acks_run() in due.c sees why it may wait. */
static inline void uroce_ack_later(struct uroce_qp *qp)
{
	uroce_ack_enlist(qp);
	uroce_qp_strand(qp)->acks_urgent = true;
}

/* The path is full: progress runs the QP again. */
static inline void uroce_blocked(struct uroce_qp *qp)
{
	struct uroce_strand *strand = uroce_qp_strand(qp);
	struct uroce_engine *engine = qp->engine;

	uroce_lock(&strand->blocked_lock);
	if (!qp->on_blocked) {
		qp->on_blocked = true;
		TAILQ_INSERT_TAIL(&strand->blocked, qp, blocked_entry);
		atomic_store_explicit(&strand->any_blocked, true, memory_order_relaxed);
	}
	uroce_unlock(&strand->blocked_lock);
	uroce_engine_rouse(engine);
}

#endif
