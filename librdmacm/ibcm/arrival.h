/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to dispatch.c and request.c: a message that arrived. */
#ifndef IBCM_ARRIVAL_H
#define IBCM_ARRIVAL_H

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/id.h"

/* A message and its origin. */
struct arrival {
	struct ibcm_dev *dev;
	const struct verbs_gsi_mad *from;
	struct ibcm_mad mad;
	struct ibcm_ip ip;
};

/* request.c; under the lock */
/* Answer a message without a connection or listener. */
void ibcm_arrival_stray(const struct arrival *in);
/* Handle a request. Return: false if its service has no listener here. */
bool ibcm_arrival_request(struct arrival *in);

/*
 * Return whether the connection is in its time wait, and therefore does not block another
 * connection. A process may end within that time, and the next process may choose the same numbers.
 * The PSNs then differ.
 */
static inline bool ibcm_is_over(const struct ibcm_id *iid)
{
	return iid->conn.state == IBCM_TIMEWAIT;
}

#endif
