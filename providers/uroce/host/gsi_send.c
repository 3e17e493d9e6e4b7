/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs that this process sends: to a process of this host, or to the network. */
#include <string.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gsi.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/process.h"

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
