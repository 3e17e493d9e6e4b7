/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Permission to open the nodes: mode, owner and group, device cgroup, and security modules. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rdma-doctor/node.h"

#define GROUPS_MAX 1024

static void user_name(uid_t uid, char *name, size_t size)
{
	const struct passwd *entry = getpwuid(uid);

	if (entry)
		snprintf(name, size, "%s", entry->pw_name);
	else
		snprintf(name, size, "%u", uid);
}

static void group_name(gid_t gid, char *name, size_t size)
{
	const struct group *entry = getgrgid(gid);

	if (entry)
		snprintf(name, size, "%s", entry->gr_name);
	else
		snprintf(name, size, "%u", gid);
}

static bool groups_have(const gid_t *groups, int count, gid_t gid)
{
	for (int i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static bool process_in_group(gid_t gid)
{
	gid_t groups[GROUPS_MAX];

	return getegid() == gid || groups_have(groups, getgroups(GROUPS_MAX, groups), gid);
}

/* Return whether the user database lists the user in the group, so that a new login would have it.
 */
static bool user_in_group(gid_t gid)
{
	const struct passwd *entry = getpwuid(geteuid());
	gid_t groups[GROUPS_MAX];
	int count = GROUPS_MAX;

	return entry && getgrouplist(entry->pw_name, entry->pw_gid, groups, &count) >= 0 &&
	       groups_have(groups, count, gid);
}

/* Return whether the mode bits of @st for this process permit access. */
static bool mode_permits(const struct stat *st)
{
	mode_t bits = st->st_mode;

	if (!geteuid())
		return true;
	if (st->st_uid == geteuid())
		bits >>= 6;
	else if (process_in_group(st->st_gid))
		bits >>= 3;
	return (bits & 06) == 06;
}

/* Suggest a fix. @rule: match of a udev rule for only this node */
static void fix_mode(const struct stat *st, const char *rule, struct finding *f)
{
	char user[64], group[64];
	bool for_group = (st->st_mode & 060) == 060 && st->st_gid;

	user_name(geteuid(), user, sizeof(user));
	group_name(st->st_gid, group, sizeof(group));
	if (for_group && user_in_group(st->st_gid))
		finding_fix(f, "%s is in group %s since this login: log in again", user, group);
	else if (for_group)
		finding_fix(f, "usermod -aG %s %s, then log in again", group, user);
	else
		finding_fix(f,
			    "a udev rule, %s, MODE=\"0666\", in "
			    "/etc/udev/rules.d/99-rdma.rules, then: udevadm trigger",
			    rule);
}

static void permission_denied(const struct doctor *d, const char *path, const char *rule,
			      struct finding *f)
{
	char user[64], owner[64], group[64];
	struct stat st;

	user_name(geteuid(), user, sizeof(user));
	if (stat(path, &st)) {
		finding_fail(f, "%s may not look into " CDEV_DIR, user);
		finding_fix(f, "chmod 0755 " CDEV_DIR);
		return;
	}
	user_name(st.st_uid, owner, sizeof(owner));
	group_name(st.st_gid, group, sizeof(group));
	finding_fail(f, "%s may not open %s: mode %04o, owner %s, group %s", user, path,
		     st.st_mode & 07777, owner, group);
	if (!mode_permits(&st)) {
		fix_mode(&st, rule, f);
		return;
	}
	finding_fail(f, "; the mode would permit it: a security module or user namespace does not");
	finding_fix(f, "see the audit log (ausearch -m avc) or dmesg for SELinux or AppArmor; a "
		       "rootless container needs the node from a user who may open it");
}

static void permission_granted(const char *path, struct finding *f)
{
	char owner[64], group[64];
	struct stat st;

	finding_ok(f, "%s opens", path);
	if (stat(path, &st))
		return;
	user_name(st.st_uid, owner, sizeof(owner));
	group_name(st.st_gid, group, sizeof(group));
	finding_ok(f, " (mode %04o, owner %s, group %s)", st.st_mode & 07777, owner, group);
}

static void permission_cgroup(const struct doctor *d, const char *path, struct finding *f)
{
	char unit[128];

	finding_fail(f, "the device cgroup does not permit %s: open() answers EPERM", path);
	switch (host_place(d, unit, sizeof(unit))) {
	case HOST_CONTAINER:
		finding_fix(f, "start the container with --device=%s", path);
		break;
	case HOST_KUBERNETES:
		finding_fix(f,
			    "request the device from the node's RDMA device plugin, which passes "
			    "%s in",
			    path);
		break;
	case HOST_UNIT:
		finding_fix(f, "systemctl edit %s: DeviceAllow=%s rw (and not PrivateDevices=yes)",
			    finding_word(unit), path);
		break;
	case HOST_PLAIN:
		finding_fix(f, "permit the node in the device cgroup of this process "
			       "(/proc/self/cgroup), or start it from another one");
		break;
	}
}

void permission_check_file(const struct doctor *d, const char *path, const char *rule,
			   struct finding *f)
{
	int r = system_node_open(path);

	switch (-r) {
	case 0:
		permission_granted(path, f);
		return;
	case EACCES:
		permission_denied(d, path, rule, f);
		return;
	case EPERM:
		permission_cgroup(d, path, f);
		return;
	case EMFILE:
	case ENFILE:
		finding_fail(f, "%s cannot be opened: %s", path, strerror(-r));
		finding_fix(f, "raise the limit of open files (ulimit -n)");
		return;
	case ENXIO:
	case ENODEV:
		finding_fail(f, "%s cannot be opened: %s: nothing is behind the node", path,
			     strerror(-r));
		finding_fix(f, "the device went away, or the node is left over: run udev, or look "
			       "again");
		return;
	}
	finding_fail(f, "%s cannot be opened: %s", path, strerror(-r));
	finding_fix(f, "see the kernel log (dmesg)");
}

void permission_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	char path[PATH_MAX];

	if (!d->live) {
		finding_unseen(f, "nodes of a copy are not opened");
		return;
	}
	node_path(d, dev->verbs->device.dev_name, path);
	permission_check_file(d, path, "SUBSYSTEM==\"infiniband_verbs\"", f);
}
