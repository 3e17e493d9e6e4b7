/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls beside those that every program makes. */
#include <limits.h>
#include <pthread.h>

#include "socket_cases.h"

/* ---- threads with small stacks ---- */

static void *stack_use(void *arg)
{
	char bytes[8192];

	memset(bytes, 1, sizeof(bytes));
	*(char *)arg = bytes[sizeof(bytes) / 2];
	return NULL;
}

static void case_small_stacks(void)
{
	size_t size = PTHREAD_STACK_MIN;

	for (int times = 0; times < 3; times++, size *= 2) {
		pthread_attr_t attr;
		pthread_t thread;
		char used = 0;

		pthread_attr_init(&attr);
		CHECK(pthread_attr_setstacksize(&attr, size) == 0);
		errno = pthread_create(&thread, &attr, stack_use, &used);
		CHECK(errno == 0);
		if (errno == 0)
			CHECK(pthread_join(thread, NULL) == 0 && used == 1);
		pthread_attr_destroy(&attr);
	}
}

const struct case_row call_cases[] = {
	{ "small_stacks", case_small_stacks },
	{},
};
