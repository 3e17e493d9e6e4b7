/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usage: any_firmware VERSION: as the kernel's sysfs has it. */
#include "tests/adapters/lab/scenario/script.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_device_attr attr;

	must(ctx && argc > 1 && !ibv_query_device(ctx, &attr), "query");
	puts(attr.fw_ver);
	must(!strcmp(attr.fw_ver, argv[1]), "the firmware's version");
	must(!ibv_close_device(ctx), "close");
	ibv_free_device_list(list);
	return 0;
}
