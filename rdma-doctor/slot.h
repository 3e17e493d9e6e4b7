/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The PCI function of a device, for the rungs of --speed. */
#ifndef RDMA_DOCTOR_SLOT_H
#define RDMA_DOCTOR_SLOT_H

#include <sched.h>

#include "rdma-doctor/doctor.h"

/* Return whether the rung has something to check: --speed, and a PCI function. If not, the reason
 * is in @f. */
bool slot_wanted(const struct doctor *d, const struct doctor_device *dev, struct finding *f);
/* Write the address of the function: "0000:3b:00.0". */
void slot_address(const struct doctor_device *dev, char *ret_address, size_t size);
/* Return the NUMA node of the function; -1: the machine has one, or does not tell. @ret_cpus: its
 * processors */
int slot_node(const struct doctor_device *dev, cpu_set_t *ret_cpus);

#endif
