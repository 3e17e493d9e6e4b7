/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data center bridging (DCB) of a network interface: settings that keep the network from dropping
 * packets of RoCE. */
#ifndef RDMA_DOCTOR_DCB_H
#define RDMA_DOCTOR_DCB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DCB_PRIORITIES = 8,
	DCB_DSCPS = 64,
	DCB_DSCP_ROCE = 26,    /* common for RoCE */
	DCB_PRIORITY_ROCE = 3, /* of this DSCP by default */
};

struct dcb {
	int error;		     /* 0; -errno of the query */
	bool pfc_known;		     /* the driver reports PFC */
	uint8_t pfc;		     /* a bit for each priority with PFC */
	uint64_t dscps;		     /* a bit for each DSCP that has a priority */
	uint8_t priority[DCB_DSCPS]; /* priority of each of these DSCPs */
	bool pause_known;	     /* ethtool reports pause of the whole link */
	bool pause_receive, pause_send;
};

struct nlmsghdr;

/* dcb_answer.c: read the kernel's answer, whose header was checked. Return: 0 or -errno. */
int dcb_answer(struct nlmsghdr *hdr, void *dcb);

/* dcb_query.c: ask the kernel. Every user may. */
void system_dcb(const char *netdev, struct dcb *ret_dcb);

/* dcb.c: write "3, 4" or "none". */
void dcb_priorities(uint8_t pfc, char *ret_text, size_t size);
/* Return the reason why PFC is not known. */
const char *dcb_reason(const struct dcb *dcb);

#endif
