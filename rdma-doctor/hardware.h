/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA adapters on the PCI bus. */
#ifndef RDMA_DOCTOR_HARDWARE_H
#define RDMA_DOCTOR_HARDWARE_H

#include "rdma-doctor/doctor.h"

struct adapter {
	char address[32]; /* "0000:3b:00.0" */
	char driver[64];  /* driver of the PCI function, or "" */
	unsigned int vendor, device;
};

/*
 * Find adapters made for RDMA that have no RDMA device. Adapters passed to a virtual machine do not
 * count, nor network cards for which RDMA is optional. Return: their number.
 */
unsigned int hardware_find_lost(struct adapter *ret_first);

/* Find the first RDMA function of a network card without a driver. Return: whether there is one. */
bool hardware_find_unbound(char *name, size_t size);
/* Write the argument of modprobe for @function, found as above: the name of a module or its alias.
 */
void hardware_name_module(const char *function, char *ret_name, size_t size);

/* Append to the text and the fix of @f. @count: result of hardware_find_lost() */
void hardware_describe(const struct adapter *adapter, unsigned int count, struct finding *f,
		       enum finding_state state);
void hardware_fix(const struct doctor *d, const struct adapter *adapter, struct finding *f);

#endif
