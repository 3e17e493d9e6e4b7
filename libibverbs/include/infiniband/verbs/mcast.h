/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast. */
#ifndef INFINIBAND_VERBS_MCAST_H
#define INFINIBAND_VERBS_MCAST_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/gid.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ibv_attach_mcast(), ibv_detach_mcast() - let a UD QP receive what is sent to a group
 * @gid: of the group
 * @lid: of the group, host order; 0 on RoCE
 *
 * On InfiniBand the port has to join the group with the subnet administrator first. Attaching twice
 * is attaching once.
 */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

#ifdef __cplusplus
}
#endif

#endif
