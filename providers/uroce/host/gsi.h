/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1. The kernel may give a MAD to any process of the user that shares the address. gsi_route.c
 * finds the process for it. Answers contain a communication id whose first bits are the process's
 * slot. Requests contain a service id, and listening processes show their service ids on their
 * boards.
 */
#ifndef UROCE_GSI_H
#define UROCE_GSI_H

#include "providers/uroce/host/objects.h"

enum {
	GSI_PACKET_MAX = UROCE_HEADER_MAX + GSI_MAD_LEN,
	GSI_PATHS = 256,
	/* MADs waiting for the manager; the queue drops more, as a network would */
	GSI_QUEUE = 1 << 14,
};

/* Resolved path to another host, valid until @until (ns). */
struct gsi_path {
	uint64_t until;
	union ibv_gid dgid;
	struct uroce_av av;
};

struct gsi_paths {
	pthread_mutex_t lock;
	struct gsi_path place[GSI_PATHS];
};

/* QP1 of a device, and the MADs that wait for its manager. */
struct uroce_gsi {
	pthread_mutex_t lock;
	struct verbs_gsi_taker taker;
	int fd;
	bool rung; /* fd is readable */
	bool came; /* on host->gsi_came; under progress_lock */
	SLIST_ENTRY(uroce_gsi) came_entry;
	uint32_t head, tail; /* free running; 0 if the queue is empty */
	atomic_uint psn;
	struct gsi_paths paths;
	struct verbs_gsi_mad queue[GSI_QUEUE]; /* pages are allocated at their first use */
};

/* A MAD on its way to a process of this host. */
struct gsi_transit {
	struct path_origin from;
	const uint8_t *mad; /* GSI_MAD_LEN bytes */
	uint32_t src_qpn;
	uint64_t arrived; /* ns: time of the call of uroce_gsi_route() */
};

enum gsi_verdict {
	GSI_DONE,  /* delivered, or no process takes it */
	GSI_FULL,  /* lost: the ring to its process is full */
	GSI_LATER, /* its process is not known or not connected yet */
};

/*
 * Bring the MAD to its process. @last: do not wait for its process any longer, but give it to a
 * manager that answers a stray MAD. *@ret_slot: slot of its process, 0 if unknown. Under
 * progress_lock.
 */
enum gsi_verdict uroce_gsi_route(struct uroce_host *host, const struct gsi_transit *transit,
				 bool last, uint64_t now, uint16_t *ret_slot);

/*
 * Route a request again that had no listener when it arrived at the time @since. Return: -ENOENT if
 * no other process listens; -EAGAIN if some processes are not connected yet, or the last search for
 * processes began before @since, or the ring is full. Under progress_lock.
 */
int uroce_gsi_route_again(struct uroce_host *host, const struct gsi_transit *transit,
			  uint64_t since, uint64_t now);

/* Build the UD packet of a MAD. Return: its length in bytes. */
uint32_t uroce_gsi_pack(const struct gsi_transit *transit, uint8_t ret_packet[GSI_PACKET_MAX]);

/* Make the descriptor readable until the queue is empty. Under gsi->lock. */
void uroce_gsi_ring(struct uroce_gsi *gsi);
/* Queue the MAD for the manager of this process. Return: whether a manager uses the address. */
bool uroce_gsi_deliver(struct uroce_host *host, const struct gsi_transit *transit);

/*
 * Return whether this process receives packets for the address. If it does, all processes that use
 * the address belong to this user. Under progress_lock.
 */
bool uroce_gsi_is_ours(struct uroce_host *host, const union ibv_gid *gid);

/* gsi_path.c: resolve the path of @mad to its destination. */
int uroce_gsi_path(struct uroce_dev *dev, struct gsi_paths *paths, const struct verbs_gsi_mad *mad,
		   struct uroce_av *ret_av);
/*
 * Show on the board of this process that it has a manager, and which service ids have a listener.
 */
void uroce_board_manager(struct uroce_shm *shm);
int uroce_board_service(struct uroce_shm *shm, uint64_t id, const union ibv_gid *gid, bool on);
/*
 * Find a service on a board. The board may belong to another process, so the search is bounded and
 * does not depend on the board's contents.
 */
const struct shm_service *uroce_board_service_find(const struct shm_board *board, uint64_t id,
						   const union ibv_gid *gid);

#endif
