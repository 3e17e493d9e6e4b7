/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rung of --peer that compares PFC of both hosts. */
#include <net/if.h>
#include <stdio.h>

#include "rdma-doctor/dcb.h"
#include "rdma-doctor/peer.h"

void pfc_report(unsigned int index, struct peer_report *report, char ret_why[PEER_TEXT])
{
	char netdev[IFNAMSIZ];
	struct dcb dcb;

	ret_why[0] = '\0';
	if (!index || !if_indextoname(index, netdev)) {
		snprintf(ret_why, PEER_TEXT, "the interface of the port is not known");
		return;
	}
	system_dcb(netdev, &dcb);
	if (dcb.pfc_known)
		report->pfc = PEER_PFC_KNOWN | dcb.pfc;
	else
		snprintf(ret_why, PEER_TEXT, "%s: %s", netdev, dcb_reason(&dcb));
	if (dcb.dscps >> DCB_DSCP_ROCE & 1)
		report->priority = dcb.priority[DCB_DSCP_ROCE] + 1;
}

/* Explain why PFC was not compared. An older server gives no reason. */
static void unseen(const struct doctor *d, const struct peer *p, struct finding *f)
{
	finding_unseen(f, "PFC is not known");
	if (!(p->load_here.pfc & PEER_PFC_KNOWN))
		finding_unseen(f, "; on this host: %s", p->pfc_here);
	if (!(p->load_there.pfc & PEER_PFC_KNOWN))
		finding_unseen(f, "; on %s: %s", d->peer_host,
			       p->pfc_there[0] ? p->pfc_there : "it does not report it");
}

static void compare(const struct doctor *d, const struct peer_report *here,
		    const struct peer_report *there, struct finding *f)
{
	char mine[32], its[32];

	dcb_priorities(here->pfc, mine, sizeof(mine));
	dcb_priorities(there->pfc, its, sizeof(its));
	finding_ok(f, "priorities with PFC: %s on this host, %s on %s", mine, its, d->peer_host);
	if ((uint8_t)here->pfc != (uint8_t)there->pfc) {
		finding_fail(f, ": they differ");
		finding_fix(f, "set PFC for the same priorities on both hosts and on all switches "
			       "between them: dcb pfc set dev INTERFACE prio-pfc all:off 3:on");
	} else if (here->priority && there->priority && here->priority != there->priority) {
		finding_fail(f, "; DSCP %u has priority %u on this host and %u on %s",
			     DCB_DSCP_ROCE, here->priority - 1, there->priority - 1, d->peer_host);
		finding_fix(f, "map the DSCP to the same priority on both hosts: dcb app replace "
			       "dev INTERFACE dscp-prio 26:3");
	}
}

void pfc_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);

	if (!p)
		return;
	if (!p->loaded)
		finding_unneeded(f, "the transfer did not come this far");
	else if (p->here.link_layer != IBV_LINK_LAYER_ETHERNET)
		finding_unneeded(f, "InfiniBand has credits instead of PFC");
	else if (p->load_here.pfc & p->load_there.pfc & PEER_PFC_KNOWN)
		compare(d, &p->load_here, &p->load_there, f);
	else
		unseen(d, p, f);
}
