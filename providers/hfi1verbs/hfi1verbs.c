/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The provider of Omni-Path adapters. All its operations are in providers/rdmavt. */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/rdmavt/rdmavt.h"

static const struct verbs_provider hfi1verbs_provider = {
	RVT_PROVIDER,
	.name = "hfi1verbs",
	.driver_id = RDMA_DRIVER_HFI1,
};

VERBS_PROVIDER(hfi1verbs_provider);
