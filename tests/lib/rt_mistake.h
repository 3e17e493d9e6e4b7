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
	int (*make)(struct rt_dev *dev); /* the errno of the mistake; 0: it went through */
	int expected;
	const char *text; /* must be in the log */
	bool before_open; /* @make gets no device */
	bool kernel_only; /* a mistake only with a device of the kernel */
};

/* What a case opens, it closes: LeakSanitizer and valgrind then see what a failed verb has lost. */
#define _cleanup_buf_  __attribute__((cleanup(rt_buf_free)))
#define _cleanup_side_ __attribute__((cleanup(rt_side_close)))
#define _cleanup_pair_ __attribute__((cleanup(rt_pair_close)))

/* The errno of a call that returns a pointer, or 0 and a result nobody needs. */
#define RT_ERRNO_OF(pointer) ((pointer) ? 0 : errno)

int rt_mistakes(const struct rt_mistake *mistakes, int count);
#define RT_MISTAKES(mistakes)                                     \
	int main(void)                                            \
	{                                                         \
		return rt_mistakes(mistakes, RT_COUNT(mistakes)); \
	}

#endif
