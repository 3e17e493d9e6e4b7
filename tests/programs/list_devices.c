/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usage: list_devices [FOLDER]: the names of all devices, listed from FOLDER. */
#include <stdio.h>
#include <unistd.h>

#include <infiniband/verbs.h>

int main(int argc, char **argv)
{
	struct ibv_device **list;

	if (argc > 1 && chdir(argv[1])) {
		perror(argv[1]);
		return 1;
	}
	list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++)
		puts(ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
	return 0;
}
