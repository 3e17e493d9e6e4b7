/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/ibcm/state.h"
#include "util/enum.h"
#include "util/util.h"

enum {
	/* Of an MRA: the application may take its time to answer. */
	MRA_SERVICE_TIMEOUT = 24,
	/* SIDR_REQ names no times: those every requester of a chapter 12 manager uses. */
	SIDR_TIMEOUT = 20,
	SIDR_RETRIES = 15,
};

/* --- output --- */

static void out_data(struct ibcm_out *out, const uint8_t data[IBCM_MAD_LEN])
{
	if (out->mads < ARRAY_SIZE(out->mad))
		memcpy(out->mad[out->mads++], data, IBCM_MAD_LEN);
}

static void out_event(struct ibcm_out *out, enum ibcm_event event, int status)
{
	out->has_event = true;
	out->event = event;
	out->status = status;
}

/* Once, with the connection's ids. */
static int send_once(const struct ibcm_conn *conn, struct ibcm_mad *mad, struct ibcm_out *out)
{
	uint8_t data[IBCM_MAD_LEN];
	int r;

	mad->local_id = conn->local_id;
	mad->remote_id = conn->remote_id;
	mad->tid = conn->tid;
	r = ibcm_mad_pack(mad, data);
	if (!r)
		out_data(out, data);
	return r;
}

/* Until the peer answers. */
static int send_repeated(struct ibcm_conn *conn, struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	uint8_t data[IBCM_MAD_LEN];
	int r;

	mad->local_id = conn->local_id;
	mad->remote_id = conn->remote_id;
	mad->tid = conn->tid;
	r = ibcm_mad_pack(mad, data);
	if (r < 0)
		return r;
	memcpy(conn->sent, data, sizeof(data));
	conn->left = conn->retries;
	conn->deadline = now + conn->interval;
	out_data(out, data);
	return 0;
}

static void send_plain(const struct ibcm_conn *conn, enum ibcm_message type, struct ibcm_out *out)
{
	struct ibcm_mad mad = { .type = type };

	send_once(conn, &mad, out);
}

static void send_drep(struct ibcm_conn *conn, struct ibcm_out *out)
{
	send_plain(conn, IBCM_DREP, out);
	conn->confirmed = true;
}

static void send_mra(const struct ibcm_conn *conn, enum ibcm_answered answered,
		     struct ibcm_out *out)
{
	struct ibcm_mad mad = {
		.type = IBCM_MRA,
		.mra = { .answered = answered, .service_timeout = MRA_SERVICE_TIMEOUT },
	};

	send_once(conn, &mad, out);
}

static enum ibcm_answered rejects(enum ibcm_state state)
{
	if (state == IBCM_REQ_RCVD)
		return IBCM_ANSWERS_REQ;
	return state == IBCM_REP_RCVD ? IBCM_ANSWERS_REP : IBCM_ANSWERS_OTHER;
}

/* A timeout names the sender by its GUID, as the receiver may not know its id yet. */
static int send_rej(const struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		    uint32_t private_len, struct ibcm_out *out)
{
	struct ibcm_mad mad = {
		.type = IBCM_REJ,
		.rej = { .rejected = rejects(conn->state), .reason = reason },
		.private_len = private_len,
	};
	uint64_t guid = htobe64(conn->local_guid);

	if (private_len > ibcm_private_size(IBCM_REJ))
		return -EINVAL;
	if (private_len)
		memcpy(mad.private_data, private_data, private_len);
	if (reason == IBCM_REJ_TIMEOUT) {
		mad.rej.info_length = sizeof(guid);
		memcpy(mad.rej.info, &guid, sizeof(guid));
	}
	return send_once(conn, &mad, out);
}

/* --- states --- */

static void become(struct ibcm_conn *conn, enum ibcm_state state)
{
	conn->state = state;
	conn->deadline = 0;
}

/* Packets of the connection may still be under way: its numbers are not used again at once. */
static void become_timewait(struct ibcm_conn *conn, uint64_t now)
{
	become(conn, IBCM_TIMEWAIT);
	conn->deadline = now + ibcm_time(conn->qp.ack_timeout);
}

/* --- the application's side --- */

static void request_facts(struct ibcm_conn *conn, const struct ibcm_req *req)
{
	conn->local_guid = req->ca_guid;
	conn->qp.rq_psn = req->starting_psn;
	conn->qp.mtu = req->mtu;
	conn->qp.retry_count = req->retry_count;
	conn->qp.ack_timeout = req->primary.ack_timeout;
	conn->retries = req->max_cm_retries;
	conn->interval =
		ibcm_time(req->primary.ack_timeout) + ibcm_time(req->remote_response_timeout);
}

