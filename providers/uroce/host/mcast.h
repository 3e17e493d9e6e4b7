/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups. */
#ifndef UROCE_HOST_MCAST_H
#define UROCE_HOST_MCAST_H

#include "providers/uroce/host/objects.h"

/* Receive from the sockets of the device's multicast groups. Under progress_lock. */
unsigned int uroce_mcast_poll(struct uroce_dev *dev, unsigned int budget);
/* Deliver a multicast packet to every attached QP. */
void uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *pkt);

/* Operations of the provider. */
int uroce_attach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
int uroce_detach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

#endif
