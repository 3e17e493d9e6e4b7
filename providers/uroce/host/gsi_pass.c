/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes for QP1: receive MADs, and hand them to the manager. */
#include "providers/uroce/host/gsi.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/poller.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/progress.h"

static struct uroce_gsi *gsi_came(struct uroce_host *host)
{
	struct uroce_gsi *gsi;

	uroce_lock(&host->paths.progress_lock);
	gsi = SLIST_FIRST(&host->gsi_came);
	if (gsi) {
		SLIST_REMOVE_HEAD(&host->gsi_came, came_entry);
		gsi->came = false;
	}
	uroce_unlock(&host->paths.progress_lock);
	return gsi;
}

static void gsi_hand_over(struct uroce_host *host)
{
	struct uroce_gsi *gsi;

	while ((gsi = gsi_came(host))) {
		if (gsi->taker.arrived(gsi->taker.arg))
			continue;
		pthread_mutex_lock(&gsi->lock);
		if (gsi->head != gsi->tail)
			uroce_gsi_ring(gsi);
		pthread_mutex_unlock(&gsi->lock);
	}
}

unsigned int uroce_gsi_pass(struct uroce_host *host)
{
	unsigned int n;
	bool came;

	assert_held(&host->paths.progress_lock);
	host->gsi_attended = true;
	n = uroce_progress_pass(host, true, false);
	host->gsi_attended = false;
	came = !SLIST_EMPTY(&host->gsi_came);
	if (host->paths.whole)
		path_host_go(&host->paths);
	else
		uroce_unlock(&host->paths.progress_lock);
	if (came)
		gsi_hand_over(host);
	return n;
}

void uroce_gsi_poll(struct ibv_context *ctx)
{
	struct uroce_host *host = ctx_host(ctx);

	if (uroce_host_check(host) < 0 || !uroce_trylock(&host->paths.progress_lock))
		return;
	uroce_gsi_pass(host);
	uroce_thread_poller_seen(host, 0);
}

void uroce_gsi_leave(struct ibv_context *ctx)
{
	struct uroce_host *host = ctx_host(ctx);

	if (!uroce_host_check(host))
		uroce_thread_poller_leaves(host);
}

int uroce_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	struct uroce_host *host = ctx_host(ctx);
	const struct gsi_transit transit = {
		.from = { .sgid = mad->remote_gid, .dgid = mad->local_gid },
		.mad = mad->data,
		.src_qpn = mad->src_qp,
	};
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	uroce_lock(&host->paths.progress_lock);
	r = uroce_gsi_route_again(host, &transit, mad->arrived, uroce_now());
	uroce_unlock(&host->paths.progress_lock);
	return r;
}
