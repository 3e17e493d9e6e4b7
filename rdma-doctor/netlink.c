/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink, which the library uses to find devices. */
#include <string.h>

#include "rdma-doctor/doctor.h"

static const char *netlink_fix(int error)
{
	switch (error) {
	case -EPROTONOSUPPORT:
		return "in a systemd unit: RestrictAddressFamilies= must have AF_NETLINK; in a "
		       "container: a runtime and seccomp profile that let RDMA netlink through; "
		       "else: modprobe ib_core";
	case -EPERM:
		return "a seccomp profile or security module forbids it: allow AF_NETLINK sockets "
		       "of protocol 20";
	default:
		return "see the kernel log (dmesg)";
	}
}

void netlink_check(struct doctor *d, struct finding *f)
{
	if (!d->live) {
		finding_unseen(f, "a copy of a machine's files does not answer");
		return;
	}
	switch (d->system.error) {
	case 0:
		finding_ok(f, "answers");
		return;
	case -ENOSYS:
		finding_unneeded(f, "not asked: the kernel has no RDMA subsystem");
		return;
	}
	finding_fail(
		f,
		"RDMA netlink does not answer: %s; the library cannot learn the drivers of devices",
		strerror(-d->system.error));
	finding_fix(f, "%s", netlink_fix(d->system.error));
	if (!d->count && !sysfs_exists("class"))
		uroce_instead(d, f);
}
