/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between the queue pairs of one adapter with one InfiniBand port. This part knows verbs
 * and no format: an adapter fills in the objects by its commands, and decodes rings by the files of
 * tests/adapters/lab/device.
 */
#ifndef PCI_LOOP_H
#define PCI_LOOP_H

#include "tests/adapters/lab/device/device.h"

enum {
	LOOP_LID = 1,
	LOOP_CONTEXT = 256,
	LOOP_NUMBERS = 1 << 18, /* numbers of objects differ in these bits */
	LOOP_CQS = 2048,
	LOOP_QPS = 2048,
	LOOP_SRQS = 512,
};

/* Pages of a ring, mapped one behind the other. */
struct loop_map {
	uint8_t *at;
	size_t length;
};

struct loop_cq {
	bool used;
	struct object object;
	struct loop_map map;
	uint32_t eq;
	bool armed;
	struct arm arm;
};

struct loop_srq {
	bool used, is_xrc;
	struct object object;
	struct loop_map map;
	uint32_t pd, cq, xrcd;
	uint32_t limit; /* 0: none */
	uint8_t context[LOOP_CONTEXT];
};

/* Bits of access to memory. */
enum {
	LOOP_LOCAL_READ = 1,
	LOOP_LOCAL_WRITE = 2,
	LOOP_REMOTE_READ = 4,
	LOOP_REMOTE_WRITE = 8,
	LOOP_REMOTE_ATOMIC = 16,
};

enum loop_special {
	LOOP_COMMON,
	LOOP_QP0,
	LOOP_QP1,
};

struct loop_qp {
	bool used, has_srq, rnr_forever;
	enum loop_special special;
	struct object object; /* qp_type: RC, UC, UD, or XRC_SEND for both sides of XRC */
	struct loop_map map;
	uint32_t pd, send_cq, recv_cq, srq, xrcd;
	uint32_t remote_qpn;
	uint16_t remote_lid;
	unsigned access;	/* rights of the peer */
	uint64_t waiting_since; /* for the peer, or for the peer's receive; 0: not waiting */
	uint8_t context[LOOP_CONTEXT];
};

enum loop_event {
	LOOP_EVENT_COMM_EST = 0x2,
	LOOP_EVENT_SQ_DRAINED = 0x3,
	LOOP_EVENT_CQ_ERROR = 0x4,
	LOOP_EVENT_REQUEST_ERROR = 0x10,
	LOOP_EVENT_ACCESS_ERROR = 0x11,
	LOOP_EVENT_LAST_WQE = 0x13,
	LOOP_EVENT_SRQ_LIMIT = 0x14,
};

/* The address of a datagram. */
struct loop_address {
	uint16_t lid;
	bool has_grh;
};

/* Functions of the adapter. */
struct loop_adapter {
	int (*next_send)(struct object *qp, struct work *work);
	int (*next_receive)(struct object *queue, struct work *work);
	struct loop_address (*address)(const struct loop_qp *qp, const struct work *work);
	bool (*has_room)(const struct object *cq);
	void (*complete)(struct object *cq, const struct completion *completion);
	bool (*armed)(struct object *cq, struct arm *ret_arm);
	/* Write an event: of a queue pair, SRQ or CQ with an error; of completions. */
	void (*event)(enum loop_event type, uint32_t number);
	void (*completion_event)(struct loop_cq *cq);
	/* Return memory behind a key, and in *ret_together how many of @length bytes lie together.
	 * NULL: the key does not allow @access by queue pair @qp to all of them. */
	uint8_t *(*memory)(uint32_t key, uint32_t pd, uint32_t qp, uint64_t at, uint64_t length,
			   unsigned access, size_t *ret_together);
	enum ibv_wc_status (*bind)(const struct loop_qp *qp, const struct work *work);
	bool (*invalidate)(const struct loop_qp *qp, uint32_t key);
	/* Return the next number of a member of the group, from *cursor on, or 0. */
	uint32_t (*next_member)(const uint8_t *gid, uint32_t sender, uint32_t *cursor);
	void (*gid)(uint32_t index, uint8_t ret_gid[16]);
};
extern const struct loop_adapter loop_adapter;

/* Return the object of this number, or NULL. */
struct loop_cq *loop_cq(uint32_t number);
struct loop_srq *loop_srq(uint32_t number);
struct loop_qp *loop_qp(uint32_t number);
/* Return an object for this number, or NULL if there are too many. An object that had the number is
 * forgotten. The caller sets `used`. */
struct loop_cq *loop_new_cq(uint32_t number);
struct loop_srq *loop_new_srq(uint32_t number);
struct loop_qp *loop_new_qp(uint32_t number);
void loop_forget_cq(struct loop_cq *cq);
void loop_forget_srq(struct loop_srq *srq);
void loop_forget_qp(struct loop_qp *qp);
void loop_forget_all(void);
void loop_unmap(struct loop_map *map);

void loop_qp_error(struct loop_qp *qp);
/* Make one pass over the rings; return whether there was work. */
bool loop_pass(void);

#endif
