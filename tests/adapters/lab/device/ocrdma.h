/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by ocrdma.c, the kernel driver's answers, and ocrdma_wqe.c, which reads requests and
 * writes completions. */
#ifndef DEVICES_OCRDMA_H
#define DEVICES_OCRDMA_H

#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	OC_WQE = 128,
	OC_RQE = 80,
	OC_CQE = 16,
	OC_SEND_SGES = 6,
	OC_RECV_SGES = 4,
	OC_INLINE = 96,
	OC_AHS = 512,
	OC_AH_BASE = 0x30, /* first address in traces */
};

/* A queue pair, beside struct object. */
struct oc_qp {
	uint32_t id;	  /* id in completions */
	uint16_t retired; /* index behind the last send whose completion was written */
	bool failed;	  /* the process was told of a failure, and flushes by itself */
	/* Run mode: how often the device has found the next send or receive unfinished. */
	uint32_t looks;
};

/* A completion is valid if its bit has the value of this round, or if the process has not cleared
 * it. */
bool oc_changes_phase(void);

/* Return the address handle with this number, or NULL. */
const struct object *oc_ah(uint32_t id);

/* Run mode: mark all entries of a ring as ones that the device has executed. */
void oc_ring_clear(const struct queue *queue);

int oc_next_send(struct object *qp, struct work *work);
int oc_next_receive(struct object *queue, struct work *work);
/* Return the number of completions that the process has not polled. */
uint32_t oc_unread(const struct object *cq);
uint32_t oc_room(struct object *cq);
void oc_entry(struct object *cq, const void *bytes, size_t length);
void oc_complete(struct object *cq, const struct completion *completion);
uint16_t oc_traced_id(const struct object *qp, bool receive, uint32_t index);

#endif
