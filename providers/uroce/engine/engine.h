/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine: RoCE's transport as a state machine of (queue pair, packet or work request, time).
 *
 *   req.c retry.c      requester: send WQEs become packets; what it does after a loss
 *   congestion.c       how much the requester may have on its way through a network
 *   comp.c             completer: acknowledgements and responses retire WQEs
 *   resp.c resp_check.c answer.c
 *                      responder: request packets are checked, executed, answered
 *   due.c              acknowledgements that are owed, QPs that wait for room, timers
 *   xrc.c              the SRQ that an XRC packet names; handles that share a queue pair
 *   keys.c window.c    memory regions and windows by key
 *   cq_ring.c rwqe.c   completions pushed, receives taken
 *   qp_error.c explain.c
 *                      what becomes of the work when a QP fails, and why, in words
 *
 * It does no I/O and owns no thread. Packets leave by path/path.h; what else it wants of its owner
 * goes through struct engine_events. Time is a parameter: where it is 0 nobody has looked at the
 * clock, and the engine does (base/clock.h) in those few cases in which it needs to know.
 *
 * Locks, in the order they are taken:
 *
 *   qp->lock             SQ and RQ, requester, responder, completer: a post, one packet
 *   srq->lock            SRQ ring: taking or posting receives
 *   a path's own lock    its send side: one packet, or one flush
 *   cq->lock             CQE ring, armed flags: push, poll
 *   blocked_lock         QPs that wait for room, CQs whose channel was full
 *   keys->lock           key table: registration; look-ups count themselves in instead
 *
 * No code holds two QP locks. acks, acks_urgent and idle_passes are under the owner's
 * progress_lock, which is taken before all of these and held by whoever hands in packets. Threads:
 * any, with the locks as said at each function. Includes: path/path.h, wire, base. Included by:
 * fault, host, verbs.
 */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <netinet/in.h>

#include "libibverbs/provider.h"
#include "providers/uroce/path/path.h"

/* What the device promises; query_device and the create checks read the same numbers. */
enum {
	UROCE_MAX_QP = 65000, /* of one process: 16 bits of the QPN */
	UROCE_MAX_CQ = 65536,
	UROCE_MAX_SRQ = 65536,
	UROCE_MAX_WR = 1 << 16,
	UROCE_MAX_CQE = 1 << 22,
	UROCE_MAX_INLINE = 1024,
	UROCE_MAX_RD_ATOMIC = 128, /* read and atomic requests outstanding, either role */
	UROCE_MAX_MCAST_QP = 1024,
	UROCE_MAX_DM = 1 << 30,	    /* bytes of one device memory */
	UROCE_MAX_KEYS = 1 << 20,   /* regions and windows of one process */
	UROCE_VENDOR_ID = 0x55524f, /* "URO": neither 0 nor 0xffffff, which others take for rxe */
	UROCE_VENDOR_PART = 1,
};
/* Packets in flight, at most; how many it really is: congestion.c. */
enum {
	UROCE_WINDOW = 256,
	UROCE_WINDOW_LOSSLESS = 1 << 22,
	/* What one read request asks for, at most: a long read is several. */
	UROCE_READ_PART = 64,		/* packets */
	UROCE_READ_PART_BYTES = 131072, /* of a large MTU */
	UROCE_ACK_WITHHELD = 32,	/* messages that wait for one acknowledgement */
	UROCE_ACK_COALESCE =
		16, /* messages of a busy lossless peer that one acknowledgement may cover */
};

struct uroce_cq;
struct uroce_dev;
struct uroce_domain;
struct uroce_key;
struct uroce_keys;
struct uroce_qp;
struct fault_flow;

TAILQ_HEAD(uroce_qp_list, uroce_qp);

struct uroce_engine;

/* What the engine tells its owner. */
struct engine_events {
	/* An asynchronous event of the object at @element; *@raised counts those of it that are not
	 * read yet. */
	void (*async)(struct ibv_context *ctx, uint64_t element, enum ibv_event_type type,
		      uint32_t *raised);
	/* A timer was armed earlier than wakes_at, or a packet is blocked: look at the engine
	 * again. */
	void (*wake)(struct uroce_engine *engine);
	/* Send what is posted: uroce_req_run(), or a shorter way that does the same. qp->lock
	 * held. */
	void (*run)(struct uroce_qp *qp, uint64_t now);
	/* The QP stopped, qp->lock held. */
	void (*stopped)(struct uroce_qp *qp);
};

