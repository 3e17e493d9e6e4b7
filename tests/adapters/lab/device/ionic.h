/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by ionic.c, which answers commands, ionic_ring.c, which finds requests, and ionic_wqe.c,
 * which reads requests and writes completions. */
#ifndef DEVICES_IONIC_H
#define DEVICES_IONIC_H

#include <rdma/ionic-abi.h>
#include "tests/adapters/lab/device/device.h"
#include "tests/adapters/lab/model/model.h"

enum {
	IONIC_CQE = 32,
	IONIC_PIPELINES = 2,
	IONIC_SQ_TYPE = 3, /* places of doorbells, in words of 64 bits */
	IONIC_RQ_TYPE = 4,
	IONIC_CQ_TYPE = 5,
	IONIC_SPEC = 8, /* most entries of a list with the lengths in front */
};

#define IONIC_CLOCK_MASK ((1ull << 48) - 1)

/* A ring of a queue pair. */
struct ionic_played_ring {
	uint8_t *copy; /* in memory of the device; NULL: there is none, or it is not mapped */
	bool in_device, express; /* what the driver granted */
	bool spec;
};

struct ionic_played_qp {
	unsigned int pipeline;
	struct ionic_played_ring sq, rq;
	uint32_t walked;	   /* sends whose messages were counted */
	uint32_t messages;	   /* messages of a connection, free-running */
	uint32_t *message_of;	   /* number of the message plus 1, by position */
	bool *local;		   /* the request sends no message, by position */
	bool send_over, recv_over; /* after a failure: the process completes the other requests */
};

struct ionic_played_cq {
	struct queue rings[IONIC_PIPELINES];
	uint32_t produced[IONIC_PIPELINES];
	unsigned int mask; /* pipelines whose rings exist */
};

/* Return whether the device has the first version of requests, one pipeline, and queues only in
 * memory of the process. */
bool ionic_is_old(void);

/* ionic_ring.c */
int ionic_next_send(struct object *qp, struct work *work);
int ionic_next_receive(struct object *queue, struct work *work);
/* Forget the requests in both rings. */
void ionic_forget(struct object *qp);
void ionic_ring_mapped(struct object *qp, bool receives, void *at);

/* ionic_wqe.c. Return 0, or -EINVAL for an invalid request. */
int ionic_read_send(const struct object *qp, const uint8_t *wqe, struct work *work);
int ionic_read_receive(const struct object *qp, const uint8_t *wqe, struct work *work);
/* Count the message of the send at this position. */
void ionic_count_message(const struct object *qp, const uint8_t *wqe, uint32_t position);
/* Return the time of a completion; in a trace it is the number of the completion. */
uint64_t ionic_clock(uint32_t completion);
uint32_t ionic_room(struct object *cq);
void ionic_entry(struct object *cq, const void *bytes, size_t length);
void ionic_complete(struct object *cq, const struct completion *c);
bool ionic_armed(struct object *cq, struct arm *ret_arm);

#endif
