/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Upcalls of the engine. */
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/short_way.h"
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/poller.h"
#include "providers/uroce/host/show.h"

static void engine_async(struct ibv_context *ctx, uint64_t element, enum ibv_event_type type,
			 uint32_t *raised)
{
	uroce_event_put(to_uctx(ctx), element, type, raised);
}

static void engine_wake(struct uroce_engine *engine)
{
	uroce_thread_wake(engine_host(engine));
}

const struct engine_events uroce_engine_events = {
	.async = engine_async,
	.wake = engine_wake,
	.run = uroce_qp_run,
	.stopped = uroce_qp_show,
};
