/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Elastic Fabric Adapter: unreliable datagrams (UD) and reliable datagrams without ordering (SRD).
 * Every queue is mapped from the device driver. Send requests are written into memory of the
 * device. Receives and completions are in system memory. All numbers are little-endian.
 *
 * Locks, in the order in which they are taken:
 *
 * - efa_context.qp_lock protects the table of queue pairs. It is held while a queue pair is created
 *   or destroyed, so that a number is not used again while polling can still find its old owner.
 *
 * - efa_cq.lock protects the position in the queue and the current entry of the extended poll.
 *
 * - efa_wq.lock protects the position and the free ids of a send or receive queue. For a send queue
 *   it is held from ibv_wr_start() to ibv_wr_complete().
 *
 * Data that the device wrote are not trusted. An id is masked and a count is checked before it is
 * used.
 */
#ifndef EFA_H
#define EFA_H

#include <infiniband/efadv.h>
#include <rdma/efa-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/bytes.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

#define FLAT __attribute__((always_inline)) static inline

enum {
	EFA_QPNS = 1 << 16, /* exclusive limit of queue pair numbers in completions */
	EFA_WQE_SMALL_SHIFT = 6,
	EFA_WQE_LARGE_SHIFT = 7,
	EFA_INLINE_SMALL = 32, /* maximum inline bytes of a small request */
	EFA_INLINE_LARGE = 80, /* maximum inline bytes of a large request */
	EFA_WQE_SGE_MAX = 2,   /* maximum buffers of a request */
	EFA_RECEIVE_SIZE = 16, /* bytes of a buffer in the receive queue */
	EFA_CQE_SMALL = 16,    /* bytes of a completion: without and with the sender's GID */
	EFA_CQE_LARGE = 32,
	EFA_CQE_QUEUES = 4, /* queues of a queue pair, of which two bits of an entry select one */
};

struct efa_context {
	struct verbs_context vctx;
	struct efa_ibv_alloc_ucontext_resp info;  /* the checked answer of the kernel */
	struct efa_ibv_ex_query_device_resp caps; /* 0 in fields that the kernel does not report */
	uint32_t page_size;
	uint32_t max_rdma_sge; /* maximum buffers of an RDMA request */
	pthread_mutex_t qp_lock;
	struct idtable qps;
	/* Number of times that a queue pair with this number was created or reset. It is a part of
	 * request ids, because completions of an earlier life may still arrive. */
	uint16_t generations[EFA_QPNS];
};

/* The common part of send and receive queues: free ids, and the wr_id of each used id. */
struct efa_wq {
	struct spinlock lock;
	int max_sge;   /* maximum buffers of a receive; 0 in states that accept no receives */
	uint32_t used; /* outstanding requests */
	uint32_t max_post;
	uint16_t id_mask;    /* mask of the bits of an id that number the request */
	uint16_t generation; /* the other bits of an id */
	uint16_t *ids;	     /* free ids, from index `used` on */
	uint64_t *wr_ids;
	void *doorbell;
	struct kit_page ring_page, doorbell_page;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* A flag that no request may have. It is set in states without sending. */
#define EFA_SQ_CLOSED (1u << 31)

struct efa_sq {
	struct efa_wq wq;
	uint32_t flags;	  /* flags of each request: IBV_SEND_SIGNALED, or EFA_SQ_CLOSED */
	bool plain;	  /* requests are small, and may have a buffer */
	uint8_t shift;	  /* log2 of the bytes of a request */
	uint32_t control; /* bits of the first word of each request of this round */
	uint32_t counter; /* requests written; the device gets the lower 16 bits */
	uint32_t mask;
	uint32_t max_batch; /* requests between two doorbells */
	uint32_t max_inline;
	uint32_t max_sge;
	bool inline_write; /* RDMA writes may have inline data */
	char *ring;	   /* memory of the device, which this process only writes */
	/* The batch between ibv_wr_start() and ibv_wr_complete(), which is built here. */
	uint64_t *built;
	struct efa_batch {
		uint32_t counter, control, used; /* state of the queue at the start of the batch */
		uint32_t count;
		int error;     /* first error, positive */
		uint64_t *wqe; /* the last request; NULL: there is none */
		uint8_t kind;  /* enum efa_wqe_kind of the last request */
	} batch;
};

struct efa_rq {
	struct efa_wq wq;
	uint32_t counter; /* buffers written */
	uint32_t mask;
	uint32_t wqe_sge; /* maximum buffers of a receive */
	uint64_t *ring;
};

/* Memory of a counter that the device updates: a page of this library, or memory of the program. */
struct efa_comp_cntr {
	struct ibv_comp_cntr cntr;
	struct kit_buf memory;
	const uint64_t *words[2]; /* by enum verbs_comp_cntr_entry; NULL: not readable here */
};

/* A part of a completion queue, with a separate ring. */
struct efa_sub_cq {
	const char *at;		 /* the next entry */
	struct efa_sub_cq *next; /* the part that is polled after this one */
	const char *ring, *end;
	uint32_t phase; /* phase bit of a new entry */
};

/* An entry, read once. */
struct efa_cqe {
	uint32_t low, high;
	uint64_t tail;
	const char *at; /* address of the entry; large entries have more fields there */
};

struct efa_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t stride;	 /* bytes of an entry */
	struct efa_sub_cq *next; /* part to poll next */
	struct efa_sub_cq *subs;
	uint32_t sub_count;
	/* The queue pair of the last completion: its number, or EFA_QPNS, and its queues that use
	 * this completion queue, by the queue bits of an entry. */
	uint32_t last_qpn;
	struct efa_wq *last_wqs[EFA_CQE_QUEUES];
	void *doorbell; /* register; or `nowhere` if the device has no doorbell */
	uint32_t consumed;
	uint32_t events; /* events that the program has read, in the position of the doorbell */
	uint32_t deaf;	 /* 1: the device has no doorbell and raises no events */
	uint32_t nowhere;
	/* The current completion of the extended poll. */
	struct efa_cqe cqe;
	struct efadv_cq dv;
	struct kit_page ring_page, doorbell_page;
	const char *ring; /* ring of all parts; may be memory of the program */
};