/* What the queue pairs of a process share. */
struct uroce_engine {
	const struct engine_events *events;
	struct uroce_keys *keys;
	/* XRC SRQs by the index of their number; NULL before there is one. Written by the owner,
	 * read under progress_lock. */
	_Atomic(_Atomic(struct uroce_srq *) *) srqs;
	struct uroce_wheel wheel;
	struct uroce_qp_list acks; /* QPs that owe an acknowledgement */
	bool acks_urgent;	   /* one of them does not wait for a pass without a packet */
	unsigned int idle_passes;  /* of these, in a row */
	struct uroce_lock blocked_lock;
	struct uroce_qp_list blocked;	   /* QPs a path refused a packet of; under blocked_lock */
	atomic_bool any_blocked;	   /* written under it */
	LIST_HEAD(, uroce_cq) pending_cqs; /* events a full pipe refused; under blocked_lock */
	atomic_bool cqs_pending;
	_Atomic uint64_t wakes_at; /* when the owner's thread wakes, ns; 0: it is awake */
};

static inline void uroce_engine_init(struct uroce_engine *engine,
				     const struct engine_events *events, uint64_t now)
{
	engine->events = events;
	TAILQ_INIT(&engine->acks);
	TAILQ_INIT(&engine->blocked);
	LIST_INIT(&engine->pending_cqs);
	uroce_wheel_init(&engine->wheel, now);
}

struct uroce_pd {
	union {
		struct ibv_pd pd;
		struct verbs_pd vpd;
	};
	atomic_uint users; /* regions, windows, QPs and SRQs: freed with none left */
};

struct uroce_mr {
	struct verbs_mr vmr;
	struct uroce_key *key;
	struct uroce_dm *dm; /* whose memory it is, or NULL */
	int segment;	     /* memory that peers can map: its index; -1: they cannot */
};

/* Device memory: this process's, for there is no other. */
struct uroce_dm {
	struct verbs_dm vdm;
	uint8_t *bytes;
	atomic_uint regions; /* of it: freed with none left */
};

struct uroce_mw {
	struct ibv_mw mw;
	struct uroce_key *key;
};

struct uroce_ah {
	struct ibv_ah ah;
	struct uroce_av av;
};

struct uroce_comp_channel {
	struct ibv_comp_channel channel;
	struct uroce_lock lock; /* writers of the pipe */
	struct uroce_pipe pipe; /* its read end is channel.fd */
};

/* One completion: a cache line, of which the application gets the first three quarters as they are.
 */
struct uroce_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, CLOCK_MONOTONIC; set when the CQ wants it */
	/* Whose room it takes until it is polled; NULL: of a receive. */
	struct uroce_sq *sq __attribute__((aligned(8)));
};
static_assert(sizeof(struct uroce_cqe) == 64, "one cache line");

/* Memory of a queue: of a parent domain's allocator, or of malloc() with @parent NULL. */
struct uroce_memory {
	void *at;
	struct verbs_pd *parent;
	uint64_t type; /* enum uroce_resource_type */
};

struct uroce_cq {
	struct verbs_cq vcq;
	struct uroce_lock lock;
	struct uroce_engine *engine;
	struct uroce_cqe *ring; /* size entries, a power of two */
	uint32_t mask;
	/* free running, written under the lock; pollers look without it whether there is anything
	 */
	atomic_uint head; /* next to push */
	atomic_uint tail; /* next to poll */
	bool want_timestamp;
	atomic_bool armed_next; /* written under the lock */
	atomic_bool armed_solicited;
	bool event_pending; /* the channel's pipe was full: progress tries again; under blocked_lock
			     */
	bool overflowed;
	bool single_threaded; /* the application polls from one thread only */
	struct uroce_lock
		poll_lock; /* from ibv_start_poll() to ibv_end_poll(); taken before all others */
	struct uroce_cqe current;    /* what that walk stands on */
	atomic_uint qps;	     /* that use it, either way */
	uint32_t comp_events_raised; /* for the wait of destroy: records written and not purged */
	uint32_t async_events_raised;
	LIST_ENTRY(uroce_cq)
	pending; /* engine->pending_cqs while event_pending; under blocked_lock */
	struct uroce_memory memory; /* the ring's */
};

