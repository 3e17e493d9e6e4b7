/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The short way of what programs do most: a send of one packet from one RC QP to another through
 * shared memory, both in order and nothing in their way; and the receiver's half of it on a
 * network. It does exactly what the engine would do.
 * Whatever differs in any respect is left untouched to the engine, which also finds out what is
 * wrong with it, if something is. Its parts are inlined: a call costs as much as most of them do.
 */
#ifndef UROCE_EXPRESS_H
#define UROCE_EXPRESS_H

#include "providers/uroce/host/host.h"

/* Send what is posted, under qp->lock. Return: true when nothing is left for the requester. */
bool uroce_express_send(struct uroce_qp *qp);

/*
 * @length bytes of a packet, BTH to padding, out of the ring of @peer (a struct shm_peer), by
 * @strand, which is held. Return: false when it is for the engine; an acknowledgement that came
 * along may have been taken, which does no harm a second time.
 */
bool uroce_express_receive(struct path_host *paths, const void *peer, unsigned int strand,
			   const uint8_t *data, uint32_t length, uint32_t ack);

/*
 * The same from @sgid by the network, with its ICRC checked; under progress_lock.
 */
bool uroce_express_datagram(struct path_host *paths, const union ibv_gid *sgid, const uint8_t *data,
			    uint32_t length);

#endif
