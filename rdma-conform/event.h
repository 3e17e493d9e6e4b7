/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events: each side records them while it takes its steps, and the rules read those of both
 * sides. */
#ifndef RDMA_CONFORM_EVENT_H
#define RDMA_CONFORM_EVENT_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>

#include "rdma-conform/step.h"

/*
 * Every byte that a program moves is tagged: a word of eight bytes names the program, the message,
 * the generation of its content and the offset in the message. A run of bytes in a buffer therefore
 * shows its origin.
 */
struct tag {
	uint16_t program;   /* modulo 4096 */
	uint8_t id;	    /* number of the message */
	uint8_t generation; /* modulo 16: how often the buffer was filled before */
};

/* Fill @to with @length bytes of the message @tag, from @offset in the message on. */
void tag_fill(void *to, size_t length, struct tag tag, uint64_t offset);
/* Return how many bytes at @at are equal to the message @tag from @offset on. */
size_t tag_match(const void *at, size_t length, struct tag tag, uint64_t offset);
/* Read the tag of the bytes at @at, which may begin within a word. Return false if they have no tag
 * of @program. */
bool tag_read(const void *at, size_t length, uint16_t program, struct tag *ret_tag,
	      uint64_t *ret_offset);

enum event_kind {
	EVENT_DONE,  /* the step's call returned */
	EVENT_SKIP,  /* the step was left out */
	EVENT_WC,    /* a completion was polled */
	EVENT_RUN,   /* a run of bytes of a look */
	EVENT_ASYNC, /* an asynchronous event was read */
};

/* Reasons why a step was left out. */
#define SKIPS(X)                                          \
	X(ABSENT, "the object is not there")              \
	X(BUSY, "the object is in use or there already")  \
	X(PEER, "the other side has no such queue pair")  \
	X(REQUEST, "what the request names is not there") \
	X(CHANNEL, "the completion queue has no channel") \
	X(LIST, "the list of the request was not posted") \
	X(OFFER, "the device does not offer it")

#define AS_SKIP(name, text) SKIP_##name,
enum skip {
	SKIPS(AS_SKIP) SKIP_COUNT
};

#define RAW 16

enum run_kind {
	RUN_TAG,
	RUN_RAW,  /* at most RAW bytes without a tag */
	RUN_LONG, /* more than RAW bytes without a tag, which are not stored */
};

/* Sent between processes as it is. Both have the same byte order. */
struct event {
	uint16_t step;	/* index, or the number of steps for the cleaning up after the program */
	uint16_t epoch; /* number of syncs that the thread had passed */
	uint8_t side, thread, kind;
	union {
		struct {
			uint64_t error; /* positive errno */
			uint64_t value[5];
		} done;
		enum skip skip;
		struct ibv_wc wc; /* if it has an error, only wr_id, status and qp_num are valid */
		struct {
			uint32_t offset, length; /* in the concatenated pieces of the look */
			uint8_t kind, id, generation;
			union {
				uint64_t from; /* offset in the message */
				uint8_t raw[RAW];
			};
		} run;
		struct {
			uint32_t type;
			uint32_t kind, object;
		} async;
	};
};

/* Features of a device, as ibv_query_device_ex() reports them. */
struct offer {
	char device[64];
	uint32_t max_qp_wr, max_sge, max_cqe, max_srq_wr;
	uint32_t recv_sge; /* most pieces of a receive; may be less than max_sge */
	uint32_t read_sge; /* most pieces of a read */
	uint32_t mtu;	   /* bytes */
	uint32_t atomics, windows, extended_cq, wr_api;
	uint32_t inline_asked; /* queue pairs may ask for INLINE_BYTES of inline data */
	uint32_t inline_bytes; /* that they get */
	uint32_t rc, uc, ud, srq, multicast, on_demand, ethernet, same_address;
	uint32_t iwarp; /* and the connection manager connects its queue pairs */
};

extern const char *const skip_names[SKIP_COUNT];

void event_print(FILE *to, const struct event *event, const struct program *program);

#endif