struct efa_qp {
	struct verbs_qp vqp;
	struct efa_sq sq;
	struct efa_rq rq;
	struct efa_cq *send_cq, *recv_cq;
	struct efadv_qp dv;
};

struct efa_ah {
	struct ibv_ah ah;
	uint16_t number;
};

static inline struct efa_context *to_ectx(struct ibv_context *ctx)
{
	return (struct efa_context *)to_vctx(ctx);
}

static inline struct efa_cq *to_ecq(struct ibv_cq *cq)
{
	return (struct efa_cq *)cq;
}

static inline struct efa_qp *to_eqp(struct ibv_qp *qp)
{
	return (struct efa_qp *)qp;
}

static inline struct efa_ah *to_eah(struct ibv_ah *ah)
{
	return (struct efa_ah *)ah;
}

static inline bool efa_sq_is_open(const struct efa_sq *sq)
{
	return !(sq->flags & EFA_SQ_CLOSED);
}

static inline bool efa_can(const struct efa_context *ctx, uint32_t caps)
{
	return (ctx->caps.device_caps & caps) == caps;
}

/* Return whether ids of send requests have 64 bits. Programs that access the queues themselves use
 * all of them. This library uses the lowest 16 bits alone, which have the generation. */
static inline bool efa_has_wide_ids(const struct efa_context *ctx)
{
	return efa_can(ctx, EFA_QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID);
}

/* context.c */
int efa_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void efa_close_context(struct verbs_context *vctx);
int efa_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		     struct ibv_device_attr_ex *ret_attr);

/* cq.c */
int efa_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int efa_destroy_cq(struct verbs_cq *vcq);
int efa_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void efa_cq_event(struct verbs_cq *vcq);

/* poll.c, cq_ex.c */
int efa_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
void efa_cq_ex_set_slots(struct efa_cq *cq, uint64_t wc_flags, uint64_t dv_flags);

/* qp.c, qp_modify.c */
int efa_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int efa_destroy_qp(struct verbs_qp *vqp);
/* Restart both rings at their first entry and ignore earlier completions. The phase of the round
 * continues, as in the device. The caller holds qp_lock. */
void efa_qp_start(struct efa_qp *qp);
int efa_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int efa_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int efa_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode op);

/* qp_size.c: sizes of the rings of a QP, in bytes and entries; 0 for a missing ring. */
struct efa_qp_size {
	uint32_t sq_count, sq_shift, max_batch, max_inline;
	uint32_t rq_buffers, rq_count, rq_sge;
};
int efa_qp_size(const struct efa_context *ctx, const struct ibv_qp_cap *cap, bool inline_write,
		struct efa_qp_size *ret_size);
uint32_t efa_sq_shift(uint32_t max_inline, bool inline_write);
/* Return the maximum number of requests of a size, or of receives with a number of buffers. */
uint32_t efa_sq_depth(const struct efa_context *ctx, uint32_t shift);
uint32_t efa_rq_depth(const struct efa_context *ctx, uint32_t max_sge);

/* send.c, wr.c, recv.c */
int efa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
uint64_t efa_wr_ops(const struct efa_context *ctx, enum ibv_qp_type type);
void efa_wr_set_slots(struct efa_qp *qp, uint64_t send_ops, uint64_t dv_flags);
int efa_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* ah.c */
int efa_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);

/* comp_cntr.c */
int efa_create_comp_cntr(struct ibv_comp_cntr *ibcntr, const struct verbs_create_comp_cntr *in);
int efa_destroy_comp_cntr(struct ibv_comp_cntr *ibcntr);
int efa_read_comp_cntr(struct ibv_comp_cntr *ibcntr, enum verbs_comp_cntr_entry entry,
		       uint64_t *ret_value);

#endif
