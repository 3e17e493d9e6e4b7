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

/* For this process and its children: make the two hosts if @path is "udp", and otherwise one
 * host without other processes. Skips the test if that is not allowed. */
void net_make(const char *path);
/* Put this process on that host from here on; RT_DEVICE is its end of the link. */
void net_enter(int host);
bool net_is_udp(void);
/* Whether anything of uroce is left on the host: named sockets or UDP ports. They are printed. */
bool net_left_over(int host);

#endif
