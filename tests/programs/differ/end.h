/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One end of the sockets that differ compares: it makes the calls that it reads, a line each. */
#ifndef TESTS_DIFFER_END_H
#define TESTS_DIFFER_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS 16 /* descriptors that steps name */
#define WORDS 24 /* words of a line, at most */
#define ROOM  (1 << 20)

/* The answer to one call: a result, its errno, and what the call wrote. */
struct answer {
	long result;
	int error;
	char text[512];
};

/* The words of a line behind its name. A missing word counts as 0 or as an empty string. */
struct words {
	char *word[WORDS];
	int count;
	uint8_t *buffer; /* ROOM bytes that belong to the lane */
};

struct call {
	const char *name;
	void (*make)(const struct words *words, struct answer *ret);
};

extern const struct call socket_calls[], data_calls[],
	wait_calls[]; /* each ends with a name of NULL */

long number(const struct words *words, int i);
const char *string(const struct words *words, int i);
/* The descriptor of the slot that word i names. An empty slot gives a number that is not open. */
int slot_fd(const struct words *words, int i);
void slot_set(const struct words *words, int i, int fd);
/* Close each slot, and set the handlers of signals as they were at the start. */
void slots_reset(void);
void answer_add(struct answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void answer_result(struct answer *answer, long result);

#endif
