/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, a completion queue and a shared receive queue of bnxt_re, without a kernel. */
#ifndef BNXT_RE_FAKE_H
#define BNXT_RE_FAKE_H

#include <stdlib.h>

#include "providers/bnxt_re/wqe.h"
#include "tests/unit/unit.h"

enum {
	QPN = 0x21,
	CQN = 3,
	SRQN = 5,
	SLOTS = 32, /* of the ring, with variable requests; 4 requests otherwise */
	ENTRIES = 4,
	SRQ_ENTRIES = 4,
};

struct fake {
	struct ibv_device device;
	struct bnxt_re_context ctx;
	struct bnxt_re_qp qp;
	struct bnxt_re_cq cq;
	struct bnxt_re_srq srq;
	struct bnxt_re_sent sent[SLOTS];
	uint64_t wr_ids[ENTRIES], srq_wr_ids[SRQ_ENTRIES];
	uint32_t next[SRQ_ENTRIES];
	char ring[SLOTS * SLOT], psns[SLOTS * 16], rq[ENTRIES * 128], srq_ring[SRQ_ENTRIES * 128];
	struct bnxt_re_cqe cqes[ENTRIES];
	uint64_t doorbell;
};

/* @variable: requests take as many slots as they need */
struct fake *fake_create(bool variable, enum bnxt_re_psn_form form);
void fake_free(struct fake *f);
/* Return the last doorbell. */
uint64_t fake_doorbell(const struct fake *f);
/* Return the 8 bytes at @at. */
uint64_t fake_number(const void *at);
/* Post a signaled send of 5000 bytes in the first of @sges entries. */
int fake_post(struct fake *f, uint64_t wr_id, int sges);
/* Write an entry as the device does, in the phase of its place. */
void fake_entry(struct fake *f, uint32_t place, uint64_t a, uint64_t b, uint32_t info,
		uint32_t tag);
/* Return the name of the queue pair in completions. */
uint64_t fake_handle(const struct fake *f);
int fake_poll(struct fake *f, struct ibv_wc *wc, int count);

#endif
