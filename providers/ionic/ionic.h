/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * AMD Pensando's Ethernet adapters. The rings of requests and completions (wqe.h) are memory of
 * this process. The driver may grant memory of the device for a queue of requests. Then this
 * library writes each request into the ring and copies it into that memory.
 *
 * A device has one or two pipelines, which execute requests. A queue pair belongs to one pipeline.
 * A completion queue has a ring for each pipeline.
 *
 * Locks, in the order in which they are taken:
 *
 * - ionic_context.qp_lock is held while a queue pair is created or destroyed, so that its number is
 *   not used again before its completions are removed.
 *
 * - ionic_cq.lock protects the completion rings, the tails of the queues that complete there, and
 *   the lists of these queues. spinlock_lock_both() orders two of them.
 *
 * - ionic_sq.lock and ionic_rq.lock protect the head of a ring.
 *
 * Data that the device wrote are not trusted. A completion names its queue pair by a number of
 * ionic_context.qps, which the kernel assigned.
 */
#ifndef IONIC_H
#define IONIC_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>
#include <rdma/ionic-abi.h>

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

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum {
	IONIC_PIPELINES = 2,
	IONIC_NUMBER_SHIFT = 24, /* place of a queue's number in a doorbell */
	IONIC_NUMBER_MASK = (1 << 24) - 1,
	IONIC_NO_QP = IONIC_NUMBER_MASK, /* number in removed completions */
};

/* Resource types for the allocator of a parent domain. The upper half of a type is the number of
 * the driver. */
enum ionic_resource {
	IONIC_RESOURCE_CQ = 1,
	IONIC_RESOURCE_SQ,
	IONIC_RESOURCE_RQ,
};

/* Bits of a doorbell in addition to the index and the number. */
#define IONIC_ARM_ANY	    (1u << 16)
#define IONIC_ARM_SOLICITED (1u << 17)

struct ionic_context {
	struct verbs_context vctx;
	struct kit_page doorbells, clock; /* @clock may be unmapped */
	pthread_mutex_t qp_lock;
	struct idtable qps;
	char *sq_doorbell, *rq_doorbell, *cq_doorbell;
	uint8_t sq_type, rq_type; /* queue types in express doorbells */
	uint32_t page_shift;	  /* binary logarithm of the kernel's page size */
	uint8_t version;	  /* version of the format of requests */
	uint8_t max_stride;	  /* binary logarithm of the bytes of the largest request */
	uint8_t max_spec;	  /* most entries of a list with the lengths in front; 0: none */
	uint8_t pipelines;	  /* count */
	uint8_t express_sizes, express_queues; /* IONIC_EXPDB_ bits */
};

struct ionic_pd {
	struct verbs_pd vpd;
	uint8_t pipelines;	/* bits */
	uint8_t sq_cmb, rq_cmb; /* IONIC_CMB_ bits: preferences for memory of the device */
};

/* The memory of a ring. */
struct ionic_ring {
	struct kit_buf buf;
	uint32_t mask;	/* mask of a position, and number of requests that fit */
	uint32_t shift; /* binary logarithm of the bytes of a place */
};

struct ionic_qp;

LIST_HEAD(ionic_qps, ionic_qp);

/* The completion ring of a pipeline. */
struct ionic_cq_ring {
	char *next; /* entry that the next poll reads; NULL: there is no ring */
	char *base, *end;
	uint32_t color;	      /* color bit of entries that the device has written in this phase */
	bool applied;	      /* the next entry was applied, but completions of it are left */
	int32_t until_report; /* entries that may be polled before the next doorbell */
	uint32_t number;
	uint32_t armed_any, armed_solicited; /* numbers of armings */
	struct ionic_ring memory;
};

struct ionic_cq {
	struct kit_cq kit; /* includes the current completion of an extended queue */
	struct spinlock lock;
	struct ionic_cq_ring rings[IONIC_PIPELINES];
	uint8_t pipelines; /* bits */
	bool stamps;	   /* completions have a time */
	uint32_t turn;	   /* pipeline with which the next poll begins */
	int32_t report;	   /* initial ionic_cq_ring.until_report after a doorbell */
	/* Queue pair of the last completion, and its number; IONIC_NO_QP: none. */
	struct ionic_qp *last;
	uint32_t last_number;
	atomic_bool flushes; /* a queue pair may have requests that a poll must flush */
	struct ionic_qps senders, receivers;
	uint64_t time;		       /* time of the last completion, in cycles */
	struct ionic_clock_info clock; /* clock for the current completion of an extended queue */
};

