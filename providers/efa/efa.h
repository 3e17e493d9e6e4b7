/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Elastic Fabric Adapter: datagrams, plain (UD) and reliable ones that may overtake each other
 * (SRD). Every queue is mapped from the device. Send requests are written into its own memory,
 * receives and completions are in the system's. All numbers are little-endian.
 *
 * Locks, in the order in which they are taken:
 *   efa_context.qp_lock	queue pairs come and go: a number is not given again before nobody
 * who polls finds its owner
 *   efa_cq.lock	its position, and the completion that the extended poll stands on
 *   efa_wq.lock	of a send or receive queue: its position and its free ids; of a send queue
 * held from ibv_wr_start to _complete
 *
 * What the device wrote is not trusted: an id is masked and a count checked before anything is done
 * with it.
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
	EFA_QPNS = 1 << 16, /* completions have no more of a number */
	EFA_WQE_SMALL_SHIFT = 6,
	EFA_WQE_LARGE_SHIFT = 7,
	EFA_INLINE_SMALL = 32, /* bytes that a small request has room for */
	EFA_INLINE_LARGE = 80, /* and a large one */
	EFA_WQE_SGE_MAX = 2,   /* buffers that a request has room for */
	EFA_RECEIVE_SIZE = 16, /* of a buffer in the receive queue */
	EFA_CQE_SMALL = 16,    /* bytes of a completion: without and with the sender's GID */
	EFA_CQE_LARGE = 32,
	EFA_CQE_QUEUES = 4, /* names of a queue that an entry has bits for */
};

struct efa_context {
	struct verbs_context vctx;
	struct efa_ibv_alloc_ucontext_resp info;  /* as the kernel answered, checked */
	struct efa_ibv_ex_query_device_resp caps; /* 0 where the kernel does not say */
	uint32_t page_size;
	uint32_t max_rdma_sge; /* buffers of an RDMA request */
	pthread_mutex_t qp_lock;
	struct idtable qps;
	/* How often a queue pair with the number was made or reset: a part of its requests' ids,
	 * for completions of before may still come. */
	uint16_t generations[EFA_QPNS];
};

/* What a send and a receive queue share: which ids are free, and what the others stand for. */
struct efa_wq {
	struct spinlock lock;
	int max_sge;   /* of a receive; 0 in states in which nothing is taken */
	uint32_t used; /* requests that wait for their completion */
	uint32_t max_post;
	uint16_t id_mask;    /* of an id: the part that counts requests */
	uint16_t generation; /* the rest of it */
	uint16_t *ids;	     /* from `used` on: those that are free */
	uint64_t *wr_ids;
	void *doorbell;
	struct kit_page ring_page, doorbell_page;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* A flag that no request may have: the queue pair's state takes none. */
#define EFA_SQ_CLOSED (1u << 31)

struct efa_sq {
	struct efa_wq wq;
	uint32_t flags;	  /* of each request: IBV_SEND_SIGNALED, or EFA_SQ_CLOSED */
	bool plain;	  /* requests are small, and may have a buffer */
	uint8_t shift;	  /* of a request's size */
	uint32_t control; /* what each request of this round has in its first word */
	uint32_t counter; /* requests written, 16 bits of which the device wants to know */
	uint32_t mask;
	uint32_t max_batch; /* requests between two doorbells */
	uint32_t max_inline;
	uint32_t max_sge;
	bool inline_write; /* RDMA writes may have their data in the request */
	char *ring;	   /* in the device, written only */
	/* The batch between ibv_wr_start() and ibv_wr_complete(), which is built here. */
	uint64_t *built;
	struct efa_batch {
		uint32_t counter, control, used; /* before it */
		uint32_t count;
		int error;     /* the first, positive */
		uint64_t *wqe; /* the last request; NULL: none */
		uint8_t kind;  /* and where its data go: of wr.c */
	} batch;
};

struct efa_rq {
	struct efa_wq wq;
	uint32_t counter; /* buffers written */
	uint32_t mask;
	uint32_t wqe_sge; /* buffers of a receive, at most */
	uint64_t *ring;
};

/* Where the device counts: in a page of this library's, or in the program's memory. */
struct efa_comp_cntr {
	struct ibv_comp_cntr cntr;
	struct kit_buf memory;
	const uint64_t *words[2]; /* by enum verbs_comp_cntr_entry; NULL: nobody here can read it */
};

/* A part of a completion queue: a ring of its own. */
struct efa_sub_cq {
	const char *at;		 /* the next entry */
	struct efa_sub_cq *next; /* the part that is looked at after this one */
	const char *ring, *end;
	uint32_t phase; /* of an entry that is new, as it stands in one */
};

/* An entry, read once. */
struct efa_cqe {
	uint32_t low, high;
	uint64_t tail;
	const char *at; /* what small entries do not have follows here */
};

struct efa_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t stride;	 /* bytes of an entry */
	struct efa_sub_cq *next; /* to look at */
	struct efa_sub_cq *subs;
	uint32_t sub_count;
	/* Whose completion was the last one: its number, or EFA_QPNS, and those of its queues that
	 * complete here, by an entry's name for a queue. */
	uint32_t last_qpn;
	struct efa_wq *last_wqs[EFA_CQE_QUEUES];
	void *doorbell; /* or `nowhere`, of a device without */
	uint32_t consumed;
	uint32_t events; /* that the program has read, as the doorbell has them */
	uint32_t deaf;	 /* 1: the device has no doorbell, and tells of nothing */
	uint32_t nowhere;
	/* What the extended poll stands on. */
	struct efa_cqe cqe;
	struct efadv_cq dv;
	struct kit_page ring_page, doorbell_page;
	const char *ring; /* of all parts; the program's own memory, perhaps */
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
/* With the context's lock held: both rings start at their first entry, and no completion of before
 * is theirs. The round's phase goes on, as the device's does. */
void efa_qp_start(struct efa_qp *qp);
int efa_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int efa_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int efa_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode op);

/* qp_size.c: what a QP's rings are, in bytes and entries; 0 of one that it does not have. */
struct efa_qp_size {
	uint32_t sq_count, sq_shift, max_batch, max_inline;
	uint32_t rq_buffers, rq_count, rq_sge;
};
int efa_qp_size(const struct efa_context *ctx, const struct ibv_qp_cap *cap, bool inline_write,
		struct efa_qp_size *ret_size);
uint32_t efa_sq_shift(uint32_t max_inline, bool inline_write);
/* How many requests of that size, or receives of that many buffers, a queue can have. */
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
