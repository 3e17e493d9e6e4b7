/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the programs of this folder. They use the public API only. */
#ifndef TESTS_ABI_OLD_H
#define TESTS_ABI_OLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

/* Fail with the place and the text of the condition. */
#define EXPECT(condition)                                                                       \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* The device to test on; without one the program ends as skipped. */
static inline const char *old_device_name(void)
{
	const char *name = getenv("RT_DEVICE");

	if (!name) {
		puts("RT_DEVICE names no device");
		exit(77);
	}
	return name;
}

static inline struct ibv_context *old_device_open(void)
{
	const char *name = old_device_name();
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	EXPECT(list);
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	EXPECT(context);
	return context;
}

#define CANARY 0xa5

static inline void canary_set(void *buffer, size_t size)
{
	memset(buffer, CANARY, size);
}

/* Whether everything from @from to @to is unchanged. */
static inline int canary_lives(const void *buffer, size_t from, size_t to)
{
	const unsigned char *bytes = buffer;

	while (from < to)
		if (bytes[from++] != CANARY)
			return 0;
	return 1;
}

#endif
