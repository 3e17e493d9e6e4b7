/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Microsoft Azure Network Adapter. It has two kinds of queues:
 *
 * - Queues of raw Ethernet, which a program (DPDK) accesses directly. This provider creates them in
 *   memory of the program and exposes them through infiniband/manadv.h. It writes no requests and
 *   reads no completions. The kernel assigns numbers to work queues and completion queues only when
 *   a queue pair uses them. Creating the queue pair stores the numbers in these objects. No lock
 *   protects them, because the program reads them afterwards.
 *
 * - Queues of RC, which this provider drives (rc.h). Their memory belongs to this library.
 *
 * A completion queue is of the first kind if the program has set an allocator before.
 *
 * Locks, in the order in which they are taken:
 *
 * - mana_context.qp_lock is held while an RC queue pair is created or destroyed, so that its
 * numbers are not used again before its completions are removed.
 *
 * - mana_cq.lock protects the ring, the lists of queue pairs, and the ends of the queues that
 *   complete there. spinlock_lock_both() orders two of them. A poll holds it while it moves a
 * failed queue pair to the error state.
 *
 * - mana_sq.lock and mana_rq.lock protect the posted requests.
 *
 * Data that the device wrote are not trusted. A queue pair is found through a table, and a
 * completion changes only the queue that completes in that ring.
 */
#ifndef MANA_H
#define MANA_H

#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/manadv.h>
#include <rdma/mana-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/buf.h"
#include "providers/kit/idtable.h"
#include "providers/kit/page.h"
#include "util/spinlock.h"

enum {
	MANA_PAGE = 4096,	       /* page size of the adapter, not of the system */
	MANA_NUMBER_NONE = UINT32_MAX, /* no queue pair uses the queue yet */
};

struct mana_context {
	struct verbs_context vctx;
	struct kit_page doorbells;
	/* set by manadv_set_context_attr(); required for queues of raw Ethernet */
	struct kit_allocator allocator;
	pthread_mutex_t qp_lock;
	/* RC queue pairs by the numbers of their send queues and of their receive queues */
	struct idtable by_sq, by_rq;
};

/* The memory of a queue. */
struct mana_queue {
	struct kit_buf buf;
	uint32_t entries; /* requested by the program */
	uint32_t bytes;	  /* size for the adapter */
	uint32_t number;
};

struct mana_rc;
struct mana_cqe;

/* Sends of a queue pair that are complete, and that the last poll had no room to report. */
struct mana_rest {
	struct mana_rc *qp; /* NULL: there are none */
	uint32_t psn;	    /* the last complete packet */
	uint32_t error;	    /* 0, or the cause why the next send failed */
	bool failed;
};

struct mana_cq {
	struct verbs_cq vcq;
	struct mana_queue queue;
	/* The other members are for RC. */
	struct spinlock lock;
	const struct mana_cqe *ring; /* NULL: the program polls the queue itself */
	const struct mana_cqe *next; /* entry that the device writes next */
	uint32_t old_phase;	     /* phase of @next until then */
	uint32_t mask;		     /* entries - 1 */
	uint32_t round_shift;	     /* bits of an index in the ring */
	uint32_t head;		     /* entries that were read; the first is one round */
	uint32_t credit_end;	     /* value of @head at which the device has to learn it */
	bool overrun;		     /* the device wrote over unread entries, which is logged */
	struct mana_rest rest;
	/* Queue pair of the last completion, and its number as the device writes it. */
	struct mana_rc *last;
	uint32_t last_word;  /* MANA_NUMBER_NONE: the queue pair may have been destroyed */
	atomic_bool flushes; /* a queue pair failed and is to be flushed, or there is a @rest */
	LIST_HEAD(, mana_rc) senders;
	LIST_HEAD(, mana_rc) receivers;
};

struct mana_wq {
	struct verbs_wq vwq;
	struct mana_queue queue;
};

struct mana_rwq_ind_table {
	struct ibv_rwq_ind_table table;
	uint32_t count;
	struct mana_wq **wqs; /* the kernel keeps them alive as long as the table */
};

/* A receiving queue pair has no memory, because it uses the work queues of its table. */
struct mana_qp {
	struct verbs_qp vqp;
	struct mana_queue sq;
	uint32_t tx_vp_offset;
};

static inline struct mana_context *to_mctx(struct ibv_context *ctx)
{
	return (struct mana_context *)to_vctx(ctx);
}

static inline struct mana_cq *to_mcq(struct ibv_cq *cq)
{
	return (struct mana_cq *)cq;
}

static inline struct mana_wq *to_mwq(struct ibv_wq *wq)
{
	return (struct mana_wq *)wq;
}

static inline struct mana_qp *to_mqp(struct ibv_qp *qp)
{
	return (struct mana_qp *)qp;
}

/* context.c */
int mana_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void mana_close_context(struct verbs_context *vctx);
int mana_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr);
int mana_alloc_parent_domain(struct verbs_pd *parent);

/* queue.c */
enum mana_queue_kind {
	MANA_QUEUE_CQ,
	MANA_QUEUE_SQ,
	MANA_QUEUE_RQ,
	MANA_QUEUE_RC_SQ,
	MANA_QUEUE_KINDS,
};
/* Return the bytes of a queue of @entries entries of @sges buffers: a power of two, at least a
 * page. 0: the queue is too long, which is logged. */
uint32_t mana_queue_bytes(struct ibv_context *ctx, enum mana_queue_kind kind, uint32_t entries,
			  uint32_t sges);
/* Allocate memory for @entries entries of @sges buffers from the allocator of the program. Failures
 * are logged. -EINVAL: no allocator, or the queue is too long; -ENOMEM. */
int mana_queue_make(struct mana_context *ctx, enum mana_queue_kind kind, uint32_t entries,
		    uint32_t sges, struct mana_queue *ret_queue);

/* cq.c */
int mana_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mana_destroy_cq(struct verbs_cq *vcq);
int mana_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);

/* poll.c */
int mana_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* wq.c */
int mana_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in);
int mana_destroy_wq(struct verbs_wq *vwq);
int mana_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
			      const struct verbs_create_rwq_ind_table *in);
int mana_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* qp.c */
int mana_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int mana_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int mana_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int mana_destroy_qp(struct verbs_qp *vqp);

/* send.c, recv.c */
int mana_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mana_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
