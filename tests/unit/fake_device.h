/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device in this process for tests of the library: a provider whose operations count their calls,
 * do the minimum that is correct, and fail on demand. Its log is captured, so that tests can search
 * it for the words of a message. */
#ifndef TESTS_UNIT_FAKE_DEVICE_H
#define TESTS_UNIT_FAKE_DEVICE_H

#include "tests/unit/unit.h"

#include "libibverbs/library.h"

enum fake_op {
	FAKE_QUERY_DEVICE,
	FAKE_QUERY_PORT,
	FAKE_REG_MR,
	FAKE_REG_DMABUF_MR,
	FAKE_REREG_MR,
	FAKE_DEREG_MR,
	FAKE_ADVISE_MR,
	FAKE_ALLOC_MW,
	FAKE_DEALLOC_MW,
	FAKE_CREATE_CQ,
	FAKE_RESIZE_CQ,
	FAKE_MODIFY_CQ,
	FAKE_DESTROY_CQ,
	FAKE_CREATE_SRQ,
	FAKE_MODIFY_SRQ,
	FAKE_QUERY_SRQ,
	FAKE_DESTROY_SRQ,
	FAKE_CREATE_QP,
	FAKE_MODIFY_QP,
	FAKE_QUERY_QP,
	FAKE_DESTROY_QP,
	FAKE_OPEN_XRCD,
	FAKE_CLOSE_XRCD,
	FAKE_OPEN_QP,
	FAKE_OPS,
};

struct fake_device {
	struct verbs_device device;
	struct verbs_provider provider;
	struct verbs_ops ops; /* may be changed by a test: NULL is not supported */
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	struct ibv_gid_entry gids[4]; /* index 2 and from 4 on are empty */

	unsigned int calls[FAKE_OPS];
	int result[FAKE_OPS]; /* 0, or the error that the operation returns instead of working */

	/* Arguments of the last operation. */
	struct verbs_reg_mr reg_mr;
	struct verbs_create_cq create_cq;
	struct ibv_cq_init_attr_ex cq_attr;
	struct ibv_qp_init_attr_ex qp_attr;
	int modify_mask;
	struct ibv_xrcd_init_attr xrcd_attr;
	struct ibv_qp_open_attr open_attr;
	struct ibv_srq_init_attr_ex srq_attr;

	enum ibv_qp_state state; /* of every queue pair, as the kernel would know it */
	struct ibv_srq_attr srq; /* of every shared receive queue */
};

/* Start the log's capture; first thing in main(), before any context. */
void fake_log_start(void);
/* Return the lines since the last fake_log_take(); valid until the next call. A line that another
 * thread writes between fake_log_look() and fake_log_take() is lost. Therefore a thread that waits
 * for a line calls only fake_log_look(). */
const char *fake_log_look(void);
const char *fake_log_take(void);

/* Check that @words are in the log since the last call. */
#define assert_logged(words)                                                     \
	do {                                                                     \
		const char *logged = fake_log_take();                            \
		if (!strstr(logged, words))                                      \
			fail_msg("'%s' is not in the log: '%s'", words, logged); \
	} while (0)
#define assert_log_empty() assert_string_equal(fake_log_take(), "")

/* A device on RoCE with one port of active MTU 1024, and an open context of it. */
void fake_device_init(struct fake_device *fake);
struct ibv_context *fake_open(struct fake_device *fake);
void fake_close(struct ibv_context *ctx);

static inline struct fake_device *fake_of(struct ibv_context *ctx)
{
	return container_of(to_vdev(ctx->device), struct fake_device, device);
}

/* cmocka's setup and teardown of one test: *state is the context. */
int fake_setup(void **state);
int fake_teardown(void **state);

/* A PD of the context; owned by the caller, freed with ibv_dealloc_pd(). */
struct ibv_pd *fake_pd(struct ibv_context *ctx);

#endif