/* A receive WQE: fixed stride in its ring. */
struct uroce_rwqe {
	uint64_t wr_id;
	uint32_t length; /* sum of the SGEs */
	uint16_t num_sge;
	struct ibv_sge sge[];
};

/* Ring of receive WQEs, of a QP or an SRQ. */
struct uroce_rq {
	uint8_t *ring;
	uint32_t stride;
	uint32_t mask; /* entries - 1 */
	uint32_t size; /* granted */
	uint32_t head; /* next to post; free running */
	uint32_t tail; /* next to take */
	uint16_t max_sge;
	struct uroce_memory memory; /* the ring's */
};

struct uroce_srq {
	struct verbs_srq vsrq;
	struct uroce_lock lock;
	struct uroce_rq rq;
	const struct uroce_domain *domain; /* XRC: its queue pairs may take from it; else NULL */
	struct uroce_cq *cq;		   /* XRC: where its receives complete; else NULL */
	uint8_t refused; /* bits: causes of failed posts already explained (recv.c) */
	atomic_uint qps;
	uint32_t events_raised;
	uint32_t limit; /* event when fewer are left; 0: disarmed */
};

enum uroce_wqe_state {
	WQE_POSTED, /* not looked at yet, or partly sent */
	WQE_SENT,   /* all packets out; waits for its acknowledgement or response */
	WQE_DONE,   /* status is final; waits for the ones before it */
};

/* A send WQE: fixed stride in the SQ ring, SGEs or inline bytes behind it. */
struct uroce_swqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum ibv_wr_opcode */
	uint8_t flags;	/* enum ibv_send_flags */
	uint8_t state;	/* enum uroce_wqe_state */
	uint8_t status; /* enum ibv_wc_status */
	uint16_t num_sge;
	bool is_inline;
	bool psn_assigned;
	uint32_t length;    /* payload bytes (or bytes to read) */
	uint32_t first_psn; /* of its first packet */
	uint32_t last_psn;  /* of its last packet; for a read, of its last response */
	uint32_t vendor_err;
	uint32_t received; /* response bytes placed, for a read */
	uint32_t asked;	   /* bytes that were asked for, for a read */
	uint16_t requests; /* that wait for responses; counted in rd_atomic */
	union {
		__be32 imm_data;
		uint32_t invalidate_rkey;
	};
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
			uint8_t flush_type;
			uint8_t flush_level;
		} rdma; /* write, read, flush, atomic write */
		struct {
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct uroce_av av; /* copied: the AH may be destroyed after the post */
			uint32_t qpn;
			uint32_t qkey;
		} ud;
		struct {
			uint64_t addr;
			uint64_t length; /* 0: unbind */
			uint32_t rkey;	 /* new; its index is the window's */
			uint32_t mr_key; /* 0: none */
			uint32_t access;
		} bind;
		struct {
			uint8_t other[28]; /* rdma or atomic */
			uint32_t srqn;	   /* the peer's SRQ */
		} xrc;
	};
	union {
		struct ibv_sge sge[0];
		uint8_t data[0]; /* inline payload; the 8 bytes of an atomic write */
	};
};

static_assert(sizeof(((struct uroce_swqe *)0)->rdma) <= 28 &&
		      offsetof(struct uroce_swqe, atomic.rkey) + sizeof(uint32_t) <=
			      offsetof(struct uroce_swqe, xrc.srqn),
	      "beside it");

struct uroce_sq {
	uint8_t *ring;
	uint32_t stride;
	uint32_t mask;
	uint32_t size; /* granted */
	uint32_t head; /* next to post; free running */
	uint32_t next; /* requester: first not completely sent */
	uint32_t tail; /* completer: oldest not completed */
	uint32_t max_inline;
	uint16_t max_sge;
	bool sig_all;
	uint32_t completions; /* pushed to the CQ; under qp->lock */
	atomic_uint polled;   /* of them, taken by the application; written under the CQ's lock */
	struct uroce_memory memory; /* the ring's */
};

/*
 * A request takes room until the application has its completion (IBTA vol. 1, chapter 10): one that
 * posts until the queue is full cannot overflow a CQ that is as large as the queue.
 */
