/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The character devices of verbs: the node exists and has the right number. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "rdma-doctor/doctor.h"
#include "rdma-doctor/node.h"

void node_path(const struct doctor *d, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s" CDEV_DIR "/%s", d->root, name);
}

/* Explain a node hidden by PrivateDevices= of a unit or by another sandbox. Processes inside it may
 * not create nodes. */
static void node_hidden(const struct doctor *d, struct finding *f)
{
	char unit[128];

	finding_fail(f, ": /dev is private to this process");
	if (host_place(d, unit, sizeof(unit)) == HOST_UNIT)
		finding_fix(f,
			    "systemctl edit %s: [Service] BindPaths=" CDEV_DIR
			    ", DeviceAllow=char-infiniband_verbs rw and DeviceAllow=" CDEV_DIR
			    "/rdma_cm rw; or PrivateDevices=no",
			    finding_word(unit));
	else
		finding_fix(f, "have the sandbox bind " CDEV_DIR " and permit its devices");
}

static void node_missing(const struct doctor *d, const char *path, dev_t number, struct finding *f)
{
	if (host_in_container(d)) {
		finding_fix(f, "start the container with --device=%s (Kubernetes: a device plugin)",
			    path);
		return;
	}
	if (host_dev_is_private(d)) {
		node_hidden(d, f);
		return;
	}
	finding_fix(f, "mount devtmpfs on /dev and run udev");
	if (number)
		finding_fix(f, ", or: mkdir -p " CDEV_DIR " && mknod -m 0666 %s c %u %u", path,
			    major(number), minor(number));
}

int node_check_file(const struct doctor *d, const char *path, dev_t number, struct finding *f)
{
	struct stat st;

	if (stat(path, &st)) {
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		finding_fail(f, "%s does not exist", path);
		node_missing(d, path, number, f);
		return -ENOENT;
	}
	if (!d->live)
		return 0;
	if (!S_ISCHR(st.st_mode) || (number && st.st_rdev != number)) {
		if (S_ISCHR(st.st_mode))
			finding_fail(f, "%s is character device %u:%u, but the kernel's is %u:%u",
				     path, major(st.st_rdev), minor(st.st_rdev), major(number),
				     minor(number));
		else
			finding_fail(f, "%s is not a character device", path);
		finding_fix(f, "rm %s, then have it made anew", path);
		if (number)
			finding_fix(f, ": mknod -m 0666 %s c %u %u", path, major(number),
				    minor(number));
		return -ENXIO;
	}
	return 0;
}

void node_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	char path[PATH_MAX];
	int r;

	if (!dev->verbs) {
		finding_fail(f, "the kernel offers no uverbs character device for it");
		finding_fix(f, "modprobe ib_uverbs, and see the kernel log (dmesg)");
		return;
	}
	node_path(d, dev->verbs->device.dev_name, path);
	r = node_check_file(d, path, dev->verbs->cdev, f);
	if (f->state == FINDING_FAILED)
		return;
	if (r < 0)
		finding_unseen(f, "%s cannot be looked at: %s", path, strerror(-r));
	else
		finding_ok(f, "%s", path);
}
