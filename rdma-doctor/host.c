/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of the examined machine, and the environment of the process: container, unit or login. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rdma-doctor/doctor.h"
#include "util/file.h"
#include "util/place.h"
#include "util/sysfs.h"

int host_read(const struct doctor *d, const char *path, char *buf, size_t size)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", d->root, path) >= sizeof(full))
		return -ENAMETOOLONG;
	return file_read_text(AT_FDCWD, full, buf, size);
}

bool host_exists(const struct doctor *d, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", d->root, path) < sizeof(full) &&
	       !access(full, F_OK);
}

bool sysfs_exists(const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s/%s", sysfs_root(), path) < sizeof(full) &&
	       !access(full, F_OK);
}

/* Devices of sysfs are links, those of uroce-run are folders. */
bool sysfs_is_played(const char *device)
{
	char full[PATH_MAX];
	struct stat st;

	return device_name_is_userspace(device) &&
	       snprintf(full, sizeof(full), "%s/class/infiniband/%s", sysfs_root(), device) <
		       (int)sizeof(full) &&
	       !lstat(full, &st) && S_ISDIR(st.st_mode);
}

static bool uroce_run_is_here(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool here = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs_root());
	dir = opendir(path);
	while (dir && !here && (entry = readdir(dir)))
		here = sysfs_is_played(entry->d_name);
	if (dir)
		closedir(dir);
	return here;
}

/* uroce-run makes all files but the version. */
bool sysfs_has_class(const char *path)
{
	return sysfs_exists(path) &&
	       (!uroce_run_is_here() || sysfs_exists("class/infiniband_verbs/abi_version"));
}

void sysfs_link(const char *path, char *ret_name, size_t size)
{
	char full[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;

	ret_name[0] = '\0';
	if (snprintf(full, sizeof(full), "%s/%s", sysfs_root(), path) >= (int)sizeof(full))
		return;
	n = readlink(full, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	name = strrchr(target, '/');
	snprintf(ret_name, size, "%s", name ? name + 1 : target);
	text_make_printable(ret_name);
}

bool host_dev_is_private(const struct doctor *d)
{
	struct place_mount mount;

	return place_mount_read(d->root, "self", "/dev", &mount) && strcmp(mount.type, "devtmpfs");
}

bool host_in_container(const struct doctor *d)
{
	return place_is_container(d->root);
}

/* Find the last component of the cgroup of the process that is a service other than that of a
 * login. */
static void unit_name(const struct doctor *d, char *unit, size_t size)
{
	char path[64], cgroup[4096], *end, *start;

	unit[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%s/cgroup", d->pid);
	if (host_read(d, path, cgroup, sizeof(cgroup)) < 0)
		return;
	end = strstr(cgroup, ".service");
	if (!end)
		return;
	end[strlen(".service")] = '\0';
	start = strrchr(cgroup, '/');
	if (!start || !strncmp(start, "/user@", strlen("/user@")))
		return;
	snprintf(unit, size, "%s", start + 1);
	text_make_printable(unit);
}

enum host_place host_place(const struct doctor *d, char *unit, size_t size)
{
	unit_name(d, unit, size);
	if (host_in_container(d))
		return host_exists(d, "/var/run/secrets/kubernetes.io") ? HOST_KUBERNETES
									: HOST_CONTAINER;
	return unit[0] ? HOST_UNIT : HOST_PLAIN;
}

void host_release(const struct doctor *d, char *release, size_t size)
{
	if (host_read(d, "/proc/sys/kernel/osrelease", release, size) <= 0)
		snprintf(release, size, "unknown");
	release[strcspn(release, "\n")] = '\0';
	text_make_printable(release);
}