static inline uint32_t sq_used(const struct uroce_sq *sq)
{
	return sq->head - sq->tail + sq->completions -
	       atomic_load_explicit(&sq->polled, memory_order_relaxed);
}

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
	bool path_full;		/* the path refused a packet: on engine->blocked */
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
	bool ack_due;	       /* an acknowledgement up to psn - 1 is owed: qp is on engine->acks */
	bool ack_asked;	       /* and the peer waits for it */
	bool ack_hurry;	       /* it is for part of a long message, too: the window waits for it */
	bool ack_inside;       /* it was asked for inside a message: the window waits */
	bool ack_withheld;     /* it did not go with a packet of ours: answer.c */
	uint16_t ack_passes;   /* of progress since then */
	uint16_t ack_rides;    /* so many go with our packets before one is withheld again */
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
	uint8_t type;	       /* enum ibv_qp_type */
	uint8_t state;	       /* enum ibv_qp_state; vqp.qp.state is the application's copy */
	bool sq_draining;
	bool last_wqe_raised; /* IBV_EVENT_QP_LAST_WQE_REACHED was sent */
	bool established_raised;
	bool peer_lost; /* its process is gone: what is posted ends as if it never answered */
	bool express;	/* what is sent may take the short way: express.h */
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
	TAILQ_ENTRY(uroce_qp) ack_entry;     /* engine->acks while resp.ack_due */
	TAILQ_ENTRY(uroce_qp) blocked_entry; /* engine->blocked while req.path_full */
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
/* --- keys.c: memory regions and windows by key --- */

/*
 * A region or a window. Its place in memory never changes hands with another type, so a reader may
 * count itself in before it knows whether the key is still valid. The first cache line is all a
 * look-up reads.
 */
struct uroce_key {
	alignas(64) atomic_uint live; /* the key while it opens memory, else 0 */
	atomic_uint refs;	      /* look-ups in use: who takes the key back waits for 0 */
	uint64_t iova;		      /* first address peers and SGEs use */
	uint64_t length;
	uintptr_t base; /* where iova lies in this process */
	const struct ibv_pd *pd;
	uint32_t access; /* IBV_ACCESS_*, and UROCE_ACCESS_LOCAL */
	uint32_t qpn;	 /* type 2 window: of the QP it is bound to; 0 any */

	/* Of the owner, under keys->lock: */
	uint32_t key;		  /* index << 8 | variant; lkey and rkey are the same number */
	uint32_t windows;	  /* bound to this region */
	struct uroce_key *parent; /* window: the region it is bound to, NULL unbound */
	uint8_t mw_type;	  /* enum ibv_mw_type; 0: a region */
	bool used;

	uint64_t null_size; /* of a null region: of each half of its memory; else 0 */
};

/* Granted to regions only: their keys may be used as lkeys. Not a flag of the API's. */
#define UROCE_ACCESS_LOCAL 0x80000000u

/*
 * Find the bytes [va, va + length) of @key for @need (IBV_ACCESS_* that must all be granted; 0
 * local read).
 * @pd: the QP's; a key of another PD is refused. @qpn: for type 2 windows.
 * Return: 0 with a reference in *@ret_key (uroce_key_put) and the address in *@ret_ptr; -EACCES (no
 * such key, wrong PD, access not granted) or -ERANGE (outside). Length 0 needs no valid key and
 * gives *@ret_key NULL.
 */
int uroce_key_get(struct uroce_keys *keys, uint32_t key, const struct ibv_pd *pd, uint32_t qpn,
		  uint32_t need, uint64_t va, uint64_t length, struct uroce_key **ret_key,
		  uint8_t **ret_ptr);

static inline void uroce_key_put(struct uroce_key *key)
{
	/* Pairs with key_wait() in keys.c: our access is over before the owner sees us gone. */
	if (key)
		atomic_fetch_sub_explicit(&key->refs, 1, memory_order_release);
}

/* Write the range (or the @whole region) through to the file behind the mapping. */
int uroce_key_sync(struct uroce_key *key, void *ptr, uint64_t length, bool whole);

/*
 * Addresses of bytes [offset, offset + length) of an SGE list, keys checked and referenced.
 * Return: number of iovecs (at most UROCE_MAX_SGE), or -EACCES/-ERANGE with nothing referenced.
 */
