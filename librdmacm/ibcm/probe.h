/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages out that a host without a receiver refuses. Call these functions under the lock.
 */
#ifndef IBCM_PROBE_H
#define IBCM_PROBE_H

#include "librdmacm/ibcm/mad.h"
#include "libibverbs/provider.h"

struct ibcm_dev;
struct ibcm_id;

/*
 * Send a message so that a host without a receiver refuses it. -ENOENT: the message is for this
 * host, and was not sent.
 */
int ibcm_probe_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
typedef void ibcm_refused_fn(const union ibv_gid *local, const union ibv_gid *remote);
/* Call @refused for each refusal that a host has sent. */
void ibcm_probe_read(struct ibcm_dev *dev, ibcm_refused_fn *refused);

#endif
