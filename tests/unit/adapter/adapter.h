/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The harness for unit tests of providers: an open device without a kernel, and the tests that
 * every adapter must pass.
 *
 * A provider's fake begins with a struct adapter. It fills in the rings and registers of one RC
 * queue pair in RTS and of its completion queues, and it plays the device: it writes completions.
 * The tests call the functions of the provider that ibv_post_send() and the like would call.
 * ADAPTER_TESTS lists the tests of cases.c, whose state is the function that makes the fake.
 */
#ifndef TESTS_UNIT_ADAPTER_ADAPTER_H
#define TESTS_UNIT_ADAPTER_ADAPTER_H

#include <stdlib.h>

#include "libibverbs/library.h"
#include "tests/unit/unit.h"

enum {
	ADAPTER_SGES = 16, /* entries of the longest list of a request */
};

struct adapter;

struct adapter_ops {
	const char *name; /* name of the device */
	uint32_t driver_id;
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);
	/* Write the successful completion of send or receive @number, counted from 0. */
	void (*send_complete)(struct adapter *a, uint32_t number);
	void (*receive_complete)(struct adapter *a, uint32_t number);
	/* Let the queue pair refuse requests as in a state that accepts none. */
	void (*close)(struct adapter *a);
	void (*free)(struct adapter *a);
};

struct adapter {
	const struct adapter_ops *ops;
	struct ibv_device device;
	struct verbs_provider provider;
	struct verbs_ex_private priv;
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* of receives; NULL: they belong to @qp */
	struct ibv_cq *send_cq, *recv_cq;
	/* What @qp accepts. */
	int sends, receives, max_send_sge, max_recv_sge;
	uint32_t max_inline;
	const void *registers; /* doorbells, which refused requests do not change */
	size_t registers_size;
};

/* Open @vctx as a context of the device. */
void adapter_open(struct adapter *a, const struct adapter_ops *ops, struct verbs_context *vctx);
/* Make a queue pair of @vctx in RTS. */
void adapter_qp_open(struct adapter *a, struct verbs_qp *vqp, struct verbs_context *vctx,
		     enum ibv_qp_type type, uint32_t number);

/* Return a signaled request with @sges entries of 8 bytes at 0x1000, 0x2000 and so on. The entries
 * belong to the next call. */
struct ibv_send_wr adapter_send_wr(enum ibv_wr_opcode opcode, int sges);
/* Post a request. Check that the provider returns it as the bad one if, and only if, the provider
 * refuses it. */
int adapter_post(struct adapter *a, struct ibv_send_wr wr);
/* Post a send of @length bytes at @data. */
int adapter_send(struct adapter *a, uint64_t wr_id, unsigned int flags, const void *data,
		 uint32_t length);
/* Post a receive with @sges entries at 0x5000, 0x6000 and so on. */
int adapter_receive(struct adapter *a, uint64_t wr_id, int sges);
int adapter_poll(struct adapter *a, struct ibv_cq *cq, struct ibv_wc *wc, int count);
struct ibv_wc adapter_poll_one(struct adapter *a, struct ibv_cq *cq);

/* Return little-endian word @index of the words at @at. */
uint32_t adapter_word_32(const void *at, int index);
uint64_t adapter_word_64(const void *at, int index);

typedef struct adapter *(*adapter_create)(void);

/* Post @count sends, each of which completes before the next one. */
void adapter_sends_poll(struct adapter *a, uint32_t count);

/* cases.c */
void adapter_test_counters(void **state);
void adapter_test_unsignaled(void **state);
void adapter_test_sends_full(void **state);
void adapter_test_receives_full(void **state);
void adapter_test_list(void **state);
void adapter_test_sends_refused(void **state);
void adapter_test_receives_refused(void **state);
void adapter_test_closed(void **state);

#define ADAPTER_TEST(function, create)                                                        \
	{                                                                                     \
		.name = #function, .test_func = (function), .initial_state = (void *)(create) \
	}
#define ADAPTER_TESTS(create)                                        \
	ADAPTER_TEST(adapter_test_counters, create),                 \
		ADAPTER_TEST(adapter_test_unsignaled, create),       \
		ADAPTER_TEST(adapter_test_sends_full, create),       \
		ADAPTER_TEST(adapter_test_receives_full, create),    \
		ADAPTER_TEST(adapter_test_list, create),             \
		ADAPTER_TEST(adapter_test_sends_refused, create),    \
		ADAPTER_TEST(adapter_test_receives_refused, create), \
		ADAPTER_TEST(adapter_test_closed, create)

#endif
