/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chelsio's adapters T4, T5 and T6, with iWARP. The kernel allocates the rings, in its memory or in
 * the adapter (wqe.h), and this library maps them. The kernel also makes the connections.
 *
 * A completion names its queue pair. Completions of sends need not come in order, because reads
 * complete when their answer arrives: a request waits in cx_sq.sent until those before it are
 * complete. If a connection ends, the kernel sets a byte of the queue pair and of its completion
 * queues, and this library completes the remaining requests. Such completions are no entries of a
 * ring. A cx_todo stands for them in its completion queue.
 *
 * Locks, in the order in which they are taken:
 *
 * - cx_context.qp_lock protects the list of queue pairs. It is held while a queue pair is created
 * or destroyed, so that its number is not used again before its completions are removed.
 *
 * - cx_cq.lock protects the completion ring, its todos, the tails of the queues that complete
 * there, and the membership of queue pairs in the table. spinlock_lock_both() orders two of them.
 *
 * - cx_sq.lock and cx_rq.lock protect the head of a ring, and cx_srq.lock a shared receive queue.
 *
 * Data that the device wrote are not trusted. An index is checked, and a queue pair is found
 * through the table, before it is used.
 */
#ifndef CXGB4_H
#define CXGB4_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>
#include <rdma/cxgb4-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

/* First word of a completion without its lowest five bits: a number that no queue pair has. */
#define CX_HEAD_NONE UINT32_MAX

struct cx_qp;

struct cx_context {
	struct verbs_context vctx;
	struct kit_page status;
	const volatile uint8_t *by_kernel; /* see cx_ring.by_kernel */
	uint32_t chip;			   /* 4, 5 or 6 */
	bool copies;			   /* a request of one slot goes into a register */
	bool pairs;	 /* the firmware accepts a write and a send in one request */
	bool iwarp;	 /* the kernel connects queue pairs without a call of the library */
	bool workaround; /* of T4 for queues in the adapter's memory, requested by CXGB4_MA_WR */
	pthread_mutex_t qp_lock;
	LIST_HEAD(, cx_qp) list;
	struct idtable qps;
};

/* Completions of a queue that need no entry of the completion ring. */
struct cx_todo {
	TAILQ_ENTRY(cx_todo) entry;
	struct cx_qp *qp;
	bool queued;
	bool flush;    /* complete all requests as soon as @flush_at entries were polled */
	bool flushing; /* @flush_at entries were polled: drop further entries of the queue pair */
	uint32_t at;   /* polls process this todo as soon as cx_cq.consumed has this value */
	uint32_t flush_at;
};

struct cx_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint8_t phase;	  /* 0 or 0x80: bit of old entries; changes when the ring wraps */
	uint8_t stamp_at; /* offset of the last eight bytes in an entry */
	bool overrun;
	char *next;		/* entry that the device writes next */
	volatile uint8_t *flag; /* of the kernel; not 0: a queue pair has failed */
	TAILQ_HEAD(, cx_todo) todos;
	uint32_t consumed;  /* entries that the process has polled */
	uint32_t reported;  /* entries that were reported to the device as polled */
	uint32_t report_at; /* number of unreported entries that are reported */
	uint32_t index;	    /* of @next */
	/* The last polled entry: the place of its last eight bytes, and their value then. */
	const char *stamp;
	uint64_t stamp_value;
	struct cx_qp *last; /* queue pair of the last completion */
	uint32_t last_head; /* its number at its place in the first word, or CX_HEAD_NONE */
	uint32_t entries;
	char *ring, *end;
	uint16_t *host_index; /* of the status page: @index */
	char *doorbell;
	uint32_t id; /* number of the queue in the doorbell */
	struct kit_page queue, registers;
};

/* A ring of requests, and its doorbell. */
struct cx_ring {
	char *base;
	char *status;	/* status page, behind the last slot */
	uint32_t slots; /* slots of the ring */
	uint32_t at;	/* next slot */
	char *doorbell;
	char *copy;    /* register for a request of one slot; NULL: the doorbell announces it */
	uint32_t id;   /* number of the queue in the doorbell */
	uint32_t most; /* slots that a doorbell can announce */
	const volatile uint8_t *by_kernel; /* not 0: ring this doorbell by the kernel */
	bool on_chip, workaround;
	uint32_t unannounced; /* slots of doorbells that the kernel refused to ring */
	struct kit_page queue, registers;
};

/* A posted send. */
struct cx_sent {
	uint64_t wr_id;
	uint32_t length; /* bytes of a read */
	uint8_t opcode;	 /* enum ibv_wc_opcode */
	uint8_t is;	 /* SENT_ bits */
	uint8_t status;	 /* status that the device wrote */
};

enum {
	SENT_SIGNALED = 1,
	SENT_READ = 2,
	SENT_DONE = 4,
};

