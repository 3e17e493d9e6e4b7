/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* List the RDMA devices. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

int main(void)
{
	struct ibv_device **list;

	setenv("VERBS_LOG_LEVEL", "1", 0);
	list = ibv_get_device_list(NULL);
	if (!list) {
		perror("Failed to get IB devices list");
		return 1;
	}
	printf("    %-16s\t   node GUID\n", "device");
	printf("    %-16s\t----------------\n", "------");
	for (int i = 0; list[i]; i++)
		printf("    %-16s\t%016llx\n", ibv_get_device_name(list[i]),
		       (unsigned long long)be64toh(ibv_get_device_guid(list[i])));
	ibv_free_device_list(list);
	return 0;
}
