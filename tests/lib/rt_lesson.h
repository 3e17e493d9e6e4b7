/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of the mistakes that beginners make: documentation/mistakes.md has a row for each. A
 * lesson makes one mistake, and describes what the program sees without a log.
 *
 * With UROCE_STRICT in the environment the line of strict mode is checked, or if there is none the
 * other line, which this mode shows without VERBS_LOG_LEVEL. The result is not checked.
 *
 * LESSONS=print in the environment prints each result and each log line, and checks neither.
 */
#ifndef TESTS_LIB_RT_LESSON_H
#define TESTS_LIB_RT_LESSON_H

#include "tests/lib/rt.h"

#define RT_RESULT_SIZE 80

struct rt_lesson {
	const char *name;
	void (*make)(struct rt_dev *dev, char *ret_result);
	const char *result; /* on uroce */
	const char *rxe;    /* result on soft-RoCE of Linux 6.1; NULL: the same as on uroce */
	const char *line;   /* a part of the log on uroce; NULL: no line names the mistake */
	int level;	    /* level of that line; 0: 1 */
	const char *strict; /* a part of the line of strict mode; NULL: there is no such line */
};

/* Write the name of an errno, or "works" for 0. */
void rt_result_errno(char *result, int error);
/*
 * Write the number of a status and the side that saw it: "10", or "10, peer 10". NULL: there is no
 * peer.
 */
void rt_result_status(char *result, struct rt_side *side, struct rt_side *peer);

int rt_lessons(const struct rt_lesson *lessons, int count);
#define RT_LESSONS(lessons)                                    \
	int main(void)                                         \
	{                                                      \
		return rt_lessons(lessons, RT_COUNT(lessons)); \
	}

#endif
