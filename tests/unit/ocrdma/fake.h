/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, two completion queues and a shared receive queue of ocrdma, without a kernel. */
#ifndef OCRDMA_FAKE_H
#define OCRDMA_FAKE_H

#include "providers/ocrdma/wqe.h"
#include "tests/unit/adapter/adapter.h"

enum {
	QP_ID = 0x20,
	SLOTS = 8, /* slots of each ring; one of them stays empty */
	SLOT = 128,
	ENTRIES = 4,
	INLINE_MAX = 96,
};

struct fake {
	struct adapter adapter;
	struct oc_context ctx;
	struct oc_qp qp;
	struct oc_cq send_cq, recv_cq;
	struct oc_srq srq;
	struct oc_sent sent[SLOTS];
	uint64_t wr_ids[SLOTS], shared[SLOTS], free;
	_Alignas(16) char sends[SLOTS * SLOT], receives[SLOTS * SLOT], shares[SLOTS * SLOT];
	_Alignas(16) char window[SLOT];
	struct oc_cqe sent_cqes[ENTRIES], received_cqes[ENTRIES];
	uint32_t places[2]; /* number of entries that the device wrote: for sends, for receives */
	uint32_t registers[5];
};

/* @changes: the bit of a valid entry changes with each wrap. */
struct fake *fake_create(enum ibv_qp_type type, bool changes);
/* Return an adapter of each kind for the tests of the harness. */
struct adapter *fake_clearing(void);
struct adapter *fake_changing(void);
/* Let receives go to the SRQ. */
void fake_share(struct fake *f);
void fake_free(struct fake *f);
/* Write an entry as the device does. @tag: tag of a shared receive, or 0 */
void fake_sent(struct fake *f, uint32_t id, uint32_t index, uint32_t status);
void fake_received(struct fake *f, uint32_t id, uint32_t tag, uint32_t flags);
int fake_poll(struct oc_cq *cq, struct ibv_wc *wc, int count);

#endif
