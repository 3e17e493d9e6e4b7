/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of the machine that is looked at, and what kind of place the process lives in. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/doctor.h"
#include "util/file.h"
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

bool host_in_container(const struct doctor *d)
{
	static const char *const signs[] = {
		"/.dockerenv",
		"/run/.containerenv",
		"/run/systemd/container",
		"/var/run/secrets/kubernetes.io",
	};

	for (int i = 0; i < ARRAY_SIZE(signs); i++)
		if (host_exists(d, signs[i]))
			return true;
	return false;
}

/* The last component of the process's cgroup that is a service, without those of a login. */
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
	if (host_exists(d, "/var/run/secrets/kubernetes.io"))
		return HOST_KUBERNETES;
	if (host_in_container(d))
		return HOST_CONTAINER;
	return unit[0] ? HOST_UNIT : HOST_PLAIN;
}

void host_release(const struct doctor *d, char *release, size_t size)
{
	if (host_read(d, "/proc/sys/kernel/osrelease", release, size) <= 0)
		snprintf(release, size, "unknown");
	release[strcspn(release, "\n")] = '\0';
	text_make_printable(release);
}
