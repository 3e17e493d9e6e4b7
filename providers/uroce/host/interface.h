/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network interfaces as devices: which there are, and what the kernel says of them. */
#ifndef UROCE_INTERFACE_H
#define UROCE_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>

#include "libibverbs/provider.h"

struct uroce_interface {
	char name[IF_NAMESIZE];
	int index;
	unsigned int mtu; /* bytes */
	bool up;	  /* administratively up and with carrier */
	bool loopback;
	uint8_t mac[6];
	/* as ibv_port_attr has them: the nearest rate; 10 Gbit/s when the kernel does not say */
	uint8_t speed, width;
};

/* -ENODEV: no such interface in this network namespace. */
int uroce_interface_query(const char *name, struct uroce_interface *ret);

/* "uroce_" and its name: valid and unique whatever that is. */
void uroce_device_name(const char *interface, char ret[IBV_SYSFS_NAME_MAX]);

#endif
