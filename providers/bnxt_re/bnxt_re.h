/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Broadcom's NetXtreme adapters: rings are memory of this process, in slots of 16 bytes (wqe.h).
 * One register of the context is the doorbell of all queues.
 *
 * Locks, in the order in which they are taken:
 *
 * - bnxt_re_context.qp_lock is held while a queue pair is created or destroyed, so that its number
 *   is not used again before its completions are removed.
 *
 * - bnxt_re_cq.lock protects the completion ring, the heads of the queues that complete there, and
 *   the lists of these queues. spinlock_lock_both() orders two of them.
 *
 * - bnxt_re_sq.lock and bnxt_re_rq.lock protect the tail of a ring. bnxt_re_srq.lock protects both
 *   ends of its ring.
 *
 * - bnxt_re_context.lock protects the mapping of the doorbell, and the word through which the
 *   kernel hands out numbers of address handles. No other lock is held with it.
 *
 * Data that the device wrote are not trusted. A completion names its queue pair by a number of
 * bnxt_re_context.qps, which this provider chooses.
 */
#ifndef BNXT_RE_H
#define BNXT_RE_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>
#include <rdma/bnxt_re-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/cq_ex.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

enum bnxt_re_psn_form {
	BNXT_RE_PSN_8,	/* old chips */
	BNXT_RE_PSN_16, /* with the slot of the request */
	BNXT_RE_PSN_MESSAGES,
};

struct bnxt_re_context {
	struct verbs_context vctx;
	struct kit_page shared, doorbells; /* @doorbells is mapped for the first domain */
	pthread_mutex_t lock, qp_lock;
	struct idtable qps;
	uint32_t page, max_cqes, max_sge, max_wr, max_srq_wr;
	enum bnxt_re_psn_form psn_form;
	bool any_depth; /* depths need not be powers of 2 */
	bool variable;	/* sends take as many slots as they need */
	bool atomics;
};

struct bnxt_re_qp;
struct bnxt_re_cqe;

LIST_HEAD(bnxt_re_qps, bnxt_re_qp);

/* The size and the memory of a completion ring. */
struct bnxt_re_ring {
	struct kit_buf buf;
	uint32_t depth;
	int32_t report; /* entries between two doorbells */
};

struct bnxt_re_cq {
	struct kit_cq kit; /* with the current completion of an extended queue */
	struct spinlock lock;
	uint32_t phase;		  /* phase bit of the entries that the device writes now: 0 or 1 */
	struct bnxt_re_cqe *next; /* entry that the device writes next */
	struct bnxt_re_cqe *ring, *end;
	/* Queue pair of the last completion, and its name in completions; 0: none. */
	struct bnxt_re_qp *last;
	uint64_t last_handle;
	int32_t until_report; /* entries that may be polled before the next doorbell */
	int32_t report;	      /* the same, behind a doorbell */
	uint32_t epoch;	      /* bit of the doorbell that changes with each wrap */
	uint32_t number;
	uint32_t early;	      /* type of a deferred doorbell, rung once there is one; 0: none */
	uint32_t acknowledge; /* bits of the entry that ended the last ring; 0: none */
	/* NULL: the queue has no doorbell before its first queue pair. It is also NULL while kept
	 * entries are polled, because these have no index in the ring. */
	char *doorbell;
	atomic_bool flushes; /* a queue pair may have requests that the process completes */
	struct bnxt_re_qps senders, receivers;
	struct kit_buf buf;
	struct bnxt_re_cqe *kept;  /* unpolled entries of earlier rings; NULL: none */
	struct bnxt_re_ring after; /* the ring after the end of this one; base NULL: none */
};

/* A posted send, with the data of its completion. It begins as an ibv_wc does, so that a success is
 * copied. Members that are the same for each send are set at creation. */
struct bnxt_re_sent {
	uint64_t wr_id;
	uint32_t status; /* IBV_WC_SUCCESS */
	uint32_t opcode; /* enum ibv_wc_opcode */
	uint32_t vendor_err;
	uint32_t length;
	uint32_t imm_data;
	uint32_t qp_num;
	uint16_t slots; /* of the ring, which its completion frees */
	bool signaled;
};

struct bnxt_re_send_op;

