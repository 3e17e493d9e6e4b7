/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* List the RDMA devices. */
#include <endian.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#include "libibverbs/tools/show.h"
#include "util/version.h"

static const char usage_text[] =
	"Usage: ibv_devices            list the RDMA devices with their node GUIDs\n"
	"\n"
	"Options:\n"
	"  -h, --help             print this text\n"
	"      --version          print the version\n";

static int list_show(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list) {
		perror("Failed to get IB devices list");
		return 1;
	}
	printf("    %-16s\t   node GUID\n", "device");
	printf("    %-16s\t----------------\n", "------");
	for (int i = 0; list[i]; i++)
		printf("    %-16s\t%016llx\n", show_name(list[i]),
		       (unsigned long long)be64toh(ibv_get_device_guid(list[i])));
	ibv_free_device_list(list);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};

	switch (getopt_long(argc, argv, "h", names, NULL)) {
	case -1:
		break;
	case 'h':
		fputs(usage_text, stdout);
		return 0;
	case 'V':
		version_print();
		return 0;
	default:
		fputs(usage_text, stderr);
		return 1;
	}
	setenv("VERBS_LOG_LEVEL", "1", 0);
	return list_show();
}
