/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA adapters on the PCI bus. */
#ifndef RDMA_DOCTOR_HARDWARE_H
#define RDMA_DOCTOR_HARDWARE_H

#include "rdma-doctor/doctor.h"

struct adapter {
	char address[32]; /* "0000:3b:00.0" */
	char driver[64];  /* of the PCI function; "" when none has taken it */
	unsigned int vendor, device;
};

/*
 * Adapters that exist for RDMA and have no RDMA device, without those that were handed to a virtual
 * machine. A network card that may or may not do RDMA is none. Return: how many.
 */
unsigned int hardware_find_lost(struct adapter *ret_first);

/* The first RDMA function of a network card that no driver has taken. Return: whether there is one.
 */
bool hardware_find_unbound(char *name, size_t size);
/* Write the argument of modprobe for @function, found as above: the name of a module or its alias.
 */
void hardware_name_module(const char *function, char *ret_name, size_t size);

/* Append to the words and the fix of @f. @count: of hardware_find_lost(). */
void hardware_describe(const struct adapter *adapter, unsigned int count, struct finding *f,
		       enum finding_state state);
void hardware_fix(const struct doctor *d, const struct adapter *adapter, struct finding *f);

#endif
