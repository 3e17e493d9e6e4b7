/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. host/av.c resolves their address vectors. */
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

int uroce_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dev *dev = ctx_dev(ah->context);
	int r = uroce_host_check(dev->host);

	return r < 0 ? r : uroce_av_resolve(dev, in->attr, 0, &((struct uroce_ah *)ah)->av);
}

int uroce_destroy_ah(struct ibv_ah *ah)
{
	return uroce_host_check(ctx_host(ah->context));
}
