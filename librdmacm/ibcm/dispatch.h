/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages in. Call these functions under the lock. */
#ifndef IBCM_DISPATCH_H
#define IBCM_DISPATCH_H

#include "librdmacm/ibcm/pending.h"
#include "librdmacm/ibcm/probe.h"

void ibcm_arrived(struct ibcm_dev *dev, const struct verbs_gsi_mad *from);
ibcm_refused_fn ibcm_refused;

/* request.c: handle a pending request again. */
ibcm_again_fn ibcm_request_again;

#endif