struct cx_sq {
	struct spinlock lock;
	uint16_t size; /* one more than can be posted */
	_Atomic uint16_t head, tail;
	uint16_t max_inline;
	uint8_t always;	   /* WR_COMPLETION if every request completes (sq_sig_all) */
	uint8_t always_is; /* the same, as SENT_ bits */
	bool has_imm, pairs;
	int max_sge;
	const volatile uint8_t *error; /* of the kernel or of this library; not 0: has failed */
	struct cx_sent *sent;
	uint16_t early; /* requests that are complete, behind one that is not */
	/* Indexes of reads in their order. The counters are free-running. */
	uint16_t *reads;
	_Atomic uint32_t reads_head;
	uint32_t reads_tail;
	struct cx_ring ring;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct cx_rq {
	struct spinlock lock;
	uint16_t size; /* 0: there is none */
	_Atomic uint16_t head, tail;
	int max_sge;
	const volatile uint8_t *error;
	uint64_t *wr_ids;
	struct cx_ring ring;
	atomic_uint said;
};

struct cx_srq_entry {
	uint64_t wr_id;
	bool posted;
};

/* A receive that waits for a place in the ring. */
struct cx_waiting {
	uint64_t wr_id;
	uint32_t len16;
	uint64_t words[16];
};

/* The device takes receives in the order of the ring, and completes them in any order. */
struct cx_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t size;
	uint32_t head, tail, used;
	uint32_t holes; /* completed receives behind one that is not */
	uint32_t first; /* index that completions have of the first entry */
	uint32_t waiting_head, waiting_tail, waiting_count;
	struct cx_srq_entry *entries;
	struct cx_waiting *waiting;
	bool limit_armed; /* this library watches the limit, because the device cannot */
	bool has_limit;
	uint32_t limit;
	uint32_t max_sge;
	struct cx_ring ring;
	atomic_uint said;
};

struct cx_qp {
	struct verbs_qp vqp;
	struct cx_sq sq;
	struct cx_rq rq;
	struct cx_cq *send_cq, *recv_cq;
	struct cx_srq *srq;
	uint32_t number;
	uint32_t msn; /* number of the next message */
	bool flushed;
	uint32_t srq_index;	 /* a shared receive that will not complete; 0: none */
	volatile uint8_t *error; /* byte in the status page */
	uint8_t failed;		 /* a completion has reported a failure */
	struct cx_todo sends, receives;
	LIST_ENTRY(cx_qp) entry;
	struct kit_page sync;
};

static inline struct cx_context *to_cctx(struct ibv_context *ctx)
{
	return (struct cx_context *)to_vctx(ctx);
}

static inline struct cx_cq *to_ccq(struct ibv_cq *cq)
{
	return (struct cx_cq *)cq;
}

static inline struct cx_qp *to_cqp(struct ibv_qp *qp)
{
	return (struct cx_qp *)qp;
}

static inline struct cx_srq *to_csrq(struct ibv_srq *srq)
{
	return (struct cx_srq *)srq;
}

/* Store a word into a register. */
static inline void cx_register_write(char *at, uint32_t value)
{
	mmio_write_32(at, htole32(value));
}

/* cq.c */
int cx_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int cx_destroy_cq(struct verbs_cq *vcq);
int cx_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Let the device use the polled entries again. The caller holds the lock. */
void cx_cq_report(struct cx_cq *cq);
/* Remove the completions of a queue pair, whose number may be used again. The caller holds the
 * locks of both of its completion queues. */
void cx_cqs_clean(struct cx_qp *qp);

/* flush.c */
/* Complete the requests of a queue pair that has failed. */
void cx_flush(struct cx_qp *qp);
/* Do this for all queue pairs. The kernel has set the byte of @cq. */
void cx_flush_all(struct cx_cq *cq);
void cx_async_event(struct ibv_context *ctx, struct ibv_async_event *event);
/* Let polls look at a queue after @at entries of the completion ring. The lock is held. */
void cx_todo_add(struct cx_cq *cq, struct cx_todo *todo, uint32_t at);
void cx_todo_drop(struct cx_cq *cq, struct cx_todo *todo);

/* poll.c */
int cx_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int cx_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int cx_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int cx_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int cx_destroy_qp(struct verbs_qp *vqp);

/* What the kernel answers about a ring of requests. */
struct cx_ring_answer {
	uint64_t queue_key, registers_key, bytes;
	uint32_t slots, number, mask;
};
extern const volatile uint8_t cx_never; /* cx_ring.by_kernel of a queue without such a doorbell */
/* ring.c: map a ring and its doorbell. -EPROTO: the ring does not fit into its memory. */
int cx_ring_map(struct cx_ring *ring, struct cx_context *ctx, const struct cx_ring_answer *answer);
void cx_ring_unmap(struct cx_ring *ring);
/* Copy a request of @len16 units into the ring, and advance. */
void cx_ring_put(struct cx_ring *ring, const uint64_t *words, uint32_t len16);
/* Announce @slots by any form of doorbell but the common one. @qp: the kernel may ring for it;
 * NULL: the ring of an SRQ. @kind: IBV_QP_SQ_PSN or IBV_QP_RQ_PSN */
void cx_ring_announce(struct cx_ring *ring, uint32_t slots, struct cx_qp *qp, int kind);

/* srq.c */
int cx_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int cx_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in);
int cx_destroy_srq(struct verbs_srq *vsrq);
int cx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Take a completed receive. Return: false if it is not posted. */
bool cx_srq_take(struct cx_srq *srq, uint32_t index, uint64_t *ret_wr_id);

/* send.c, recv.c */
int cx_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int cx_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
