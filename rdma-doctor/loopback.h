/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of a transfer from a device to itself. */
#ifndef RDMA_DOCTOR_LOOPBACK_H
#define RDMA_DOCTOR_LOOPBACK_H

#include "rdma-doctor/transfer.h"

enum {
	LOOPBACK_BYTES = 65536, /* of a large RC message */
	LOOPBACK_DEPTH = 64,	/* work requests of a queue */
	LOOPBACK_GRH = 40,	/* bytes before a datagram */
	LOOPBACK_DATAGRAM = 256,
	LOOPBACK_QKEY = 0x11111111,
};

/* Two queue pairs of a kind on one port. The first sends to the second. */
struct loopback {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_mr *mr;
	struct ibv_qp *from, *to;
	uint8_t *source, *target; /* LOOPBACK_BYTES each */
	struct ibv_port_attr port;
	struct ibv_ah_attr path;  /* from the port to itself, or to a peer */
	uint8_t timeout, retries; /* of RC, as in struct ibv_qp_attr */
};

/* Create the objects and connect the queue pairs. Return: the verb that failed with errno set, or
 * NULL. */
const char *loopback_open(struct loopback *l, struct ibv_device *device);
const char *loopback_connect(struct loopback *l, enum ibv_qp_type type);
/* The parts of these: create PD, CQs and a region of @bytes at @source; create a queue pair, bring
 * it to INIT, and connect it to @peer over @path. They return a verb as above, a queue pair or
 * NULL, and 0 or an errno. */
const char *loopback_objects(struct loopback *l, size_t bytes, int access);
struct ibv_qp *loopback_qp(struct loopback *l, enum ibv_qp_type type);
int loopback_qp_init(const struct loopback *l, struct ibv_qp *qp);
int loopback_qp_ready(const struct loopback *l, struct ibv_qp *qp, uint32_t peer);
void loopback_disconnect(struct loopback *l);
void loopback_close(struct loopback *l);

/* Return the speed of the port in Mbit/s, or 0: unknown. */
uint64_t loopback_port_mbps(const struct loopback *l);

/* Wait for a completion. @patience_ns: how long. Return: whether it came. */
bool loopback_wait(struct ibv_cq *cq, struct ibv_wc *ret_wc, uint64_t patience_ns);

#endif
