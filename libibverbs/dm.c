/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory. No provider has any yet: only the two exported functions, which refuse. */
#include "libibverbs/library.h"

VERBS_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *ctx, uint32_t dm_handle)
{
	return ret_null(verbs_unsupported(ctx, "ibv_import_dm"));
}

VERBS_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	verbs_unsupported(dm->context, "ibv_unimport_dm");
}
