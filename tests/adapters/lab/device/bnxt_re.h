/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by bnxt_re.c, which answers commands and finds requests, and bnxt_re_wqe.c, which knows
 * the formats of requests and completions. */
#ifndef DEVICES_BNXT_RE_H
#define DEVICES_BNXT_RE_H

#include <rdma/bnxt_re-abi.h>
#include "tests/adapters/lab/device/device.h"
#include "tests/adapters/lab/model/model.h"

enum {
	WQE = 128,
	CQE_SIZE = 32,
	CQE_CUT_OFF = 15,
};

/* A queue pair. */
struct bnxt_re_played {
	uint64_t handle;    /* number of the queue in completions */
	uint16_t completed; /* sends */
	/* A send or a receive has failed: the process completes the others. */
	bool send_over, receive_over;
};

/* Return 0, or -EINVAL for an impossible request. */
int bnxt_re_read_send(const struct object *qp, const uint8_t *wqe, struct work *work);
int bnxt_re_read_receive(const uint8_t *wqe, struct work *work);

uint32_t bnxt_re_room(struct object *cq);
void bnxt_re_entry(struct object *cq, const void *bytes, size_t length);
void bnxt_re_complete(struct object *cq, const struct completion *c);
bool bnxt_re_armed(struct object *cq, struct arm *ret_arm);

#endif
