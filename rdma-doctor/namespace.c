/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The network namespace of devices, if they belong to one. */
#include "rdma-doctor/doctor.h"
#include "util/sysfs.h"

/* Return whether sysfs was mounted in another network namespace. It then shows devices of that
 * namespace, which netlink does not show here. */
static bool devices_are_elsewhere(const struct doctor *d)
{
	for (unsigned int i = 0; i < d->count; i++)
		if (d->devices[i].verbs)
			return false;
	return d->count && sysfs_exists("class/infiniband_verbs");
}

static void namespace_exclusive(const struct doctor *d, struct finding *f)
{
	const char *name = d->wanted ?: "DEVICE";

	if (devices_are_elsewhere(d)) {
		name = d->devices[0].name;
		finding_fail(f,
			     "%s, which sysfs shows, is in another network namespace, and the mode "
			     "is exclusive",
			     name);
	} else if (d->count) {
		finding_ok(f, "exclusive: only the devices of this network namespace are here");
		return;
	} else if (d->wanted) {
		finding_fail(f, "%s is not in this network namespace, and the mode is exclusive",
			     d->wanted);
	} else {
		finding_fail(f, "this network namespace has no RDMA device, and the mode is "
				"exclusive: devices of others cannot be used");
	}
	finding_fix(f,
		    "on the host: rdma dev set %s netns NAME-OR-PID, or, while no other network "
		    "namespace exists: rdma system set netns shared",
		    finding_word(name));
}

void namespace_check(struct doctor *d, struct finding *f)
{
	if (d->userspace_wanted)
		finding_unneeded(f, "%s is a device in user space", d->wanted);
	else if (!d->live)
		finding_unseen(f, "only RDMA netlink tells the mode");
	else if (d->system.error == -ENOSYS)
		finding_unneeded(f, "the kernel has no RDMA subsystem");
	else if (d->system.error)
		finding_unseen(f, "RDMA netlink, which tells the mode, does not answer");
	else if (!d->system.mode_known)
		finding_unseen(f, "this kernel does not tell the mode");
	else if (d->system.exclusive)
		namespace_exclusive(d, f);
	else
		finding_ok(f, "shared: devices of all network namespaces are here");
}
