/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The second half of the state machine: effects of messages and of time. */
#include <errno.h>
#include <string.h>

#include "librdmacm/ibcm/state_out.h"
#include "util/util.h"

enum {
	STALE_TRIES = 9,
};
/* ns before the first repetition, doubled before each further one */
#define STALE_PAUSE	1000000ull
#define NEIGHBOUR_ASKED 3500000000ull /* ns: the kernel tries three times, a second apart */

/* --- messages --- */

typedef void (*message_handler)(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
				struct ibcm_out *out);

/* Extend the deadline: the peer needs more time for its answer to the repeated message. */
static void extend(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		   struct ibcm_out *out)
{
	enum ibcm_answered ours =
		conn->state == IBCM_REQ_SENT ? IBCM_ANSWERS_REQ : IBCM_ANSWERS_REP;

	if (mad->mra.answered != ours)
		return;
	conn->remote_id = mad->local_id;
	ibcm_ask_end(conn);
	conn->deadline =
		now + conn->interval + min_of(ibcm_time(mad->mra.service_timeout), IBCM_PATIENCE);
}

static void reply_arrived(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			  struct ibcm_out *out)
{
	const struct ibcm_rep *rep = &mad->rep;

	conn->remote_id = mad->local_id;
	conn->remote_guid = rep->ca_guid;
	conn->qp.remote_qpn = rep->qpn;
	conn->qp.sq_psn = rep->starting_psn;
	conn->qp.responder_resources = rep->initiator_depth;
	conn->qp.initiator_depth = rep->responder_resources;
	conn->qp.rnr_retry_count = rep->rnr_retry_count;
	ibcm_become(conn, IBCM_REP_RCVD);
	ibcm_out_event(out, IBCM_EVENT_REPLY, 0);
}

/*
 * Repeat a request that was refused as stale. The peer still had an earlier connection with the
 * number of this side's queue pair, and ends it soon. The pauses grow, to half a second in all.
 */
static bool stale_again(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now)
{
	if (conn->state != IBCM_REQ_SENT || mad->rej.reason != IBCM_REJ_STALE_CONN)
		return false;
	if (conn->again) /* the refusal belongs to a copy of the request */
		return true;
	if (conn->stale == STALE_TRIES)
		return false;
	ibcm_ask_end(conn);
	conn->again = true;
	conn->deadline = now + (STALE_PAUSE << conn->stale++);
	return true;
}

static void rejected(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		     struct ibcm_out *out)
{
	bool used = conn->state == IBCM_REP_RCVD || conn->state == IBCM_ESTABLISHED;

	if (stale_again(conn, mad, now))
		return;

	if (used || mad->rej.reason == IBCM_REJ_STALE_CONN)
		ibcm_become_timewait(conn, now);
	else
		ibcm_become(conn, IBCM_IDLE);
	ibcm_out_event(out, IBCM_EVENT_REJECTED, mad->rej.reason);
}

static void repeat_request(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			   struct ibcm_out *out)
{
	ibcm_out_mra(conn, IBCM_ANSWERS_REQ, out);
}

static void repeat_reply(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	ibcm_out_mra(conn, IBCM_ANSWERS_REP, out);
}

static void resend(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		   struct ibcm_out *out)
{
	ibcm_out_data(out, conn->sent);
}

static void ready(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		  struct ibcm_out *out)
{
	ibcm_become(conn, IBCM_ESTABLISHED);
	ibcm_out_event(out, IBCM_EVENT_ESTABLISHED, 0);
}

/* Send the RTU again, because it was lost. */
static void ready_again(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			struct ibcm_out *out)
{
	if (conn->active)
		ibcm_out_plain(conn, IBCM_RTU, out);
}

