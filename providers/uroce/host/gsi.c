/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP1, for the user-space connection manager: MADs as UD packets to QP number 1. */
#include <string.h>
#include <sys/eventfd.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gsi.h"

enum {
	/* MADs waiting for the manager; the queue drops more, as a network would */
	GSI_QUEUE = 1 << 14,
};

struct uroce_gsi {
	pthread_mutex_t lock;
	struct verbs_gsi_taker taker;
	int fd;
	bool rung; /* fd is readable */
	bool came; /* on host->gsi_came; under progress_lock */
	SLIST_ENTRY(uroce_gsi) came_entry;
	uint32_t head, tail; /* free running; 0 if the queue is empty */
	atomic_uint psn;
	struct gsi_paths paths;
	struct verbs_gsi_mad queue[GSI_QUEUE]; /* pages are allocated at their first use */
};

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

/* Make the descriptor readable until the queue is empty. Under gsi->lock. */
static void gsi_ring(struct uroce_gsi *gsi)
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
			gsi_ring(gsi);
		else if (!gsi->came)
			SLIST_INSERT_HEAD(&host->gsi_came, gsi, came_entry);
		gsi->came |= host->gsi_attended;
	}
	pthread_mutex_unlock(&gsi->lock);
}

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
			gsi_ring(gsi);
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

/* --- out --- */

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

/*
 * Route a MAD to a process of this host. Return: -ENOENT if the destination is not an address of
 * this user's processes.
 */
static int route_here(struct uroce_dev *dev, const struct verbs_gsi_mad *mad,
		      enum gsi_verdict *ret_verdict, uint16_t *ret_slot)
{
	const struct uroce_gid *gid = &dev->gids[mad->sgid_index];
	struct gsi_transit transit = {
		.from = { .sgid = gid->gid, .dgid = uroce_gid_canonical(&mad->remote_gid) },
		.mad = mad->data,
		.src_qpn = GSI_QPN,
	};

	assert_held(&dev->host->paths.progress_lock);
	if (!gid->valid)
		return -EINVAL;
	if (!uroce_gsi_is_ours(dev->host, &transit.from.dgid))
		return -ENOENT;
	*ret_verdict = uroce_gsi_route(dev->host, &transit, false, uroce_now(), ret_slot);
	return 0;
}

static int send_here(struct uroce_dev *dev, const struct verbs_gsi_mad *mad)
{
	struct uroce_host *host = dev->host;
	enum gsi_verdict verdict;
	uint16_t slot = 0;
	int r;

	uroce_lock(&host->paths.progress_lock);
	r = route_here(dev, mad, &verdict, &slot);
	uroce_unlock(&host->paths.progress_lock);
	if (r < 0)
		return r;
	if (verdict == GSI_LATER)
		uroce_forward_want(host, slot);
	return verdict == GSI_DONE ? 0 : -EAGAIN;
}

static int send_out(struct uroce_dev *dev, const struct verbs_gsi_mad *mad)
{
	struct uroce_hdr hdr = {
		.opcode = UROCE_UD | UROCE_SEND_ONLY,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = GSI_QPN,
		.qkey = GSI_QKEY,
		.src_qpn = GSI_QPN,
	};
	struct iovec iov = { (void *)mad->data, GSI_MAD_LEN };
	struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = GSI_MAD_LEN };
	struct uroce_av av;
	int r = uroce_gsi_path(dev, &dev->gsi->paths, mad, &av);

	if (r < 0)
		return r;
	hdr.psn = atomic_fetch_add_explicit(&dev->gsi->psn, 1, memory_order_relaxed) & PSN_MASK;
	r = av.path->ops->send(av.path, &av, &tx);
	if (!r && av.path->ops->flush)
		av.path->ops->flush(av.path);
	return r;
}

int uroce_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	int r = uroce_host_check(dev->host);

	if (r < 0)
		return r;
	if (!dev->gsi || mad->sgid_index >= UROCE_GID_MAX)
		return -EINVAL;
	r = send_here(dev, mad);
	return r == -ENOENT ? send_out(dev, mad) : r;
}

int uroce_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd)
{
	const struct gsi_transit transit = { .mad = mad->data, .src_qpn = GSI_QPN };
	struct uroce_dev *dev = ctx_dev(ctx);
	int r = uroce_host_check(dev->host);
	uint8_t packet[GSI_PACKET_MAX];
	struct uroce_av av;

	if (!r && (!dev->gsi || mad->sgid_index >= UROCE_GID_MAX))
		r = -EINVAL;
	if (!r)
		r = uroce_gsi_path(dev, &dev->gsi->paths, mad, &av);
	if (!r && av.local)
		r = -ENOENT;
	return r < 0 ? r
		     : uroce_udp_probe(&av, dev->ifindex, packet, uroce_gsi_pack(&transit, packet),
				       fd);
}
