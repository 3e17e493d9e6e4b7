/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by irdma.c, which answers commands, irdma_wqe.c, which finds and reads requests, and
 * irdma_cqe.c, which writes completions. */
#ifndef DEVICES_IRDMA_H
#define DEVICES_IRDMA_H

#include <rdma/irdma-abi.h>
#include "tests/adapters/lab/device/device.h"
#include "tests/adapters/lab/model/model.h"

enum {
	IRDMA_QUANTUM = 32,
	IRDMA_QUANTA_MOST = 8, /* quanta of a request, at most */
	IRDMA_IDS = 1 << 16,   /* of requests and of receives in flight */
	IRDMA_OP_WRITE = 0x00,
	IRDMA_OP_READ = 0x01,
	IRDMA_OP_SEND = 0x03,
	IRDMA_OP_SEND_INV = 0x04,
	IRDMA_OP_SEND_SOLICITED = 0x05,
	IRDMA_OP_SEND_INV_SOLICITED = 0x06,
	IRDMA_OP_BIND = 0x08,
	IRDMA_OP_LOCAL_INV = 0x0a,
	IRDMA_OP_NOP = 0x0c,
	IRDMA_OP_WRITE_SOLICITED = 0x0d,
	IRDMA_OP_FETCH_ADD = 0x0f,
	IRDMA_OP_CMP_SWAP = 0x11,
	IRDMA_PAGE = 4096,
	IRDMA_SHADOW = 64,
	IRDMA_RING_MIN = 8,	 /* requests of the smallest ring */
	IRDMA_RING_MOST = 32768, /* quanta */
	IRDMA_FEATURE_RTS_AE = 1 << 0,
	IRDMA_FEATURE_RESIZE = 1 << 1,
	IRDMA_FEATURE_CQE_64 = 1 << 5,
	IRDMA_FEATURE_ATOMICS = 1 << 6,
	IRDMA_FEATURE_SRQ = 1 << 7,
};

/* What differs between the generations, by their number. */
struct irdma_limits {
	uint32_t features, frags, read_sges, max_inline;
	uint16_t chunk;
};

extern const struct irdma_limits irdma_generations[];

/* A region, with the purpose that the process named. */
struct irdma_region {
	uint64_t start, length;
	struct irdma_mem_reg_req request;
	bool used; /* a queue uses the region */
};

struct irdma_played_qp {
	uint64_t cookie; /* number of the queue in completions */
	/* A request has failed, and the process completes the others. */
	bool send_over, receive_over;
	bool send_lost, receive_lost; /* a completion since then was not written */
	uint16_t last_send, last_receive;
	/* For traces: the posted requests that are known, their first quanta, and the quantum
	 * behind the last of them. */
	uint32_t known, behind;
	uint16_t first[IRDMA_IDS];
};

struct irdma_played_cq {
	uint32_t base;	  /* entries that were written before this ring */
	uint32_t resizes; /* rings before this one */
};

/* A shared receive queue: the request numbers of its receives, by their ids. */
struct irdma_played_srq {
	uint64_t wr_ids[IRDMA_IDS];
};

/* Return the generation of the adapter: 1 to 3. */
int irdma_generation(void);
bool irdma_is_iwarp(void);
bool irdma_has(uint32_t feature);
/* Take the region that begins here and has this purpose; NULL: there is none. */
struct irdma_region *irdma_region_take(uint64_t start, unsigned type);

int irdma_answer_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command);
int irdma_transition(struct object *qp, struct ib_uverbs_modify_qp *q, struct command *command);
int irdma_answer_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command);

/* Return the quanta of the request whose header is here. */
uint32_t irdma_quanta(const uint8_t *wqe);
int irdma_next_send(struct object *qp, struct work *work);
int irdma_next_receive(struct object *queue, struct work *work);
uint16_t irdma_traced_id(const struct object *qp, bool receive, uint32_t index);
uint8_t irdma_traced_note(enum ibv_wr_opcode opcode);

uint32_t irdma_room(struct object *cq);
void irdma_entry(struct object *cq, const void *bytes, size_t length);
void irdma_complete(struct object *cq, const struct completion *c);
bool irdma_armed(struct object *cq, struct arm *ret_arm);
/* Write completions of the requests that the process has posted since a failure. */
void irdma_flush_again(struct object *qp, bool sends, bool receives);

#endif
