/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of the board of this process: QPs and regions. */
#ifndef UROCE_HOST_SHOW_H
#define UROCE_HOST_SHOW_H

#include "providers/uroce/host/objects.h"

/* Show peers the present state of the QP. Under qp->lock. */
void uroce_qp_show(struct uroce_qp *qp);
/*
 * Hide the QP if peers were shown more rights than it grants now. Under qp->lock. Return: whether
 * it was hidden; then call uroce_qp_fence() before the QP is shown again.
 */
bool uroce_qp_hide_lost(struct uroce_qp *qp);
/*
 * Wait until the process of @peer_qpn, the QP's present or former peer, has finished the copies
 * that it began by permission of the QP, to or from memory of this process. If that process is
 * stopped in the middle of a copy, wait until it continues or ends. No lock held.
 */
void uroce_qp_fence(struct uroce_qp *qp, uint32_t peer_qpn);
/* Show the memory regions of this process to peers from now on. */
void uroce_regions_show(struct uroce_host *host);

#endif
