/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that the end-to-end programs share. They use only the public API, so that the same
 * binaries run on every device, library and kernel.
 *
 * A program is a table of cases. Each case runs in a process of its own, on the device that
 * RT_DEVICE names (default: the first device). A case passes if it returns, fails at the first
 * CHECK that does not hold, and may skip itself with a reason. RT_CASE=name runs one case in the
 * program's own process, for a debugger.
 *
 * Exit code of the program: 0, 1, or 77 if all cases were skipped.
 */
#ifndef TESTS_LIB_RT_H
#define TESTS_LIB_RT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define RT_SKIP	    77
#define RT_SECONDS  240 /* limit of a case; RT_SECONDS of the environment overrides it */

#define RT_COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

struct rt_case {
	const char *name;
	void (*run)(void);
	/* Called instead of @run, for tables of similar cases. */
	void (*run_with)(const void *arg);
	const void *arg;
};

int rt_main(const struct rt_case *cases, int count);
#define RT_MAIN(cases)                                  \
	int main(void)                                  \
	{                                               \
		return rt_main(cases, RT_COUNT(cases)); \
	}

/* Keep the library's log lines of this process from now on. Call it before the first verb. */
void rt_log_capture(void);
const char *rt_log_text(void);
void rt_log_discard(void);

/* Report a failure and end the process. */
__attribute__((noreturn, format(printf, 3, 4))) void rt_fail(const char *file, int line,
							     const char *fmt, ...);
__attribute__((noreturn, format(printf, 1, 2))) void rt_skip(const char *fmt, ...);

/* Prints more about a failed check; NULL: nothing more is printed. */
extern void (*rt_failing)(void);

