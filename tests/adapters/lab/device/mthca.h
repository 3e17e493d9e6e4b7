/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats of mthca. All numbers in memory are big-endian. */
#ifndef DEVICES_MTHCA_H
#define DEVICES_MTHCA_H

#include "tests/adapters/lab/device/mlx.h"

enum {
	NEXT_SIZE = 16, /* the first segment of each request */
	SGE_SIZE = 16,
	RADDR_SIZE = 16,
	UD_SIZE = 48,
	WQE_MIN = 64,
	SIZE_MASK = 0x3f, /* of a request, in units of 16 bytes */
	DBD = 0x80,	  /* a doorbell announces the next request */
	FENCE = 0x40,
	LKEY_END = 0x100,
};

/* The words about a request that the request before it contains. */
struct mthca_link {
	uint32_t nda_op, ee_nds;
};

/* Private data of a queue pair of Tavor, whose requests form a linked list. */
struct mthca_chain {
	uint32_t failed;	/* slot of the last failed request, or NEVER_FAILED */
	uint32_t taken;		/* number of the request that was read last, from 1; 0: none */
	struct mthca_link link; /* link of this request */
	uint32_t flags;		/* its third word */
	uint8_t joined[];	/* by slot: the request had no doorbell of its own */
};
#define NEVER_FAILED UINT32_MAX

/* Whether the adapter has its memory in the host, and reads records there. */
bool mthca_has_records(void);

/* Offset of a request in the buffer of its queue pair, from its slot. */
uint32_t mthca_offset(const struct object *qp, bool receive, uint32_t slot);

int mthca_next_send(struct object *qp, struct work *work);
int mthca_next_receive(struct object *queue, struct work *work);
uint8_t mthca_note_of(enum ibv_wr_opcode opcode);

#endif
