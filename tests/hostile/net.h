/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two hosts in one process tree: network namespaces that a veth pair joins. */
#ifndef TESTS_HOSTILE_NET_H
#define TESTS_HOSTILE_NET_H

#include <stdbool.h>

enum {
	NET_HERE,
	NET_THERE,
	NET_HOSTS
};

/*
 * For this process and its children: with "udp" make the two; with anything else one host, where
 * nobody else is. Skips the test where that is not allowed.
 */
void net_make(const char *path);
/* From here on this process is on that host, and RT_DEVICE is its end of the link. */
void net_enter(int host);
bool net_is_udp(void);
/* Anything of uroce's is left on the host: sockets with a name, UDP ports. Said on stdout. */
bool net_left_over(int host);

#endif