struct uroce_gather {
	struct iovec iov[UROCE_MAX_SGE];
	struct uroce_key *keys[UROCE_MAX_SGE];
	int count;
};
int uroce_gather_get(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		     int num_sge, uint32_t offset, uint32_t length, uint32_t need,
		     struct uroce_gather *ret);

static inline void uroce_gather_put(struct uroce_gather *gather)
{
	while (gather->count > 0)
		uroce_key_put(gather->keys[--gather->count]);
}

/* Copy @length bytes at @src into the SGE list at @offset. 0, -EACCES, -ERANGE or -EFAULT. */
int uroce_scatter(struct uroce_keys *keys, const struct ibv_pd *pd, const struct ibv_sge *sge,
		  int num_sge, uint32_t offset, const struct uroce_payload *payload);

/* window.c: execute a local or remote invalidate, or a bind, in SQ order. 0 or -EACCES/-EINVAL. */
int uroce_key_invalidate(struct uroce_keys *keys, const struct ibv_pd *pd, uint32_t qpn,
			 uint32_t key);
int uroce_key_bind(const struct uroce_qp *qp, const struct uroce_swqe *wqe);

/* --- cq_ring.c; pushing is in cq_ring.h --- */

/* Events a full pipe refused: try again. No lock held. */
void uroce_cq_events_retry(struct uroce_engine *engine);
/* None of its events waits for room in the pipe any more. */
void uroce_cq_events_forget(struct uroce_cq *cq);
/* Its completions stay, but no longer refer to the queue, which is about to go. */
void uroce_cq_sq_forget(struct uroce_cq *cq, const struct uroce_sq *sq);

/* --- rwqe.c --- */

/*
 * Copy the oldest receive WQE of the QP (or its SRQ) into qp->resp.rwqe. Return: false when there
 * is none. Raises the SRQ limit event.
 */
bool uroce_rwqe_take(struct uroce_qp *qp);

/* --- engine: called with qp->lock held --- */

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
/* Continue read responses and owed acknowledgements. Return: true when nothing is owed any more. */
bool uroce_resp_run(struct uroce_qp *qp);
/* A send or write was executed, or its last packet: what is owed for it. */
void uroce_resp_took(struct uroce_qp *qp, bool ack_req);
/* An acknowledgement left. */
static inline void uroce_resp_acked(struct uroce_responder *resp)
{
	resp->ack_due = false;
	resp->ack_hurry = false;
	resp->ack_inside = false;
	resp->ack_withheld = false;
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
/* Flush whatever is posted: the QP is in the error state (or its SQ is in SQE). */
void uroce_qp_flush(struct uroce_qp *qp);
/* Remember the first error of the QP, and log it. */
void uroce_qp_first_error(struct uroce_qp *qp, const struct uroce_first_error *error);
/* explain.c: log it in words. */
void uroce_qp_explain(const struct uroce_qp *qp);
/* The name of an enum ibv_wr_opcode, for messages. */
const char *uroce_opcode_name(unsigned int opcode);
/* The SQ is empty while draining: raise SQ_DRAINED. */
void uroce_qp_drained(struct uroce_qp *qp);

/* --- due.c: what the owner calls between packets, progress_lock held --- */

/* Some QPs wait for room. */
static inline bool uroce_any_blocked(struct uroce_engine *engine)
{
	return atomic_load_explicit(&engine->any_blocked, memory_order_relaxed);
}

/* Whether something waits for that which no descriptor tells of. */
static inline bool uroce_engine_must_run(struct uroce_engine *engine)
{
	return !TAILQ_EMPTY(&engine->acks) || uroce_any_blocked(engine) ||
	       atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed);
}

/* What uroce_engine_run() does when there is something to do. */
void uroce_engine_work(struct uroce_engine *engine, unsigned int packets, bool poller, bool timed,
		       uint64_t now);

/*
 * At the end of a pass that brought @packets: acknowledgements that are due leave, QPs that waited
 * for room and events that waited for a pipe try again, and if @timed, timers that are due at @now
 * fire. Most passes of a poller find nothing: they end here.
 * @poller: who made the pass comes back at once.
 */
static inline void uroce_engine_run(struct uroce_engine *engine, unsigned int packets, bool poller,
				    bool timed, uint64_t now)
{
	engine->idle_passes = packets ? 0 : engine->idle_passes + 1;
	if (timed || uroce_engine_must_run(engine))
		uroce_engine_work(engine, packets, poller, timed, now);
}

