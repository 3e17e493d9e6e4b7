/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports of a device, from sysfs. */
#ifndef RDMA_DOCTOR_PORT_H
#define RDMA_DOCTOR_PORT_H

#include <net/if.h>

#include "rdma-doctor/doctor.h"

#define PORTS_MAX 255

struct port {
	unsigned int number;
	unsigned int state;    /* enum ibv_port_state; 0: unknown */
	unsigned int physical; /* IBTA PortPhysicalState; 0: unknown */
	bool ethernet;	       /* RoCE or iWARP: there is a network interface */
	char netdev[IFNAMSIZ]; /* name of the interface, or "" */
};

/* Read the port. Return: whether the device has the port. */
bool port_read(const struct doctor_device *dev, unsigned int number, struct port *ret_port);

const char *port_state_name(const struct port *port);

/* Read an attribute of the port. Return: length of the text or -errno. */
int port_read_text(const struct doctor_device *dev, unsigned int number, const char *attribute,
		   char *buf, size_t size);

/* "class/net/<port's interface>/<attribute>" as a number; -errno. */
int port_netdev_number(const struct port *port, const char *attribute, int base, uint64_t *ret);
/* Return whether the interface belongs to this network namespace. */
bool port_netdev_here(const struct doctor *d, const struct port *port);

#endif
