/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A provider of adapters on a hostile kernel and device. tests/adapters/lab plays them in this
 * process. The input chooses the command that fails, the changed bytes of answers, and the
 * content of completions. Each fuzz_<provider>.c names its devices. */
#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include <stdlib.h>
#include "libibverbs/library.h"
#include "tests/adapters/lab/device/device.h"
#include "tests/fuzz/input.h"

#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

enum {
	SESSION_QPS = 4,
	SESSION_BYTES = 1 << 16,
};

struct session {
	struct input *in;
	uint8_t *buffer; /* SESSION_BYTES of it, registered */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2];
	struct ibv_cq_ex *extended; /* the second queue, if the provider has such queues */
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_qp *qp[SESSION_QPS];
};

/* The parts of a fuzz target. */
struct played {
	const struct device *devices[4]; /* the input chooses an entry */
	/* Run a step that only this provider has, e.g. direct verbs; or NULL. */
	void (*step)(struct session *s);
	/* Called before the queues are created; or NULL. */
	void (*open)(struct session *s);
	/* Called before the queues are destroyed; or NULL. */
	void (*close)(struct session *s);
	/* Create a queue pair of a type that verbs do not have; or NULL. */
	struct ibv_qp *(*create_qp)(struct session *s, struct ibv_qp_init_attr_ex *attr);
};
extern const struct played played;

/* Return a part of the buffer, as long as it fits. */
struct ibv_sge session_sge(struct session *s);

/* kernel.c. From now on the input decides commands and completions. Every mapping must be gone
 * at the stop. */
void kernel_start(struct input *in, const struct device *played_device);
void kernel_stop(void);
/* Return the command descriptor of a new context. */
int kernel_open(void);
/* Change these bytes of the next completion that the device writes. */
void kernel_spoil_completion(void);

#endif
