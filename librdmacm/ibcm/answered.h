/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that were answered and get no other answer. Call these functions under the lock. */
#ifndef IBCM_ANSWERED_H
#define IBCM_ANSWERED_H

#include <infiniband/verbs.h>

#include "librdmacm/ibcm/mad.h"

struct ibcm_id;

/* Store @data as the only answer to the request of @iid. */
void ibcm_answered_add(const struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/*
 * Return the answer that was sent to a request within the last ten seconds, or NULL. @id, @tid:
 * numbers of the peer.
 */
const uint8_t *ibcm_answered_find(const union ibv_gid *gid, uint32_t id, uint64_t tid);

#endif
