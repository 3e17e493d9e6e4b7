/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef INFINIBAND_VERBS_CQ_H
#define INFINIBAND_VERBS_CQ_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct ibv_cq - a completion queue
 *
 * @cqe: completions it holds, at least what was asked for
 */
struct ibv_cq {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	void *cq_context;
	uint32_t handle;
	int cqe;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed;
	uint32_t async_events_completed;
};

/**
 * ibv_create_cq() - create a completion queue
 * @cqe: completions to hold, at least 1
 * @cq_context: the program's, returned with each event
 * @channel: or NULL for no events
 * @comp_vector: 0 ... context->num_comp_vectors - 1, which interrupt
 *
 * Return: the queue; NULL with errno EINVAL (size, vector), ENOMEM, ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create completion queue".
 */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector);

/**
 * ibv_resize_cq() - change how many completions a CQ holds
 *
 * Completions in it stay. @cq->cqe tells the new size.
 * Return: EINVAL when they would not fit.
 */
int ibv_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * ibv_destroy_cq() - destroy a completion queue
 *
 * Waits until its events are acknowledged.
 * Return: EBUSY while a QP, SRQ or WQ uses it.
 */
int ibv_destroy_cq(struct ibv_cq *cq);

/**
 * ibv_poll_cq() - take completions out of a CQ
 * @wc: room for @num_entries of them
 *
 * Return: how many; fewer than @num_entries means the CQ was empty then. Negative on failure.
 */
static inline int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return cq->context->ops.poll_cq(cq, num_entries, wc);
}

/**
 * ibv_req_notify_cq() - arm a CQ: its channel gets one event for the next completion
 * @solicited_only: not 0 to wait for one whose sender set IBV_SEND_SOLICITED, or that failed
 */
static inline int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return cq->context->ops.req_notify_cq(cq, solicited_only);
}

enum ibv_cq_attr_mask {
	IBV_CQ_ATTR_MODERATE = 1 << 0,
	IBV_CQ_ATTR_RESERVED = 1 << 1,
};

/* One event for this many completions, or after this time, whichever is first. */
struct ibv_moderate_cq {
	uint16_t cq_count;
	uint16_t cq_period; /* microseconds */
};

struct ibv_modify_cq_attr {
	uint32_t attr_mask; /* enum ibv_cq_attr_mask */
	struct ibv_moderate_cq moderate;
};

/**
 * ibv_modify_cq() - change event moderation
 */
static inline int ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(cq->context, modify_cq);

	return vctx ? vctx->modify_cq(cq, attr) : EOPNOTSUPP;
}

#ifdef __cplusplus
}
#endif

#endif