/* A posted send, with the data of its completion. The first members are those of an ibv_wc, so that
 * a poll copies them. Members that are the same for each send are set when the queue pair is
 * created. */
struct ionic_sent {
	uint64_t wr_id;
	uint32_t status; /* IBV_WC_SUCCESS, until the device reports a failure */
	uint32_t opcode; /* enum ibv_wc_opcode */
	uint32_t vendor_err;
	uint32_t length;
	uint32_t imm_data;
	uint32_t qp_num;
	uint32_t extent;  /* bytes of its place in the ring that were written */
	uint32_t message; /* number of this message; for a local request: of the message before */
	bool signaled;
	bool local; /* local request: it has a completion entry of its own */
	bool done;  /* local request: the device has completed it */
	uint64_t time;
};

struct send_op;

/* A batch of ibv_wr_*(). */
struct ionic_batch {
	uint32_t start, messages; /* state of the queue at the start of the batch */
	int error;
	const struct send_op *op; /* operation of the current request; NULL: there is none */
	uint64_t wr_id;
	uint64_t head, data;	   /* word at AT_HEAD; @data: the part that describes the data */
	uint64_t operand, compare; /* operands of an atomic */
	uint32_t key, length, extent;
	bool incomplete; /* the current request lacks its address or the memory of its result */
};

/* The ring of a queue pair, and its copy in the device. */
struct ionic_wq {
	struct ionic_ring memory;
	struct kit_page copy;
	uint8_t cmb;  /* IONIC_CMB_ bits that the kernel granted */
	uint8_t spec; /* most entries of a list with the lengths in front; up to 2: none */
};

struct ionic_sq {
	struct spinlock lock;
	char *ring;
	struct ionic_sent *sent; /* facts of each request, by position in the ring */
	uint32_t head;		 /* next request, free-running; only for posts */
	_Atomic uint32_t posted; /* copy of @head for polls */
	_Atomic uint32_t tail;	 /* oldest request without a completion, free-running */
	uint32_t mask, shift;
	uint32_t max_inline;
	int max_sge; /* -1 in states that accept no requests */
	bool datagrams;
	uint8_t version, spec;
	uint64_t signaled; /* header bit of each request */
	char *doorbell;
	uint64_t number;    /* number of the queue, shifted for a doorbell */
	uint32_t messages;  /* posted messages, free-running; only for posts */
	uint32_t completed; /* completed messages, free-running; only for polls */
	atomic_bool over;   /* polls flush the remaining requests */
	atomic_uint said;   /* enum kit_fault bits that were already logged */
	struct ionic_wq wq;
	struct ionic_batch batch;
};

/* A posted receive. */
struct ionic_received {
	uint64_t wr_id;
	uint32_t extent; /* as in ionic_sent */
	atomic_bool posted;
};

struct ionic_rq {
	struct spinlock lock;
	char *ring;
	struct ionic_received *received; /* facts of each receive, by position in the ring */
	uint32_t head;			 /* position */
	uint32_t first;			 /* position behind the last completed receive */
	bool unordered;			 /* a receive was completed before an earlier one */
	uint32_t mask, shift;
	int max_sge; /* as in ionic_sq */
	uint8_t spec;
	char *doorbell;
	uint64_t number;
	atomic_bool over;
	atomic_uint said;
	struct ionic_wq wq;
};

struct ionic_qp {
	struct verbs_qp vqp;
	struct ionic_sq sq;
	struct ionic_rq rq;
	struct ionic_cq *send_cq, *recv_cq;
	uint32_t number;
	uint32_t pipeline;
	LIST_ENTRY(ionic_qp) sender, receiver;
};

struct ionic_ah {
	struct ibv_ah ah;
	uint32_t number; /* number of the address in the device */
};

