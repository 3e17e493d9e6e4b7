/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages out. Call these functions under the lock. */
#ifndef IBCM_SEND_H
#define IBCM_SEND_H

#include <stdbool.h>

#include "librdmacm/ibcm/mad.h"
#include "libibverbs/provider.h"

struct ibcm_dev;
struct ibcm_id;

/*
 * Send a message. If sending fails, the message counts as lost: it is repeated until the peer
 * counts as unreachable.
 */
void ibcm_send(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad);
void ibcm_id_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/* Send again the messages that the device had no room for. Return: whether some are left. */
bool ibcm_send_retry(void);

#endif
