/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "rdma-doctor/gid_table.h"

/* Return the number of places in the tables of all ports. */
static size_t places_count(struct ibv_context *ctx)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	size_t places = 0;

	if (ibv_query_device(ctx, &device))
		return 0;
	for (unsigned int i = 1; i <= device.phys_port_cnt; i++)
		if (!ibv_query_port(ctx, i, &port) && port.gid_tbl_len > 0)
			places += port.gid_tbl_len;
	return places;
}

ssize_t gid_table_read(struct ibv_context *ctx, struct ibv_gid_entry **ret_entries)
{
	size_t places = places_count(ctx);
	struct ibv_gid_entry *entries = calloc(places + 1, sizeof(*entries));
	ssize_t n = entries ? ibv_query_gid_table(ctx, entries, places + 1, 0) : -ENOMEM;

	if (n < 0) {
		free(entries);
		entries = NULL;
	}
	*ret_entries = entries;
	return n;
}