int ibcm_state_request(struct ibcm_conn *conn, const struct ibcm_mad *request, uint64_t now,
		       struct ibcm_out *out)
{
	struct ibcm_mad mad = *request;
	int r;

	if (conn->state != IBCM_IDLE)
		return -EINVAL;
	conn->local_id = mad.local_id;
	conn->tid = mad.tid;
	conn->active = true;
	if (mad.type == IBCM_REQ) {
		request_facts(conn, &mad.req);
	} else {
		conn->retries = SIDR_RETRIES;
		conn->interval = ibcm_time(SIDR_TIMEOUT);
	}
	r = send_repeated(conn, &mad, now, out);
	if (!r)
		conn->state = mad.type == IBCM_REQ ? IBCM_REQ_SENT : IBCM_SIDR_REQ_SENT;
	return r;
}

static void arrival_facts(struct ibcm_conn *conn, const struct ibcm_req *req)
{
	conn->remote_guid = req->ca_guid;
	conn->qp = (struct ibcm_qp){
		.remote_qpn = req->qpn,
		.sq_psn = req->starting_psn,
		.responder_resources = req->initiator_depth,
		.initiator_depth = req->responder_resources,
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.ack_timeout = req->primary.ack_timeout,
		.mtu = req->mtu,
	};
	conn->retries = req->max_cm_retries;
	conn->interval =
		ibcm_time(req->primary.ack_timeout) + ibcm_time(req->local_response_timeout);
}

int ibcm_state_arrive(struct ibcm_conn *conn, const struct ibcm_mad *request)
{
	if (conn->state != IBCM_IDLE)
		return -EINVAL;
	conn->remote_id = request->local_id;
	conn->tid = request->tid;
	if (request->type == IBCM_REQ)
		arrival_facts(conn, &request->req);
	become(conn, request->type == IBCM_REQ ? IBCM_REQ_RCVD : IBCM_SIDR_REQ_RCVD);
	return 0;
}

int ibcm_state_reply(struct ibcm_conn *conn, const struct ibcm_mad *reply, uint64_t now,
		     struct ibcm_out *out)
{
	struct ibcm_mad mad = *reply;
	int r;

	if (conn->state == IBCM_SIDR_REQ_RCVD && mad.type == IBCM_SIDR_REP) {
		r = send_once(conn, &mad, out);
		if (!r)
			become(conn, IBCM_IDLE);
		return r;
	}
	if (conn->state != IBCM_REQ_RCVD || mad.type != IBCM_REP)
		return -EINVAL;
	r = send_repeated(conn, &mad, now, out);
	if (r < 0)
		return r;
	conn->state = IBCM_REP_SENT;
	conn->local_guid = mad.rep.ca_guid;
	conn->qp.rq_psn = mad.rep.starting_psn;
	conn->qp.responder_resources = mad.rep.responder_resources;
	conn->qp.initiator_depth = mad.rep.initiator_depth;
	return 0;
}

int ibcm_state_establish(struct ibcm_conn *conn, struct ibcm_out *out)
{
	if (conn->state == IBCM_REP_RCVD)
		send_plain(conn, IBCM_RTU, out);
	else if (conn->state == IBCM_REP_SENT)
		out_event(out, IBCM_EVENT_ESTABLISHED, 0);
	else
		return -EINVAL;
	become(conn, IBCM_ESTABLISHED);
	return 0;
}

static int reject_sidr(struct ibcm_conn *conn, const void *private_data, uint32_t private_len,
		       struct ibcm_out *out)
{
	struct ibcm_mad mad = {
		.type = IBCM_SIDR_REP,
		.sidr_rep = { .status = IBCM_SIDR_REJECT },
		.private_len = private_len,
	};

	if (private_len > ibcm_private_size(IBCM_SIDR_REP))
		return -EINVAL;
	if (private_len)
		memcpy(mad.private_data, private_data, private_len);
	return send_once(conn, &mad, out);
}

