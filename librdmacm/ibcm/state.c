/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "librdmacm/ibcm/state_out.h"
#include "util/enum.h"
#include "util/util.h"

/* Times of a SIDR_REQ. The message has none, so all managers use these values. */
enum {
	SIDR_TIMEOUT = 20,
	SIDR_RETRIES = 15,
};

static void request_facts(struct ibcm_conn *conn, const struct ibcm_req *req)
{
	conn->local_guid = req->ca_guid;
	conn->qp.local_qpn = req->qpn;
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
	conn->neighbour_failed = false;
	conn->stale = 0;
	if (mad.type == IBCM_REQ) {
		request_facts(conn, &mad.req);
	} else {
		conn->retries = SIDR_RETRIES;
		conn->interval = ibcm_time(SIDR_TIMEOUT);
	}
	r = ibcm_out_repeated(conn, &mad, now, out);
	if (r < 0)
		return r;
	conn->state = mad.type == IBCM_REQ ? IBCM_REQ_SENT : IBCM_SIDR_REQ_SENT;
	ibcm_ask_begin(conn, now);
	return 0;
}

/*
 * Take the times of this side's answer from the request. All repetitions together take at most
 * IBCM_PATIENCE.
 */
static void arrival_times(struct ibcm_conn *conn, const struct ibcm_req *req)
{
	uint64_t interval =
		ibcm_time(req->primary.ack_timeout) + ibcm_time(req->local_response_timeout);

	conn->retries = req->max_cm_retries;
	conn->interval = min_of(interval, IBCM_PATIENCE / (conn->retries + 1));
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
	arrival_times(conn, req);
}

int ibcm_state_arrive(struct ibcm_conn *conn, const struct ibcm_mad *request)
{
	if (conn->state != IBCM_IDLE)
		return -EINVAL;
	conn->remote_id = request->local_id;
	conn->tid = request->tid;
	if (request->type == IBCM_REQ)
		arrival_facts(conn, &request->req);
	ibcm_become(conn, request->type == IBCM_REQ ? IBCM_REQ_RCVD : IBCM_SIDR_REQ_RCVD);
	return 0;
}

/* Note that the message is the only answer to the request. */
static void answered(struct ibcm_conn *conn, struct ibcm_out *out)
{
	out->answered = true;
	ibcm_become(conn, IBCM_IDLE);
}

int ibcm_state_reply(struct ibcm_conn *conn, const struct ibcm_mad *reply, uint64_t now,
		     struct ibcm_out *out)
{
	struct ibcm_mad mad = *reply;
	int r;

	if (conn->state == IBCM_SIDR_REQ_RCVD && mad.type == IBCM_SIDR_REP) {
		r = ibcm_out_mad(conn, &mad, out);
		if (!r)
			answered(conn, out);
		return r;
	}
	if (conn->state != IBCM_REQ_RCVD || mad.type != IBCM_REP)
		return -EINVAL;
	r = ibcm_out_repeated(conn, &mad, now, out);
	if (r < 0)
		return r;
	conn->state = IBCM_REP_SENT;
	conn->local_guid = mad.rep.ca_guid;
	conn->qp.local_qpn = mad.rep.qpn;
	conn->qp.rq_psn = mad.rep.starting_psn;
	conn->qp.responder_resources = mad.rep.responder_resources;
	conn->qp.initiator_depth = mad.rep.initiator_depth;
	return 0;
}

int ibcm_state_establish(struct ibcm_conn *conn, struct ibcm_out *out)
{
	if (conn->state == IBCM_REP_RCVD)
		ibcm_out_plain(conn, IBCM_RTU, out);
	else if (conn->state == IBCM_REP_SENT)
		ibcm_out_event(out, IBCM_EVENT_ESTABLISHED, 0);
	else
		return -EINVAL;
	ibcm_become(conn, IBCM_ESTABLISHED);
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
	return ibcm_out_mad(conn, &mad, out);
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
		r = ibcm_out_rej(conn, reason, private_data, private_len, out);
		break;
	default:
		return -EINVAL;
	}
	if (r < 0)
		return r;
	/* The peer may have sent packets only if it got a reply. */
	if (conn->state == IBCM_REP_SENT || conn->state == IBCM_REP_RCVD)
		ibcm_become_timewait(conn, now);
	else if (conn->state == IBCM_REQ_SENT)
		ibcm_become(conn, IBCM_IDLE);
	else
		answered(conn, out);
	return 0;
}

static int send_dreq(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	struct ibcm_mad mad = { .type = IBCM_DREQ, .dreq = { .remote_qpn = conn->qp.remote_qpn } };

	return ibcm_out_repeated(conn, &mad, now, out);
}

int ibcm_state_disconnect(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	int r;

	if (conn->state == IBCM_DREQ_RCVD) {
		ibcm_out_drep(conn, out);
		ibcm_become_timewait(conn, now);
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
	/* Send the message once. If it gets lost, the peer's retries detect the end. */
	case IBCM_ESTABLISHED:
		send_dreq(conn, now, out);
		ibcm_become_timewait(conn, now);
		break;
	case IBCM_DREQ_RCVD:
		ibcm_state_disconnect(conn, now, out);
		break;
	case IBCM_DREQ_SENT:
		ibcm_become_timewait(conn, now);
		break;
	case IBCM_SIDR_REQ_SENT:
		ibcm_become(conn, IBCM_IDLE);
		break;
	default:
		break;
	}
}

void ibcm_state_exit(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	if (conn->state == IBCM_TIMEWAIT && conn->confirmed)
		ibcm_out_drep(conn, out);
	else
		ibcm_state_destroy(conn, now, out);
}

/* Build the message that a kernel sends when a descriptor closes. */
int ibcm_state_last_word(const struct ibcm_conn *conn, uint8_t ret_data[IBCM_MAD_LEN])
{
	struct ibcm_mad dreq = { .type = IBCM_DREQ, .dreq = { .remote_qpn = conn->qp.remote_qpn } };
	struct ibcm_out out = {};
	int r;

	switch (conn->state) {
	case IBCM_REQ_SENT:
		r = ibcm_out_rej(conn, IBCM_REJ_TIMEOUT, NULL, 0, &out);
		break;
	case IBCM_REQ_RCVD:
	case IBCM_REP_SENT:
	case IBCM_REP_RCVD:
		r = ibcm_out_rej(conn, IBCM_REJ_CONSUMER, NULL, 0, &out);
		break;
	case IBCM_ESTABLISHED:
	case IBCM_DREQ_SENT:
	case IBCM_DREQ_RCVD:
		r = ibcm_out_mad(conn, &dreq, &out);
		break;
	default:
		r = -ENOENT;
		break;
	}
	if (!r)
		memcpy(ret_data, out.mad[0], IBCM_MAD_LEN);
	return r;
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
