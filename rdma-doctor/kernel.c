/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's RDMA subsystem: its modules are loaded, or can be. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/hardware.h"
#include "util/sysfs.h"

/* Return whether the module tree of the kernel has @module; true if the tree cannot be read. */
static bool module_installed(const struct doctor *d, const char *release, const char *module)
{
	char path[PATH_MAX], file[64];
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *dep;

	snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.dep", d->root, release);
	snprintf(file, sizeof(file), "/%s.ko", module);
	dep = fopen(path, "re");
	if (!dep)
		return true;
	while (!found && getline(&line, &size, dep) > 0) {
		char *colon = strchr(line, ':');

		if (colon)
			*colon = '\0';
		found = strstr(line, file);
	}
	fclose(dep);
	return found;
}

static void fix_missing(const struct doctor *d, const char *module, struct finding *f)
{
	char release[64], function[NAME_MAX + 1], driver[NAME_MAX + 16];

	host_release(d, release, sizeof(release));
	if (host_in_container(d)) {
		finding_fix(f, "on the host: modprobe %s, and load the device's driver", module);
		return;
	}
	if (!module_installed(d, release, module)) {
		finding_fix(f,
			    "install the package with the other modules of kernel %s "
			    "(linux-modules-extra-%s on Ubuntu, kernel-modules-extra on Fedora), "
			    "then: modprobe %s",
			    release, release, module);
		return;
	}
	if (!hardware_find_unbound(function, sizeof(function))) {
		finding_fix(f, "modprobe %s, and load the device's driver", module);
		return;
	}
	hardware_name_module(function, driver, sizeof(driver));
	finding_fix(f, "modprobe -a %s %s", module, driver);
}

/* @path: of the class that the module makes in sysfs */
static void kernel_missing(const struct doctor *d, const char *module, const char *path,
			   struct finding *f)
{
	char function[NAME_MAX + 1];
	struct adapter adapter;
	unsigned int lost = hardware_find_lost(&adapter);

	if (d->userspace_wanted) {
		finding_unneeded(f, "%s is a device in user space", d->wanted);
		return;
	}
	if (sysfs_exists(path))
		finding_fail(f, "the kernel module %s is not loaded: %s/%s is that of uroce-run",
			     module, sysfs_root(), path);
	else
		finding_fail(f, "the kernel module %s is not loaded: %s/%s does not exist", module,
			     sysfs_root(), path);
	fix_missing(d, module, f);
	if (hardware_find_unbound(function, sizeof(function))) {
		finding_fail(f, "; the RDMA function %s has no driver", function);
	} else if (lost) {
		finding_fail(f, "; ");
		hardware_describe(&adapter, lost, f, FINDING_FAILED);
	} else {
		uroce_instead(d, f);
	}
}

/* Return whether the process may not see the classes of sysfs. The library then lists no devices.
 * uroce devices are missing as well. */
static bool sysfs_is_closed(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs_root());
	return access(path, F_OK) && errno == EACCES;
}

void kernel_check(struct doctor *d, struct finding *f)
{
	char release[64], function[NAME_MAX + 1], driver[NAME_MAX + 16];

	if (!d->count && sysfs_is_closed()) {
		finding_fail(f, "the process may not read %s/class: %s", sysfs_root(),
			     strerror(EACCES));
		finding_fix(f, "permit it: mode of the folders, AppArmor, SELinux; in a container, "
			       "mount sysfs");
		return;
	}
	if (!sysfs_exists("class")) {
		finding_fail(f, "%s is not there: sysfs is not mounted, or a sandbox hides it",
			     sysfs_root());
		finding_fix(f, "mount -t sysfs sysfs %s", sysfs_root());
		uroce_instead(d, f);
		return;
	}
	if (!sysfs_has_class("class/infiniband")) {
		kernel_missing(d, "ib_core", "class/infiniband", f);
		return;
	}
	if (!sysfs_has_class("class/infiniband_verbs")) {
		kernel_missing(d, "ib_uverbs", "class/infiniband_verbs", f);
		return;
	}
	host_release(d, release, sizeof(release));
	finding_ok(f, "Linux %s has its RDMA modules ib_core and ib_uverbs loaded", release);
	if (!hardware_find_unbound(function, sizeof(function)))
		return;
	d->lost = true;
	finding_note(f, "; the RDMA function %s has no driver", function);
	hardware_name_module(function, driver, sizeof(driver));
	finding_fix(f, "modprobe %s", driver);
}
