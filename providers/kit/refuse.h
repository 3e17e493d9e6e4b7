/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Refused work requests: the errno, and a line in the log with a remedy. Each cause is logged once
 * for each queue, because programs retry in loops. These functions are cold. The hot path only
 * passes the cause.
 */
#ifndef PROVIDERS_KIT_REFUSE_H
#define PROVIDERS_KIT_REFUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum kit_fault {
	KIT_FAULT_NONE,
	KIT_FAULT_STATE,
	KIT_FAULT_NO_QUEUE,
	KIT_FAULT_FULL,
	KIT_FAULT_OPCODE,
	KIT_FAULT_ATOMICS, /* the device has no atomics */
	KIT_FAULT_NUM_SGE,
	KIT_FAULT_SG_LIST,
	KIT_FAULT_LENGTH, /* total length of a request */
	KIT_FAULT_INLINE,
	KIT_FAULT_ATOMIC_LENGTH,
	KIT_FAULT_ATOMIC_ADDR,
	KIT_FAULT_ATOMIC_LIST, /* the list does not fit behind an atomic, or is inline */
	KIT_FAULT_BIND,	       /* the window is too long */
	KIT_FAULT_BIND_WR,     /* the request has features that a bind request cannot have */
	KIT_FAULT_AH,
	KIT_FAULT_NO_BUILDER,
	KIT_FAULT_SEND_FLAGS, /* @value: flags that the device does not support */
	KIT_FAULT_UNSIGNALED, /* the device reports a completion for each request */
	KIT_FAULT_HEADER,
	KIT_FAULT_SETTER,
	KIT_FAULT_COUNT,
};

/*
 * Log why a request is refused.
 * @said: causes that are already logged for this queue, as bits
 * @value: the offending value
 * @limit: the largest possible value
 * Return: a positive errno.
 */
int kit_send_refuse(struct ibv_qp *qp, atomic_uint *said, const char *verb, enum kit_fault fault,
		    uint64_t value, uint32_t limit);
/* Log a message of the provider. */
int kit_send_refuse_as(struct ibv_qp *qp, atomic_uint *said, const char *verb, enum kit_fault fault,
		       const char *text);
int kit_recv_refuse(struct ibv_qp *qp, atomic_uint *said, enum kit_fault fault, uint64_t value,
		    uint32_t limit);
int kit_srq_refuse(struct ibv_srq *srq, atomic_uint *said, enum kit_fault fault, uint64_t value,
		   uint32_t limit);
/* Refuse a request of a batch. If data exceed a limit, ibv_wr_complete() returns ENOSPC and
 * ibv_post_send() returns EINVAL. Both return ENOMEM for a full queue, and programs then poll and
 * post again. */
int kit_wr_refuse(struct ibv_qp *qp, atomic_uint *said, enum kit_fault fault, uint64_t value,
		  uint32_t limit);

/* The limits of a send queue, for the message about a request beyond them. */
struct kit_sq_limits {
	bool closed;  /* the state of the QP allows no requests */
	bool atomics; /* the device supports atomics */
	uint32_t max_post, max_sge, max_inline;
	uint32_t max_length;   /* bytes of a request; 0: the limit is 2^32 - 1 */
	uint32_t max_bind;     /* bytes of a window */
	unsigned int no_flags; /* IBV_SEND_ flags that the device does not support */
};

/*
 * Refuse a request of ibv_post_send() like kit_send_refuse(), and find the offending value in @wr.
 */
int kit_post_refuse(struct ibv_qp *qp, atomic_uint *said, const struct ibv_send_wr *wr,
		    enum kit_fault fault, const struct kit_sq_limits *limits);

/* The limits of a receive queue, for the message about a receive beyond them. */
struct kit_rq_limits {
	bool none;   /* the QP has no receive queue of its own */
	bool closed; /* the state of the QP allows no receives */
	uint32_t max_post;
	uint32_t min_sge, max_sge;
};

/*
 * Refuse a receive of ibv_post_recv() like kit_recv_refuse(). Find the cause and the offending
 * value in @wr. The queue is full if @wr is within the limits.
 */
int kit_post_recv_refuse(struct ibv_qp *qp, atomic_uint *said, const struct ibv_recv_wr *wr,
			 const struct kit_rq_limits *limits);
/* The same of ibv_post_srq_recv(). */
int kit_post_srq_refuse(struct ibv_srq *srq, atomic_uint *said, const struct ibv_recv_wr *wr,
			const struct kit_rq_limits *limits);

#endif
