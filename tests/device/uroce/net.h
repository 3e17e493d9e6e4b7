/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A network of the test's own: only lo, and no other process on UDP port 4791. */
#ifndef TESTS_UROCE_NET_H
#define TESTS_UROCE_NET_H

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Enter the network, before the first verb and the first thread. If namespaces are forbidden,
 * use the host's network. */
static inline void net_own(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		perror("lo of an own network namespace");
	close(fd);
}

#endif
