/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings of efa: read requests and receives, and write completions. Two callers use this file:
 * efa.c, which plays the kernel to a provider, and tests/hosts/vm/pci, which plays the hardware to
 * the kernel's driver.
 */
#ifndef DEVICES_EFA_RING_H
#define DEVICES_EFA_RING_H

#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	EFA_WQE = 64,
	EFA_RECEIVE = 16, /* a descriptor of the receive queue */
	EFA_CQE = 32,	  /* the longest completion */
	EFA_SUB_CQS = 2,  /* of each CQ: one for sends, one for receives */
	EFA_UNKNOWN_AH = 0xffff,
	EFA_OP_SEND = 0,
	EFA_RECEIVE_FIRST = 1 << 30,
};

/* The `device` of a CQ: how many completions the device has written into each part. */
struct efa_parts {
	uint32_t produced[EFA_SUB_CQS];
};

/* Decode the next request. Return 1, 0 for none, or -EINVAL for a malformed one. *ret_ah is the
 * address handle's number. */
int efa_ring_next_send(const struct object *qp, struct work *work, uint16_t *ret_ah);
int efa_ring_next_receive(struct object *qp, struct work *work);
/* Encode a completion in EFA_CQE bytes and count it. Return its place in the ring. The source's
 * handle is in slid. */
uint8_t *efa_ring_completion(struct object *cq, const struct completion *c, uint8_t *ret_cqe);
/* Write an encoded completion so that its phase is seen last. */
void efa_ring_write(uint8_t *at, const uint8_t *cqe, uint32_t stride);
bool efa_ring_armed(struct object *cq, struct arm *ret_arm);

#endif
