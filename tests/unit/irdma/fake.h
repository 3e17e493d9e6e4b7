/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, a completion queue and a shared receive queue of irdma, without a kernel. */
#ifndef IRDMA_FAKE_H
#define IRDMA_FAKE_H

#include <stdlib.h>

#include "libibverbs/library.h"
#include "providers/irdma/wqe.h"
#include "tests/unit/unit.h"

enum {
	QPN = 0x21,
	CQN = 3,
	QUANTA = 512, /* of the send ring */
	RECEIVES = 4,
	SRQ_RECEIVES = 4,
	ENTRIES = 8, /* of 32 bytes */
};

struct fake {
	struct ibv_device device;
	struct verbs_ex_private priv;
	struct irdma_context ctx;
	struct irdma_qp qp;
	struct irdma_cq cq;
	struct irdma_srq srq;
	struct irdma_sent sent[QUANTA];
	uint64_t wr_ids[RECEIVES];
	char ring[QUANTA * IRDMA_QUANTUM];
	char rq[RECEIVES * 2 * IRDMA_QUANTUM], srq_ring[SRQ_RECEIVES * 2 * IRDMA_QUANTUM];
	char cqes[2 * ENTRIES * IRDMA_QUANTUM];
	char shadow[IRDMA_SHADOW], srq_shadow[IRDMA_SHADOW];
	uint32_t doorbells[32];
};

struct fake *fake_create(int generation);
void fake_free(struct fake *f);
/* Return word @index of the 64-bit words at @at. */
uint64_t fake_word(const void *at, int index);
uint32_t fake_doorbell(const struct fake *f);
/* Return a send with @sges entries at 0x1000, 0x2000 and so on. */
struct ibv_send_wr fake_wr(enum ibv_wr_opcode opcode, int sges);
int fake_post(struct fake *f, struct ibv_send_wr wr);
int fake_receive(struct fake *f, uint64_t wr_id, int sges);
/*
 * Write an entry as the device does, in the phase of its place.
 * @index: quantum of the request
 * @bits: further bits of word 3
 */
void fake_entry(struct fake *f, uint32_t place, uint32_t index, uint64_t bits);
int fake_poll(struct fake *f, struct ibv_wc *wc, int count);
/* Poll one completion. */
struct ibv_wc fake_poll_one(struct fake *f);

#endif
