/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Versions of kernel and library, and of kernel driver and provider. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>

#include "rdma-doctor/doctor.h"
#include "util/sysfs.h"

static int abi_read(uint64_t *ret_version)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/abi_version", sysfs_root());
	return sysfs_read_u64(AT_FDCWD, path, 10, ret_version);
}

static void abi_check_driver(const struct doctor_device *dev, struct finding *f)
{
	const struct verbs_provider *provider = dev->provider;
	uint32_t abi = dev->verbs->abi_version;

	if (!provider) {
		finding_ok(f, "kernel and library %d", IB_USER_VERBS_ABI_VERSION);
		return;
	}
	if (abi >= provider->min_abi && abi <= provider->max_abi) {
		finding_ok(f, "kernel and library %d, driver and provider %u",
			   IB_USER_VERBS_ABI_VERSION, abi);
		return;
	}
	finding_fail(f, "the kernel's driver has ABI %u, provider %s knows %u to %u", abi,
		     provider->name, provider->min_abi, provider->max_abi);
	finding_fix(f,
		    "install a %s provider that fits the kernel: usually the newer of "
		    "libibverbs's packages, in a container those of the image",
		    provider->name);
}

void abi_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	uint64_t version;
	int r = abi_read(&version);

	if (r < 0) {
		finding_fail(f, "%s/class/infiniband_verbs/abi_version cannot be read: %s",
			     sysfs_root(), strerror(-r));
		finding_fix(f, "mount sysfs whole: mount -t sysfs sysfs /sys; a sandbox must not "
			       "hide /sys/class/infiniband_verbs");
	} else if (version != IB_USER_VERBS_ABI_VERSION) {
		finding_fail(f, "the kernel has uverbs ABI %llu, this library knows %d",
			     (unsigned long long)version, IB_USER_VERBS_ABI_VERSION);
		finding_fix(f, "install a libibverbs made for this kernel");
	} else {
		abi_check_driver(dev, f);
	}
}
