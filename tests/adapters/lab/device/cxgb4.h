/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by cxgb4.c, the kernel driver's answers, and cxgb4_wqe.c, which reads requests and writes
 * completions. */
#ifndef DEVICES_CXGB4_H
#define DEVICES_CXGB4_H

#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	CX_SLOT = 64,
	CX_SEND_SLOTS = 5, /* of an entry of a send queue */
	CX_RECV_SLOTS = 2,
	CX_STATUS_BYTES = 64,
	CX_SRQ_FIRST = 0x100, /* index that completions have of the first receive of an SRQ */
};

/* Offsets in a status page. */
enum {
	CX_AT_ERROR = 12,
	CX_AT_POSTED = 16,   /* slot behind the last request, of queues of requests */
	CX_AT_CONSUMED = 18, /* entry that the process reads next */
};

/* A queue pair, beside struct object. */
struct cx_qp {
	uint32_t number;   /* of the send queue, in completions */
	uint32_t received; /* messages so far */
	bool erring;	   /* run mode: the process is told in the next pass */
	bool told;
	bool on_chip;
	/* Trace mode: the slot and the index behind the requests that a doorbell announced, and
	 * masks of the bytes of each slot that the device ignores. */
	uint32_t seen;
	uint16_t index;
	uint16_t unused[][CX_SLOT / 16];
};

static inline bool cx_is_t4(void)
{
	return device->part_id >> 12 == 4;
}

/* Return the status page behind the slots of a queue. */
static inline uint8_t *cx_status(const struct queue *queue)
{
	return queue->base + (size_t)queue->entries * queue->stride;
}

/* Tell the process that requests of a queue pair have to be flushed. */
void cx_tell(struct object *qp);

int cx_next_send(struct object *qp, struct work *work);
int cx_next_receive(struct object *queue, struct work *work);
/* Return the number of completions that the process has not polled. */
uint32_t cx_unread(const struct object *cq);
uint32_t cx_room(struct object *cq);
void cx_entry(struct object *cq, const void *bytes, size_t length);
void cx_complete(struct object *cq, const struct completion *completion);

/* Bytes of a request that the device ignores, in the ring and in a register. */
unsigned cx_ignored(const char *region, size_t offset);
unsigned cx_undefined(const char *region, size_t offset, const uint8_t *bytes);
void cx_stored(const char *region, size_t offset, const uint8_t *bytes, size_t length);

#endif
