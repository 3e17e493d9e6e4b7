/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Membership of an identifier in multicast groups. */
#ifndef LIBRDMACM_MCAST_H
#define LIBRDMACM_MCAST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>

struct cm_id;
struct ibcm_mc;

/*
 * Membership in a group.
 * @handle, @ibcm: as in cm_id. @mgid, @mlid: set by the core from ah_attr of the MULTICAST_JOIN
 * event.
 */
struct cm_mc {
	LIST_ENTRY(cm_mc) entry; /* cm_id.groups */
	struct cm_id *id;
	void *context; /* value of the program */
	struct sockaddr_storage addr;
	uint32_t join_flags; /* enum rdma_cm_mc_join_flags */
	uint32_t handle;
	struct ibcm_mc *ibcm;
	union ibv_gid mgid;
	uint16_t mlid;
	bool attached;	       /* the QP receives packets of the group */
	uint32_t events_acked; /* under id->lock */
};

/* mcast.c: attach the QP after MULTICAST_JOIN; free all groups of an identifier. */
int cm_mc_joined(struct cm_mc *mc, const struct ibv_ah_attr *attr);
void cm_groups_free(struct cm_id *id);

#endif
