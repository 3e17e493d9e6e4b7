/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that requester, completer and responder call from each other, and that the owner of the
 * engine calls. All with qp->lock held.
 */
#ifndef UROCE_TRANSPORT_H
#define UROCE_TRANSPORT_H

#include "providers/uroce/engine/qp.h"

/* rwqe.c */

/*
 * Copy the oldest receive WQE of the QP (or its SRQ) into qp->resp.rwqe. Return: false if there is
 * none. Raises the SRQ limit event.
 */
bool uroce_rwqe_take(struct uroce_qp *qp);

/* req.c, req_direct.c, retry.c */

/* Return whether the state of the queue pair permits sending the next request. */
static inline bool uroce_req_may_send(const struct uroce_qp *qp)
{
	if (unlikely(sq_stopped(&qp->sq)))
		return false;
	if (likely(qp->state == IBV_QPS_RTS))
		return !qp->req.rnr_wait && !qp->req.path_full;
	if (qp->state != IBV_QPS_SQD || qp->req.rnr_wait || qp->req.path_full)
		return false;
	/* Draining: finish the current request, begin no new one. */
	return qp->sq.next != qp->sq.head && sq_wqe(&qp->sq, qp->sq.next)->psn_assigned;
}

/* Send as many packets as the windows allow. */
void uroce_req_run(struct uroce_qp *qp, uint64_t now);
/* Handle the timer of the QP: resend, end of an RNR wait, retries exhausted. */
void uroce_req_timeout(struct uroce_qp *qp, uint64_t now);
/* Go back to the oldest unacknowledged packet and send from there. */
void uroce_req_resend(struct uroce_qp *qp, uint64_t now);
/*
 * Send only the oldest packet again, and ask for its acknowledgement. Return: false if it was not
 * sent, because it is a request with a response, or because sending failed.
 */
bool uroce_req_probe(struct uroce_qp *qp);
/* Perform a WQE by path->ops->rdma, without packets. Return: 1: done; -EOPNOTSUPP: send packets. */
int uroce_req_direct(struct uroce_qp *qp, struct uroce_swqe *wqe);
/* Put the payload of a write with immediate into its target before its packet leaves. The packet
 * states this. */
void uroce_req_place(struct uroce_qp *qp, struct uroce_swqe *wqe);
/* Do the same for the WQE that was posted last, whose payload is at @bytes and not yet in its
 * memory. Return: whether the payload is in the target. */
bool uroce_req_place_from(struct uroce_qp *qp, struct uroce_swqe *wqe, const void *bytes);
/* Handle a reported loss at the oldest unacknowledged packet: shrink the window once, go back. */
void uroce_req_loss(struct uroce_qp *qp, uint64_t now);
/* Handle an acknowledgement that moved una from @before, and may answer a probe. */
void uroce_req_probed(struct uroce_qp *qp, uint32_t before, uint64_t now);
/* Send copies from here on, because the peer cannot read the reference in the oldest unacknowledged
 * packet. Return: false if that packet has no reference. */
bool uroce_req_copy_instead(struct uroce_qp *qp, uint64_t now);
/*
 * Handle the end of the peer's process: complete posted work with the same status, and after the
 * same time, as if the peer did not answer. Therefore a process that finishes and leaves does not
 * disturb peers that finish soon after.
 */
