/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Microsoft Azure Network Adapter: queues of raw Ethernet, which a program (DPDK) drives itself.
 * What is here makes them, in memory of the program's, and shows them by infiniband/manadv.h; no
 * request is written and no completion read by this library.
 *
 * The kernel gives numbers of work queues and completion queues only when a queue pair uses them.
 * These are written into objects of the program then, by whoever creates the queue pair: no lock
 * protects them, as the program asks for them afterwards.
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
	MANA_PAGE = 4096,	       /* of the adapter, whatever the system's are */
	MANA_NUMBER_NONE = UINT32_MAX, /* no queue pair uses the queue yet */
};

struct mana_context {
	struct verbs_context vctx;
	struct kit_page doorbells;
	struct kit_allocator allocator; /* of manadv_set_context_attr(); queues need one */
};

/* The memory of a queue. */
struct mana_queue {
	struct kit_buf buf;
	uint32_t entries; /* as the program asked */
	uint32_t bytes;	  /* as the adapter has them */
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
	struct mana_wq **wqs; /* the kernel keeps them as long as the table */
};

/* One that receives has no memory: the work queues of its table have. */
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
/* Memory from the program's allocator for so many entries of so many buffers. -EINVAL when there is
 * no allocator, or no queue is so long; -ENOMEM. Said in the log. */
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
