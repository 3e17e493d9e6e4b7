/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address vectors. */
#ifndef UROCE_HOST_AV_H
#define UROCE_HOST_AV_H

#include "providers/uroce/host/objects.h"

/* Resolve @attr into @ret_av: path, socket address and MTU. @dest_qpn: 0 for an AH. */
int uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr, uint32_t dest_qpn,
		     struct uroce_av *ret_av);

/*
 * Complete @av, the post's copy of an AH, for a datagram to @qpn. An AH names only a host, and the
 * QP number shows which process of this host the datagram is for. If that process is connected, the
 * datagram goes through shared memory. Under the lock of the QP, whose WQE keeps the peer's struct.
 */
void uroce_av_for_qpn(struct uroce_av *av, uint32_t qpn);
/* Return whether a queue pair with this number may exist at the destination. Takes system calls. */
bool uroce_av_may_have(const struct uroce_av *av, uint32_t qpn);

#endif
