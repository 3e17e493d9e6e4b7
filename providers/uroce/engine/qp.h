/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pair: requester, responder, counters. */
#ifndef UROCE_ENGINE_QP_H
#define UROCE_ENGINE_QP_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/state.h"
#include "providers/uroce/engine/wqe.h"

struct fault_flow;
struct uroce_dev;
struct uroce_domain;

/* The requester of RC and UC (UD uses only psn). */
struct uroce_requester {
	uint32_t psn;	     /* PSN of the next packet */
	uint32_t una;	     /* PSN of the oldest unacknowledged packet */
	uint32_t max_psn;    /* one past the highest PSN ever sent */
	uint32_t offset;     /* bytes of sq.next already sent */
	uint32_t window;     /* packets that may be unacknowledged: congestion.c */
	uint32_t window_max; /* upper limit of the path */
	/* below this size, each acknowledged packet enlarges the window by one */
	uint32_t window_fast;
	/* above that size: acknowledged packets that count towards the next enlargement */
	uint32_t window_acked;
	uint32_t round;	     /* PSN whose acknowledgement ends the current round trip */
	uint16_t congestion; /* moving average of round trips with congestion; 0: none ever */
	bool notified;	     /* this round trip has seen congestion */
	uint32_t rd_atomic;  /* reads and atomics outstanding */
	uint32_t max_rd_atomic;
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t timeout; /* 4.096 us << timeout; 0: none */
	bool rnr_wait;	 /* do not send until the timer fires */
	bool path_full;	 /* the path refused a packet: the QP is in its strand's blocked */
	bool psn_unsent; /* an answer had a PSN that was never sent */
	/* the last write with immediate was large and placed by ops->rdma */
	bool placed_large;
	uint32_t timer_una;	/* una when the timer was armed */
	uint32_t slow_una;	/* una when the peer was found slow ... */
	uint64_t slow_since;	/* ... at this time, ns; 0: the peer was not slow */
	uint32_t unread_una;	/* una at the last timeout */
	uint32_t unread_mark;	/* the path's mark behind the bytes sent before that timeout */
	uint32_t unread;	/* bytes before the mark that the peer had not read at that time */
	bool unread_over;	/* since una moved, the peer has read all bytes before a mark */
	uint64_t progress_time; /* ns: time at which una last moved */
	uint64_t run_time;	/* ns: time of the current run; 0: not needed on a lossless path */
	uint64_t rtt_start;	/* ns: time at which rtt_psn was sent; 0: no measurement */
	uint32_t rtt_psn;
	uint32_t rtt;	    /* smoothed round trip, ns; 0: unknown */
	uint32_t rtt_var;   /* variation of the round trip, ns */
	uint32_t rtt_least; /* shortest recent round trip, ns: without queues */
	uint32_t probes;    /* early resends since progress_time */
	/* only the packet of PSN una was sent again; the answer shows the losses */
	bool probing;
	uint64_t probe_time;	/* time of the probe, ns */
	uint32_t since_ack_req; /* packets sent without asking for an acknowledgement */
	uint64_t looked_at;	/* packets sent when a post last polled for received packets */
	uint32_t recover;	/* resending: PSN up to which a loss shrinks the window only once */
	bool recovering;
};

/* Answers of the responder, in PSN order: read responses, atomic results. */
struct uroce_resource {
	uint32_t first_psn;
	uint32_t last_psn;
	uint8_t opcode; /* opcode of the request */
	uint64_t va;
	uint32_t rkey;
	uint32_t length;
	const struct uroce_srq *srq; /* XRC: SRQ of the request; its PD is the one to check */
	/* read: the bytes being answered, all or the part that was requested again */
	uint32_t answer_psn;
	uint64_t answer_va;
	uint32_t answer_length;
	uint32_t offset; /* bytes of the answer sent so far */
	uint64_t orig;	 /* atomic: previous value */
	bool active;	 /* responses still to be sent */
	bool answered;	 /* all responses were sent once */
};

struct uroce_responder {
	uint32_t psn; /* expected */
	uint32_t msn;
	uint8_t min_rnr_timer;
	uint8_t ack_syndrome;
	uint16_t ack_messages; /* messages that wait for the acknowledgement */
	/* an acknowledgement up to psn - 1 is owed: the QP is in its strand's acks */
	bool ack_due;
	bool mtu_agreed; /* a packet showed that the sender has the same path MTU */
	bool ack_asked;	 /* the peer asked for this acknowledgement */
	/* the acknowledgement covers part of a long message, and the peer's window waits for it */
	bool ack_hurry;
	bool ack_inside; /* the peer asked for it inside a message, so its window waits */
	/* the acknowledgement did not leave with a packet of this side: answer.c */
	bool ack_withheld;
	uint16_t ack_passes; /* progress passes since the acknowledgement was withheld */
	/* number of acknowledgements to send with packets before one is withheld again */
	uint16_t ack_piggyback;
	/* last starting value of ack_piggyback; doubled if the peer waits again */
	uint16_t ack_piggyback_next;
	uint32_t again_before; /* expected PSN when a duplicate arrived ... */
	uint32_t again_psn;    /* ... PSN of the first duplicate since then ... */
	uint16_t again;	       /* ... and how often that duplicate arrived */
	uint64_t cnp_time;     /* ns: time of the last congestion notification to the peer */
	bool nak_sent;	       /* a sequence NAK was sent for this gap */
	bool in_message;       /* between first and last packet */
	uint8_t operation;     /* kind of the message: UROCE_SEND_FIRST or UROCE_WRITE_FIRST */
	bool have_rwqe;
	uint32_t max_rd_atomic;
	uint32_t length; /* bytes of the message so far */
	/* current write */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	/* XRC: SRQ of the current or last message; NULL once it is destroyed */
	struct uroce_srq *srq;
	/* current receive WQE, copied out of its ring */
	struct uroce_rwqe *rwqe;
	/* replay window of reads and atomics: res_size entries, oldest at res_head */
	struct uroce_resource *res;
	uint32_t res_size;
	uint32_t res_head;
	uint32_t res_count;
	uint32_t res_pending; /* entries with active responses */
};

