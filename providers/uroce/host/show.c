/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of this process's board: QPs that receive, and regions that peers may access. */
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/show.h"
#include "providers/uroce/host/watch.h"

static bool qp_receives(const struct uroce_qp *qp)
{
	/*
	 * A QP accepts no packets by any path after its peer has gone or this process stopped
	 * reading from the peer.
	 */
	return (qp->type == IBV_QPT_RC || qp->type == IBV_QPT_XRC_RECV) && !qp->peer_lost &&
	       !qp->ending &&
	       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

/* Return the access that the QP grants. Without resources for reads and atomics it refuses both. */
static uint32_t qp_access(const struct uroce_qp *qp)
{
	const uint32_t answered = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	return qp->resp.max_rd_atomic ? qp->access : qp->access & ~answered;
}

/*
 * Return whether peers may fetch messages that the QP sends by reference. Only reliable QPs send by
 * reference.
 */
static bool qp_sends(const struct uroce_qp *qp)
{
	return (qp->type == IBV_QPT_RC || qp->type == IBV_QPT_XRC_SEND) && !qp->ending &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

void uroce_qp_show(struct uroce_qp *qp)
{
	struct uroce_shm *shm = qp_host(qp)->shm;

	assert_held(&qp->lock);
	uroce_board_qp_sends(shm, qp->vqp.qp.qp_num, qp_sends(qp));
	if (!qp_receives(qp))
		uroce_board_qp_hide(shm, qp->vqp.qp.qp_num);
	else if (qp->type == IBV_QPT_XRC_RECV) /* no PD, and no one-sided operations */
		uroce_board_qp_show(shm, qp->vqp.qp.qp_num, 0, shm_qp_state(0, 0, 0), qp->dest_qpn);
	else
		uroce_board_qp_show(shm, qp->vqp.qp.qp_num, qp->vqp.qp.pd->handle,
				    shm_qp_state(qp_access(qp), qp->av.path_mtu, qp->rq_psn),
				    qp->dest_qpn);
}

bool uroce_qp_hide_lost(struct uroce_qp *qp)
{
	struct uroce_shm *shm = qp_host(qp)->shm;

	assert_held(&qp->lock);
	if (!qp_receives(qp) || !uroce_board_qp_loses(shm, qp->vqp.qp.qp_num, qp_access(qp)))
		return false;
	uroce_board_qp_hide(shm, qp->vqp.qp.qp_num);
	return true;
}

void uroce_qp_fence(struct uroce_qp *qp, uint32_t peer_qpn)
{
	uroce_board_qp_wait(qp_host(qp)->shm, qp->vqp.qp.qp_num, peer_qpn);
}

/* --- regions, under keys->lock --- */

static struct uroce_shm *watch_shm(struct uroce_keys_watch *watch)
{
	return container_of(watch, struct uroce_host, regions)->shm;
}

static void region_show(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	if (key->pd)
		uroce_board_key_show(watch_shm(watch), key->key,
				     &(const struct shm_region){ .iova = key->iova,
								 .length = key->length,
								 .base = key->base,
								 .pd = key->pd->handle,
								 .access = key->access });
}

static void region_hide(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	uroce_board_key_hide(watch_shm(watch), key->key);
}

/* Called without keys->lock. */
static void region_wait(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	uroce_board_key_wait(watch_shm(watch), key->key);
}

void uroce_regions_show(struct uroce_host *host)
{
	host->regions = (struct uroce_keys_watch){ .show = region_show,
						   .hide = region_hide,
						   .wait = region_wait };
	host->engine.keys->watch = &host->regions;
}
