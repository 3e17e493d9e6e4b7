/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by mana.c, the answers of the driver, and mana_wqe.c, the rings of RC. */
#ifndef DEVICES_MANA_H
#define DEVICES_MANA_H

#include <rdma/mana-abi.h>
#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	MANA_PAGE = 4096,
	MANA_CQE = 64,
	MANA_UNIT = 32,
	MANA_ROLLBACK = 16,
	MANA_IDS = 1 << 16,
	MANA_NUMBER_MASK = 0xffffff,
};

/* Numbers of a queue pair's queues, in the order of the driver's request. */
enum {
	MANA_SEND,
	MANA_SEND_RESPONDER,
	MANA_READS,
	MANA_RECV,
	MANA_QUEUES,
};

/* The device's part of an RC queue pair. */
struct mana_played_qp {
	uint32_t numbers[MANA_QUEUES];
	struct queue reads;	      /* receive queue of the requester */
	volatile uint32_t *rollback;  /* signature, size, left, right */
	uint32_t first_psn[MANA_IDS]; /* by the id of a send */
	uint32_t last_psn[MANA_IDS];
	uint32_t start[MANA_IDS]; /* first unit, by the id of a receive */
	/* Run mode: the last request that was passed to the model. The model may have refused it.
	 */
	struct {
		uint32_t unit;
		uint32_t read_units; /* of the second entry of a read */
	} sent, received;
	uint32_t traced_sends, traced_receives; /* number of requests in a trace */
	uint32_t traced_send_unit, traced_receive_unit;
	bool failed[2]; /* the device has reported a failure: send, receive */
};

/* Run mode: empty the rings of a queue pair, and forget the requests. */
void mana_empty(struct object *qp);
int mana_next_send(struct object *qp, struct work *work);
int mana_next_receive(struct object *queue, struct work *work);
uint32_t mana_room(struct object *cq);
void mana_entry(struct object *cq, const void *bytes, size_t length);
void mana_complete(struct object *cq, const struct completion *completion);
bool mana_armed(struct object *cq, struct arm *ret_arm);
uint16_t mana_traced_id(const struct object *qp, bool receive, uint32_t index);
uint8_t mana_traced_note(enum ibv_wr_opcode opcode);

#endif
