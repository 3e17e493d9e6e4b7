/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extensions of the user-space RoCE device: its counters, and the first error of a queue pair. Link
 * with liburoce. On devices of other providers these functions fail with EOPNOTSUPP.
 */
#ifndef INFINIBAND_UROCE_H
#define INFINIBAND_UROCE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uroce_counter {
	const char *name; /* constant, valid until the process ends */
	uint64_t value;
};

/*
 * Read the counters of @qp. If @qp is NULL, read the counters of @context's device: the sums over
 * all QPs that this process ever had on it, and counters that belong to no QP. Counters that the
 * kernel's software device has too have its names in
 * /sys/class/infiniband/<device>/ports/1/hw_counters; uroce(7) lists all names. Counters only grow,
 * also across a reset of the QP.
 *
 * Return: the number of existing counters, of which the first @count were written to @counters; or
 * -1 with errno set: EOPNOTSUPP, the device is not uroce; EINVAL, @qp belongs to another context.
 * Threads: any. Source: providers/uroce/direct/uroce.c
 */
int uroce_query_counters(struct ibv_context *context, struct ibv_qp *qp,
			 struct uroce_counter *counters, unsigned int count);

/* The first error of a queue pair, which flushed all later requests. */
struct uroce_qp_error {
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode; /* opcode of the failed work request */
	/* wr_id of the failed work request; 0 if no work request of this side caused the error */
	uint64_t wr_id;
	uint32_t psn;	  /* packet sequence number at which the error happened */
	uint32_t retries; /* number of retries before the error */
	uint32_t remote_qpn;
	uint8_t syndrome; /* AETH syndrome of the peer's NAK; 0: none was received */
	union ibv_gid remote_gid;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
};

/*
 * The purpose of memory, passed to the allocator of a parent domain (argument resource_type).
 */
enum uroce_resource_type {
	UROCE_RES_TYPE_SEND_QUEUE = 0x55520001,
	UROCE_RES_TYPE_RECEIVE_QUEUE = 0x55520002,
	UROCE_RES_TYPE_SHARED_RECEIVE_QUEUE = 0x55520003,
	UROCE_RES_TYPE_COMPLETION_QUEUE = 0x55520004,
};

/*
 * Read the first error of @qp since it was last in RESET.
 * Return: 0, or a positive errno with *@error untouched: ENOENT, there was none; EOPNOTSUPP, the
 * device is not uroce. Threads: any. Source: providers/uroce/direct/uroce.c
 */
int uroce_query_first_error(struct ibv_qp *qp, struct uroce_qp_error *error);

#ifdef __cplusplus
}
#endif

#endif
