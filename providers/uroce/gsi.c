/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1, for the user-space connection manager: MADs as UD packets to QP number 1. A MAD may arrive
 * at any process that shares the address; one that has no use for it passes it on to the others.
 */
#include <string.h>
#include <sys/eventfd.h>

#include "providers/uroce/ops.h"
#include "providers/uroce/shm.h"

enum {
	GSI_QUEUE = 1024, /* MADs waiting for the manager; more are dropped, as a network may */
	GSI_QPN = 1,
	MAD_LEN = 256,
};
#define GSI_QKEY 0x80010000u

struct uroce_gsi {
	pthread_mutex_t lock;
	int fd;
	uint32_t head, tail; /* free running */
	uint32_t psn;
	struct verbs_gsi_mad queue[GSI_QUEUE];
};

static struct uroce_context *to_uctx(struct ibv_context *ctx)
{
	return (struct uroce_context *)to_vctx(ctx);
}

static int gsi_new(struct uroce_gsi **ret_gsi)
{
	struct uroce_gsi *gsi = calloc(1, sizeof(*gsi));

	if (!gsi)
		return -ENOMEM;
	gsi->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (gsi->fd < 0) {
		free(gsi);
		return -errno;
	}
	pthread_mutex_init(&gsi->lock, NULL);
	*ret_gsi = gsi;
	return 0;
}

int uroce_gsi_open(struct ibv_context *ctx, int *ret_fd)
{
	struct uroce_dev *dev = to_uctx(ctx)->dev;
	struct uroce_gsi *gsi;
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	gsi = dev->gsi;
	if (!gsi) {
		r = gsi_new(&gsi);
		if (!r) {
			uroce_lock(&dev->host->progress_lock);
			dev->gsi = gsi;
			uroce_unlock(&dev->host->progress_lock);
		}
	}
	pthread_mutex_unlock(&dev->lock);
	if (!r)
		*ret_fd = gsi->fd;
	return r;
}

void uroce_gsi_free(struct uroce_gsi *gsi)
{
	if (!gsi)
		return;
	close(gsi->fd);
	pthread_mutex_destroy(&gsi->lock);
	free(gsi);
}

int uroce_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad)
{
	struct uroce_dev *dev = to_uctx(ctx)->dev;
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = mad->port_num,
		.grh = { .dgid = mad->remote_gid, .sgid_index = mad->sgid_index, .hop_limit = 64 },
	};
	struct uroce_hdr hdr = {
		.opcode = UROCE_UD | UROCE_SEND_ONLY,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = GSI_QPN,
		.qkey = GSI_QKEY,
		.src_qpn = GSI_QPN,
	};
	struct iovec iov = { (void *)mad->data, MAD_LEN };
	struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = MAD_LEN };
	struct uroce_av av;
	int r;

	if (!dev->gsi)
		return -EINVAL;
	r = uroce_av_resolve(dev, &attr, 0, &av);
	if (r < 0)
		return r;
	pthread_mutex_lock(&dev->gsi->lock);
	hdr.psn = dev->gsi->psn++ & PSN_MASK;
	pthread_mutex_unlock(&dev->gsi->lock);
	r = av.path->ops->send(av.path, &av, &tx);
	if (!r && av.path->ops->flush)
		av.path->ops->flush(av.path);
	return r;
}

int uroce_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad)
{
	struct uroce_gsi *gsi = to_uctx(ctx)->dev->gsi;
	uint64_t rung;
	int r = -EAGAIN;

	if (!gsi)
		return -EINVAL;
	pthread_mutex_lock(&gsi->lock);
	if (gsi->tail != gsi->head) {
		*ret_mad = gsi->queue[gsi->tail++ % GSI_QUEUE];
		r = 0;
	}
	if (gsi->tail == gsi->head)
		(void)!read(gsi->fd, &rung, sizeof(rung));
	pthread_mutex_unlock(&gsi->lock);
	return r;
}

static void gsi_put(struct uroce_dev *dev, const struct uroce_packet *pkt,
		    const union ibv_gid *sgid, int sgid_index)
{
	struct uroce_gsi *gsi = dev->gsi;
	struct verbs_gsi_mad *mad;
	uint64_t one = 1;

	pthread_mutex_lock(&gsi->lock);
	if (gsi->head - gsi->tail < GSI_QUEUE) {
		mad = &gsi->queue[gsi->head++ % GSI_QUEUE];
		*mad = (struct verbs_gsi_mad){
			.src_qp = pkt->hdr.src_qpn,
			.port_num = 1,
			.sgid_index = sgid_index,
			.local_gid = dev->gids[sgid_index].gid,
			.remote_gid = *sgid,
		};
		memcpy(mad->data, pkt->payload.data, MAD_LEN);
		(void)!write(gsi->fd, &one, sizeof(one));
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

/* Return: whether this process has a manager for the address the MAD came to. */
static bool gsi_deliver(struct uroce_host *host, const struct uroce_packet *pkt,
			const union ibv_gid *sgid)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry) {
		int index = dev->gsi && pkt->dgid ? gid_index(dev, pkt->dgid) : -1;

		if (index < 0)
			continue;
		gsi_put(dev, pkt, sgid, index);
		return true;
	}
	return false;
}

void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid)
{
	if (pkt->hdr.opcode != (UROCE_UD | UROCE_SEND_ONLY) || pkt->hdr.qkey != GSI_QKEY || !sgid ||
	    pkt->payload.length != MAD_LEN || !pkt->payload.data)
		return;
	if (!gsi_deliver(host, pkt, sgid) && !pkt->forwarded)
		uroce_shm_forward_all(host->shm, pkt, sgid);
}
