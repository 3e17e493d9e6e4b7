/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that wait for a listener. Call these functions under the lock. */
#ifndef IBCM_PENDING_H
#define IBCM_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "libibverbs/provider.h"

struct ibcm_dev;

/*
 * Handle a pending request again. Return: true if the request is done, false if it must wait
 * further. @last: answer the request even without a listener.
 */
typedef bool ibcm_again_fn(struct ibcm_dev *dev, const struct verbs_gsi_mad *from, bool last);
/*
 * Keep a request without a listener for a moment. @id: the peer's communication id; @of_socket:
 * keep it only until all processes were searched. Return: false if there is no memory, or if all
 * processes were searched before.
 */
bool ibcm_pending_add(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad, uint32_t id,
		      bool of_socket, ibcm_again_fn *again);
/* Drop the request, because the peer gave up. Return: whether there was a request. */
bool ibcm_pending_withdraw(const union ibv_gid *gid, uint32_t id);
/*
 * Search listeners for the pending requests, and refuse the requests that have waited long enough.
 * Return: time of the next search; 0: none.
 */
uint64_t ibcm_pending_run(uint64_t now, ibcm_again_fn *again);

#endif
