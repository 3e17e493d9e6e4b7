/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses both libraries and the headers that are named most: it compiles, links and starts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/efadv.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <infiniband/verbs_more.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

int main(void)
{
	struct rdma_event_channel *channel;
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (!list && errno != ENOSYS) {
		printf("the list of devices: %s\n", strerror(errno));
		return 1;
	}
	printf("%d devices\n", count);
	if (list)
		ibv_free_device_list(list);
	channel = rdma_create_event_channel();
	if (channel)
		rdma_destroy_event_channel(channel);
	printf("%s\n", ibv_wc_status_str(IBV_WC_SUCCESS));
	return 0;
}
