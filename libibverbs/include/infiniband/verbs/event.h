/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events: the asynchronous ones of a device, and the channels of completion queues. */
#ifndef INFINIBAND_VERBS_EVENT_H
#define INFINIBAND_VERBS_EVENT_H

#include <infiniband/verbs/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ asynchronous events */

/* What happened, and to which member of ibv_async_event.element. */
enum ibv_event_type {
	IBV_EVENT_CQ_ERR,	       /* cq: overrun or other failure */
	IBV_EVENT_QP_FATAL,	       /* qp: moved to the error state by a local failure */
	IBV_EVENT_QP_REQ_ERR,	       /* qp: a request that may not come */
	IBV_EVENT_QP_ACCESS_ERR,       /* qp: a request without the right to its memory */
	IBV_EVENT_COMM_EST,	       /* qp: a packet arrived in RTR */
	IBV_EVENT_SQ_DRAINED,	       /* qp: send queue empty after RTS -> SQD */
	IBV_EVENT_PATH_MIG,	       /* qp: now on the alternate path */
	IBV_EVENT_PATH_MIG_ERR,	       /* qp: could not migrate */
	IBV_EVENT_DEVICE_FATAL,	       /* the device is unusable: close it */
	IBV_EVENT_PORT_ACTIVE,	       /* port_num */
	IBV_EVENT_PORT_ERR,	       /* port_num: link down */
	IBV_EVENT_LID_CHANGE,	       /* port_num */
	IBV_EVENT_PKEY_CHANGE,	       /* port_num */
	IBV_EVENT_SM_CHANGE,	       /* port_num */
	IBV_EVENT_SRQ_ERR,	       /* srq */
	IBV_EVENT_SRQ_LIMIT_REACHED,   /* srq: fewer receives than srq_limit; disarms the limit */
	IBV_EVENT_QP_LAST_WQE_REACHED, /* qp on an SRQ: takes no more receives */
	IBV_EVENT_CLIENT_REREGISTER,   /* port_num: register again with the subnet administrator */
	IBV_EVENT_GID_CHANGE,	       /* port_num */
	IBV_EVENT_WQ_FATAL,	       /* wq */
	IBV_EVENT_DEVICE_SPEED_CHANGE, /* of one of its ports, or of more */
};

/**
 * struct ibv_async_event - an event that belongs to no work request
 *
 * Source: IBTA vol. 1, software transport verbs (chapter 11), asynchronous events.
 */
struct ibv_async_event {
	union {
		struct ibv_cq *cq;
		struct ibv_qp *qp;
		struct ibv_srq *srq;
		struct ibv_wq *wq;
		int port_num;
	} element;
	enum ibv_event_type event_type;
};

/**
 * ibv_get_async_event() - wait for the next event of the device
 *
 * Each event got is to be acknowledged: destroying a CQ, QP, SRQ or WQ waits until its events are.
 * Return: 0; -1 with errno, EAGAIN when async_fd is non-blocking and there is none.
 */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/**
 * ibv_ack_async_event() - the event has been dealt with
 *
 * Once per event. Not from a thread that destroys the same object in between: it would wait for
 * itself.
 */
void ibv_ack_async_event(struct ibv_async_event *event);

/* ------------------------------------------------------------------ completion channels */

/**
 * struct ibv_comp_channel - where CQs announce that they have completions
 *
 * @fd: readable when ibv_get_cq_event() would not block; programs may poll it and set it to
 * non-blocking
 */
struct ibv_comp_channel {
	struct ibv_context *context;
	int fd;
	int refcnt;
};

/**
 * ibv_create_comp_channel(), ibv_destroy_comp_channel() - create and destroy a channel
 *
 * Destroying returns EBUSY while a CQ uses the channel.
 */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context);
int ibv_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * ibv_get_cq_event() - wait for the next completion event of a channel
 * @cq, @cq_context: which CQ, and what its creator said to hand out
 *
 * Each event got is to be acknowledged, and the CQ armed again by ibv_req_notify_cq() before it is
 * polled empty, lest a completion in between goes unnoticed.
 * Return: 0; -1 with errno, EAGAIN when the fd is non-blocking and there is none.
 */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/**
 * ibv_ack_cq_events() - @nevents events of @cq have been dealt with
 *
 * Destroying the CQ waits until all are. Takes a lock: acknowledge many at once.
 */
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

#ifdef __cplusplus
}
#endif

#endif
