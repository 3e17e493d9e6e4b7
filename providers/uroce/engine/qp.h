/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pair: requester, responder, and what is counted of it. */
#ifndef UROCE_ENGINE_QP_H
#define UROCE_ENGINE_QP_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/state.h"
#include "providers/uroce/engine/wqe.h"

struct fault_flow;
struct uroce_dev;
struct uroce_domain;

/* Requester, RC and UC (UD has only psn). */
struct uroce_requester {
	uint32_t psn;	       /* of the next packet */
	uint32_t una;	       /* oldest unacknowledged */
	uint32_t max_psn;      /* one past the highest ever sent */
	uint32_t offset;       /* bytes of sq.next already sent */
	uint32_t window;       /* packets that may be unacknowledged: congestion.c */
	uint32_t window_max;   /* of the path */
	uint32_t window_fast;  /* up to here it grows by all that are acknowledged, ... */
	uint32_t window_acked; /* ... then by one for so many: those that count towards it */
	uint32_t round;	       /* PSN whose acknowledgement ends the present round trip */
	uint16_t congestion; /* how many of the last ones saw it, a moving average; 0: none ever */
	bool notified;	     /* this one did */
	uint32_t rd_atomic;  /* reads and atomics outstanding */
	uint32_t max_rd_atomic;
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t timeout;	/* 4.096 us << timeout; 0: none */
	bool rnr_wait;		/* until the timer fires nothing is sent */
	bool path_full;		/* the path refused a packet: on its strand's blocked */
	bool placed_large;	/* the last write with immediate, by the initiator alone */
	uint32_t timer_una;	/* una when the timer was armed */
	uint32_t slow_una;	/* una when the peer was found slow ... */
	uint64_t slow_since;	/* ... at this time, ns; 0: it was not */
	uint64_t progress_time; /* when una last moved, ns */
	uint64_t run_time;  /* now, as the requester was told; 0: not needed on a lossless path */
	uint64_t rtt_start; /* when the packet of rtt_psn was sent; 0: none is being measured */
	uint32_t rtt_psn;
	uint32_t rtt;		/* smoothed round trip, ns; 0: not known yet */
	uint32_t rtt_var;	/* and how far it varies, ns */
	uint32_t rtt_least;	/* the shortest of late, ns: what it is without queues */
	uint32_t probes;	/* early resends since then */
	bool probing;		/* with una alone: the answer tells what was lost */
	uint64_t probe_time;	/* since when, ns */
	uint32_t since_ack_req; /* packets sent without asking for an acknowledgement */
	uint64_t looked_at;	/* packets sent when a post last looked for what had come */
	uint32_t recover;	/* resending: PSN up to which one loss was charged to the window */
	bool recovering;
};

/* What the responder still owes: read responses, atomic results, in PSN order. */
struct uroce_resource {
	uint32_t first_psn;
	uint32_t last_psn;
	uint8_t opcode; /* of the request */
	uint64_t va;
	uint32_t rkey;
	uint32_t length;
	const struct uroce_srq *srq; /* XRC: the one named, whose PD it is for */
	/* read: what is being answered, all of it or the part that was asked for again */
	uint32_t answer_psn;
	uint64_t answer_va;
	uint32_t answer_length;
	uint32_t offset; /* bytes of it sent so far */
	uint64_t orig;	 /* atomic: the value before */
	bool active;	 /* responses still to be sent */
	bool answered;	 /* they were all sent once */
};

struct uroce_responder {
	uint32_t psn; /* expected */
	uint32_t msn;
	uint8_t min_rnr_timer;
	uint8_t ack_syndrome;
	uint16_t ack_messages; /* that wait for it */
	bool ack_due;	 /* an acknowledgement up to psn - 1 is owed: qp is on its strand's acks */
	bool ack_asked;	 /* and the peer waits for it */
	bool ack_hurry;	 /* it is for part of a long message, too: the window waits for it */
	bool ack_inside; /* it was asked for inside a message: the window waits */
	bool ack_withheld;	 /* it did not go with a packet of ours: answer.c */
	uint16_t ack_passes;	 /* of progress since then */
	uint16_t ack_rides;	 /* so many go with our packets before one is withheld again */
	uint16_t ack_rides_next; /* if that turns out wrong once more */
	uint32_t again_before;	 /* expected psn when a duplicate came, ... */
	uint32_t again_psn;	 /* ... the first of them since it was that ... */
	uint16_t again;		 /* ... and how often that one came */
	uint64_t cnp_time;	 /* when the peer was last told of congestion, ns */
	bool nak_sent;		 /* one sequence NAK per gap */
	bool in_message;	 /* between first and last packet */
	uint8_t operation;	 /* of the message: UROCE_SEND_FIRST or UROCE_WRITE_FIRST */
	bool have_rwqe;
	uint32_t max_rd_atomic;
	uint32_t length; /* bytes of the message so far */
	/* current write */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	/* XRC: named by the message that is being received, or the last one; NULL once it is gone
	 */
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
	uint8_t syndrome; /* last NAK received, 0 none */
	uint64_t wr_id;
	uint32_t psn;
	uint32_t retries;
	uint64_t time; /* ns */
};

