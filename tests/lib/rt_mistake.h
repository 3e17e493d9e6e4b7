/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of deliberate mistakes. Each must end in the documented errno and in a log line that
 * names the cause; nothing may crash, hang or leak.
 */
#ifndef TESTS_LIB_RT_MISTAKE_H
#define TESTS_LIB_RT_MISTAKE_H

#include "tests/lib/rt.h"

#define RT_NOBODY 65534 /* an ordinary user */

struct rt_mistake {
	const char *name;
	int (*make)(struct rt_dev *dev); /* returns the errno; 0: the call succeeded */
	int expected;
	const char *text; /* must be in the log */
	int or_else;	  /* another errno that is also accepted; 0: none */
	bool before_open; /* @make is called without a device */
	bool kernel_only; /* a mistake only on a device of the kernel */
	const char *verb; /* a device may lack this verb: EOPNOTSUPP with a log line is accepted */
};

/* A case closes what it opens, so that LeakSanitizer and valgrind see what a failed verb lost. */
#define _cleanup_buf_  __attribute__((cleanup(rt_buf_free)))
#define _cleanup_side_ __attribute__((cleanup(rt_side_close)))
#define _cleanup_pair_ __attribute__((cleanup(rt_pair_close)))

/* Return the errno of a call that returns a pointer, or 0 if it succeeded. */
#define RT_ERRNO_OF(pointer) ((pointer) ? 0 : errno)

#define RT_UNKNOWN_BIT	     (1u << 31) /* a bit that no comp_mask has */
#define RT_LACKS(name)	     .verb = (name)

/* The same device opened a second time, with objects that the first context must refuse. */
struct rt_other {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

struct rt_other rt_other_open(struct rt_dev *dev);
void rt_other_close(struct rt_other *other);
#define _cleanup_other_ __attribute__((cleanup(rt_other_close)))

/* Create a small completion queue. */
struct ibv_cq *rt_cq_open(struct rt_dev *dev);
void rt_cq_close(struct ibv_cq **cq);
#define _cleanup_cq_ __attribute__((cleanup(rt_cq_close)))

/* Open an XRC domain without a file. On failure return NULL and set errno for the caller to
 * check. */
struct ibv_xrcd *rt_xrcd_open(struct ibv_context *ctx);

int rt_mistakes(const struct rt_mistake *mistakes, int count);
#define RT_MISTAKES(mistakes)                                     \
	int main(void)                                            \
	{                                                         \
		return rt_mistakes(mistakes, RT_COUNT(mistakes)); \
	}

#endif
