/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One connection, or one service id resolution, as the communication manager sees it (IBTA vol. 1,
 * chapter 12). A pure function: what happened and the time go in, messages to send and events to
 * report come out. No I/O, no clock, no memory.
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
	IBCM_EVENT_REPLY,	 /* REP: the answer to our request */
	IBCM_EVENT_ESTABLISHED,	 /* RTU: the answer to our reply */
	IBCM_EVENT_REJECTED,	 /* status: the reason */
	IBCM_EVENT_UNREACHABLE,	 /* status: -ETIMEDOUT, -EHOSTUNREACH */
	IBCM_EVENT_DISCONNECTED, /* status: 0, or -ETIMEDOUT when the peer did not confirm */
	IBCM_EVENT_RESOLVED,	 /* SIDR_REP; status: enum ibcm_sidr_status */
	IBCM_EVENT_TIMEWAIT_EXIT,
};

/* What a QP of the connection needs to know; complete once the state is REP_RCVD or REP_SENT. */
struct ibcm_qp {
	uint32_t local_qpn, remote_qpn;
	uint32_t rq_psn; /* ours to name, the peer begins with it */
	uint32_t sq_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t ack_timeout;
	uint8_t mtu;
};

/* What is known about whether the peer is still there: state_probe.c. */
struct ibcm_probe {
	bool near;	 /* on this host, where that is told */
	bool asked;	 /* by the last probe, and nobody refused it */
	bool answers;	 /* it did once */
	uint8_t refused; /* probes since the last answer */
	uint32_t silent; /* probes since the last answer */
	uint32_t number; /* of all */
	uint64_t tid;	 /* of the last */
};

struct ibcm_conn {
	enum ibcm_state state;
	bool active;
	bool confirmed; /* the peer's DREQ was answered, which nobody confirms */
	bool doubted;	/* the kernel has found no such neighbour once */
	bool unheard;	/* nothing came back for the request, or not for long */
	bool again;	/* refused as stale: the request goes out once more at the deadline */
	uint8_t stale;	/* such refusals of the request */
	uint8_t asks;	/* for which the request is yet to go out before ask_until */
	uint32_t local_id, remote_id;
	uint64_t tid;
	uint64_t local_guid, remote_guid;
	struct ibcm_qp qp;
	uint64_t ask_until; /* ns, the first timeout of a request that goes out early; 0: none */
	uint64_t deadline;  /* ns, when ibcm_state_timeout() is due; 0: never */
	uint64_t interval;  /* ns between two sendings */
	uint32_t retries;   /* of each message */
	uint32_t left;
	uint8_t sent[IBCM_MAD_LEN]; /* repeated while nothing comes back */
	struct ibcm_probe probe;
};

/* What a step brings about. */
struct ibcm_out {
	unsigned int mads;
	uint8_t mad[2][IBCM_MAD_LEN];
	bool probe; /* the message goes so that a host where nobody is says so: verbs_gsi_probe() */
	bool must;  /* and as all others where it cannot go so: not at all otherwise */
	bool answered; /* the message is all that a request gets: its copies get it again */
	bool has_event;
	enum ibcm_event event;
	int status;
};

/* Nanoseconds: no message makes this side keep a connection longer that is not established. */
#define IBCM_PATIENCE 60000000000ull

/* Nanoseconds of a time as messages have it: 4.096 us << n. */
static inline uint64_t ibcm_time(uint32_t n)
{
	return 4096ull << (n & 31);
}

/*
 * The application's side. Each returns 0, or -EINVAL when the state does not allow it; then nothing
 * changed. @out is added to and must be zero at first.
 */

/* Send @request: REQ or SIDR_REQ with local_id and tid filled. IDLE -> REQ_SENT, SIDR_REQ_SENT. */
int ibcm_state_request(struct ibcm_conn *conn, const struct ibcm_mad *request, uint64_t now,
		       struct ibcm_out *out);
/* @request came in for a listener; conn->local_id is filled. IDLE -> REQ_RCVD, SIDR_REQ_RCVD. */
int ibcm_state_arrive(struct ibcm_conn *conn, const struct ibcm_mad *request);
/* Answer with @reply: REP or SIDR_REP, ids are filled in here. -> REP_SENT, IDLE. */
int ibcm_state_reply(struct ibcm_conn *conn, const struct ibcm_mad *reply, uint64_t now,
		     struct ibcm_out *out);
/* REP_RCVD: send an RTU. REP_SENT: the first packet came before the RTU, which is as good. */
int ibcm_state_establish(struct ibcm_conn *conn, struct ibcm_out *out);
/* Refuse a request or a reply. @private_len must fit a REJ (SIDR_REP). */
int ibcm_state_reject(struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		      uint32_t private_len, uint64_t now, struct ibcm_out *out);
/* ESTABLISHED: send a DREQ. DREQ_RCVD: confirm the peer's. */
int ibcm_state_disconnect(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* The application is done with it, whatever the state: -> TIMEWAIT or IDLE. No event. */
void ibcm_state_destroy(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * The process ends, and nobody will be there to say it again: destroy, or the last word once more.
 */
void ibcm_state_exit(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * What others are to say for a process that was killed meanwhile. -ENOENT: nothing; the peer
 * notices, or never knew.
 */
int ibcm_state_last_word(const struct ibcm_conn *conn, uint8_t ret_data[IBCM_MAD_LEN]);

/* The other side's, and time's. */
void ibcm_state_message(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			struct ibcm_out *out);
void ibcm_state_timeout(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* Another connection of this side uses the same queue pair: a refusal as stale is final. */
void ibcm_state_shares_qp(struct ibcm_conn *conn);
bool ibcm_state_is_asking(const struct ibcm_conn *conn);
/*
 * Nobody has answered yet, and the kernel has found no such neighbour: the request goes out once
 * more, and the second time it is given up. Does nothing in other states.
 */
void ibcm_state_unreachable(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);
/* The peer's process, which is known by its id, is gone and will not answer any more. */
void ibcm_state_peer_gone(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/*
 * The other side's life. After any step: a connection that was made is watched, unless its peer
 * turned out to be on this host. refused: its host says that nobody receives there.
 */
void ibcm_state_watch(struct ibcm_conn *conn, uint64_t now);
void ibcm_state_near(struct ibcm_conn *conn);
void ibcm_state_refused(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out);

/* The answer to @mad, which belongs to no connection here; -ENOENT: none is due. */
int ibcm_state_stray(const struct ibcm_mad *mad, struct ibcm_mad *ret_answer);

const char *ibcm_state_name(enum ibcm_state state);

#endif