/* The first error of a QP, kept until reset. */
struct uroce_first_error {
	bool valid;
	uint8_t status; /* enum ibv_wc_status */
	uint8_t opcode; /* enum ibv_wr_opcode, or ibv_wc_opcode for receives */
	bool is_recv;
	bool of_peer;	  /* a request of the peer was refused, without a work request here */
	bool psns_differ; /* the peer answered, but to no PSN that was sent */
	uint8_t syndrome; /* last NAK received; 0: none */
	uint64_t wr_id;
	uint32_t psn;
	uint32_t retries;
	uint64_t time; /* ns */
	/* request that this side refused; NULL: none, or the error was already explained */
	const struct uroce_packet *refused;
};

struct uroce_qp_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t resent, timeouts, rnr_naks_sent, rnr_naks_received, naks_sent, duplicates,
		out_of_order, seq_naks_received, fatal_naks_received, retries, retry_exceeded,
		rnr_exceeded, marked, cnps_sent, cnps_received, wrong_qkey, no_receive,
		short_receive;
};

struct uroce_qp {
	struct verbs_qp vqp;
	struct uroce_lock lock;
	struct uroce_engine *engine;
	struct uroce_dev *dev; /* belongs to the owner of the engine */
	uint8_t strand;	       /* derived from the number; set before the QP can be found */
	uint8_t type;	       /* enum ibv_qp_type */
	uint8_t state;	       /* enum ibv_qp_state; vqp.qp.state is the application's copy */
	bool sq_draining;
	bool last_wqe_raised; /* IBV_EVENT_QP_LAST_WQE_REACHED was sent */
	bool established_raised;
	bool was_connected;    /* packets of an earlier connection may still arrive */
	bool ending;	       /* the application is about to set it to RESET or ERR */
	bool peer_lost;	       /* the peer's process is gone: WQEs end as if it did not answer */
	bool short_way;	       /* requests may take the short way: short_way.h */
	uint16_t send_refused; /* bits: causes of failed posts already explained (send.c, recv.c) */
	uint8_t recv_refused;
	struct uroce_sq sq;
	struct uroce_rq rq;
	struct uroce_srq *srq; /* NULL: the QP uses rq */
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	/*
	 * The shared part of an XRC receive QP. Its handles come from ibv_create_qp_ex() and
	 * ibv_open_qp(). It lives until the last handle is destroyed. Each handle is also a struct
	 * uroce_qp, of which only vqp and the following members are used.
	 */
	const struct uroce_domain *domain;
	LIST_HEAD(, uroce_qp) handles; /* list of the shared part, under its lock */
	LIST_ENTRY(uroce_qp) handle;
	struct uroce_qp *shared; /* the shared part of a handle; else NULL */
	struct uroce_av av;	 /* connected */
	uint32_t dest_qpn;
	uint32_t mtu; /* payload bytes of a packet on the wire */
	uint32_t qkey;
	uint32_t access; /* qp_access_flags */
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct uroce_requester req;
	struct uroce_responder resp;
	struct uroce_timer timer;
	struct uroce_first_error first_error;
	struct uroce_qp_counters counters;
	struct ibv_qp_attr attr; /* attributes set by ibv_modify_qp(), for ibv_query_qp() */
	uint32_t events_raised;
	TAILQ_ENTRY(uroce_qp) ack_entry;     /* in its strand's acks while resp.ack_due */
	TAILQ_ENTRY(uroce_qp) blocked_entry; /* in its strand's blocked while req.path_full */
	bool on_acks;
	bool on_blocked;
	bool udp_counted;      /* counted among the QPs whose sockets pollers poll */
	uint32_t mcast_groups; /* multicast groups that the QP is attached to */
	/* ibv_wr_* between start and complete: one thread owns the places behind sq.head */
	bool wr_building;
	uint32_t wr_head;
	uint32_t wr_tail; /* beginning of the used entries as of start */
	int wr_error;
	size_t wr_inline;	  /* size of inline data that was too large, bytes */
	struct fault_flow *fault; /* NULL: no faults configured */
};

static inline struct uroce_qp *to_uqp(struct ibv_qp *qp)
{
	return (struct uroce_qp *)qp;
}

static inline struct uroce_strand *uroce_qp_strand(const struct uroce_qp *qp)
{
	return &qp->engine->strands[qp->strand];
}

/* Return whether packets of the QP are acknowledged. */
static inline bool uroce_qp_reliable(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC || qp->type == IBV_QPT_XRC_SEND ||
	       qp->type == IBV_QPT_XRC_RECV;
}

/* Return whether the QP has a receive queue of its own. */
static inline bool uroce_qp_has_rq(const struct uroce_qp *qp)
{
	return !qp->srq && qp->type != IBV_QPT_XRC_SEND && qp->type != IBV_QPT_XRC_RECV;
}

/* Return the transport bits in the opcodes of its packets. */
static inline uint8_t uroce_qp_transport(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC	? UROCE_RC
	       : qp->type == IBV_QPT_UC ? UROCE_UC
	       : qp->type == IBV_QPT_UD ? UROCE_UD
					: UROCE_XRC;
}

#endif