/* A batch of ibv_wr_*(). Until it is complete, only the tail and the index of the queue move. */
struct bnxt_re_batch {
	uint32_t tail, index; /* state of the queue at the start of the batch */
	uint32_t count;	      /* finished requests */
	int room;	      /* free slots after the current request */
	int error;
	char *head;			  /* current request; NULL: none */
	const struct bnxt_re_send_op *op; /* of the current request */
	uint32_t flags, imm;
	bool incomplete; /* the current request lacks its address or the memory of its result */
};

struct bnxt_re_sq {
	struct spinlock lock;
	char *ring;
	uint32_t tail;		   /* slot of the next request */
	uint32_t index;		   /* number of the next request in @sent */
	uint32_t posted_here;	   /* slots, free-running; only the poster uses them */
	_Atomic uint32_t posted;   /* the same, for the poller */
	_Atomic uint32_t released; /* slots of completed requests, free-running */
	uint32_t first;		   /* number of the oldest request without a completion */
	uint32_t count;		   /* entries of @sent */
	uint32_t depth;		   /* slots of the ring */
	uint32_t usable;	   /* slots that requests may fill */
	uint32_t step;		   /* slots of each request; 0: as many as it needs */
	struct bnxt_re_sent *sent;
	uint32_t max_inline;
	int max_sge;	/* -1 in states that accept no requests */
	uint8_t flags;	/* of each request: whether it completes */
	bool connected; /* the peer acknowledges packets */
	bool datagrams, atomics;
	enum bnxt_re_psn_form psn_form;
	uint8_t mtu_shift;
	uint32_t psn;
	char *psns;
	uint32_t msn, msns; /* number of the next message, and of messages in the memory */
	uint32_t epoch;	    /* bit of the doorbell */
	uint32_t number;
	char *doorbell;
	atomic_uint said; /* enum kit_fault bits that were already logged */
	struct bnxt_re_batch batch;
};

struct bnxt_re_rq {
	struct spinlock lock;
	char *ring;
	uint32_t tail;
	_Atomic uint32_t posted, released; /* free-running */
	uint32_t first;			   /* oldest receive without a completion */
	uint32_t count;			   /* entries of the ring */
	uint32_t room;			   /* max_recv_wr: receives at the same time */
	uint32_t slots;			   /* slots of an entry */
	uint64_t *wr_ids;
	int max_sge; /* as in bnxt_re_sq */
	uint32_t epoch;
	uint32_t number;
	char *doorbell;
	atomic_uint said;
};

struct bnxt_re_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	char *ring;
	uint32_t tail, count;
	uint32_t waiting;    /* posted receives without a completion */
	uint32_t free, last; /* ends of the list of free tags */
	uint32_t *next;	     /* next tag in the list, by tag */
	uint64_t *wr_ids;    /* wr_id of each tag */
	uint32_t limit;
	bool arms; /* the limit must be sent to the device */
	uint32_t epoch;
	uint32_t number;
	int max_sge;
	char *doorbell;
	atomic_uint said;
	struct kit_buf buf;
};

struct bnxt_re_qp {
	struct verbs_qp vqp;
	struct bnxt_re_sq sq;
	struct bnxt_re_rq rq;
	struct bnxt_re_cq *send_cq, *recv_cq;
	struct bnxt_re_srq *srq;
	LIST_ENTRY(bnxt_re_qp) sender, receiver;
	/* The device completes no further requests of the queue, so the process does. */
	atomic_bool sends_over, receives_over;
	uint32_t id; /* in bnxt_re_context.qps */
	struct kit_buf sq_buf, rq_buf;
};

struct bnxt_re_ah {
	struct ibv_ah ah;
	uint32_t number; /* number that the device uses */
};

static inline struct bnxt_re_context *to_bctx(struct ibv_context *ctx)
{
	return (struct bnxt_re_context *)to_vctx(ctx);
}

static inline struct bnxt_re_cq *to_bcq(struct ibv_cq *cq)
{
	return (struct bnxt_re_cq *)cq;
}

static inline struct bnxt_re_qp *to_bqp(struct ibv_qp *qp)
{
	return (struct bnxt_re_qp *)qp;
}

static inline struct bnxt_re_srq *to_bsrq(struct ibv_srq *srq)
{
	return (struct bnxt_re_srq *)srq;
}

/* Return the name of a queue pair in completions, which is never 0. */
static inline uint64_t bnxt_re_handle(uint32_t id)
{
	return htole64((uint64_t)id + 1);
}

