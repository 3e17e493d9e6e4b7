/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network interfaces: their properties, and their names as devices. */
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
	/*
	 * codes of ibv_port_attr for the next rate that is not below the link's; 10 Gbit/s if
	 * unknown
	 */
	uint8_t speed, width;
};

/*
 * Read the properties of an interface. Return: -ENODEV if this network namespace does not have it.
 */
int uroce_interface_query(const char *name, struct uroce_interface *ret);

/*
 * Make the device name: "uroce_" and the interface's name, with unusual bytes encoded, so that it
 * is valid and unique.
 */
void uroce_device_name(const char *interface, char ret[IBV_SYSFS_NAME_MAX]);

#endif
