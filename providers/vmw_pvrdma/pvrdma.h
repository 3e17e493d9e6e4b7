/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VMware's paravirtual adapter: work requests and completions travel through rings in the memory of
 * this process, which the device reads and writes (ring.h). A page of registers, which all objects
 * of a context share, announces new requests. Formats are in rdma/vmw_pvrdma-abi.h. Fields have the
 * byte order of the processor, which is x86.
 *
 * Locks, in the order in which they are taken:
 *
 * - pvrdma_context.qp_lock protects the table of queue pairs. It is held while a queue pair is
 *   created or destroyed, so that a handle is not used again before its completions are removed.
 *
 * - pvrdma_cq.lock protects the completion ring. spinlock_lock_both() orders the locks of two
 *   completion queues.
 *
 * - pvrdma_sq.lock and pvrdma_rq.lock protect a ring of requests.
 *
 * The registers need no lock, because each store writes one word.
 *
 * Data that the device wrote are not trusted. An index is checked, and an object is found through a
 * table, before it is used.
 */
#ifndef PVRDMA_H
#define PVRDMA_H

#include <stddef.h>
#include <string.h>
#include <rdma/vmw_pvrdma-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "providers/vmw_pvrdma/ring.h"
#include "util/spinlock.h"

enum {
	PVRDMA_HANDLE_MASK = 0xffff, /* bits of the handle of a queue pair in completions */
	PVRDMA_NO_NAME = PVRDMA_HANDLE_MASK + 1,
};

/* PVRDMA_UAR_QP_RECV and PVRDMA_UAR_CQ_POLL, as unsigned constants. */
#define PVRDMA_DOORBELL_RECV (1u << 31)
#define PVRDMA_DOORBELL_POLL (1u << 31)

struct pvrdma_context {
	struct verbs_context vctx;
	uint32_t page_size;
	struct kit_page uar;
	pthread_mutex_t qp_lock;
	/* Numbers of queue pairs, by the bits of the handle in completions. The table does not hold
	 * the objects, because a completion may name a destroyed queue pair. */
	struct idtable qpns;
};

struct pvrdma_pd {
	struct verbs_pd vpd;
	uint32_t pdn;
};

/* The first page of @buf holds the words of the ring. They are those for receives. */
struct pvrdma_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	/* ring whose index counts the entries that the process has polled */
	struct pvrdma_ring ring;
	/* The queue pair of the last completion: the bits of its handle in completions, or
	 * PVRDMA_NO_NAME if it may be destroyed, and its number. */
	uint32_t last_name, last_qpn;
	uint32_t cqn, word_arm, word_arm_solicited, word_poll; /* word_*: register values */
	char *uar;
	struct kit_buf buf;
	bool said; /* an invalid ring is logged already */
};

/* The receive ring of a queue pair or of an SRQ. */
struct pvrdma_rq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no requests */
	struct pvrdma_ring ring;
	uint32_t doorbell;
	char *reg;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct pvrdma_sq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no requests */
	struct pvrdma_ring ring;
	uint32_t doorbell;
	char *reg;
	uint32_t ops;	  /* bit n: IBV_WR_n is possible */
	atomic_uint said; /* as in pvrdma_rq */
};

/* The first page of @sq_buf holds the words of both rings. */
struct pvrdma_qp {
	struct verbs_qp vqp;
	struct pvrdma_sq sq;
	struct pvrdma_rq rq;
	uint32_t handle;
	struct pvrdma_cq *send_cq, *recv_cq;
	struct kit_buf sq_buf, rq_buf;
};

struct pvrdma_srq {
	struct verbs_srq vsrq;
	struct pvrdma_rq rq;
	struct kit_buf buf;
};

struct pvrdma_ah {
	struct ibv_ah ah;
	struct pvrdma_av av;
};

static inline void pvrdma_cq_name(struct pvrdma_cq *cq, uint32_t cqn)
{
	cq->cqn = cqn;
	cq->word_arm = cqn | PVRDMA_UAR_CQ_ARM;
	cq->word_arm_solicited = cqn | PVRDMA_UAR_CQ_ARM_SOL;
	cq->word_poll = cqn | PVRDMA_DOORBELL_POLL;
}

static inline struct pvrdma_context *to_pctx(struct ibv_context *ctx)
{
	return (struct pvrdma_context *)to_vctx(ctx);
}

static inline struct pvrdma_cq *to_pcq(struct ibv_cq *cq)
{
	return (struct pvrdma_cq *)cq;
}

static inline struct pvrdma_qp *to_pqp(struct ibv_qp *qp)
{
	return (struct pvrdma_qp *)qp;
}

static inline struct pvrdma_srq *to_psrq(struct ibv_srq *srq)
{
	return (struct pvrdma_srq *)srq;
}

_Static_assert(sizeof(struct pvrdma_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct pvrdma_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct pvrdma_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "an entry is verbs'");

static inline void pvrdma_sge_write(struct pvrdma_sge *to, const struct ibv_sge *from)
{
	memcpy(to, from, sizeof(*to));
}

/* Return the table entry for a number, which is never NULL. */
static inline void *pvrdma_qpn_entry(uint32_t qpn)
{
	return (void *)((uintptr_t)qpn + 1);
}

/* Find the number of the queue pair with the handle. Return: whether it exists. */
static inline bool pvrdma_qpn_find(struct pvrdma_context *ctx, uint64_t handle, uint32_t *ret_qpn)
{
	uintptr_t entry = (uintptr_t)idtable_find(&ctx->qpns, handle & PVRDMA_HANDLE_MASK);

	*ret_qpn = entry - 1;
	return entry;
}

/* context.c */
int pvrdma_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void pvrdma_close_context(struct verbs_context *vctx);
int pvrdma_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *ret_attr);
int pvrdma_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
/* Allocate a page for the words of rings and @bytes behind it. -EINVAL: too many bytes, which is
 * logged; -ENOMEM. */
int pvrdma_buf_alloc(struct ibv_context *ctx, struct kit_buf *buf, uint64_t bytes);

/* cq.c */
int pvrdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int pvrdma_destroy_cq(struct verbs_cq *vcq);
int pvrdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Remove the completions of a queue pair from both its queues. @gone: also remove it from the
 * table, so that polling no longer finds it. */
void pvrdma_cqs_clean(struct pvrdma_qp *qp, bool gone);

/* poll.c */
int pvrdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/* Return the number of entries. -EIO: the tail of the device is invalid. The caller holds the lock.
 */
int pvrdma_cq_look(struct pvrdma_cq *cq);

/* qp.c */
int pvrdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int pvrdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int pvrdma_destroy_qp(struct verbs_qp *vqp);

/* srq.c */
int pvrdma_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int pvrdma_destroy_srq(struct verbs_srq *vsrq);

/* send.c, recv.c */
int pvrdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Return the value of pvrdma_sq.ops for a type. */
uint32_t pvrdma_send_ops(enum ibv_qp_type type);
int pvrdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int pvrdma_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);

/* ah.c */
int pvrdma_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int pvrdma_destroy_ah(struct ibv_ah *ibah);

#endif
