/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two files of qedr. Rings consist of elements of 16 bytes, and a ring has whole pages. */
#ifndef DEVICES_QEDR_H
#define DEVICES_QEDR_H

#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	QEDR_ELEMENT = 16,
	QEDR_CQE = 32,
	QEDR_SEND_ELEMENTS = 18, /* of the largest request */
	QEDR_SEND_SGES = 18,
	QEDR_RECV_SGES = 4,
	QEDR_INLINE = 256,

	/* registers, as the driver of Linux 6.1 places them */
	QEDR_DB_SQ = 0x210,
	QEDR_DB_CQ = 0x260,
	QEDR_DB_RQ = 0x2c8,
	QEDR_DB_RQ_IWARP = 0x2d8,
	QEDR_DB_RQ_FLAGS = 0x358,
};

/* The number of a posted request, the element where it begins, and the elements of the request
 * before. */
struct qedr_position {
	uint32_t index, element, size;
};

/* The page to which a process also writes the values that it writes to a register. */
struct qedr_page {
	volatile uint64_t *word; /* NULL: it is not mapped */
};

struct qedr_played_qp {
	uint64_t cookie; /* comes back in completions */
	uint16_t icid;
	struct qedr_position read;
	struct qedr_page sq, rq;
	/* For a trace: the request behind the last announced one, and for each element the mask of
	 * the bytes that the device ignores. */
	struct qedr_position traced;
	uint16_t *unused;
};

struct qedr_played_cq {
	struct qedr_page page;
};

struct qedr_played_srq {
	const volatile uint32_t *pair; /* elements and receives that the process has posted */
	uint64_t wr_ids[1 << 16];
};

/* Return the number by which doorbells for sends name a queue pair. */
uint16_t qedr_send_icid(const struct object *qp);

int qedr_next_send(struct object *qp, struct work *work);
int qedr_next_receive(struct object *queue, struct work *work);
uint32_t qedr_room(struct object *cq);
bool qedr_armed(struct object *cq, struct arm *ret_arm);
void qedr_entry(struct object *cq, const void *bytes, size_t length);
void qedr_complete(struct object *cq, const struct completion *c);
unsigned qedr_ignored(const char *region, size_t offset);
unsigned qedr_undefined(const char *region, size_t offset, const uint8_t *bytes);
void qedr_stored(const char *region, size_t offset, const uint8_t *bytes, size_t length);

#endif
