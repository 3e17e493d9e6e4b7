/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work requests, their rings, and the shared receive queue. */
#ifndef UROCE_ENGINE_WQE_H
#define UROCE_ENGINE_WQE_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/object.h"

struct uroce_domain;

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
	uint32_t mask; /* entries of the ring - 1 */
	uint32_t size; /* granted */
	uint32_t head; /* next to post; free running */
	uint32_t tail; /* position of the next WQE to take */
	uint16_t max_sge;
	struct uroce_memory memory; /* the ring's */
};

struct uroce_srq {
	struct verbs_srq vsrq;
	struct uroce_lock lock;
	struct uroce_rq rq;
	/* XRC: domain of the queue pairs that may take receives; else NULL */
	const struct uroce_domain *domain;
	struct uroce_cq *cq; /* XRC: CQ of its receives; else NULL */
	uint8_t refused;     /* bits: causes of failed posts already explained (recv.c) */
	atomic_uint qps;
	uint32_t events_raised;
	uint32_t limit; /* raise the event when fewer receives are left; 0: disarmed */
};

enum uroce_wqe_state {
	WQE_POSTED, /* not begun, or partly sent */
	WQE_SENT,   /* all packets sent; waits for its acknowledgement or response */
	WQE_DONE,   /* status is final; waits for earlier WQEs */
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
	bool placed;	    /* the payload is already in the target, and the packet states this */
	uint32_t length;    /* payload bytes (or bytes to read) */
	uint32_t first_psn; /* PSN of its first packet */
	uint32_t last_psn;  /* PSN of its last packet; read: of its last response */
	uint32_t vendor_err;
	uint32_t received; /* read: response bytes placed */
	uint32_t asked;	   /* read: bytes requested */
	uint16_t requests; /* requests that wait for responses; counted in rd_atomic */
	uint16_t part;	   /* read: packets of one request, at most */
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
			uint32_t rkey;	 /* new key, with the index of the window */
			uint32_t mr_key; /* 0: none */
			uint32_t access;
		} bind;
		struct {
			uint8_t other[28]; /* rdma or atomic */
			uint32_t srqn;	   /* number of the peer's SRQ */
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

/* Return whether the WQE of a UD QP has an address vector. Local operations have none. */
static inline bool swqe_has_av(const struct uroce_swqe *wqe)
{
	return (wqe->opcode == IBV_WR_SEND || wqe->opcode == IBV_WR_SEND_WITH_IMM) &&
	       wqe->ud.av.path;
}

struct uroce_sq {
	uint8_t *ring;
	uint32_t stride;
	uint32_t mask; /* entries of the ring - 1 */
	uint32_t size; /* granted */
	uint32_t head; /* next to post; free running */
	uint32_t next; /* requester: first WQE not completely sent */
	uint32_t tail; /* completer: oldest WQE not completed */
	uint32_t max_inline;
	uint16_t max_sge;
	bool sig_all;
	uint32_t completions; /* completions pushed to the CQ; under qp->lock */
	/* completions polled by the application; written under the CQ's lock */
	atomic_uint polled;
	struct uroce_memory memory; /* the ring's */
};

/*
 * Return the used entries of the queue. A request takes room until the application has its
 * completion (IBTA vol. 1, chapter 10). Therefore a program that posts until the queue is full
 * cannot overflow a CQ that is as large as the queue.
 */
static inline uint32_t sq_used(const struct uroce_sq *sq)
{
	return sq->head - sq->tail + sq->completions -
	       atomic_load_explicit(&sq->polled, memory_order_relaxed);
}

/* Release the room of a request whose completion was polled. The CQ's lock is held. */
static inline void sq_polled(struct uroce_sq *sq)
{
	if (sq)
		atomic_store_explicit(&sq->polled,
				      atomic_load_explicit(&sq->polled, memory_order_relaxed) + 1,
				      memory_order_relaxed);
}

static inline struct uroce_srq *to_usrq(struct ibv_srq *srq)
{
	return (struct uroce_srq *)srq;
}

static inline struct uroce_swqe *sq_wqe(const struct uroce_sq *sq, uint32_t index)
{
	return (struct uroce_swqe *)(sq->ring + (size_t)(index & sq->mask) * sq->stride);
}

/* Finish the WQE with @status. The completer retires it in its turn. */
static inline void wqe_fail(struct uroce_swqe *wqe, enum ibv_wc_status status)
{
	wqe->state = WQE_DONE;
	wqe->status = status;
}

/* Return whether the last request that left has failed: stop sending, and flush the rest in
 * turn. */
static inline bool sq_stopped(const struct uroce_sq *sq)
{
	const struct uroce_swqe *before = sq_wqe(sq, sq->next - 1);

	return sq->next != sq->tail && before->state == WQE_DONE &&
	       before->status != IBV_WC_SUCCESS;
}

/* Return an extra entry behind the ring, which is written but never executed (wr.c). */
static inline struct uroce_swqe *sq_wqe_spare(const struct uroce_sq *sq)
{
	return (struct uroce_swqe *)(sq->ring + ((size_t)sq->mask + 1) * sq->stride);
}

static inline struct uroce_rwqe *rq_wqe(const struct uroce_rq *rq, uint32_t index)
{
	return (struct uroce_rwqe *)(rq->ring + (size_t)(index & rq->mask) * rq->stride);
}

#endif