int ibcm_state_reject(struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		      uint32_t private_len, uint64_t now, struct ibcm_out *out)
{
	int r;

	switch (conn->state) {
	case IBCM_SIDR_REQ_RCVD:
		r = reject_sidr(conn, private_data, private_len, out);
		break;
	case IBCM_REQ_SENT:
	case IBCM_REQ_RCVD:
	case IBCM_REP_SENT:
	case IBCM_REP_RCVD:
		r = send_rej(conn, reason, private_data, private_len, out);
		break;
	default:
		return -EINVAL;
	}
	if (r < 0)
		return r;
	/* The peer may have sent packets only after a reply. */
	if (conn->state == IBCM_REP_SENT || conn->state == IBCM_REP_RCVD)
		become_timewait(conn, now);
	else
		become(conn, IBCM_IDLE);
	return 0;
}

static int send_dreq(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	struct ibcm_mad mad = { .type = IBCM_DREQ, .dreq = { .remote_qpn = conn->qp.remote_qpn } };

	return send_repeated(conn, &mad, now, out);
}

int ibcm_state_disconnect(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	int r;

	if (conn->state == IBCM_DREQ_RCVD) {
		send_drep(conn, out);
		become_timewait(conn, now);
		return 0;
	}
	if (conn->state != IBCM_ESTABLISHED)
		return -EINVAL;
	r = send_dreq(conn, now, out);
	if (!r)
		conn->state = IBCM_DREQ_SENT;
	return r;
}

void ibcm_state_destroy(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	switch (conn->state) {
	case IBCM_REQ_SENT:
		ibcm_state_reject(conn, IBCM_REJ_TIMEOUT, NULL, 0, now, out);
		break;
	case IBCM_REQ_RCVD:
	case IBCM_REP_RCVD:
	case IBCM_REP_SENT:
	case IBCM_SIDR_REQ_RCVD:
		ibcm_state_reject(conn, IBCM_REJ_CONSUMER, NULL, 0, now, out);
		break;
	case IBCM_ESTABLISHED: /* said once: a lost one leaves the peer to its own retries */
		send_dreq(conn, now, out);
		become_timewait(conn, now);
		break;
	case IBCM_DREQ_RCVD:
		ibcm_state_disconnect(conn, now, out);
		break;
	case IBCM_DREQ_SENT:
		become_timewait(conn, now);
		break;
	case IBCM_SIDR_REQ_SENT:
		become(conn, IBCM_IDLE);
		break;
	default:
		break;
	}
}

void ibcm_state_exit(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	if (conn->state == IBCM_TIMEWAIT && conn->confirmed)
		send_drep(conn, out);
	else
		ibcm_state_destroy(conn, now, out);
}

/* --- messages --- */

typedef void (*message_handler)(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
				struct ibcm_out *out);

/* The peer needs more time for its answer to the message we keep repeating. */
static void extend(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		   struct ibcm_out *out)
{
	enum ibcm_answered ours =
		conn->state == IBCM_REQ_SENT ? IBCM_ANSWERS_REQ : IBCM_ANSWERS_REP;

	if (mad->mra.answered != ours)
		return;
	conn->remote_id = mad->local_id;
	conn->deadline = now + conn->interval + ibcm_time(mad->mra.service_timeout);
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
	become(conn, IBCM_REP_RCVD);
	out_event(out, IBCM_EVENT_REPLY, 0);
}

static void rejected(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		     struct ibcm_out *out)
{
	bool used = conn->state == IBCM_REP_RCVD || conn->state == IBCM_ESTABLISHED;

	if (used || mad->rej.reason == IBCM_REJ_STALE_CONN)
		become_timewait(conn, now);
	else
		become(conn, IBCM_IDLE);
	out_event(out, IBCM_EVENT_REJECTED, mad->rej.reason);
}

static void repeat_request(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			   struct ibcm_out *out)
{
	send_mra(conn, IBCM_ANSWERS_REQ, out);
}

static void repeat_reply(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	send_mra(conn, IBCM_ANSWERS_REP, out);
}

static void resend(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		   struct ibcm_out *out)
{
	out_data(out, conn->sent);
}

static void ready(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		  struct ibcm_out *out)
{
	become(conn, IBCM_ESTABLISHED);
	out_event(out, IBCM_EVENT_ESTABLISHED, 0);
}

/* Our RTU was lost. */
static void ready_again(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			struct ibcm_out *out)
{
	if (conn->active)
		send_plain(conn, IBCM_RTU, out);
}

