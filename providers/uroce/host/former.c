/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of peers: QPs that are connected to them fail, and their structs are freed. */
#include "providers/uroce/host/former.h"
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/show.h"

void uroce_qps_peer_gone(struct uroce_host *host, const struct uroce_path *path, const void *peer)
{
	struct uroce_qp *qp;

	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++) {
		uroce_lock(&qp->lock);
		if (uroce_qp_reliable(qp) && qp->av.path == path && qp->av.peer == peer) {
			qp->peer_lost = true;
			uroce_qp_show(qp);
			uroce_req_peer_lost(qp, uroce_now());
		}
		uroce_unlock(&qp->lock);
	}
}

static void av_keep(const struct uroce_host *host, const struct uroce_av *av)
{
	if (av->path == &host->shm->path)
		uroce_shm_former_keep(av->peer);
}

static void datagram_keep(const struct uroce_host *host, const struct uroce_swqe *wqe)
{
	if (swqe_has_av(wqe))
		av_keep(host, &wqe->ud.av);
}

/* Keep the peers that the QP names in its own address vector and in those of its datagrams. */
static void qp_keep(const struct uroce_host *host, struct uroce_qp *qp)
{
	uroce_lock(&qp->lock);
	av_keep(host, &qp->av);
	if (qp->type == IBV_QPT_UD)
		for (uint32_t i = qp->sq.tail; i != qp->sq.head; i++)
			datagram_keep(host, sq_wqe(&qp->sq, i));
	uroce_unlock(&qp->lock);
}

void uroce_former_peers_free(struct uroce_host *host)
{
	struct uroce_qp *qp;

	/* A fault may hold a packet back together with its address vector. */
	if (unlikely(host->faults) || !uroce_shm_former_many(host->shm))
		return;
	path_host_stop(&host->paths);
	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++)
		qp_keep(host, qp);
	path_host_go(&host->paths);
	uroce_shm_former_free(host->shm);
}
