/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection, or the resolution of a service id, as the communication manager sees it (IBTA vol.
 * 1, chapter 12). Pure functions: calls, messages and the time go in, messages to send and events
 * to report come out. No I/O, no clock, no memory.
 */
#ifndef IBCM_STATE_H
#define IBCM_STATE_H

#include "librdmacm/ibcm/mad.h"

enum ibcm_state {
	IBCM_IDLE,
	IBCM_REQ_SENT,
	IBCM_REQ_RCVD,
	IBCM_REP_SENT,
	IBCM_REP_RCVD,
	IBCM_ESTABLISHED,
	IBCM_DREQ_SENT,
	IBCM_DREQ_RCVD,
	IBCM_TIMEWAIT,
	IBCM_SIDR_REQ_SENT,
	IBCM_SIDR_REQ_RCVD,
	IBCM_STATES,
};

enum ibcm_event {
	IBCM_EVENT_REPLY,	 /* REP: the answer to this side's request */
	IBCM_EVENT_ESTABLISHED,	 /* RTU: the answer to this side's reply */
	IBCM_EVENT_REJECTED,	 /* status: the reason */
	IBCM_EVENT_UNREACHABLE,	 /* status: -ETIMEDOUT, -EHOSTUNREACH */
	IBCM_EVENT_DISCONNECTED, /* status: 0, or -ETIMEDOUT when the peer did not confirm */
	IBCM_EVENT_RESOLVED,	 /* SIDR_REP; status: enum ibcm_sidr_status */
	IBCM_EVENT_TIMEWAIT_EXIT,
};

/* Attributes for the QP of the connection. Complete once the state is REP_RCVD or REP_SENT. */
struct ibcm_qp {
	uint32_t local_qpn, remote_qpn;
	uint32_t rq_psn; /* first PSN of the peer, chosen by this side */
	uint32_t sq_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t ack_timeout;
	uint8_t mtu;
};

/* Results of the probes of the peer: state_probe.c. */
struct ibcm_probe {
	bool near;	 /* the peer is on this host, which reports its death */
	bool asked;	 /* a refusal of the last probe or request may still arrive */
	bool answers;	 /* the peer answered a probe before */
	uint8_t refused; /* refused probes since the last answer */
	uint32_t silent; /* probes since the last answer */
	uint32_t number; /* number of probes sent */
	uint64_t tid;	 /* of the last probe */
};

struct ibcm_conn {
	enum ibcm_state state;
	bool active;
	bool confirmed;	       /* this side has answered the peer's DREQ; a DREP gets no answer */
	bool neighbour_failed; /* the kernel once failed to find the neighbour */
	bool unheard;  /* the request has no answer yet, or no answer since its last timeout */
	bool again;    /* refused as stale: send the request again at the deadline */
	uint8_t stale; /* number of refusals as stale */
	/* number of early repetitions of the request that are left before @ask_until */
	uint8_t asks;
	uint32_t local_id, remote_id;
	uint64_t tid;
	uint64_t local_guid, remote_guid;
	struct ibcm_qp qp;
	/* ns, end of the early repetitions: the first timeout of the request; 0: none */
	uint64_t ask_until;
	uint64_t deadline; /* ns, when ibcm_state_timeout() is due; 0: never */
	uint64_t interval; /* ns between two repetitions */
	uint32_t retries;  /* repetitions of each message */
	uint32_t left;
	uint8_t sent[IBCM_MAD_LEN]; /* message that is repeated until an answer comes */
	struct ibcm_probe probe;
};

/* The results of a step. */
struct ibcm_out {
	unsigned int mads;
	uint8_t mad[2][IBCM_MAD_LEN];
	/* send by verbs_gsi_probe(), so that a host without a receiver refuses the message */
	bool probe;
	/* if verbs_gsi_probe() fails, send the message like others; otherwise drop it */
	bool must;
	/* the message is the only answer to a request, and copies of the request get it again */
	bool answered;
	bool has_event;
	enum ibcm_event event;
	int status;
};

