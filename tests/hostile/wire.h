/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Somebody who looks at the link of this host, and knows from the specification what he should see.
 */
#ifndef TESTS_HOSTILE_WIRE_H
#define TESTS_HOSTILE_WIRE_H

#include <sys/types.h>

struct wire {
	pid_t pid;
	int socket;
};

/*
 * From now on every RoCE packet that goes by @netdev, either way, must have the ICRC that belongs
 * to the headers it has on the wire, the IPv4 identification among them.
 */
struct wire wire_watch(const char *netdev);
/* Fails at the first one that had another, and if there was none from a flow. */
void wire_end(struct wire *wire);

#endif
