/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a work request was refused: the errno, and one line in the log that says what to do; each
 * cause once for each queue, so that a loop that tries again stays quiet. Cold: the hot path only
 * names the cause.
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
	KIT_FAULT_ATOMICS, /* the device has none */
	KIT_FAULT_NUM_SGE,
	KIT_FAULT_SG_LIST,
	KIT_FAULT_LENGTH, /* of all data of a request */
	KIT_FAULT_INLINE,
	KIT_FAULT_ATOMIC_LENGTH,
	KIT_FAULT_ATOMIC_ADDR,
	KIT_FAULT_ATOMIC_LIST, /* it has no room behind an atomic, or is inline */
	KIT_FAULT_BIND,	       /* the window is too long */
	KIT_FAULT_BIND_WR,     /* the request has what none for a window has */
	KIT_FAULT_AH,
	KIT_FAULT_NO_BUILDER,
	KIT_FAULT_SEND_FLAGS, /* the value: those that the device does not have */
	KIT_FAULT_UNSIGNALED, /* the device completes each request */
	KIT_FAULT_HEADER,
	KIT_FAULT_SETTER,
	KIT_FAULT_COUNT,
};

/*
 * @said: bits of the causes that the queue's log has
 * @value: the offending one
 * @limit: what would be possible
 * Return: a positive errno.
 */
int kit_send_refuse(struct ibv_qp *qp, atomic_uint *said, const char *verb, enum kit_fault fault,
		    uint64_t value, uint32_t limit);
/* With words of the provider's own. */
int kit_send_refuse_as(struct ibv_qp *qp, atomic_uint *said, const char *verb, enum kit_fault fault,
		       const char *text);
int kit_recv_refuse(struct ibv_qp *qp, atomic_uint *said, enum kit_fault fault, uint64_t value,
		    uint32_t limit);
int kit_srq_refuse(struct ibv_srq *srq, atomic_uint *said, enum kit_fault fault, uint64_t value,
		   uint32_t limit);
/* Data that exceed a limit are ENOSPC to ibv_wr_complete(), where ibv_post_send() says EINVAL. A
 * full queue is ENOMEM to both: programs poll and post again then. */
int kit_wr_refuse(struct ibv_qp *qp, atomic_uint *said, enum kit_fault fault, uint64_t value,
		  uint32_t limit);

/* The limits of a send queue, for the message about a request beyond them. */
struct kit_sq_limits {
	bool closed;  /* nothing is taken in the QP's state */
	bool atomics; /* the device has them */
	uint32_t max_post, max_sge, max_inline;
	uint32_t max_bind;     /* bytes of a window */
	unsigned int no_flags; /* IBV_SEND_ that the device does not have */
};

/* As kit_send_refuse(), for ibv_post_send(): find the offending value in @wr. */
int kit_post_refuse(struct ibv_qp *qp, atomic_uint *said, const struct ibv_send_wr *wr,
		    enum kit_fault fault, const struct kit_sq_limits *limits);

#endif