/* Note the peer's DREQ. The application confirms it when it disconnects or destroys the id. */
static void disconnect_asked(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			     struct ibcm_out *out)
{
	conn->tid = mad->tid;
	ibcm_become(conn, IBCM_DREQ_RCVD);
	ibcm_out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

/* Confirm the peer's DREQ, which was sent at the same time as the DREQ of this side. */
static void disconnect_both(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			    struct ibcm_out *out)
{
	conn->tid = mad->tid;
	ibcm_out_drep(conn, out);
	ibcm_become_timewait(conn, now);
	ibcm_out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

static void disconnected(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	ibcm_become_timewait(conn, now);
	ibcm_out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

static void disconnect_quietly(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			       struct ibcm_out *out)
{
	ibcm_become_timewait(conn, now);
}

static void confirm_again(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			  struct ibcm_out *out)
{
	conn->tid = mad->tid;
	ibcm_out_drep(conn, out);
}

static void stale(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		  struct ibcm_out *out)
{
	struct ibcm_mad rej = {
		.type = IBCM_REJ,
		.rej = { .rejected = IBCM_ANSWERS_REQ, .reason = IBCM_REJ_STALE_CONN },
	};

	ibcm_out_mad(conn, &rej, out);
}

static void resolved(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		     struct ibcm_out *out)
{
	conn->qp.remote_qpn = mad->sidr_rep.qpn;
	ibcm_become(conn, IBCM_IDLE);
	ibcm_out_event(out, IBCM_EVENT_RESOLVED, mad->sidr_rep.status);
}

/* Refuse an alternate path: the peer keeps its present path. */
static void no_alternate(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	struct ibcm_mad apr = { .type = IBCM_APR, .apr = { .status = IBCM_APR_UNSUPPORTED } };

	conn->tid = mad->tid;
	ibcm_out_mad(conn, &apr, out);
}

/*
 * Handlers by state and message. A message without a handler is old or unexpected, and is ignored.
 */
static const message_handler handlers[IBCM_STATES][IBCM_APR + 1] = {
	[IBCM_REQ_SENT] = {
		[IBCM_MRA] = extend,
		[IBCM_REP] = reply_arrived,
		[IBCM_REJ] = rejected,
	},
	[IBCM_REQ_RCVD] = {
		[IBCM_REQ] = repeat_request,
		[IBCM_REJ] = rejected,
	},
	[IBCM_REP_SENT] = {
		[IBCM_REQ] = resend,
		[IBCM_MRA] = extend,
		[IBCM_RTU] = ready,
		[IBCM_REJ] = rejected,
		[IBCM_DREQ] = disconnect_asked,
	},
	[IBCM_REP_RCVD] = {
		[IBCM_REP] = repeat_reply,
		[IBCM_REJ] = rejected,
	},
	[IBCM_ESTABLISHED] = {
		[IBCM_REP] = ready_again,
		[IBCM_REJ] = rejected,
		[IBCM_DREQ] = disconnect_asked,
		[IBCM_LAP] = no_alternate,
		[IBCM_APR] = ibcm_probe_answered,
	},
	[IBCM_DREQ_SENT] = {
		[IBCM_DREQ] = disconnect_both,
		[IBCM_DREP] = disconnected,
		[IBCM_REJ] = disconnected,
	},
	[IBCM_DREQ_RCVD] = {
		[IBCM_DREP] = disconnect_quietly,
	},
	[IBCM_TIMEWAIT] = {
		[IBCM_REQ] = stale,
		[IBCM_DREQ] = confirm_again,
	},
	[IBCM_SIDR_REQ_SENT] = {
		[IBCM_SIDR_REP] = resolved,
	},
};

void ibcm_state_message(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			struct ibcm_out *out)
{
	message_handler handler = mad->type <= IBCM_APR ? handlers[conn->state][mad->type] : NULL;

	if (mad->type == IBCM_DREQ && mad->dreq.remote_qpn != conn->qp.local_qpn)
		return; /* the message is for another connection, which had the same id */
	if (handler)
		handler(conn, mad, now, out);
}

/* --- time --- */

void ibcm_give_up(struct ibcm_conn *conn, uint64_t now, int status, struct ibcm_out *out)
{
	switch (conn->state) {
	case IBCM_REQ_SENT:
	case IBCM_REP_SENT: /* the peer may have received the message */
		ibcm_out_rej(conn, IBCM_REJ_TIMEOUT, NULL, 0, out);
		if (conn->state == IBCM_REP_SENT)
			ibcm_become_timewait(conn, now);
		else
			ibcm_become(conn, IBCM_IDLE);
		ibcm_out_event(out, IBCM_EVENT_UNREACHABLE, status);
		break;
	case IBCM_SIDR_REQ_SENT:
		ibcm_become(conn, IBCM_IDLE);
		ibcm_out_event(out, IBCM_EVENT_UNREACHABLE, status);
		break;
	case IBCM_DREQ_SENT:
		ibcm_become_timewait(conn, now);
		ibcm_out_event(out, IBCM_EVENT_DISCONNECTED, status);
		break;
	default:
		break;
	}
}

void ibcm_state_timeout(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	if (!conn->deadline || now < conn->deadline)
		return;
	if (conn->state == IBCM_TIMEWAIT) {
		ibcm_become(conn, IBCM_IDLE);
		ibcm_out_event(out, IBCM_EVENT_TIMEWAIT_EXIT, 0);
		return;
	}
	if (conn->state == IBCM_ESTABLISHED) {
		ibcm_probe_due(conn, now, out);
		return;
	}
	if (ibcm_ask_early(conn, now, out))
		return;
	if (conn->again) {
		conn->again = false;
		conn->deadline = now + conn->interval;
		ibcm_out_data(out, conn->sent);
		return;
	}
	if (!conn->left) {
		ibcm_give_up(conn, now, -ETIMEDOUT, out);
		return;
	}
	conn->left--;
	conn->deadline = now + conn->interval;
	conn->unheard = true; /* if the peer asked for more time, that time has passed */
	ibcm_repeat(conn, out);
}

void ibcm_state_shares_qp(struct ibcm_conn *conn)
{
	conn->stale = STALE_TRIES;
}

bool ibcm_state_is_asking(const struct ibcm_conn *conn)
{
	return conn->state == IBCM_REQ_SENT || conn->state == IBCM_SIDR_REQ_SENT;
}

void ibcm_state_unreachable(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	if (!ibcm_state_is_asking(conn))
		return;
	if (conn->neighbour_failed || !conn->left) {
		ibcm_give_up(conn, now, -EHOSTUNREACH, out);
		return;
	}
	/* The host may have been stopped for a few seconds. Let the kernel search for it again. */
	conn->neighbour_failed = true;
	conn->ask_until = 0;
	conn->left--;
	conn->deadline = now + NEIGHBOUR_ASKED;
	ibcm_repeat(conn, out);
}

void ibcm_state_peer_gone(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	switch (conn->state) {
	case IBCM_REQ_SENT: /* the peer asked for more time (MRA), which may be long */
		ibcm_become(conn, IBCM_IDLE);
		ibcm_out_event(out, IBCM_EVENT_UNREACHABLE, -ECONNRESET);
		break;
	case IBCM_REQ_RCVD:
	case IBCM_REP_SENT:
	case IBCM_REP_RCVD:
		ibcm_become_timewait(conn, now);
		ibcm_out_event(out, IBCM_EVENT_UNREACHABLE, -ECONNRESET);
		break;
	case IBCM_ESTABLISHED:
	case IBCM_DREQ_SENT:
		ibcm_become_timewait(conn, now);
		ibcm_out_event(out, IBCM_EVENT_DISCONNECTED, 0);
		break;
	case IBCM_DREQ_RCVD:
		ibcm_become_timewait(conn, now);
		break;
	default: /* a datagram service: the next repetition shows the result */
		break;
	}
}

/* --- messages without a connection --- */

static void stray_reject(const struct ibcm_mad *mad, enum ibcm_answered rejected, uint32_t reason,
			 struct ibcm_mad *ret)
{
	*ret = (struct ibcm_mad){
		.type = IBCM_REJ,
		.tid = mad->tid,
		.local_id = mad->remote_id,
		.remote_id = mad->local_id,
		.rej = { .rejected = rejected, .reason = reason },
	};
}

int ibcm_state_stray(const struct ibcm_mad *mad, struct ibcm_mad *ret_answer)
{
	switch (mad->type) {
	case IBCM_REQ:
		stray_reject(mad, IBCM_ANSWERS_REQ, IBCM_REJ_INVALID_SERVICE_ID, ret_answer);
		return 0;
	case IBCM_REP:
		stray_reject(mad, IBCM_ANSWERS_REP, IBCM_REJ_INVALID_COMM_ID, ret_answer);
		return 0;
	case IBCM_DREQ: /* the DREQ was confirmed, but the DREP got lost */
		*ret_answer = (struct ibcm_mad){
			.type = IBCM_DREP,
			.tid = mad->tid,
			.local_id = mad->remote_id,
			.remote_id = mad->local_id,
		};
		return 0;
	case IBCM_SIDR_REQ:
		*ret_answer = (struct ibcm_mad){
			.type = IBCM_SIDR_REP,
			.tid = mad->tid,
			.remote_id = mad->local_id,
			.sidr_rep = { .status = IBCM_SIDR_UNSUPPORTED,
				      .service_id = mad->sidr_req.service_id },
		};
		return 0;
	case IBCM_LAP:
		*ret_answer = (struct ibcm_mad){
			.type = IBCM_APR,
			.tid = mad->tid,
			.local_id = mad->remote_id,
			.remote_id = mad->local_id,
			.apr = { .status = IBCM_APR_NO_CONNECTION },
		};
		return 0;
	default:
		return -ENOENT;
	}
}
