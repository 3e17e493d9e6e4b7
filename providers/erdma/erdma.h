/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Alibaba's elastic adapter: connected queue pairs whose rings are memory of this process
 * (wqe.h). The process announces requests by a doorbell record in memory, and then by a register.
 * The adapter does not read how far the process has polled, except when a queue is armed.
 *
 * Locks, in the order in which they are taken:
 *
 * - erdma_context.qp_lock is held while a queue pair is created or destroyed, so that its number
 *   is not used again before its completions are removed.
 *
 * - erdma_cq.lock protects the completion ring, the tails of the queues that complete there, and
 *   the membership of queue pairs in the table. spinlock_lock_both() orders two of them.
 *
 * - erdma_sq.lock and erdma_rq.lock protect the head of a ring.
 *
 * Data that the device wrote are not trusted. An index is masked, and a queue pair is found
 * through the table, before it is used.
 */
#ifndef ERDMA_H
#define ERDMA_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <rdma/erdma-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/dbrec.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

enum {
	/* bytes of a page of the device; buffers consist of such pages on any host */
	ERDMA_PAGE = 4096,
};
#define ERDMA_QPN_NONE UINT64_MAX

struct erdma_context {
	struct verbs_context vctx;
	struct kit_page send_page, recv_page, cq_page; /* doorbells */
	/* offset of the context's own doorbell for sends */
	uint32_t send_offset;
	/* the context has no own doorbell: the number of the queue pair selects one */
	bool send_shared;
	bool iwarp; /* the kernel connects queue pairs, and no call informs the library */
	struct dbrec_pool records;
	pthread_mutex_t qp_lock;
	struct idtable qps;
};

struct erdma_cqe;

struct erdma_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t counter;	      /* entries that the process has polled */
	uint32_t phase;		      /* 0 or 1 << 31, alternating with each wrap of the ring */
	const struct erdma_cqe *next; /* entry that the device writes next */
	const struct erdma_cqe *ring, *end;
	/* Queue pair of the last completion, and its number as the device writes it. */
	struct erdma_qp *last;
	uint64_t last_qpn; /* ERDMA_QPN_NONE: the queue pair may have been destroyed */
	/* next arming without its counter: number of armings, number of events, and the CQN */
	uint64_t word;
	uint64_t *record;
	char *doorbell;
	struct kit_buf buf;
};

/* Data of a posted send that its completion needs, by its first block. */
struct erdma_sent {
	uint64_t wr_id;
	uint16_t end; /* block behind it */
};

struct erdma_sq {
	struct spinlock lock;
	uint16_t head;	       /* block behind the last request */
	_Atomic uint16_t tail; /* block behind the last completed request */
	uint32_t mask;	       /* blocks - 1 */
	char *ring;
	struct erdma_sent *sent;
	/* number of the queue pair at its position in a request and in the doorbell */
	uint64_t qpn;
	uint64_t always; /* bits of each request: @qpn, and whether each request completes */
	uint32_t max_inline;
	int max_sge; /* -1 in states that accept no requests */
	uint64_t *record;
	char *doorbell;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* The part of a receive queue that does not change. */
struct erdma_rq_ring {
	char *slots;
	uint64_t *wr_ids;
	uint64_t qpn; /* number of the queue pair at its position in an entry */
	uint64_t *record;
	char *doorbell;
	uint32_t mask; /* entries - 1 */
};

struct erdma_rq {
	struct spinlock lock;
	uint16_t head;
	_Atomic uint16_t tail;
	int max_sge; /* as in erdma_sq */
	struct erdma_rq_ring ring;
	atomic_uint said;
};

struct erdma_qp {
	struct verbs_qp vqp;
	struct erdma_sq sq;
	struct erdma_rq rq;
	struct erdma_cq *send_cq, *recv_cq;
	uint32_t number; /* number that the device uses */
	struct kit_buf buf;
};

static inline struct erdma_context *to_ectx(struct ibv_context *ctx)
{
	return (struct erdma_context *)to_vctx(ctx);
}

static inline struct erdma_cq *to_ecq(struct ibv_cq *cq)
{
	return (struct erdma_cq *)cq;
}

static inline struct erdma_qp *to_eqp(struct ibv_qp *qp)
{
	return (struct erdma_qp *)qp;
}

/* Allocate a record of two words of 64 bits, which are 0. NULL: no memory. */
uint64_t *erdma_record_alloc(struct erdma_context *ctx);
void erdma_record_free(struct erdma_context *ctx, uint64_t *record);

/* Store a doorbell into the record and then into the register. */
static inline void erdma_ring(uint64_t *record, char *doorbell, uint64_t raw)
{
	*(volatile uint64_t *)record = raw;
	barrier_to_device();
	mmio_write_64(doorbell, raw);
}

/* cq.c */
int erdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int erdma_destroy_cq(struct verbs_cq *vcq);
void erdma_cq_event(struct verbs_cq *vcq);
int erdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Remove the completions of a queue pair, which the kernel has destroyed, and the queue pair from
 * the table. */
void erdma_cqs_clean(struct erdma_qp *qp);

/* poll.c */
int erdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int erdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int erdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int erdma_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int erdma_destroy_qp(struct verbs_qp *vqp);

/* send.c, recv.c */
int erdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int erdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