static inline struct ionic_context *to_ioctx(struct ibv_context *ctx)
{
	return (struct ionic_context *)to_vctx(ctx);
}

static inline struct ionic_pd *to_iopd(struct ibv_pd *pd)
{
	return (struct ionic_pd *)pd;
}

static inline struct ionic_cq *to_iocq(struct ibv_cq *cq)
{
	return (struct ionic_cq *)cq;
}

static inline struct ionic_qp *to_ioqp(struct ibv_qp *qp)
{
	return (struct ionic_qp *)qp;
}

/* Write a doorbell. @number: number of the queue, shifted; @low: index and bits */
FLAT void ionic_ring(char *doorbell, uint64_t number, uint32_t low)
{
	barrier_to_device();
	mmio_write_64(doorbell, htole64(number | low));
}

/* ring.c: the size of rings */

/*
 * Allocate a ring with more than @entries places of @stride bytes.
 * @type: resource type that is passed to the allocator of @parent, which may be NULL
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ionic_ring_make(const struct ionic_context *ctx, struct ionic_ring *ring, uint32_t entries,
		    uint32_t stride, struct verbs_pd *parent, enum ionic_resource type);
void ionic_ring_free(struct ionic_ring *ring);
/* Return the description of a ring for the kernel. */
struct ionic_qdesc ionic_ring_describe(const struct ionic_ring *ring);

/* clock.c */
/* Map the clock page, if the device has one. */
void ionic_clock_map(struct ionic_context *ctx, uint64_t key);
/* Read the clock page consistently. Return: 0, or -EBUSY if the kernel changed the page during each
 * try. */
int ionic_clock_read(const struct ionic_context *ctx, struct ionic_clock_info *ret_info);
uint64_t ionic_clock_ns(const struct ionic_clock_info *info, uint64_t time);

/* cq.c */
int ionic_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int ionic_destroy_cq(struct verbs_cq *vcq);
int ionic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Report to the device how far a ring was polled. */
void ionic_cq_report(struct ionic_cq *cq, struct ionic_cq_ring *ring);
/* Add a queue pair that the kernel has created to the lists of its completion queues. */
void ionic_cqs_attach(struct ionic_qp *qp);
/* Remove the completions of a queue pair. @gone: remove it from the lists and the table as well;
 * otherwise empty its rings. */
void ionic_cqs_clean(struct ionic_qp *qp, bool gone);
/* Let polls flush the posted requests. */
void ionic_flush(struct ionic_qp *qp, bool sends, bool receives);

/* poll.c, cq_ex.c */
int ionic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/* Poll a completion; the caller holds the lock. Return: whether there is one. */
bool ionic_poll_one(struct ionic_cq *cq, struct ibv_wc *wc);
void ionic_cq_ex_set_slots(struct ionic_cq *cq, uint64_t wc_flags);

/* qp.c */
int ionic_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int ionic_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int ionic_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int ionic_destroy_qp(struct verbs_qp *vqp);

/* size.c: the sizes of requests */

/* Return the largest number of entries of a list with the lengths in front, for requests of
 * @entries. 0: none */
uint32_t ionic_spec(const struct ionic_context *ctx, uint32_t entries);
/* Return the bytes of a request. @express: with an express doorbell */
uint32_t ionic_send_size(uint32_t entries, uint32_t spec, uint32_t inline_bytes, bool express);
uint32_t ionic_recv_size(uint32_t entries, uint32_t spec, bool express);
/* Return the entries and the inline data of a request of 1 << @shift bytes. */
uint32_t ionic_max_sge(uint32_t shift, uint32_t spec, bool express);
uint32_t ionic_max_inline(uint32_t shift, bool express);

/* copy.c: copies of requests in memory of the device */

/* Copy the requests from position @from up to @to, and announce them. */
void ionic_copy_announce(const struct ionic_wq *wq, uint32_t from, uint32_t to, char *doorbell,
			 uint64_t number);

/* send.c, wr.c, recv.c */
int ionic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int ionic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* Return the operations of this type of queue pair: IBV_QP_EX_WITH_ flags. */
uint64_t ionic_wr_ops(enum ibv_qp_type type);
void ionic_wr_set_slots(struct ionic_qp *qp, uint64_t ops);
int ionic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