void uroce_req_peer_lost(struct uroce_qp *qp, uint64_t now);
/* Complete the oldest WQE with @status; the QP fails with it. */
void uroce_req_give_up(struct uroce_qp *qp, enum ibv_wc_status status);
/* Return whether the WQE waits for a response: read, atomic, flush, atomic write. */
bool uroce_wqe_has_response(const struct uroce_swqe *wqe);
/* Return the payload bytes of each packet of a WQE but the last. */
uint32_t uroce_wqe_segment(const struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Return the bytes that one read request of a WQE asks for, at most. */
uint64_t uroce_wqe_read_part(const struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Subtract @requests of the WQE that have been answered, or will never be. */
void uroce_req_answered(struct uroce_qp *qp, struct uroce_swqe *wqe, uint16_t requests);
/* due.c: arm the timer of the QP, and make sure that a thread is awake at @deadline. */
void uroce_qp_timer(struct uroce_qp *qp, uint64_t deadline);
/* Set the retransmission timer if packets are outstanding. */
void uroce_req_timer(struct uroce_qp *qp, uint64_t now);

/* congestion.c: set the first window of the requester on its path. */
void uroce_window_start(struct uroce_qp *qp);
/* Halve the window because some packets seem to be lost. */
void uroce_window_halve(struct uroce_qp *qp);
/* Restart with a small window because an unknown number of packets were lost or refused. */
void uroce_window_restart(struct uroce_qp *qp);
/* Enlarge the window after una moved from @before. */
void uroce_window_acked(struct uroce_qp *qp, uint32_t before);
/* Handle a congestion notification packet of the peer. */
void uroce_congestion_notified(struct uroce_qp *qp);
/* Handle a packet that the network marked: notify the peer, and count it for this side if it is a
 * response. */
void uroce_congestion_seen(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now);

/*
 * Complete the refused request of a QP that is connected to itself and refused it with the NAK
 * resp.ack_syndrome. Afterwards the QP is in the error state and ignores packets, so the NAK would
 * not arrive.
 */
void uroce_comp_own_nak(struct uroce_qp *qp);
/* Handle a request packet: check, execute, answer. */
void uroce_resp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt);
/* Send owed read responses, up to some packets of a long one, and owed acknowledgements. Return: 0:
 * all are sent; -EAGAIN: no room for more; -EBUSY: the turn is over. */
int uroce_resp_turn(struct uroce_qp *qp);
/* Owe an acknowledgement for an executed send or write, or for its last packet. */
void uroce_resp_took(struct uroce_qp *qp, bool ack_req);
/* Note that the owed acknowledgement was sent. */
static inline void uroce_resp_acked(struct uroce_responder *resp)
{
	resp->ack_due = false;
	resp->ack_hurry = false;
	resp->ack_inside = false;
	resp->ack_withheld = false;
	resp->ack_passes = 0;
	resp->ack_messages = 0;
}

/* Send or withhold an owed acknowledgement, before packets leave. */
void uroce_resp_piggyback(struct uroce_qp *qp);
/* Send an owed acknowledgement before the packet of a new request if the application sleeps. The
 * QP's lock is held. */
void uroce_resp_before(struct uroce_qp *qp);
/*
 * Note that the peer sent no more packets while its acknowledgement was withheld. The peer may have
 * waited for it.
 */
void uroce_resp_waited(struct uroce_qp *qp);

/* Handle a response packet: acknowledge, NAK, read or atomic response. */
void uroce_comp_packet(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now);
/* Handle an acknowledgement inside another packet. */
void uroce_comp_ack(struct uroce_qp *qp, uint32_t psn, uint8_t syndrome, uint64_t now);
/* Return the enum ibv_wc_opcode of an enum ibv_wr_opcode. */
uint8_t uroce_wc_opcode(uint8_t wr_opcode);
/* Push the completion of a WQE, if it is signalled or failed. */
void uroce_comp_push(struct uroce_qp *qp, const struct uroce_swqe *wqe);
/* Complete WQEs that are done, oldest first. */
void uroce_comp_retire(struct uroce_qp *qp);

/*
 * Send acknowledgements that wait for a packet that carries them. The QP's lock is held. Return:
 * false if there is no room for them now.
 */
bool uroce_qp_owed_flush(struct uroce_qp *qp);
/* qp_error.c: move to the error state and flush all WQEs. A failed WQE completes with its
 * status. */
void uroce_qp_error(struct uroce_qp *qp);
/* Handle a failed send WQE: RC goes to the error state, UC and UD to SQE, in which receiving goes
 * on. */
void uroce_qp_send_error(struct uroce_qp *qp);
/* Flush all posted WQEs: the QP is in the error state (or its SQ is in SQE). If the peer is still
 * copying, a timer does so later. */
void uroce_qp_flush(struct uroce_qp *qp);
/* Return whether the peer is copying to or from memory of this process by permission of the QP. */
bool uroce_qp_peer_at_work(const struct uroce_qp *qp);
/* Keep the first error of the QP, and log it. */
void uroce_qp_first_error(struct uroce_qp *qp, const struct uroce_first_error *error);
/* explain.c: log the first error in words. */
void uroce_qp_explain(const struct uroce_qp *qp);
/* refusal.c: write why this side refused the request. Return: false if the cause is not known. */
bool uroce_refusal_text(const struct uroce_qp *qp, const struct uroce_first_error *e, char *text,
			size_t size);
/* Return the name of an enum ibv_wr_opcode, for messages. */
const char *uroce_opcode_name(unsigned int opcode);
/* Raise SQ_DRAINED, because the SQ is empty while draining. */
void uroce_qp_drained(struct uroce_qp *qp);

/* xrc.c */

/* Return the SRQ with @srqn in @domain; NULL: there is none. Under progress_lock, and valid while
 * that is held. */
struct uroce_srq *uroce_xrc_srq(struct uroce_engine *engine, const struct uroce_domain *domain,
				uint32_t srqn);
/* Drop the state that the QP keeps of an SRQ that will be destroyed. The QP's lock is held. */
void uroce_xrc_srq_forget(struct uroce_qp *qp, const struct uroce_srq *srq);
/* Raise an event for each handle of an XRC receive QP. */
void uroce_xrc_event(struct uroce_qp *qp, enum ibv_event_type type);

/* Raise an asynchronous event of the queue pair. */
static inline void uroce_event_qp(struct uroce_qp *qp, enum ibv_event_type type)
{
	if (unlikely(qp->type == IBV_QPT_XRC_RECV)) {
		uroce_xrc_event(qp, type);
		return;
	}
	qp->engine->events->async(qp->vqp.qp.context, (uintptr_t)&qp->vqp.qp, type,
				  &qp->events_raised);
}

/* Enter a QP that owes an acknowledgement. It leaves with a packet, or at the end of a progress
 * pass that has no packets. */
static inline void uroce_ack_enlist(struct uroce_qp *qp)
{
	if (qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&uroce_qp_strand(qp)->acks, qp, ack_entry);
}

/* Enter the QP so that the acknowledgement leaves at the end of this pass, unless uroce_acks_run()
 * in due.c delays it. */
static inline void uroce_ack_later(struct uroce_qp *qp)
{
	uroce_ack_enlist(qp);
	uroce_qp_strand(qp)->acks_urgent = true;
}

/* Enter a QP whose path is full: progress runs it again. */
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