/* ns: the longest time for which messages can make this side keep an unfinished connection */
#define IBCM_PATIENCE 60000000000ull

/* Convert a time of a message, 4.096 us << n, to nanoseconds. */
static inline uint64_t ibcm_time(uint32_t n)
{
	return 4096ull << (n & 31);
}

/*
 * Calls of the application. Each returns 0, or -EINVAL if the state does not allow the call. In
 * that case the state has not changed. Each adds to @out, which must be zero at first.
 */

/* Send @request: REQ or SIDR_REQ with local_id and tid filled. IDLE -> REQ_SENT, SIDR_REQ_SENT. */
int ibcm_state_request(struct ibcm_conn *conn, const struct ibcm_mad *request, uint64_t now,
		       struct ibcm_out *out);
/* Take a @request for a listener; conn->local_id is filled. IDLE -> REQ_RCVD, SIDR_REQ_RCVD. */
int ibcm_state_arrive(struct ibcm_conn *conn, const struct ibcm_mad *request);
/* Answer with @reply: REP or SIDR_REP, ids are filled in here. -> REP_SENT, IDLE. */
int ibcm_state_reply(struct ibcm_conn *conn, const struct ibcm_mad *reply, uint64_t now,
		     struct ibcm_out *out);
/* REP_RCVD: send an RTU. REP_SENT: the first packet arrived before the RTU and counts as RTU. */
int ibcm_state_establish(struct ibcm_conn *conn, struct ibcm_out *out);
/* Refuse a request or a reply. @private_len must fit a REJ (SIDR_REP). */
int ibcm_state_reject(struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		      uint32_t private_len, uint64_t now, struct ibcm_out *out);
/* ESTABLISHED: send a DREQ. DREQ_RCVD: confirm the DREQ of the peer. */
int ibcm_state_disconnect(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* End the connection in any state: -> TIMEWAIT or IDLE. No event. */
void ibcm_state_destroy(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * End the connection because the process exits, so that no message can be repeated: destroy it, or
 * repeat the last DREP.
 */
void ibcm_state_exit(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * Build the message that a guardian sends if this process is killed. Return: 0; -ENOENT: the peer
 * needs no message, because it detects the end itself or never knew the connection.
 */
int ibcm_state_last_word(const struct ibcm_conn *conn, uint8_t ret_data[IBCM_MAD_LEN]);

/* Handle a message of the other side, and the passing of time. */
void ibcm_state_message(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			struct ibcm_out *out);
void ibcm_state_timeout(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/*
 * Note that another connection of this side uses the same queue pair. From then on a refusal as
 * stale is final.
 */
void ibcm_state_shares_qp(struct ibcm_conn *conn);
bool ibcm_state_is_asking(const struct ibcm_conn *conn);
/*
 * Note that the kernel did not find the neighbour. The first time, repeat a request without an
 * answer. The second time, give it up. Does nothing in other states.
 */
void ibcm_state_unreachable(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/*
 * End the connection, because the process of the peer has ended. The prefix of the ids identifies
 * the process.
 */
void ibcm_state_peer_gone(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * Watch the peer. Call ibcm_state_watch() after any step: it starts the probes of an established
 * connection. ibcm_state_near(): the peer is on this host and needs no probes.
 * ibcm_state_refused(): the peer's host has no receiver.
 */
void ibcm_state_watch(struct ibcm_conn *conn, uint64_t now);
void ibcm_state_near(struct ibcm_conn *conn);
void ibcm_state_refused(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * Make the answer to @mad, which belongs to no connection of this side. -ENOENT: @mad gets no
 * answer.
 */
int ibcm_state_stray(const struct ibcm_mad *mad, struct ibcm_mad *ret_answer);

const char *ibcm_state_name(enum ibcm_state state);

#endif
