/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The GIDs of an open device, as the library returns them. */
#ifndef RDMA_DOCTOR_GID_TABLE_H
#define RDMA_DOCTOR_GID_TABLE_H

#include <infiniband/verbs.h>

/* Read the GIDs of all ports. @ret_entries: free() it. Return: their number, or -errno with no
 * entries. */
ssize_t gid_table_read(struct ibv_context *ctx, struct ibv_gid_entry **ret_entries);

#endif