/* Return the depth of a ring of @entries, of which the kernel has at most @most. */
static inline uint32_t bnxt_re_depth(const struct bnxt_re_context *ctx, uint32_t entries,
				     uint32_t most)
{
	return min_of(ctx->any_depth ? entries : round_up_pow2(entries), most);
}

/* Kinds of doorbells. */
enum {
	BNXT_RE_DB_SQ,
	BNXT_RE_DB_RQ,
	BNXT_RE_DB_SRQ,
	BNXT_RE_DB_SRQ_ARM,
	BNXT_RE_DB_CQ,
	BNXT_RE_DB_CQ_ARM_SOLICITED,
	BNXT_RE_DB_CQ_ARM,
	BNXT_RE_DB_CUT_OFF = 9, /* acknowledges the end of a ring */
	BNXT_RE_DB_VALID_SHIFT = 26,
	BNXT_RE_DB_TYPE_SHIFT = 28,
	BNXT_RE_DB_TOGGLE_SHIFT = 20, /* of the bit copied from the entry that ends a ring */
	BNXT_RE_NUMBER_MASK = 0xfffff,
};
#define BNXT_RE_DB_EPOCH (1u << 24)

/* Store a doorbell: an index with its epoch, of the queue with this number. */
static inline void bnxt_re_ring(char *doorbell, uint32_t type, uint32_t number, uint32_t index)
{
	uint32_t high = number | 1u << BNXT_RE_DB_VALID_SHIFT | type << BNXT_RE_DB_TYPE_SHIFT;

	barrier_to_device();
	mmio_write_64(doorbell, htole64((uint64_t)high << 32 | index));
}

/* ah.c */
int bnxt_re_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);

/* cq.c */
int bnxt_re_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int bnxt_re_destroy_cq(struct verbs_cq *vcq);
/* Check a number of entries that @verb requests. */
int bnxt_re_cq_check(struct ibv_context *ctx, const char *verb, uint32_t cqe);
/* Set the size of a ring for @cqe entries, and return the number that the kernel is asked for. */
uint32_t bnxt_re_ring_size(const struct bnxt_re_context *ctx, uint32_t cqe,
			   struct bnxt_re_ring *ret_ring);
/* Use the doorbell, if there is one, and ring the deferred one. The caller holds the lock. */
void bnxt_re_cq_open(struct bnxt_re_cq *cq);
int bnxt_re_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Add a queue pair that the kernel has created to the lists of its completion queues. */
void bnxt_re_cqs_attach(struct bnxt_re_qp *qp);
/* Remove its completions. @gone: remove the queue pair from the lists and the table as well;
 * otherwise empty its rings. */
void bnxt_re_cqs_clean(struct bnxt_re_qp *qp, bool gone);
/* Let polls complete the posted requests. */
void bnxt_re_flush(struct bnxt_re_qp *qp, bool sends, bool receives);

/* resize.c */
int bnxt_re_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
/* Advance past the next entry, which ends a ring and has the word @info. */
void bnxt_re_cut_off(struct bnxt_re_cq *cq, uint32_t info);

/* poll.c, cq_ex.c */
int bnxt_re_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/* Poll a completion; the caller holds the lock. Return: whether there is one. */
bool bnxt_re_poll_one(struct bnxt_re_cq *cq, struct ibv_wc *wc);
void bnxt_re_cq_ex_set_slots(struct bnxt_re_cq *cq, uint64_t wc_flags);

/* qp.c */
int bnxt_re_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int bnxt_re_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int bnxt_re_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int bnxt_re_destroy_qp(struct verbs_qp *vqp);
void bnxt_re_async_event(struct ibv_context *ctx, struct ibv_async_event *event);

/* srq.c */
int bnxt_re_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int bnxt_re_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in);
int bnxt_re_destroy_srq(struct verbs_srq *vsrq);
/* Take the request id of a completed receive. Return: whether a receive has this tag. */
bool bnxt_re_srq_take(struct bnxt_re_srq *srq, uint32_t tag, uint64_t *ret_wr_id);

/* send.c, wr.c, recv.c */
int bnxt_re_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Return the operations of this type of queue pair: IBV_QP_EX_WITH_ flags. */
uint64_t bnxt_re_wr_ops(const struct bnxt_re_context *ctx, enum ibv_qp_type type);
void bnxt_re_wr_set_slots(struct bnxt_re_qp *qp, uint64_t ops);
int bnxt_re_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int bnxt_re_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);

#endif