#define FAIL(...) rt_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition)                                    \
	do {                                                \
		if (!(condition))                           \
			FAIL("%s (errno: %m)", #condition); \
	} while (0)
/* Check a call that returns 0 or an errno. */
#define CHECK_OK(call) CHECK_INT(call, 0)
#define CHECK_INT(value, expected) \
	rt_check_int(__FILE__, __LINE__, #value, (long long)(value), (long long)(expected))

void rt_check_int(const char *file, int line, const char *what, long long value,
		  long long expected);

/* ---- the device ---- */

struct rt_dev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	uint8_t port_num;
	uint8_t gid_index; /* RoCE: a v2 GID that is not link-local, if there is one */
	union ibv_gid gid;
};

struct ibv_device *rt_device_find(struct ibv_device **list);
struct rt_dev *rt_open(void);
void rt_close(struct rt_dev *dev);

/* ---- buffers ---- */

/* Page-aligned and registered in the device's PD. */
struct rt_buf {
	uint8_t *p;
	size_t size;
	struct ibv_mr *mr;
};

struct rt_buf rt_buf_alloc(struct rt_dev *dev, size_t size, int access);
void rt_buf_free(struct rt_buf *buf);
#define RT_ACCESS                                                                    \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 (rt_has_atomics() ? IBV_ACCESS_REMOTE_ATOMIC : 0))
bool rt_has_atomics(void); /* Return whether the open device has atomics. */
/*
 * Return whether the device belongs to the kernel. Its software devices have known flaws, which
 * cases name when they skip.
 */
bool rt_is_kernel(const struct rt_dev *dev);
bool rt_is_rxe(const struct rt_dev *dev);
/* Return whether the running kernel has at least this version. */
bool rt_kernel_since(unsigned int major, unsigned int minor);

/* Descriptors and mappings of the process. */
struct rt_use {
	int descriptors;
	int mappings;
};
struct rt_use rt_use(void);

/* Fill @p with bytes that depend on position and @seed. VERIFY fails at the first wrong byte. */
void rt_fill(void *p, size_t size, uint32_t seed);
#define VERIFY(p, size, seed) rt_verify(__FILE__, __LINE__, p, size, seed)
void rt_verify(const char *file, int line, const void *p, size_t size, uint32_t seed);

/* ---- a pair of connected queue pairs, each with a CQ and a buffer ---- */

struct rt_options {
	enum ibv_qp_type type; /* 0: RC */
	uint32_t send_wr;      /* 0: 16; RT_NONE: no such queue */
	uint32_t recv_wr;      /* 0: 16; RT_NONE: no such queue */
	uint32_t sge;	       /* 0: 1 */
	uint32_t inline_data;  /* bytes */
	uint32_t cqe;	       /* 0: 64 */
	size_t size;	       /* bytes of the buffer; 0: 64 KiB */
	uint64_t send_ops;     /* IBV_QP_EX_WITH_*: create by ibv_create_qp_ex() */
	uint64_t wc_flags;     /* flags of an extended CQ */
	bool cq_ex;	       /* create by ibv_create_cq_ex() */
	bool srq;	       /* one SRQ for both sides */
	bool sig_all;
	bool channel;	   /* the CQs report events to a completion channel */
	bool no_access;	   /* the QP refuses remote operations */
	uint8_t rd_atomic; /* 0: 1; RT_NO_READS: none */
	uint8_t retry_cnt; /* 0: 7 */
	uint8_t rnr_retry; /* 0: 7; RT_NO_RETRY: none */
	uint8_t timeout;   /* 0: 14 */
};
#define RT_NO_RETRY 0xff
#define RT_NO_READS 0xff
#define RT_NONE	    UINT32_MAX

struct rt_side {
	struct rt_dev *dev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* shared by a pair */
	bool srq_owner;	     /* side a */
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx; /* the extended QP, if send_ops is set */
	struct rt_buf buf;
	struct rt_options options;
	struct rt_connection *connection; /* iWARP only; side a has the connection of both sides */
	uint32_t psn;
};

/* Connect a pair on iWARP, where verbs connect no queue pair, and free the connection after its
 * queue pairs. Only programs with librdmacm have these two functions. */
struct rt_connection *rt_iwarp_connect(struct rt_side *a, struct rt_side *b) __attribute__((weak));
void rt_iwarp_close(struct rt_connection *connection) __attribute__((weak));
bool rt_is_iwarp(const struct rt_dev *dev);
/* Skip the case on iWARP. @reason: a text that names the property of iWARP that rules the case
 * out. */
void rt_skip_iwarp(const struct rt_dev *dev, const char *reason);

/* The address that one side sends to the other, in this process or through a socket. */
struct rt_address {
	union ibv_gid gid;
	uint16_t lid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint64_t addr;
};

struct rt_pair {
	struct rt_side a;
	struct rt_side b;
};

/* Open two sides and make both ready to send to each other. Skips the case if the device cannot. */
struct rt_pair rt_pair_open(struct rt_dev *dev, const struct rt_options *options);
void rt_pair_close(struct rt_pair *pair);

/* The steps of rt_pair_open(), for cases that need one step at a time and for two processes. */
struct rt_side rt_side_open(struct rt_dev *dev, const struct rt_options *options,
			    struct ibv_srq *srq);
void rt_side_close(struct rt_side *side);
struct rt_address rt_side_address(const struct rt_side *side);
void rt_side_init(struct rt_side *side);
void rt_side_rtr(struct rt_side *side, const struct rt_address *peer);
int rt_side_try_rtr(struct rt_side *side, const struct rt_address *peer); /* 0 or an errno */
void rt_side_rts(struct rt_side *side);
void rt_side_connect(struct rt_side *side, const struct rt_address *peer);
void rt_pair_connect(struct rt_pair *pair);
struct rt_address rt_exchange(int socket, const struct rt_address *mine);

struct ibv_ah_attr rt_ah_attr(const struct rt_dev *dev, const struct rt_address *peer);
void rt_qp_state(struct ibv_qp *qp, enum ibv_qp_state state);
#define RT_QKEY 0x11111111

/* ---- work requests on a side's own buffer: @length bytes from @offset ---- */

struct ibv_sge rt_sge(const struct rt_side *side, size_t offset, uint32_t length);
void rt_recv(struct rt_side *side, uint64_t wr_id, size_t offset, uint32_t length);
/* Return a signalled request. rt_wr_remote() adds @peer's buffer at @remote_offset. */
struct ibv_send_wr rt_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge);
void rt_wr_remote(struct ibv_send_wr *wr, const struct rt_side *peer, size_t remote_offset);
#define POST(side, wr) rt_post(__FILE__, __LINE__, side, wr)
void rt_post(const char *file, int line, struct rt_side *side, struct ibv_send_wr *wr);

/* Wait for the next completion. EXPECT checks its id and opcode, and that it is a success. */
struct ibv_wc rt_wait(struct rt_side *side);
#define EXPECT(side, wr_id, opcode) \
	rt_expect(__FILE__, __LINE__, side, wr_id, IBV_WC_SUCCESS, opcode)
#define EXPECT_STATUS(side, wr_id, status) rt_expect(__FILE__, __LINE__, side, wr_id, status, -1)
struct ibv_wc rt_expect(const char *file, int line, struct rt_side *side, uint64_t wr_id,
			enum ibv_wc_status status, int opcode);
/* Check that there is no completion after all earlier requests took effect. */
#define EXPECT_NONE(side) CHECK_INT(rt_poll_none(side), 0)
int rt_poll_none(struct rt_side *side);

/* Wait for the next asynchronous event, check that it is a @type, and acknowledge it. */
#define EXPECT_EVENT(dev, type) rt_expect_event(__FILE__, __LINE__, dev, type)
struct ibv_async_event rt_expect_event(const char *file, int line, struct rt_dev *dev,
				       enum ibv_event_type type);

#endif
