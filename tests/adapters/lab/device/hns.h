/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by hns.c, which answers commands, hns_wqe.c, which finds and reads requests, and
 * hns_cqe.c, which writes completions. */
#ifndef DEVICES_HNS_H
#define DEVICES_HNS_H

#include <rdma/hns-abi.h>
#include "tests/adapters/lab/device/device.h"
#include "tests/adapters/lab/model/model.h"

enum {
	HNS_WQE = 64,
	HNS_SEGMENT = 16,
	HNS_OP_SEND = 0,
	HNS_OP_SEND_INV = 1,
	HNS_OP_SEND_IMM = 2,
	HNS_OP_WRITE = 3,
	HNS_OP_WRITE_IMM = 4,
	HNS_OP_READ = 5,
	HNS_OP_CMP_SWAP = 6,
	HNS_OP_FETCH_ADD = 7,
	HNS_OPS = 8,
	HNS_FREE = -1, /* entry of a shared queue's ring of indices that is not posted */
};

struct hns_played_qp {
	/* The ring of segments for lists that do not fit into a request. */
	uint8_t *segments;
	uint32_t segment_count;
	bool direct; /* requests may come through a page of the queue pair */
};

struct hns_played_srq {
	uint32_t *indices; /* of posted receives, in the order of posting */
	bool record;	   /* the process writes a record */
};

/* Return whether the adapter is the older one, HIP08. */
bool hns_is_old(void);

int hns_next_send(struct object *qp, struct work *work);
int hns_next_receive(struct object *queue, struct work *work);
uint16_t hns_traced_id(const struct object *qp, bool receive, uint32_t index);
uint8_t hns_traced_note(enum ibv_wr_opcode opcode);

uint32_t hns_room(struct object *cq);
void hns_entry(struct object *cq, const void *bytes, size_t length);
void hns_complete(struct object *cq, const struct completion *c);
bool hns_armed(struct object *cq, struct arm *ret_arm);

#endif
