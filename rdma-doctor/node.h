/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of any character device below /dev/infiniband. */
#ifndef RDMA_DOCTOR_NODE_H
#define RDMA_DOCTOR_NODE_H

#include <limits.h>

#include "rdma-doctor/doctor.h"
#include "util/cdev.h"

void node_path(const struct doctor *d, const char *name, char path[PATH_MAX]);

/*
 * Check that the node exists and has the right number.
 * @number: number in the kernel; 0: unknown
 * Return: 0 or -errno. @f has the failure, unless the check was not possible.
 */
int node_check_file(const struct doctor *d, const char *path, dev_t number, struct finding *f);

/* Try to open the node. @rule: match of a udev rule for only this node, for the fix */
void permission_check_file(const struct doctor *d, const char *path, const char *rule,
			   struct finding *f);

#endif
