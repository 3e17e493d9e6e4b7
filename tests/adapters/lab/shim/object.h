/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The objects that a kernel driver keeps for a process, by handle. Protected by device_lock,
 * which every command and every pass of the model's thread holds. */
#ifndef DEVICES_OBJECT_H
#define DEVICES_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum object_type {
	OBJECT_PD = 1,
	OBJECT_MR,
	OBJECT_MW,
	OBJECT_CQ,
	OBJECT_QP,
	OBJECT_SRQ,
	OBJECT_AH,
	OBJECT_WQ,
	OBJECT_TABLE, /* of work queues */
	OBJECT_FLOW,  /* pd is what it steers to: a queue pair */
	OBJECT_COUNTERS,
	OBJECT_XRCD,
	OBJECT_DM,	/* memory of the device; rq.base is where it is mapped */
	OBJECT_PRIVATE, /* objects that only this device has: mlx5's UARs */
	OBJECT_TYPES,
};

/* The halves of dynamically connected transport. */
enum object_dc {
	DC_NONE,
	DC_TARGET,
	DC_INITIATOR,
};

/* A ring in the memory of the process, as its device reads it. */
struct queue {
	uint8_t *base;
	uint32_t entries;
	uint32_t stride;
	volatile uint32_t *record; /* doorbell record, which the process writes in its memory */
	uint32_t consumed;	   /* entries, free-running */
	uint32_t cursor;	   /* the device's own: where a linked ring goes on */
	bool cyclic;		   /* of an SRQ: its requests are no list */
};

/* A CQ that the process has armed. */
struct arm {
	bool solicited;
	uint32_t consumed; /* completions that it had seen by then */
};

struct object {
	enum object_type type;
	uint32_t ordinal; /* 0, 1, 2 among those of its type */
	uint32_t handle;
	uint32_t number; /* QPN, CQN, SRQN, PDN, lkey */
	uint32_t rkey;
	uint64_t user_handle;
	bool by_device;	 /* made by a command of the device's own */
	uint64_t length; /* of device memory, of a region */
	uint64_t iova;	 /* of a region, in run mode */
	unsigned access;

	struct object *pd, *send_cq, *recv_cq, *srq, *table, *xrcd,
		*dm;		 /* an XRC SRQ has recv_cq */
	bool tags;		 /* of an SRQ: it matches tags, and has recv_cq */
	struct object **members; /* of a table; freed with it */
	uint32_t member_count;
	struct queue sq, rq; /* a QP's; an SRQ has rq */
	uint32_t user_index;
	enum ibv_qp_type qp_type;
	enum ibv_qp_state state;
	bool was_init; /* since it was in RESET */
	bool commands; /* it changes the list of an SRQ that matches tags */
	uint32_t qkey;
	uint8_t lag_port;   /* 0: none was chosen */
	uint16_t last_sent; /* of the backend, by the device's id */
	bool to_itself;	    /* connected to itself */
	bool busy;	    /* last_sent has not completed yet */
	uint16_t refused_id;
	enum ibv_wc_status refused; /* status of the request refused_id */
	enum object_dc dc;	    /* of a QP with IBV_QPT_DRIVER */
	uint64_t dc_key;	    /* of a DC target */
	uint32_t tir; /* number by which steering reaches a raw packet queue pair; 0: none */

	struct ibv_mr *ring_region; /* of the model; NULL: not needed so far */
	struct ibv_mr *null_mr;	    /* a PD's, of the model */

	struct ibv_ah_attr address; /* an AH's */

	struct queue ring; /* a CQ's */
	uint32_t produced;
	bool overrun;	  /* a completion came for which there was no room */
	int channel;	  /* the process's descriptor, or -1 */
	int async_reader; /* that of its context's asynchronous events */
	bool armed;
	struct arm arm;
	uint32_t arm_seen;
	uint32_t events;	  /* completion events so far */
	uint32_t announced;	  /* completions that there were at the last event */
	uint32_t solicited_until; /* completions before this one asked for an event */
	uint32_t event_count[2];  /* events written to the process: completion, asynchronous */

	void *device; /* the device's own, allocated; freed with the object */
	union {
		void *any;
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_mw *mw;
		struct ibv_cq *cq;
		struct ibv_qp *qp;
		struct ibv_srq *srq;
		struct ibv_xrcd *xrcd;
	} backend; /* the model's, in run mode */
};

extern pthread_mutex_t device_lock;

/* NULL: no memory. */
struct object *object_new(enum object_type type);
/* NULL: no such object. */
struct object *object_find(enum object_type type, uint32_t handle);
void object_free(struct object *object);

/* Forget all objects in a child of the process, which has none of them. */
void object_forget_all(void);

/* Return whether another object refers to this one. */
bool object_in_use(const struct object *object);

/* Return the number of objects that ever existed, and the object of that ordinal, or NULL. */
uint32_t object_count(enum object_type type);
struct object *object_at(enum object_type type, uint32_t ordinal);
struct object *object_by_number(enum object_type type, uint32_t number);

/* "qp3"; a static buffer, one of eight. */
const char *object_name(enum object_type type, uint32_t handle);

#endif
