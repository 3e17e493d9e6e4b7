/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marvell's FastLinQ adapters, with RoCE or iWARP. All rings are memory of this library, and end
 * with their last page, so that they may be longer than requested. Requests and receives take one
 * or more elements of 16 bytes (wqe.h). A doorbell has the number of requests since the last reset.
 * An idle queue of sends may also give its first request to the adapter through the doorbell page
 * (dpm.c).
 *
 * The kernel may repeat a doorbell that the adapter has dropped. It reads the value in a page of
 * the queue, in which this library stores each doorbell as well.
 *
 * Locks, in the order in which they are taken:
 *
 * - qedr_context.qp_lock is held while a queue pair is created or destroyed, so that its number is
 *   not used again before its completions are removed.
 *
 * - qedr_cq.lock protects the completion ring, the tails of the queues that complete there, and the
 *   membership of queue pairs and XRC SRQs in the tables. spinlock_lock_both() orders two of them.
 *
 * - qedr_sq.lock and qedr_rq.lock protect the head of a ring, and qedr_srq.lock that of a shared
 * one.
 *
 * - qedr_context.dpm_lock protects the part of the doorbell page that takes requests. A thread that
 *   cannot take the lock immediately rings a doorbell instead.
 *
 * Data that the device wrote are not trusted. A count is checked, and a queue pair is found through
 * the table, before it is used.
 */
#ifndef QEDR_H
#define QEDR_H

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/qedr-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

/* Requests through the doorbell page. */
struct qedr_dpm {
	bool lists;		       /* requests with lists */
	bool data;		       /* requests with inline data, as packets */
	bool acknowledged;	       /* each packet asks for an acknowledgement */
	uint32_t list_most, data_most; /* bytes */
	uint32_t piece;		       /* bytes between two flushes */
};

struct qedr_context {
	struct verbs_context vctx;
	struct kit_page doorbells;
	uint32_t max_send_wr, max_recv_wr, max_srq_wr, max_cqe;
	uint32_t send_elements; /* of the ring, for each request */
	uint32_t recv_sge;
	bool iwarp;
	struct qedr_dpm dpm;
	struct spinlock dpm_lock;
	pthread_mutex_t qp_lock;
	struct idtable qps;
	struct idtable xrc_srqs;
};

/* A register, and the word in which the kernel finds its last value. */
struct qedr_doorbell {
	char *reg;
	uint64_t *record;
	uint64_t spare; /* the record, if the kernel repeats no doorbells */
	struct kit_page page;
};

struct qedr_qp;

struct qedr_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	/* Address of the next entry, with the phase bit of a valid entry as bit 0. A poll
	 * reads it without the lock. */
	_Atomic uintptr_t next;
	char *ring, *end;
	uint32_t consumed;    /* entries */
	uint32_t base;	      /* the doorbell's first word, without a request for an event */
	uint32_t word;	      /* @base with the last request for an event */
	uint64_t last_cookie; /* as in an entry, or QEDR_COOKIE_NONE */
	struct qedr_qp *last; /* queue pair of the last completion */
	struct qedr_doorbell doorbell;
	struct kit_buf buf;
};

/* A posted send. */
struct qedr_sent {
	uint64_t wr_id;
	uint32_t length;
	uint8_t opcode; /* enum ibv_wc_opcode */
	bool signaled;
};

struct qedr_sq {
	struct spinlock lock;
	char *ring, *at, *end;	     /* @at: next element */
	_Atomic uint16_t head, tail; /* numbers of requests, free-running */
	uint16_t mask;		     /* of @sent */
	uint16_t icid;
	uint32_t max_post; /* 0 in states that accept no requests */
	int max_sge;
	uint32_t max_inline;
	uint8_t before; /* elements of the last request */
	uint8_t always; /* FLAG_SIGNALED if every request completes */
	bool xrc, atomics;
	bool dpm;      /* an idle queue may use the doorbell page */
	bool dpm_data; /* also for inline data */
	struct qedr_sent *sent;
	struct qedr_doorbell doorbell;
	struct kit_buf buf;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct qedr_rq {
	struct spinlock lock;
	char *ring, *at, *end;
	_Atomic uint16_t head, tail;
	uint16_t mask;
	uint16_t icid;
	uint32_t max_post;
	int max_sge;
	uint64_t *wr_ids;
	struct qedr_doorbell doorbell;
	char *flags; /* register that iWARP has in addition; or NULL */
	struct kit_buf buf;
	atomic_uint said;
};

/* A shared receive queue. The device has the numbers of its requests in the completions. */
struct qedr_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	char *ring, *at, *end;
	uint32_t elements, posted; /* so far, as the device reads them */
	atomic_uint consumed;	   /* receives */
	uint32_t max_post;
	int max_sge;
	uint32_t number;
	struct kit_buf buf, pair;
	atomic_uint said;
};

struct qedr_qp {
	struct verbs_qp vqp;
	struct qedr_sq sq;
	struct qedr_rq rq;
	struct qedr_cq *send_cq, *recv_cq; /* NULL: the type of the queue pair has none */
	struct qedr_srq *srq;
	uint32_t cookie; /* number in the table, plus 1; 0: another process made the queue pair */
};

static inline struct qedr_context *to_qctx(struct ibv_context *ctx)
{
	return (struct qedr_context *)to_vctx(ctx);
}

static inline struct qedr_cq *to_qcq(struct ibv_cq *cq)
{
	return (struct qedr_cq *)cq;
}

static inline struct qedr_qp *to_qqp(struct ibv_qp *qp)
{
	return (struct qedr_qp *)qp;
}

static inline struct qedr_srq *to_qsrq(struct ibv_srq *srq)
{
	return (struct qedr_srq *)srq;
}

/* qedr.c: set up the register at @offset, and map the page with its record, if @key is not 0.
 * @bytes: of the register. Return: 0 or a negative errno. */
int qedr_doorbell_open(struct qedr_context *ctx, struct qedr_doorbell *doorbell, uint32_t offset,
		       uint32_t bytes, uint64_t key);
/* Return the register of 4 bytes at @offset, or NULL. */
char *qedr_register(struct qedr_context *ctx, uint32_t offset, uint32_t bytes);

/* cq.c */
int qedr_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int qedr_destroy_cq(struct verbs_cq *vcq);
void qedr_cq_event(struct verbs_cq *vcq);
int qedr_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Remove the completions of a queue pair, whose number may be used again. The caller holds the
 * locks of both completion queues, which the two functions below take and release. */
void qedr_cqs_clean(struct qedr_qp *qp);
/* Remove the completions of an XRC SRQ. The caller holds the lock. */
void qedr_cq_clean_srq(struct qedr_cq *cq, const struct qedr_srq *srq);
void qedr_cqs_lock(struct qedr_qp *qp);
void qedr_cqs_unlock(struct qedr_qp *qp);

/* poll.c */
int qedr_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int qedr_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int qedr_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int qedr_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int qedr_destroy_qp(struct verbs_qp *vqp);

/* send.c, recv.c */
int qedr_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int qedr_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* dpm.c: give the first request of an idle queue to the adapter. @request, @size: the request as in
 * the ring, and its elements. @number: of the doorbell. Return: false: the caller has to ring it.
 */
bool qedr_dpm_post(struct qedr_qp *qp, const struct ibv_send_wr *wr, const uint64_t *request,
		   uint32_t size, uint16_t number);

/* srq.c */
int qedr_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int qedr_destroy_srq(struct verbs_srq *vsrq);
int qedr_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