/* --- xrc.c --- */

/* The SRQ of a number in that domain; NULL: there is none. Under progress_lock, and valid as long
 * as that is held. */
struct uroce_srq *uroce_xrc_srq(struct uroce_engine *engine, const struct uroce_domain *domain,
				uint32_t srqn);
/* The SRQ is about to go: what the QP had begun with it is over. The QP's lock is held. */
void uroce_xrc_srq_forget(struct uroce_qp *qp, const struct uroce_srq *srq);
/* An event of each handle of an XRC receive QP. */
void uroce_xrc_event(struct uroce_qp *qp, enum ibv_event_type type);

/* --- shorthands --- */

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

static inline struct uroce_qp *to_uqp(struct ibv_qp *qp)
{
	return (struct uroce_qp *)qp;
}

static inline struct uroce_cq *to_ucq(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

static inline struct uroce_srq *to_usrq(struct ibv_srq *srq)
{
	return (struct uroce_srq *)srq;
}

static inline struct uroce_swqe *sq_wqe(const struct uroce_sq *sq, uint32_t index)
{
	return (struct uroce_swqe *)(sq->ring + (size_t)(index & sq->mask) * sq->stride);
}

/* The WQE is final with @status; the completer retires it when its turn comes. */
static inline void wqe_fail(struct uroce_swqe *wqe, enum ibv_wc_status status)
{
	wqe->state = WQE_DONE;
	wqe->status = status;
}

/* A request that left failed: nothing follows it, and the rest is flushed when its turn comes. */
static inline bool sq_stopped(const struct uroce_sq *sq)
{
	const struct uroce_swqe *before = sq_wqe(sq, sq->next - 1);

	return sq->next != sq->tail && before->state == WQE_DONE &&
	       before->status != IBV_WC_SUCCESS;
}

/* One more entry behind the ring: written to, never executed (wr.c). */
static inline struct uroce_swqe *sq_wqe_spare(const struct uroce_sq *sq)
{
	return (struct uroce_swqe *)(sq->ring + (size_t)sq->size * sq->stride);
}

static inline struct uroce_rwqe *rq_wqe(const struct uroce_rq *rq, uint32_t index)
{
	return (struct uroce_rwqe *)(rq->ring + (size_t)(index & rq->mask) * rq->stride);
}

/* The QP owes an acknowledgement, which leaves along with a packet or at the end of a progress pass
 * that has nothing else to do. */
static inline void uroce_ack_enlist(struct uroce_qp *qp)
{
	if (qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&qp->engine->acks, qp, ack_entry);
}

/* The same at the end of this pass, unless acks_run() in due.c sees why it may wait. */
static inline void uroce_ack_later(struct uroce_qp *qp)
{
	uroce_ack_enlist(qp);
	qp->engine->acks_urgent = true;
}

/* The path is full: progress runs the QP again. */
static inline void uroce_blocked(struct uroce_qp *qp)
{
	struct uroce_engine *engine = qp->engine;

	uroce_lock(&engine->blocked_lock);
	if (!qp->on_blocked) {
		qp->on_blocked = true;
		TAILQ_INSERT_TAIL(&engine->blocked, qp, blocked_entry);
		atomic_store_explicit(&engine->any_blocked, true, memory_order_relaxed);
	}
	uroce_unlock(&engine->blocked_lock);
	/* A thread that sleeps must come back for this. It says so, then looks for such QPs. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}

/* Asynchronous events of its objects. */
static inline void uroce_event_qp(struct uroce_qp *qp, enum ibv_event_type type)
{
	if (unlikely(qp->type == IBV_QPT_XRC_RECV)) {
		uroce_xrc_event(qp, type);
		return;
	}
	qp->engine->events->async(qp->vqp.qp.context, (uintptr_t)&qp->vqp.qp, type,
				  &qp->events_raised);
}

static inline void uroce_event_cq(struct uroce_cq *cq, enum ibv_event_type type)
{
	cq->engine->events->async(cq->vcq.cq.context, (uintptr_t)&cq->vcq.cq, type,
				  &cq->async_events_raised);
}

/* What other rooms need inline. */
#include "providers/uroce/engine/cq_ring.h"
#include "providers/uroce/engine/keys.h"

#endif
