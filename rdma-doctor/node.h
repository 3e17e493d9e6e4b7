/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is the same for every character device below /dev/infiniband. */
#ifndef RDMA_DOCTOR_NODE_H
#define RDMA_DOCTOR_NODE_H

#include <limits.h>

#include "rdma-doctor/doctor.h"
#include "util/cdev.h"

void node_path(const struct doctor *d, const char *name, char path[PATH_MAX]);

/*
 * The node is there and the right one.
 * @number: the kernel's; 0 when it is not known
 * Return: 0; -errno, with a failure in @f unless it could only not be looked at.
 */
int node_check_file(const struct doctor *d, const char *path, dev_t number, struct finding *f);

/* Try to open it. @rule: what a udev rule matches this node by, and nothing else; for the fix. */
void permission_check_file(const struct doctor *d, const char *path, const char *rule,
			   struct finding *f);

#endif
