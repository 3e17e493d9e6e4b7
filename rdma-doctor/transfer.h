/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A transfer from a device to itself, for --transfer. */
#ifndef RDMA_DOCTOR_TRANSFER_H
#define RDMA_DOCTOR_TRANSFER_H

#include "rdma-doctor/verbs.h"

/* Result of one kind of transfer. The result is good if @verb is NULL and no fault was found. */
struct transfer_part {
	bool done;	  /* the part was reached */
	const char *verb; /* operation or verb that failed, or NULL */
	int error;	  /* -errno of the verb; 0: it was posted and has @status */
	int status;	  /* enum ibv_wc_status, or TRANSFER_SILENT */
	size_t wrong;	  /* with status IBV_WC_SUCCESS: number of the first wrong byte */
};

/* No completion came. */
#define TRANSFER_SILENT (-1)

/* A counter of the device in user space, which belongs to the process that uses it. */
struct transfer_counter {
	char name[48];
	uint64_t value;
};

#define TRANSFER_COUNTERS 64

struct transfer {
	struct trial trial; /* objects that could not be created, and what the library logged */
	char device[IBV_SYSFS_NAME_MAX];
	bool iwarp; /* only a connection manager connects its queue pairs: nothing was sent */
	struct transfer_part rc, ud, latency, rate;
	size_t rc_bytes; /* of the SEND, of the RDMA write and of the RDMA read */
	unsigned int ud_sent, ud_arrived, ud_twice, ud_damaged;
	unsigned int latency_count;
	uint64_t median_ns, slowest_ns; /* of 8-byte RDMA writes, to the completion */
	uint64_t mbps;			/* of large RDMA writes */
	uint64_t port_mbps;		/* 0: unknown */
	struct transfer_counter counters[TRANSFER_COUNTERS]; /* counters of uroce */
	unsigned int counter_count;
};

/* uroce_counter.c: read the counters of a device of uroce. Return: their number. */
unsigned int uroce_counters_read(struct ibv_context *ctx,
				 struct transfer_counter counters[TRANSFER_COUNTERS]);

/* loopback_parts.c: transfer in a child process. */
void system_transfer(const char *name, struct transfer *ret_transfer);

/* transfer.c: write the result to the JSON. */
void transfer_describe(const struct transfer *t);

#endif
