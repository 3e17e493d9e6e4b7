/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Membership in groups. */
#ifndef IBCM_MCAST_H
#define IBCM_MCAST_H

#include <stdint.h>

struct cm_mc;

struct ibcm_mc {
	struct cm_mc *mc;
	uint32_t reported;
};

int ibcm_join(struct cm_mc *mc);
int ibcm_leave(struct cm_mc *mc, uint32_t *ret_events);

#endif
