/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: any_facts [COUNTER|any [memory]]
 *
 * Query the speed of the port. COUNTER: the adapter has a counter with this hexadecimal value; any:
 * with any value. memory: export memory of the adapter.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void counter(struct ibv_context *ctx, const char *expected)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int r = ibv_query_rt_values_ex(ctx, &values);

	if (!expected) {
		must(r == EOPNOTSUPP, "no counter");
		return;
	}
	must(!r && values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK && !values.raw_clock.tv_sec,
	     "counter");
	must(!strcmp(expected, "any") ||
		     (uint64_t)values.raw_clock.tv_nsec == strtoull(expected, NULL, 16),
	     "value of the counter");
	values.comp_mask = 1u << 7;
	must(ibv_query_rt_values_ex(ctx, &values) == EOPNOTSUPP, "a value that does not exist");
}

static void memory(struct ibv_context *ctx)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	int fd;

	must(dm, "memory");
	fd = ibv_dm_export_dmabuf_fd(dm);
	must(fd >= 0 && fcntl(fd, F_GETFD) >= 0 && !close(fd), "descriptor");
	must(!ibv_free_dm(dm), "free");
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	uint64_t speed = 0;

	must(ctx, "open");
	must(!ibv_query_port_speed(ctx, 1, &speed) && speed == 2000, "speed");
	must(ibv_query_port_speed(ctx, 2, &speed) == EINVAL, "no such port");
	counter(ctx, argc > 1 ? argv[1] : NULL);
	if (argc > 2)
		memory(ctx);
	must(!ibv_close_device(ctx), "close");
	ibv_free_device_list(list);
	return 0;
}
