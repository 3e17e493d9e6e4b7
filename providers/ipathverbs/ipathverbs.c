/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The provider of TrueScale adapters. All its operations are in providers/rdmavt. */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/rdmavt/rdmavt.h"

static const struct verbs_provider ipathverbs_provider = {
	RVT_PROVIDER,
	.name = "ipathverbs",
	.driver_id = RDMA_DRIVER_QIB,
};

VERBS_PROVIDER(ipathverbs_provider);
