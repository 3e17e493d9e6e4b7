/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answers of the responder: acknowledgements, NAKs, read responses, results of atomics. */
#include "providers/uroce/engine/resp.h"

enum {
	ACK_PIGGYBACK_MIN = 8,
	ACK_PIGGYBACK_MAX = 8192,
	TURN_PACKETS = 256, /* packets in one turn of a long read's answer: those of one window */
	ACK_LATE = 4, /* further messages for which a due acknowledgement waits for an idle pass */
};

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

static uint8_t read_operation(const struct uroce_resource *res, uint32_t length)
{
	bool first = !res->offset, last = res->offset + length == res->answer_length;

	if (first && last)
		return UROCE_READ_RESP_ONLY;
	if (first)
		return UROCE_READ_RESP_FIRST;
	return last ? UROCE_READ_RESP_LAST : UROCE_READ_RESP_MIDDLE;
}

/* Return the PD of a request. NULL: its SRQ has been destroyed. */
static const struct ibv_pd *resource_pd(const struct uroce_qp *qp, const struct uroce_resource *res)
{
	if (likely(qp->type != IBV_QPT_XRC_RECV))
		return qp->vqp.qp.pd;
	return res->srq ? res->srq->vsrq.srq.pd : NULL;
}

/* Send the next response packet of @res. Return: 0: sent, and active is false after the last;
 * -EAGAIN; -EACCES: no access to the region any more. */
static int resource_send(struct uroce_qp *qp, struct uroce_resource *res)
{
	bool atomic = uroce_opcodes[res->opcode].flags & PKT_ATOMIC;
	uint32_t segment = resp_read_segment(qp);
	uint32_t length = atomic ? 0 : min_of(res->answer_length - res->offset, segment);
	struct uroce_hdr hdr = {
		.opcode = uroce_qp_transport(qp) |
			  (atomic ? UROCE_ATOMIC_ACK : read_operation(res, length)),
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = psn_add(res->answer_psn, res->offset / segment),
		.syndrome = AETH_ACK | AETH_ACK_NO_CREDIT,
		.msn = qp->resp.msn,
		.orig = res->orig,
	};
	struct iovec iov = { .iov_len = length };
	struct uroce_key *key = NULL;
	int r;

	if (length) {
		const struct ibv_pd *pd = resource_pd(qp, res);

		/* The program may have revoked the right since the request arrived. */
		if (unlikely(!pd || !(qp->access & IBV_ACCESS_REMOTE_READ)))
			return -EACCES;
		r = uroce_key_get(qp->engine->keys, res->rkey, pd, qp->vqp.qp.qp_num,
				  IBV_ACCESS_REMOTE_READ, res->answer_va + res->offset, length,
				  &key, (uint8_t **)&iov.iov_base);
		if (r < 0)
			return -EACCES;
	}
	r = resp_send(qp, &hdr, &iov, length ? 1 : 0, length);
	uroce_key_put(key);
	if (r < 0)
		return r == -EFAULT ? -EACCES : r;
	res->offset += length;
	if (res->offset == res->answer_length || atomic) {
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
		.opcode = uroce_qp_transport(qp) | UROCE_ACK,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
		.psn = nak ? resp->psn : psn_add(resp->psn, PSN_MASK),
		.syndrome = resp->ack_syndrome,
		.msn = resp->msn,
	};
	int r = resp_send(qp, &hdr, NULL, 0, 0);

	if (r != -EAGAIN)
		uroce_resp_acked(resp);
	return r;
}

/*
 * On a network an acknowledgement is a packet of its own, which doubles the cost of a small answer
 * with which it leaves. Few programs with a ping-pong poll completions of sends before the next
 * message arrives. Therefore their acknowledgements are withheld until there are several, or until
 * the peer is silent for some passes. A silent peer has waited, so the next ones are not withheld.
 * Their number doubles each time this happens.
 */
void uroce_resp_piggyback(struct uroce_qp *qp)
{
	struct uroce_responder *resp = &qp->resp;

	if (!resp->ack_due || resp->res_pending ||
	    (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK)
		return;
	if (!resp->ack_hurry && !resp->ack_piggyback &&
	    resp->ack_messages < UROCE_ACK_WITHHELD + ACK_LATE) {
		resp->ack_withheld = resp->ack_messages < UROCE_ACK_WITHHELD;
		return;
	}
	if (resp->ack_piggyback)
		resp->ack_piggyback--;
	ack_send(qp);
}

/*
 * Send the acknowledgement before the answer of a program that sleeps between messages. Such a
 * program may have one channel for sends and receives. It may expect events in the order of a
 * device that acknowledges at once, and it is in no hurry.
 */
void uroce_resp_before(struct uroce_qp *qp)
{
	const struct uroce_responder *resp = &qp->resp;
	const struct uroce_cq *cq = qp->recv_cq;

	if (qp->type != IBV_QPT_RC || resp->res_pending ||
	    (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK)
		return;
	if (atomic_load_explicit(&cq->armed_next, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->armed_solicited, memory_order_relaxed))
		ack_send(qp);
}

void uroce_resp_waited(struct uroce_qp *qp)
{
	struct uroce_responder *resp = &qp->resp;

	resp->ack_piggyback_next =
		min_of(max_of(2 * resp->ack_piggyback_next, ACK_PIGGYBACK_MIN), ACK_PIGGYBACK_MAX);
	resp->ack_piggyback = resp->ack_piggyback_next;
}

/* Send a NAK, because a read lost the access to its region between request and response. */
static void resource_refused(struct uroce_qp *qp, struct uroce_resource *res)
{
	struct uroce_first_error error = { .valid = true,
					   .status = IBV_WC_REM_ACCESS_ERR,
					   .is_recv = true,
					   .of_peer = true,
					   .psn = res->first_psn };

	qp->resp.psn = psn_add(res->answer_psn, res->offset / resp_read_segment(qp));
	qp->resp.res_pending = 0;
	qp->resp.res_count = 0;
	qp->resp.ack_syndrome = AETH_NAK | NAK_REMOTE_ACCESS;
	ack_send(qp);
	uroce_event_qp(qp, IBV_EVENT_QP_ACCESS_ERR);
	uroce_qp_first_error(qp, &error);
	uroce_comp_own_nak(qp);
	uroce_qp_error(qp);
}

/* Send up to @most packets of answers. Return: 0; -EAGAIN: no room; -EBUSY: more remain; -ENOTCONN:
 * a read was refused, and the QP has failed. */
static int resources_run(struct uroce_qp *qp, uint32_t most)
{
	struct uroce_responder *resp = &qp->resp;

	for (uint32_t i = 0; resp->res_pending && i < resp->res_count; i++) {
		struct uroce_resource *res = &resp->res[(resp->res_head + i) % resp->res_size];

		while (res->active) {
			int r = most-- ? resource_send(qp, res) : -EBUSY;

			if (r == -EAGAIN || r == -EBUSY)
				return r;
			if (r == -EACCES) {
				resource_refused(qp, res);
				return -ENOTCONN;
			}
			if (r < 0) {
				/*
				 * The peer cannot be reached now. The requester will repeat the
				 * request.
				 */
				res->active = false;
				resp->res_pending--;
			}
		}
	}
	return 0;
}

int uroce_resp_turn(struct uroce_qp *qp)
{
	int r = 0;

	assert_held(&qp->lock);
	if (unlikely(qp->resp.res_pending))
		r = resources_run(qp, TURN_PACKETS);
	if (unlikely(r < 0))
		return r == -ENOTCONN ? 0 : r;
	return !qp->resp.ack_due || ack_send(qp) != -EAGAIN ? 0 : -EAGAIN;
}
