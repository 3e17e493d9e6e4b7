/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of a device of uroce, which belong to the process that uses it. */
#include <dlfcn.h>
#include <stdio.h>

#include <infiniband/uroce.h>

#include "rdma-doctor/transfer.h"

/* The library may not be installed, therefore the doctor is not linked to it. */
unsigned int uroce_counters_read(struct ibv_context *ctx,
				 struct transfer_counter counters[TRANSFER_COUNTERS])
{
	struct uroce_counter found[TRANSFER_COUNTERS];
	__typeof__(&uroce_query_counters) query;
	void *library;
	int n;

	if (!device_name_is_userspace(ctx->device->name))
		return 0;
	library = dlopen("liburoce.so.1", RTLD_NOW | RTLD_LOCAL);
	query = library ? (__typeof__(query))dlsym(library, "uroce_query_counters") : NULL;
	n = query ? query(ctx, NULL, found, TRANSFER_COUNTERS) : 0;
	n = min_of(max_of(n, 0), TRANSFER_COUNTERS);
	for (int i = 0; i < n; i++) {
		snprintf(counters[i].name, sizeof(counters[i].name), "%s", found[i].name);
		counters[i].value = found[i].value;
	}
	return n;
}
