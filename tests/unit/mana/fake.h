/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An RC queue pair of mana in memory of the test, and entries as the device writes them. */
#ifndef TEST_MANA_FAKE_H
#define TEST_MANA_FAKE_H

#include <stdlib.h>

#include "libibverbs/library.h"
#include "providers/mana/rc.h"
#include "tests/unit/unit.h"

enum {
	ENTRIES = 64,
	SENDS = 16,
	RECEIVES = 8,
	SGES = 3,
	SQ = 0x40,
	RQ = 0x80,
	READS = RQ | 1,
	CQ = 9,
	FIRST_PSN = 0xfffffe, /* numbers of packets begin again soon */
	MTU = 1024,
};

struct fake {
	struct ibv_device device;
	struct verbs_ex_private priv;
	struct mana_context ctx;
	struct mana_cq send_cq, recv_cq;
	struct mana_rc qp;
	struct mana_cqe send_ring[ENTRIES], recv_ring[ENTRIES];
	struct mana_sent sent[SENDS];
	struct mana_received received[RECEIVES];
	struct mana_rollback rollback;
	uint32_t places[2]; /* entries that the device wrote: sends, receives */
	uint64_t sq[512], reads[512], rq[512], registers[512];
};

struct fake *fake_create(void);
void fake_free(struct fake *f);

/* Post a request of one entry, and return the errno. */
int fake_send(struct fake *f, uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags,
	      uint32_t length);
int fake_receive(struct fake *f, uint64_t wr_id);
int fake_poll(struct mana_cq *cq, struct ibv_wc *wc, int count);

/* Write an entry. Its phase is added. */
void fake_entry(struct fake *f, int receive, struct mana_cqe cqe, uint32_t queue);
void fake_acknowledge(struct fake *f, uint32_t psn);
void fake_fail(struct fake *f, int receive, uint32_t psn, uint32_t cause);
void fake_message(struct fake *f, uint32_t type, uint32_t offset, uint32_t length, uint32_t imm);

/* Return the last value of a register. */
uint64_t fake_register(const struct fake *f, uint32_t reg);

#endif
