/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/auxv.h>

#include "libibverbs/discovery/discovery.h"
#include "util/once.h"

static struct disc_paths paths = {
	.config = RDMA_CONFIG_DIR,
	.vendor = RDMA_VENDOR_DIR,
	.providers = RDMA_PROVIDER_DIR,
	.programs = RDMA_PROGRAM_DIR,
};

static void paths_init(void)
{
	if (!getauxval(AT_SECURE))
		disc_build_tree(&paths, &paths);
}

const struct disc_paths *disc_paths(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, paths_init);
	return &paths;
}

const char *verbs_program_folder(void)
{
	return disc_paths()->programs;
}
