/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intel's Ethernet adapters: rings are memory of this process, in quanta of 32 bytes (wqe.h). The
 * kernel knows each ring as a region that was registered for this purpose.
 *
 * Locks, in the order in which they are taken:
 *
 * - irdma_context.resize serialises resizes of completion queues.
 *
 * - irdma_cq.lock protects the completion rings, the shadow area of the queue, and the tails of the
 *   queues that complete there. spinlock_lock_both() orders two of them.
 *
 * - irdma_sq.lock and irdma_rq.lock protect the head of a ring. After a failure polls take them,
 *   too. irdma_srq.lock protects the head of a shared ring.
 *
 * Data that the device wrote are not trusted. A completion names its queue pair by a number of
 * irdma_context.qps, which this provider chooses.
 */
#ifndef IRDMA_H
#define IRDMA_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <rdma/irdma-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/cq_ex.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "providers/kit/region.h"
#include "util/spinlock.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum {
	IRDMA_PAGE = 4096, /* of the device, for any page size of the system */
	IRDMA_QUANTUM = 32,
	IRDMA_SHADOW = 64, /* bytes of a shadow area */
	IRDMA_DB_SEND = 0, /* places in the page of doorbells */
	IRDMA_DB_ARM = 64,
	IRDMA_HANDLE_SHIFT = 10,
};

/* The most significant bit of a header, a fragment and a completion. It changes with each wrap. */
#define IRDMA_VALID (1ull << 63)

/* Features that the kernel reports. */
enum {
	IRDMA_FEATURE_RTS_AE =
		1 << 0, /* three requests of a new iWARP connection, instead of one */
	IRDMA_FEATURE_RESIZE = 1 << 1,
	IRDMA_FEATURE_CQE_64 = 1 << 5,
	IRDMA_FEATURE_ATOMICS = 1 << 6,
	IRDMA_FEATURE_SRQ = 1 << 7,
	IRDMA_FEATURE_TIMESTAMPS = 1 << 8,
};

/* Capabilities of a queue pair that the kernel reports. */
enum {
	IRDMA_CAP_WRITE_IMM = 1 << 0,
	IRDMA_CAP_SEND_IMM = 1 << 1,
};

struct irdma_context {
	struct verbs_context vctx;
	struct verbs_pd pd; /* of completion rings */
	struct kit_page doorbells;
	pthread_mutex_t resize;
	struct idtable qps;
	uint32_t generation; /* 1 to 3 */
	uint64_t features;
	uint32_t abi;
	uint32_t max_sge, max_read_sge, max_inline, chunk;
	uint32_t max_sq, max_rq, max_srq; /* quanta */
	uint32_t max_cq, min_wq;	  /* completions; requests of the smallest ring */
	bool legacy;			  /* the driver is i40iw */
	bool raw; /* the kernel computes the sizes of rings from the program's request */
};

struct irdma_qp;
struct send_op;

/* A completion ring. */
struct irdma_ring {
	char *next, *base, *end;
	uint64_t phase; /* IRDMA_VALID in phases whose entries have the bit */
	struct kit_region memory;
	struct irdma_ring *later; /* the ring after this one; NULL: irdma_cq.ring */
};

struct irdma_cq {
	struct kit_cq kit; /* with the current completion of an extended queue */
	struct spinlock lock;
	struct irdma_ring ring;
	uint32_t stride; /* bytes of an entry */
	uint32_t generation;
	/* Queue pair of the last completion, and its name in completions; 0: none. */
	struct irdma_qp *last;
	uint64_t last_handle;
	char *shadow;
	char *doorbell;
	uint32_t number;
	bool armed_any;		 /* since the last event */
	uint32_t timestamp;	 /* of the current completion */
	struct irdma_ring *old;	 /* rings before this one, whose completions are polled first */
	struct irdma_ring *done; /* rings that were polled; freed by the next resize */
	struct kit_region shadow_memory;
};

/* A posted send, with the data of its completion. It begins as an ibv_wc does, so that a success is
 * copied. Members that are the same for each send are set at creation. */
struct irdma_sent {
	uint64_t wr_id;
	uint32_t status; /* IBV_WC_SUCCESS */
	uint32_t opcode; /* enum ibv_wc_opcode */
	uint32_t vendor_err;
	uint32_t length;
	uint32_t imm_data;
	uint32_t qp_num;
	uint32_t quanta;
	bool silent;	 /* only fills a chunk of the ring */
	uint64_t header; /* of a request in a batch, without its valid bit */
};

/* A request of ibv_wr_*(), from a builder until the next one. */
struct irdma_building {
	const struct send_op *op;  /* NULL: there is none */
	uint64_t header;	   /* without the bits of @data */
	uint64_t data;		   /* bits of the header: count of fragments, or inline bytes */
	uint64_t third;		   /* word 2 */
	uint64_t operand, compare; /* operands of an atomic operation */
	uint64_t wr_id, length;
	uint32_t imm;
	bool incomplete; /* it lacks its address or the memory of its result */
	bool placed; /* in the quanta from @at on; requests that fill a chunk begin at @before */
	uint32_t before, at;
};

/* A batch of ibv_wr_*(). ibv_wr_complete() writes the headers. */
struct irdma_batch {
	uint32_t start; /* head of the ring */
	int error;
	struct irdma_building now;
};

