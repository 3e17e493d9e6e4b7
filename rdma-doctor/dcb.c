/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rung of --speed that checks PFC, pause, ECN and the priorities of DSCPs of an interface. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/dcb.h"
#include "rdma-doctor/port.h"
#include "util/sysfs.h"

void dcb_priorities(uint8_t pfc, char *ret_text, size_t size)
{
	size_t used = 0;

	snprintf(ret_text, size, "none");
	for (unsigned int i = 0; i < DCB_PRIORITIES && used < size; i++)
		if (pfc & 1 << i)
			used += snprintf(ret_text + used, size - used, "%s%u", used ? ", " : "", i);
}

const char *dcb_reason(const struct dcb *dcb)
{
	if (dcb->error == -EOPNOTSUPP)
		return "its driver or the kernel has no DCB";
	return dcb->error ? strerror(-dcb->error) : "its driver does not report PFC";
}

/* Return whether a DSCP has a priority with PFC. */
static bool dscp_has_pfc(const struct dcb *dcb)
{
	for (unsigned int i = 0; i < DCB_DSCPS; i++)
		if (dcb->dscps >> i & 1 && dcb->pfc >> dcb->priority[i] & 1)
			return true;
	return false;
}

/* Return the priority of RoCE: of its usual DSCP, or the first one with PFC, or the usual one. */
static unsigned int priority_roce(const struct dcb *dcb)
{
	if (dcb->dscps >> DCB_DSCP_ROCE & 1)
		return dcb->priority[DCB_DSCP_ROCE];
	return dcb->pfc ? (unsigned int)__builtin_ctz(dcb->pfc) : DCB_PRIORITY_ROCE;
}

/* Check a file of drivers that have it. Return: whether it exists. @side: "roce_np", which sends
 * notifications, or "roce_rp", which obeys them */
static bool ecn_check_side(const char *netdev, const char *side, unsigned int priority,
			   struct finding *f)
{
	char path[PATH_MAX], text[16];

	snprintf(path, sizeof(path), "%s/class/net/%s/ecn/%s/enable/%u", sysfs_root(), netdev, side,
		 priority);
	if (sysfs_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	if (atoi(text) || f->state == FINDING_FAILED)
		return true;
	finding_fail(f, "; the adapter does not answer marks (ECN) of priority %u: %s is off",
		     priority, side);
	finding_fix(f, "echo 1 > /sys/class/net/%s/ecn/%s/enable/%u", finding_word(netdev), side,
		    priority);
	return true;
}

static void ecn_check_netdev(const char *netdev, const struct dcb *dcb, struct finding *f)
{
	unsigned int priority = priority_roce(dcb);
	bool np = ecn_check_side(netdev, "roce_np", priority, f);
	bool rp = ecn_check_side(netdev, "roce_rp", priority, f);

	if (!np && !rp && f->state != FINDING_FAILED)
		finding_set(f, f->state,
			    "; whether the adapter answers marks (ECN) is in no file here");
}

static void pause_say(const struct dcb *dcb, struct finding *f)
{
	if (!dcb->pause_known)
		finding_set(f, f->state, "; pause is not reported");
	else
		finding_set(f, f->state, "; pause is %s",
			    dcb->pause_receive || dcb->pause_send ? "on" : "off");
}

static void pfc_check_netdev(const char *netdev, const struct dcb *dcb, struct finding *f)
{
	char priorities[32];

	dcb_priorities(dcb->pfc, priorities, sizeof(priorities));
	finding_ok(f, "%s: priorities with PFC: %s", netdev, priorities);
	if (dcb->dscps >> DCB_DSCP_ROCE & 1)
		finding_ok(f, "; DSCP %u has priority %u", DCB_DSCP_ROCE,
			   dcb->priority[DCB_DSCP_ROCE]);
	pause_say(dcb, f);
	if (!dcb->pfc)
		return;
	if (dcb->pause_receive || dcb->pause_send) {
		finding_fail(f, " for all priorities, too: it stops the whole link");
		finding_fix(f, "ethtool -A %s rx off tx off", finding_word(netdev));
	} else if (dcb->dscps && !dscp_has_pfc(dcb)) {
		finding_fail(f, "; no DSCP has one of these priorities, therefore PFC is not used");
		finding_fix(f, "dcb app add dev %s dscp-prio %u:%u, or the DSCP that programs use",
			    finding_word(netdev), DCB_DSCP_ROCE,
			    (unsigned int)__builtin_ctz(dcb->pfc));
	}
}

static void netdev_check(const struct doctor *d, const char *netdev, struct finding *f)
{
	struct dcb dcb = {};

	if (d->live)
		system_dcb(netdev, &dcb);
	if (!d->live) {
		finding_unseen(f, "%s: a copy of a machine's files does not tell of PFC", netdev);
	} else if (!dcb.pfc_known) {
		finding_unseen(f, "%s: PFC is not known: %s", netdev, dcb_reason(&dcb));
		pause_say(&dcb, f);
	} else {
		pfc_check_netdev(netdev, &dcb, f);
	}
	ecn_check_netdev(netdev, &dcb, f);
}

void dcb_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct port port;

	if (!d->speed_wanted) {
		finding_unneeded(f, "--speed asks for it");
		return;
	}
	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		struct finding one = {};

		if (!port_read(dev, i, &port) || !port.ethernet || !port.netdev[0])
			continue;
		netdev_check(d, port.netdev, &one);
		if (!f->what.length || one.state > f->state)
			*f = one;
	}
	if (!f->what.length)
		finding_unneeded(f, "it has no Ethernet port");
}