/* The application confirms, by its own disconnect or by destroying the id. */
static void disconnect_asked(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			     struct ibcm_out *out)
{
	conn->tid = mad->tid;
	become(conn, IBCM_DREQ_RCVD);
	out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

/* Both asked at the same time: each confirms the other's. */
static void disconnect_both(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			    struct ibcm_out *out)
{
	conn->tid = mad->tid;
	send_drep(conn, out);
	become_timewait(conn, now);
	out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

static void disconnected(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	become_timewait(conn, now);
	out_event(out, IBCM_EVENT_DISCONNECTED, 0);
}

static void disconnect_quietly(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			       struct ibcm_out *out)
{
	become_timewait(conn, now);
}

static void confirm_again(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			  struct ibcm_out *out)
{
	conn->tid = mad->tid;
	send_drep(conn, out);
}

static void stale(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		  struct ibcm_out *out)
{
	struct ibcm_mad rej = {
		.type = IBCM_REJ,
		.rej = { .rejected = IBCM_ANSWERS_REQ, .reason = IBCM_REJ_STALE_CONN },
	};

	send_once(conn, &rej, out);
}

static void resolved(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
		     struct ibcm_out *out)
{
	conn->qp.remote_qpn = mad->sidr_rep.qpn;
	become(conn, IBCM_IDLE);
	out_event(out, IBCM_EVENT_RESOLVED, mad->sidr_rep.status);
}

/* There are no alternate paths: the peer goes on with the one it has. */
static void no_alternate(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	struct ibcm_mad apr = { .type = IBCM_APR, .apr = { .status = IBCM_APR_UNSUPPORTED } };

	conn->tid = mad->tid;
	send_once(conn, &apr, out);
}

/* What is not here is old, or out of place, and changes nothing. */
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

	if (handler)
		handler(conn, mad, now, out);
}

/* --- time --- */

static void give_up(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	switch (conn->state) {
	case IBCM_REQ_SENT:
	case IBCM_REP_SENT: /* the peer may have got what we did not hear an answer to */
		send_rej(conn, IBCM_REJ_TIMEOUT, NULL, 0, out);
		if (conn->state == IBCM_REP_SENT)
			become_timewait(conn, now);
		else
			become(conn, IBCM_IDLE);
		out_event(out, IBCM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case IBCM_SIDR_REQ_SENT:
		become(conn, IBCM_IDLE);
		out_event(out, IBCM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case IBCM_DREQ_SENT:
		become_timewait(conn, now);
		out_event(out, IBCM_EVENT_DISCONNECTED, -ETIMEDOUT);
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
		become(conn, IBCM_IDLE);
		out_event(out, IBCM_EVENT_TIMEWAIT_EXIT, 0);
		return;
	}
	if (!conn->left) {
		give_up(conn, now, out);
		return;
	}
	conn->left--;
	conn->deadline = now + conn->interval;
	out_data(out, conn->sent);
}

void ibcm_state_peer_gone(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	switch (conn->state) {
	case IBCM_REQ_RCVD:
	case IBCM_REP_SENT:
	case IBCM_REP_RCVD:
		become_timewait(conn, now);
		out_event(out, IBCM_EVENT_UNREACHABLE, -ECONNRESET);
		break;
	case IBCM_ESTABLISHED:
	case IBCM_DREQ_SENT:
		become_timewait(conn, now);
		out_event(out, IBCM_EVENT_DISCONNECTED, 0);
		break;
	case IBCM_DREQ_RCVD:
		become_timewait(conn, now);
		break;
	default: /* no answer yet: the next sending finds out */
		break;
	}
}

/* --- what belongs to nobody --- */

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
	case IBCM_DREQ: /* was confirmed, and the confirmation lost */
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
			.apr = { .status = 1 /* no such connection */ },
		};
		return 0;
	default:
		return -ENOENT;
	}
}

const char *ibcm_state_name(enum ibcm_state state)
{
	static const char *const text[] = {
		[IBCM_IDLE] = "idle",
		[IBCM_REQ_SENT] = "REQ sent",
		[IBCM_REQ_RCVD] = "REQ received",
		[IBCM_REP_SENT] = "REP sent",
		[IBCM_REP_RCVD] = "REP received",
		[IBCM_ESTABLISHED] = "established",
		[IBCM_DREQ_SENT] = "DREQ sent",
		[IBCM_DREQ_RCVD] = "DREQ received",
		[IBCM_TIMEWAIT] = "time wait",
		[IBCM_SIDR_REQ_SENT] = "SIDR_REQ sent",
		[IBCM_SIDR_REQ_RCVD] = "SIDR_REQ received",
	};

	return enum_name(text, ARRAY_SIZE(text), state, "unknown");
}
