/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1. A MAD may come to any process of the user that shares the address; gsi_route.c finds the one
 * it is for: answers name a communication id whose first bits are the process's slot, requests name
 * a service id, and who listens shows that on its board.
 */
#ifndef UROCE_GSI_H
#define UROCE_GSI_H

#include "providers/uroce/host/host.h"

enum {
	GSI_PACKET_MAX = UROCE_HEADER_MAX + GSI_MAD_LEN,
	GSI_PATHS = 256,
};

/* A MAD on its way to a process of this host. */
struct gsi_transit {
	struct path_origin from;
	const uint8_t *mad; /* GSI_MAD_LEN bytes */
	uint32_t src_qpn;
	uint64_t arrived; /* ns: when uroce_gsi_route() was asked */
};

enum gsi_verdict {
	GSI_DONE,  /* delivered, or there is nobody for it */
	GSI_FULL,  /* no room in the ring to its process: lost */
	GSI_LATER, /* who wants it is not known or not connected yet */
};

/*
 * Bring the MAD to its process. @last: who would have to answer for nobody gets it now. *@ret_slot
 * is where it belongs, 0 unknown. Under progress_lock.
 */
enum gsi_verdict uroce_gsi_route(struct uroce_host *host, const struct gsi_transit *transit,
				 bool last, uint64_t now, uint16_t *ret_slot);

/*
 * A request for which nobody listened when it came, at @since: to the process that does now.
 * -ENOENT: none but this one, perhaps; -EAGAIN: not all are connected, or were looked for since
 * then, or its ring is full. Under progress_lock.
 */
int uroce_gsi_route_again(struct uroce_host *host, const struct gsi_transit *transit,
			  uint64_t since, uint64_t now);

/* The packet a MAD travels in. Return: its length. */
uint32_t uroce_gsi_pack(const struct gsi_transit *transit, uint8_t ret_packet[GSI_PACKET_MAX]);

/* To the manager of this process. Return: whether there is one for the address. */
bool uroce_gsi_deliver(struct uroce_host *host, const struct gsi_transit *transit);

/*
 * Whether this process receives what comes to the address: then its processes are this user's.
 * Under progress_lock.
 */
bool uroce_gsi_is_ours(struct uroce_host *host, const union ibv_gid *gid);

/* Ways to other hosts that were looked up a moment ago. */
struct gsi_path {
	uint64_t until;
	union ibv_gid dgid;
	struct uroce_av av;
};

struct gsi_paths {
	pthread_mutex_t lock;
	struct gsi_path place[GSI_PATHS];
};

/* gsi_path.c: the way of @mad to its destination. */
int uroce_gsi_path(struct uroce_dev *dev, struct gsi_paths *paths, const struct verbs_gsi_mad *mad,
		   struct uroce_av *ret_av);
/* On our board: a manager is here; it listens on a service id or no longer does. */
void uroce_board_manager(struct uroce_shm *shm);
int uroce_board_service(struct uroce_shm *shm, uint64_t id, const union ibv_gid *gid, bool on);

#endif