struct irdma_sq {
	struct spinlock lock;
	char *ring;
	struct irdma_sent *sent; /* by the first quantum */
	/* quantum of the next request, free-running; only the poster uses it */
	uint32_t head;
	_Atomic uint32_t posted; /* the same, for the poller */
	_Atomic uint32_t tail;	 /* quantum of the oldest request without a completion */
	uint32_t size;		 /* quanta, a power of 2 */
	uint32_t usable;
	uint32_t chunk; /* quanta that no request crosses, a power of 2 */
	uint32_t max_inline;
	int max_sge;	   /* -1 in states that accept no requests */
	uint64_t signaled; /* header bit of each request */
	bool plain;	   /* requests of a connection, in the newer format */
	bool datagrams, atomics, old_format, binds;
	uint32_t even_extra; /* added to an even number of fragments */
	uint32_t max_read_sge, caps;
	uint32_t number; /* little-endian */
	char *doorbell;
	atomic_bool over; /* a request has failed: later ones are flushed on demand */
	atomic_uint said; /* enum kit_fault bits that were already logged */
	struct irdma_batch batch;
};

struct irdma_rq {
	struct spinlock lock;
	char *ring;
	uint64_t *wr_ids;
	uint32_t head;		 /* receives, free-running */
	_Atomic uint32_t posted; /* the same, for the poller */
	_Atomic uint32_t tail;
	uint32_t size;	/* receives, a power of 2 */
	uint32_t shift; /* of the quanta of a receive */
	int max_sge;	/* as in irdma_sq */
	bool old_format;
	uint32_t even_extra;
	atomic_bool over;
	atomic_uint said;
};

struct irdma_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	char *ring;
	char *shadow;
	uint32_t head;
	_Atomic uint32_t tail; /* counts completions */
	uint32_t size, shift;
	int max_sge;
	atomic_uint said;
	struct kit_region memory;
};

struct irdma_qp {
	struct verbs_qp vqp;
	struct irdma_sq sq;
	struct irdma_rq rq;
	struct irdma_cq *send_cq, *recv_cq;
	struct irdma_srq *srq;
	uint32_t id;		  /* in irdma_context.qps */
	bool was_used;		  /* it was in another state than RESET */
	struct kit_region memory; /* both rings and the device's shadow area */
};

struct irdma_ah {
	struct ibv_ah ah;
	uint32_t number; /* number that the device uses */
};

static inline struct irdma_context *to_ictx(struct ibv_context *ctx)
{
	return (struct irdma_context *)to_vctx(ctx);
}

static inline struct irdma_cq *to_icq(struct ibv_cq *cq)
{
	return (struct irdma_cq *)cq;
}

static inline struct irdma_qp *to_iqp(struct ibv_qp *qp)
{
	return (struct irdma_qp *)qp;
}

static inline struct irdma_srq *to_isrq(struct ibv_srq *srq)
{
	return (struct irdma_srq *)srq;
}

static inline bool irdma_is_iwarp(const struct ibv_context *ctx)
{
	return ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Return the name of a queue pair in completions, which is never 0. */
static inline uint64_t irdma_handle(uint32_t id)
{
	return ((uint64_t)id + 1) << IRDMA_HANDLE_SHIFT;
}

/* memory.c: queues */

/*
 * Allocate zeroed memory of at least @bytes and register it.
 * @length: bytes of the region
 * @request: its purpose
 */
int irdma_memory_make(struct kit_region *memory, struct ibv_pd *pd, size_t length,
		      struct irdma_mem_reg_req request);
/* Return the binary logarithm of the quanta of the largest request. */
uint32_t irdma_shift(const struct irdma_context *ctx, uint32_t sges, uint32_t inline_bytes);
/*
 * Compute the quanta of a ring.
 * @unused: quanta that stay free
 * @most: limit
 * Return: 0 or -EINVAL.
 */
int irdma_depth(const struct irdma_context *ctx, uint32_t requests, uint32_t shift, uint32_t unused,
		uint32_t most, uint32_t *ret_depth);

/* cq.c */
/* Return the largest completion queue whose ring has at most @entries entries. */
uint32_t irdma_cqes_most(const struct irdma_context *ctx, uint32_t entries);
int irdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int irdma_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int irdma_destroy_cq(struct verbs_cq *vcq);
void irdma_cq_event(struct verbs_cq *vcq);
int irdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Remove the completions of a queue pair that the kernel has destroyed, and its number. */
void irdma_cqs_clean(struct irdma_qp *qp);
/* Free the rings before @ring, from which a completion was polled. */
void irdma_cq_pass_rings(struct irdma_cq *cq, const struct irdma_ring *ring);

/* poll.c, cq_ex.c */
int irdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/* Poll a completion; the caller holds the lock. Return: whether there is one. */
bool irdma_poll_one(struct irdma_cq *cq, struct ibv_wc *wc);
void irdma_cq_ex_set_slots(struct irdma_cq *cq, uint64_t wc_flags);

/* qp.c */
int irdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int irdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int irdma_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int irdma_destroy_qp(struct verbs_qp *vqp);
void irdma_async_event(struct ibv_context *ctx, struct ibv_async_event *event);
/* Let the kernel complete requests that were posted after a failure. */
void irdma_flush(struct irdma_qp *qp, bool sends, bool receives);

/* srq.c */
int irdma_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int irdma_destroy_srq(struct verbs_srq *vsrq);

/* send.c, wr.c, recv.c */
int irdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int irdma_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* Return the operations of this type of queue pair: IBV_QP_EX_WITH_ flags. */
uint64_t irdma_wr_ops(const struct irdma_context *ctx, enum ibv_qp_type type);
void irdma_wr_set_slots(struct irdma_qp *qp, uint64_t ops);
int irdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int irdma_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
