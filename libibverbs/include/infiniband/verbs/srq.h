/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, those with tag matching among them. */
#ifndef INFINIBAND_VERBS_SRQ_H
#define INFINIBAND_VERBS_SRQ_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_srq_type {
	IBV_SRQT_BASIC,
	IBV_SRQT_XRC,
	IBV_SRQT_TM, /* tag matching */
};

enum ibv_srq_attr_mask {
	IBV_SRQ_MAX_WR = 1 << 0,
	IBV_SRQ_LIMIT = 1 << 1
};

/* srq_limit: fewer receives than this raise IBV_EVENT_SRQ_LIMIT_REACHED once; 0: never. */
struct ibv_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t srq_limit;
};

struct ibv_srq_init_attr {
	void *srq_context;
	struct ibv_srq_attr attr;
};

enum ibv_srq_init_attr_mask {
	IBV_SRQ_INIT_ATTR_TYPE = 1 << 0,
	IBV_SRQ_INIT_ATTR_PD = 1 << 1,
	IBV_SRQ_INIT_ATTR_XRCD = 1 << 2,
	IBV_SRQ_INIT_ATTR_CQ = 1 << 3,
	IBV_SRQ_INIT_ATTR_TM = 1 << 4,
	IBV_SRQ_INIT_ATTR_RESERVED = 1 << 5,
};

struct ibv_tm_cap {
	uint32_t max_num_tags;
	uint32_t max_ops;
};

/* Begins as struct ibv_srq_init_attr. */
struct ibv_srq_init_attr_ex {
	void *srq_context;
	struct ibv_srq_attr attr;

	uint32_t comp_mask; /* enum ibv_srq_init_attr_mask */
	enum ibv_srq_type srq_type;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq; /* XRC and TM: where receives complete */
	struct ibv_tm_cap tm_cap;
};

/**
 * struct ibv_srq - a receive queue that many QPs take their buffers from
 *
 * Source: IBTA vol. 1, software transport interface (chapter 10), shared receive queue.
 */
struct ibv_srq {
	struct ibv_context *context;
	void *srq_context;
	struct ibv_pd *pd;
	uint32_t handle;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

/**
 * ibv_create_srq() - create a shared receive queue
 *
 * On success srq_init_attr->attr has the real max_wr and max_sge, no smaller than asked for;
 * srq_limit is ignored.
 */
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr);

/**
 * ibv_create_srq_ex() - create a shared receive queue of any type
 *
 * A basic one needs only the PD; without a type in comp_mask it is basic.
 */
static inline struct ibv_srq *ibv_create_srq_ex(struct ibv_context *context,
						struct ibv_srq_init_attr_ex *srq_init_attr_ex)
{
	struct ibv_srq_init_attr_ex *attr = srq_init_attr_ex;
	struct verbs_context *vctx;

	/* Call the plain verb if it is enough, because every device supports it. */
	if (attr->comp_mask == IBV_SRQ_INIT_ATTR_PD ||
	    (attr->comp_mask == (IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type == IBV_SRQT_BASIC))
		return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)(void *)attr);

	vctx = verbs_get_ctx_op(context, create_srq_ex);
	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_srq_ex(context, attr);
}

/**
 * ibv_modify_srq() - resize, or arm the limit
 * @srq_attr_mask: OR of enum ibv_srq_attr_mask
 */
int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask);

/**
 * ibv_query_srq() - sizes and limit; srq_limit 0 means that it is not armed
 */
int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr);

/**
 * ibv_get_srq_num() - the number of an XRC SRQ, by which the peer names it
 */
static inline int ibv_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	struct verbs_context *vctx = verbs_get_ctx_op(srq->context, get_srq_num);

	return vctx ? vctx->get_srq_num(srq, srq_num) : EOPNOTSUPP;
}

/**
 * ibv_destroy_srq() - destroy a shared receive queue
 *
 * Waits until its events are acknowledged.
 * Return: EBUSY while a QP uses it.
 */
int ibv_destroy_srq(struct ibv_srq *srq);

/**
 * ibv_post_srq_recv() - post a list of buffers
 * @bad_recv_wr: on failure, the first request that was not posted
 *
 * The requests may be reused at once, the buffers when they complete.
 */
static inline int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr,
				    struct ibv_recv_wr **bad_recv_wr)
{
	return srq->context->ops.post_srq_recv(srq, recv_wr, bad_recv_wr);
}

enum ibv_ops_wr_opcode {
	IBV_WR_TAG_ADD,
	IBV_WR_TAG_DEL,
	IBV_WR_TAG_SYNC,
};

enum ibv_ops_flags {
	IBV_OPS_SIGNALED = 1 << 0,
	IBV_OPS_TM_SYNC = 1 << 1, /* unexpected_cnt is valid */
};

/**
 * struct ibv_ops_wr - a change of the tag list of an IBV_SRQT_TM SRQ
 *
 * @flags: OR of enum ibv_ops_flags
 * @tm.unexpected_cnt: unexpected messages the program has dealt with
 * @tm.handle: of the tag: returned by TAG_ADD, given to TAG_DEL
 * @tm.add: a message matches when (its tag & mask) == tag
 */
struct ibv_ops_wr {
	uint64_t wr_id;
	struct ibv_ops_wr *next;
	enum ibv_ops_wr_opcode opcode;
	int flags;
	struct {
		uint32_t unexpected_cnt;
		uint32_t handle;
		struct {
			uint64_t recv_wr_id;
			struct ibv_sge *sg_list;
			int num_sge;
			uint64_t tag;
			uint64_t mask;
		} add;
	} tm;
};

/**
 * ibv_post_srq_ops() - post a list of tag operations
 * @bad_op: on failure, the first one that was not posted
 */
static inline int ibv_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op,
				   struct ibv_ops_wr **bad_op)
{
	struct verbs_context *vctx = verbs_get_ctx_op(srq->context, post_srq_ops);

	if (!vctx) {
		*bad_op = op;
		return EOPNOTSUPP;
	}
	return vctx->post_srq_ops(srq, op, bad_op);
}

#ifdef __cplusplus
}
#endif

#endif
