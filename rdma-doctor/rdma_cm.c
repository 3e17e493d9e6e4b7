/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connection management: module, version, node and permissions of rdma_cm. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <rdma/rdma_user_cm.h>

#include "rdma-doctor/node.h"
#include "util/sysfs.h"

static int rdma_cm_read(const char *attribute, char *buf, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/misc/rdma_cm/%s", sysfs_root(), attribute);
	return sysfs_read(AT_FDCWD, path, buf, size);
}

static bool rdma_cm_abi_ok(struct finding *f)
{
	char text[32];
	unsigned long version;

	if (rdma_cm_read("abi_version", text, sizeof(text)) < 0)
		return true;
	version = strtoul(text, NULL, 10);
	if (version == RDMA_USER_CM_ABI_VERSION)
		return true;
	finding_fail(f, "the kernel's rdma_cm has ABI %lu, the library knows %d", version,
		     RDMA_USER_CM_ABI_VERSION);
	finding_fix(f, "install a librdmacm made for this kernel");
	return false;
}

static dev_t rdma_cm_number(void)
{
	unsigned int maj, min;
	char text[32];

	if (rdma_cm_read("dev", text, sizeof(text)) < 0 || sscanf(text, "%u:%u", &maj, &min) != 2)
		return 0;
	return makedev(maj, min);
}

static void rdma_cm_check_node(const struct doctor *d, struct finding *f)
{
	char path[PATH_MAX];
	int r;

	node_path(d, "rdma_cm", path);
	r = node_check_file(d, path, rdma_cm_number(), f);
	if (f->state == FINDING_FAILED)
		return;
	if (!d->live)
		finding_unseen(f, "nodes of a copy are not opened");
	else if (r < 0 && r != -EACCES)
		finding_unseen(f, "%s cannot be looked at: %s", path, strerror(-r));
	else
		permission_check_file(d, path, "SUBSYSTEM==\"misc\", KERNEL==\"rdma_cm\"", f);
}

void rdma_cm_check(struct doctor *d, struct finding *f)
{
	if (!d->count) {
		finding_unneeded(f, "no kernel device");
	} else if (!sysfs_exists("class/misc/rdma_cm")) {
		finding_fail(f,
			     "the kernel module rdma_ucm is not loaded: %s/class/misc/rdma_cm does "
			     "not exist",
			     sysfs_root());
		finding_fix(f, "%smodprobe rdma_ucm", host_in_container(d) ? "on the host: " : "");
	} else if (rdma_cm_abi_ok(f)) {
		rdma_cm_check_node(d, f);
	}
}
