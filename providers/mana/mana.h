/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Microsoft Azure Network Adapter: queues of raw Ethernet that a program (DPDK) accesses directly.
 * This provider creates the queues in memory of the program and exposes them through
 * infiniband/manadv.h. It writes no requests and reads no completions.
 *
 * The kernel assigns numbers to work queues and completion queues only when a queue pair uses them.
 * Creating the queue pair stores the numbers in these objects. No lock protects them, because the
 * program reads them afterwards.
 */
#ifndef MANA_H
#define MANA_H

#include <infiniband/manadv.h>
#include <rdma/mana-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/buf.h"
#include "providers/kit/page.h"

enum {
	MANA_PAGE = 4096,	       /* page size of the adapter, not of the system */
	MANA_NUMBER_NONE = UINT32_MAX, /* no queue pair uses the queue yet */
};

struct mana_context {
	struct verbs_context vctx;
	struct kit_page doorbells;
	struct kit_allocator allocator; /* set by manadv_set_context_attr(); required for queues */
};

/* The memory of a queue. */
struct mana_queue {
	struct kit_buf buf;
	uint32_t entries; /* requested by the program */
	uint32_t bytes;	  /* size for the adapter */
	uint32_t number;
};

struct mana_cq {
	struct verbs_cq vcq;
	struct mana_queue queue;
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
int mana_alloc_parent_domain(struct verbs_pd *parent);

/* queue.c */
enum mana_queue_kind {
	MANA_QUEUE_CQ,
	MANA_QUEUE_SQ,
	MANA_QUEUE_RQ,
	MANA_QUEUE_KINDS,
};
/* Allocate memory for @entries entries of @sges buffers from the allocator of the program. Failures
 * are logged. -EINVAL: no allocator, or the queue is too long; -ENOMEM. */
int mana_queue_make(struct mana_context *ctx, enum mana_queue_kind kind, uint32_t entries,
		    uint32_t sges, struct mana_queue *ret_queue);

/* cq.c */
int mana_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mana_destroy_cq(struct verbs_cq *vcq);

/* wq.c */
int mana_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in);
int mana_destroy_wq(struct verbs_wq *vwq);
int mana_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
			      const struct verbs_create_rwq_ind_table *in);
int mana_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* qp.c */
int mana_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int mana_destroy_qp(struct verbs_qp *vqp);

#endif