struct uroce_qp_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t resent, timeouts, rnr_naks_sent, rnr_naks_received, naks_sent, duplicates,
		out_of_order, seq_naks_received, fatal_naks_received, retries, retry_exceeded,
		rnr_exceeded, marked, cnps_sent, cnps_received;
};

struct uroce_qp {
	struct verbs_qp vqp;
	struct uroce_lock lock;
	struct uroce_engine *engine;
	struct uroce_dev *dev; /* the owner's */
	uint8_t strand;	       /* its number says it; fixed before anybody finds it */
	uint8_t type;	       /* enum ibv_qp_type */
	uint8_t state;	       /* enum ibv_qp_state; vqp.qp.state is the application's copy */
	bool sq_draining;
	bool last_wqe_raised; /* IBV_EVENT_QP_LAST_WQE_REACHED was sent */
	bool established_raised;
	bool was_connected; /* a former connection's packets may still be on their way */
	bool ending;	    /* its application is about to reset it, or to set it to ERR */
	bool peer_lost;	    /* its process is gone: what is posted ends as if it never answered */
	bool express;	    /* what is sent may take the short way: express.h */
	uint16_t send_refused; /* bits: causes of failed posts already explained (send.c, recv.c) */
	uint8_t recv_refused;
	struct uroce_sq sq;
	struct uroce_rq rq;
	struct uroce_srq *srq; /* NULL: own rq */
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	/*
	 * An XRC receive QP is what its handles share: the one of ibv_create_qp_ex(), those of
	 * ibv_open_qp(). It lives until the last one goes. Each handle is such a struct as well, in
	 * which only vqp and the following count.
	 */
	const struct uroce_domain *domain;
	LIST_HEAD(, uroce_qp) handles; /* of the shared one, under its lock */
	LIST_ENTRY(uroce_qp) handle;
	struct uroce_qp *shared; /* of a handle; else NULL */
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
	struct ibv_qp_attr attr; /* as set by modify, for query */
	uint32_t events_raised;
	TAILQ_ENTRY(uroce_qp) ack_entry;     /* its strand's acks while resp.ack_due */
	TAILQ_ENTRY(uroce_qp) blocked_entry; /* its strand's blocked while req.path_full */
	bool on_acks;
	bool on_blocked;
	bool udp_counted;      /* counted in those whose sockets pollers look at */
	uint32_t mcast_groups; /* attached to */
	/* ibv_wr_* between start and complete: the places behind sq.head are one thread's */
	bool wr_building;
	uint32_t wr_head;
	uint32_t wr_tail; /* at start: what is used begins here, at least */
	int wr_error;
	size_t wr_inline;	  /* bytes that were too many */
	struct fault_flow *fault; /* NULL unless faults are wanted */
};

static inline struct uroce_qp *to_uqp(struct ibv_qp *qp)
{
	return (struct uroce_qp *)qp;
}

static inline struct uroce_strand *uroce_qp_strand(const struct uroce_qp *qp)
{
	return &qp->engine->strands[qp->strand];
}

/* What it sends is acknowledged. */
static inline bool uroce_qp_reliable(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC || qp->type == IBV_QPT_XRC_SEND ||
	       qp->type == IBV_QPT_XRC_RECV;
}

/* It has a receive queue of its own. */
static inline bool uroce_qp_has_rq(const struct uroce_qp *qp)
{
	return !qp->srq && qp->type != IBV_QPT_XRC_SEND && qp->type != IBV_QPT_XRC_RECV;
}

/* Of the opcodes of its packets. */
static inline uint8_t uroce_qp_transport(const struct uroce_qp *qp)
{
	return qp->type == IBV_QPT_RC	? UROCE_RC
	       : qp->type == IBV_QPT_UC ? UROCE_UC
	       : qp->type == IBV_QPT_UD ? UROCE_UD
					: UROCE_XRC;
}

#endif
