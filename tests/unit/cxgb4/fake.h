/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, two completion queues and a shared receive queue of cxgb4, without a kernel. */
#ifndef CXGB4_FAKE_H
#define CXGB4_FAKE_H

#include "providers/cxgb4/wqe.h"
#include "tests/unit/adapter/adapter.h"

enum {
	QPN = 0x412,
	SENDS = 8, /* one of them stays empty, as in each queue */
	RECEIVES = 5,
	SHARES = 5,
	FIRST_SHARE = 0x40, /* index of the SRQ's first place in completions */
	ENTRIES = 8,
	CQE = 64,
	SEND_SGES = 4,
	RECV_SGES = 2,
	INLINE = 64,
	STATUS_ROOM = 64,
	SEND_RING = SENDS * SEND_SLOTS * SLOT,
	RECEIVE_RING = RECEIVES * RECV_SLOTS * SLOT,
	SHARE_RING = SHARES * RECV_SLOTS * SLOT,
};

/* Doorbells of a fake. */
enum {
	DB_SQ,
	DB_RQ,
	DB_SRQ,
	DB_SEND_CQ,
	DB_RECV_CQ,
	DOORBELLS,
};

/* A completion queue, with its entries as the device writes them. */
struct fake_cq {
	struct cx_cq cq;
	_Alignas(64) char ring[ENTRIES * CQE + STATUS_ROOM];
	uint32_t place; /* number of entries that the device wrote */
};

struct fake {
	struct adapter adapter;
	struct cx_context ctx;
	struct cx_qp qp;
	struct cx_srq srq;
	struct fake_cq send_cq, recv_cq;
	uint32_t by_kernel; /* the byte that makes the kernel ring doorbells */
	struct cx_sent sent[SENDS];
	uint16_t reads[SENDS];
	uint64_t wr_ids[RECEIVES];
	struct cx_srq_entry shared[SHARES];
	struct cx_waiting waiting[SHARES];
	_Alignas(64) char sends[SEND_RING + STATUS_ROOM];
	_Alignas(64) char receives[RECEIVE_RING + STATUS_ROOM];
	_Alignas(64) char shares[SHARE_RING + STATUS_ROOM];
	uint32_t registers[DOORBELLS];
	_Alignas(64) char copy[SLOT]; /* register for a request of one slot */
};

struct fake *fake_create(void);
struct adapter *fake_adapter(void);
void fake_free(struct fake *f);
/* Let receives go to the SRQ. */
void fake_share(struct fake *f);

/* A completion. Members that are not of its kind are ignored. */
struct fake_cqe {
	uint32_t number; /* of the queue pair; 0: QPN */
	uint32_t opcode; /* RI_; with CQE_SEND for a send */
	uint32_t status;
	uint32_t length, stag, imm;
	uint16_t index;	     /* index of a send */
	uint32_t msn, share; /* numbers of a receive */
};

/* Write an entry as the device does. */
void fake_entry(struct fake_cq *cq, struct fake_cqe cqe);
/* Write the completion of the send at @index, and of a receive with the next message number. */
void fake_sent(struct fake *f, uint16_t index, uint32_t status);
void fake_received(struct fake *f, uint32_t msn);
int fake_poll(struct fake_cq *cq, struct ibv_wc *wc, int count);
/* Return big-endian word @index of the words of 64 bits at @at. */
uint64_t fake_word(const void *at, int index);
/* Return the value of a doorbell. */
uint32_t fake_doorbell(const struct fake *f, int which);

#endif
