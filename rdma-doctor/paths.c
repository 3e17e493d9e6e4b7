/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folders in which the libibverbs of this program finds driver files and providers, or the
 * folders below another root. This file replaces libibverbs/discovery/paths.c.
 */
#include <stdio.h>
#include <sys/auxv.h>

#include "libibverbs/library.h"
#include "rdma-doctor/doctor.h"

static struct disc_paths paths = {
	.config = RDMA_CONFIG_DIR,
	.vendor = RDMA_VENDOR_DIR,
	.providers = RDMA_PROVIDER_DIR,
};
static bool found;

void paths_set_root(const char *root)
{
	static char config[512], vendor[512], providers[512];

	snprintf(config, sizeof(config), "%s" RDMA_CONFIG_DIR, root);
	snprintf(vendor, sizeof(vendor), "%s" RDMA_VENDOR_DIR, root);
	snprintf(providers, sizeof(providers), "%s" RDMA_PROVIDER_DIR, root);
	paths = (struct disc_paths){ .config = config, .vendor = vendor, .providers = providers };
	found = true;
}

const struct disc_paths *disc_paths(void)
{
	if (!found && !getauxval(AT_SECURE))
		disc_build_tree(ibv_get_device_list, &paths);
	found = true;
	return &paths;
}

/* This replaces libibverbs/fork_watch.c, because the discovery code of this program lists no
 * devices of user space. That file would bring the whole library into the program, which has to
 * examine the shared one. */
void verbs_fork_add(struct verbs_fork *fork)
{
}
