/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, a completion queue and a shared receive queue of hns, without a kernel. */
#ifndef HNS_FAKE_H
#define HNS_FAKE_H

#include "providers/hns/wqe.h"
#include "tests/unit/adapter/adapter.h"

enum {
	QPN = 0x33,
	CQN = 9,
	SRQN = 0x52,
	SENDS = 64,
	SEGMENTS = 256,
	RECEIVES = 4,
	RECEIVE_SGES = 2,
	ENTRIES = 8, /* of 64 bytes */
};

struct fake {
	struct adapter adapter;
	struct hns_context ctx;
	struct hns_qp qp;
	struct hns_cq cq;
	struct hns_srq srq;
	uint64_t sent[SENDS], received[RECEIVES], shared[RECEIVES], free;
	uint32_t indices[RECEIVES];
	uint32_t sq_record, rq_record, cq_record, srq_record;
	char sends[SENDS * WQE], segments[SEGMENTS * SEGMENT];
	char receives[RECEIVES * RECEIVE_SGES * SEGMENT], shares[RECEIVES * RECEIVE_SGES * SEGMENT];
	char cqes[ENTRIES * 64];
	uint64_t doorbell;
	uint64_t direct[8];
	uint32_t place; /* of the next entry that the harness lets the device write */
	/* For threads of a test. */
	atomic_bool stop;
	atomic_uint posts, posted; /* all, and those that a queue took */
};

struct fake *fake_create(enum ibv_qp_type type);
void fake_free(struct fake *f);
struct adapter *fake_adapter(void);
/* Let receives go to the SRQ. */
void fake_share(struct fake *f);
/* Write an entry as the device does, in the phase of its place. @first: its first word, without the
 * owner's bit */
void fake_entry(struct fake *f, uint32_t place, uint32_t first);
int fake_poll(struct fake *f, struct ibv_wc *wc, int count);
/* Poll one completion. */
struct ibv_wc fake_poll_one(struct fake *f);

#endif
