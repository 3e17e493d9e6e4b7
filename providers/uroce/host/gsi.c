/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP1, for the user-space connection manager: MADs as UD packets to QP number 1. */
#include <string.h>
#include <sys/eventfd.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gsi.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/process.h"

/* --- open --- */

static int gsi_new(const struct verbs_gsi_taker *taker, struct uroce_gsi **ret_gsi)
{
	struct uroce_gsi *gsi = calloc(1, sizeof(*gsi));

	if (!gsi)
		return -ENOMEM;
	gsi->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (gsi->fd < 0) {
		free(gsi);
		return uroce_call_failed("eventfd");
	}
	pthread_mutex_init(&gsi->lock, NULL);
	pthread_mutex_init(&gsi->paths.lock, NULL);
	gsi->taker = *taker;
	*ret_gsi = gsi;
	return 0;
}

static int dev_gsi(struct uroce_dev *dev, const struct verbs_gsi_taker *taker,
		   struct uroce_gsi **ret_gsi)
{
	struct uroce_gsi *gsi;
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	gsi = dev->gsi;
	if (!gsi) {
		r = gsi_new(taker, &gsi);
		if (!r) {
			uroce_lock(&dev->host->paths.progress_lock);
			dev->gsi = gsi;
			uroce_unlock(&dev->host->paths.progress_lock);
		}
	}
	pthread_mutex_unlock(&dev->lock);
	*ret_gsi = gsi;
	return r;
}

int uroce_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint16_t *ret_prefix)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	struct uroce_gsi *gsi;
	int r = uroce_host_check(dev->host);

	if (!r)
		r = dev_gsi(dev, taker, &gsi);
	if (r < 0)
		return r;
	uroce_board_manager(dev->host->shm);
	*ret_fd = gsi->fd;
	*ret_prefix = dev->host->paths.slot;
	return 0;
}

int uroce_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on)
{
	struct uroce_host *host = ctx_host(ctx);
	int r = uroce_host_check(host);

	return r < 0 ? r : uroce_board_service(host->shm, service_id, gid, on);
}

void uroce_gsi_free(struct uroce_gsi *gsi)
{
	if (!gsi)
		return;
	close(gsi->fd);
	pthread_mutex_destroy(&gsi->paths.lock);
	pthread_mutex_destroy(&gsi->lock);
	free(gsi);
}

/* --- in --- */

int uroce_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad)
{
	struct uroce_gsi *gsi = ctx_dev(ctx)->gsi;
	uint64_t count;
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	r = -EAGAIN;
	if (!gsi)
		return -EINVAL;
	pthread_mutex_lock(&gsi->lock);
	if (gsi->tail != gsi->head) {
		*ret_mad = gsi->queue[gsi->tail++ % GSI_QUEUE];
		r = 0;
		/* An empty queue begins at its start again, so that few pages of it are ever used.
		 */
		if (gsi->tail == gsi->head)
			gsi->tail = gsi->head = 0;
		if (gsi->tail == gsi->head && gsi->rung) {
			(void)!read(gsi->fd, &count, sizeof(count));
			gsi->rung = false;
		}
	}
	pthread_mutex_unlock(&gsi->lock);
	return r;
}

void uroce_gsi_ring(struct uroce_gsi *gsi)
{
	uint64_t one = 1;

	if (!gsi->rung)
		(void)!uroce_call_write(gsi->fd, &one, sizeof(one));
	gsi->rung = true;
}

/*
 * Queue a MAD. If uroce_gsi_pass() makes the current pass, it will hand the MAD to the taker.
 * Otherwise make the descriptor readable.
 */
static void gsi_put(struct uroce_host *host, struct uroce_gsi *gsi, const struct verbs_gsi_mad *mad)
{
	assert_held(&host->paths.progress_lock);
	pthread_mutex_lock(&gsi->lock);
	if (gsi->head - gsi->tail < GSI_QUEUE) {
		gsi->queue[gsi->head++ % GSI_QUEUE] = *mad;
		if (!host->gsi_attended)
			uroce_gsi_ring(gsi);
		else if (!gsi->came)
			SLIST_INSERT_HEAD(&host->gsi_came, gsi, came_entry);
		gsi->came |= host->gsi_attended;
	}
	pthread_mutex_unlock(&gsi->lock);
}

static int gid_index(const struct uroce_dev *dev, const union ibv_gid *gid)
{
	for (int i = 0; i < UROCE_GID_MAX; i++)
		if (dev->gids[i].valid && !memcmp(&dev->gids[i].gid, gid, sizeof(*gid)))
			return i;
	return -1;
}

bool uroce_gsi_deliver(struct uroce_host *host, const struct gsi_transit *transit)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry) {
		int index = dev->gsi ? gid_index(dev, &transit->from.dgid) : -1;
		struct verbs_gsi_mad mad = {
			.src_qp = transit->src_qpn,
			.port_num = 1,
			.sgid_index = index,
			.local_gid = transit->from.dgid,
			.remote_gid = transit->from.sgid,
			.arrived = transit->arrived,
		};

		if (index < 0)
			continue;
		memcpy(mad.data, transit->mad, GSI_MAD_LEN);
		gsi_put(host, dev->gsi, &mad);
		return true;
	}
	return false;
}

void uroce_gsi_peer_gone(struct uroce_host *host, uint16_t slot)
{
	struct verbs_gsi_mad mad = { .gone = slot };
	struct uroce_dev *dev;

	assert_held(&host->paths.progress_lock);
	LIST_FOREACH(dev, &host->devices, entry)
		if (dev->gsi)
			gsi_put(host, dev->gsi, &mad);
}

void uroce_gsi_removed(struct uroce_dev *dev)
{
	const struct verbs_gsi_mad mad = { .removed = true };

	uroce_lock(&dev->host->paths.progress_lock);
	if (dev->gsi)
		gsi_put(dev->host, dev->gsi, &mad);
	uroce_unlock(&dev->host->paths.progress_lock);
}

bool uroce_gsi_is_ours(struct uroce_host *host, const union ibv_gid *gid)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry) {
		int index = gid_index(dev, gid);

		if (index >= 0 && uroce_udp_is_bound(dev->udp, index))
			return true;
	}
	return false;
}
