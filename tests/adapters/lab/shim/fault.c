/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that fail on demand: DEVICES_FAULT=CREATE_QP:12 or CREATE_CQ:5:2, the second one. And
 * answers with wrong bytes: DEVICES_WILD=1234.
 */
#include "tests/adapters/lab/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	bool known, each;
	char command[40];
	int error;
	unsigned nth;
} fault;

static void parse(void)
{
	const char *text = getenv("DEVICES_FAULT");

	fault.known = true;
	fault.nth = 1;
	if (text && sscanf(text, "%39[^:]:%d:%u", fault.command, &fault.error, &fault.nth) < 2)
		fprintf(stderr, "devices: DEVICES_FAULT is COMMAND:ERRNO[:N], not '%s'\n", text);
	fault.each = !fault.nth;
}

int fault_of(const char *command)
{
	if (!fault.known)
		parse();
	if (!fault.error || strcmp(command, fault.command))
		return 0;
	if (fault.each)
		return fault.error;
	return --fault.nth ? 0 : fault.error;
}

static unsigned random_number(void)
{
	static bool seeded;
	static uint64_t state;

	if (!seeded) {
		state = strtoull(getenv("DEVICES_WILD"), NULL, 0) * 2654435761u + 1;
		seeded = true;
	}
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Leave every other answer as it is, so that the code behind it is reached too. */
void fault_spoil(void *answer, size_t length)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t *bytes = answer;

	if (!getenv("DEVICES_WILD") || !length || random_number() % 2)
		return;
	for (unsigned n = 1 + random_number() % 3; n; n--) {
		unsigned value = random_number();

		bytes[random_number() % length] =
			value & 1 ? edges[value / 2 % sizeof(edges)] : value / 2;
	}
}
