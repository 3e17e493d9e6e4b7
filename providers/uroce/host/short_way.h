/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Short way for the most frequent operation: a send of one packet from one RC QP to another through
 * shared memory, in order and with nothing outstanding that prevents it. On a network only the
 * receiver's half is used. The result is exactly that of the engine.
 *
 * All other packets are left to the engine unchanged, and the engine also finds errors in them. The
 * parts of the short way are inlined, because a call would cost as much as most of them do.
 */
#ifndef UROCE_SHORT_WAY_H
#define UROCE_SHORT_WAY_H

#include "providers/uroce/host/objects.h"

/* Send posted requests. Under qp->lock. Return: true if no request is left for the requester. */
bool uroce_short_way_send(struct uroce_qp *qp);

/*
 * Receive a packet of @length bytes, BTH to padding, from the ring of @peer (a struct shm_peer) by
 * @strand, which is locked. Return: false if the engine must handle the packet. An acknowledgement
 * in the same record may have been handled already. Handling it a second time has no effect.
 */
bool uroce_short_way_receive(struct path_host *paths, const void *peer, unsigned int strand,
			     const uint8_t *data, uint32_t length, uint32_t ack);

/*
 * Receive a packet in the same way if it came from @sgid by the network and its ICRC was checked.
 * Under progress_lock.
 */
bool uroce_short_way_datagram(struct path_host *paths, const union ibv_gid *sgid,
			      const uint8_t *data, uint32_t length);

/* Send posted requests, by the short way (short_way.c) if possible. Under qp->lock. */
void uroce_qp_run(struct uroce_qp *qp, uint64_t now);

/* Return whether the QP may ever use the short way. Decided when its address vector is set. */
bool uroce_short_way_possible(const struct uroce_qp *qp);

#endif
