/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An observer of this host's link that checks packets by the specification. */
#ifndef TESTS_HOSTILE_WIRE_H
#define TESTS_HOSTILE_WIRE_H

#include <sys/types.h>

struct wire {
	pid_t pid;
	int socket;
};

/* From now on every RoCE packet on @netdev, in either direction, must have the ICRC that belongs
 * to the headers it has on the wire, including the IPv4 identification. */
struct wire wire_watch(const char *netdev);
/* Stop. Fails if a packet had a wrong ICRC, or if no packet came from a flow. */
void wire_end(struct wire *wire);

#endif
