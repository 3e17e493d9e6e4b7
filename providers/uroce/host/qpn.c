/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QPs by number: finding them, and what has to happen before one goes. */
#include <time.h>

#include "providers/uroce/host/host.h"

enum {
	SETTLE_PAUSE = 100000, /* ns: the peer is to take from a full ring */
	SETTLE_PAUSES = 200,   /* a process may be off the processor that long */
	QP_INDEX_MASK = (1 << UROCE_QP_INDEX_BITS) - 1,
};

int uroce_qpn_alloc(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	int r = -ENOMEM;

	pthread_mutex_lock(&host->lock);
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		uint32_t index = host->next_qpn++ & QP_INDEX_MASK;

		if (atomic_load_explicit(&host->qps[index], memory_order_relaxed))
			continue;
		qp->vqp.qp.qp_num = (uint32_t)host->paths.slot << UROCE_QP_INDEX_BITS | index;
		/* Pairs with uroce_qp_find(): the QP is complete when its number can be found. */
		atomic_store_explicit(&host->qps[index], qp, memory_order_release);
		atomic_fetch_add(&host->qp_count, 1);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&host->lock);
	return r;
}

/* Under progress_lock: destroy takes that lock after it emptied the slot, so what is found here
 * stays. */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn)
{
	struct uroce_qp *qp;

	assert_held(&host->paths.progress_lock);
	qp = atomic_load_explicit(&host->qps[qpn & QP_INDEX_MASK], memory_order_acquire);
	return qp && qp->vqp.qp.qp_num == qpn ? qp : NULL;
}

/* Once the number is free nobody finds the QP by it who holds host->lock. */
static void qpn_free(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);

	pthread_mutex_lock(&host->lock);
	uroce_counters_keep(qp);
	atomic_store_explicit(&host->qps[uroce_qpn_index(qp->vqp.qp.qp_num)], NULL,
			      memory_order_release);
	atomic_fetch_sub(&host->qp_count, 1);
	pthread_mutex_unlock(&host->lock);
}

/* Off every list the progress pass walks, and out of its hands. */
static void qp_unlist(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	struct uroce_engine *engine = &host->engine;

	uroce_lock(&host->paths.progress_lock);
	/* Only now: a pass that found it due may have armed it again. */
	uroce_timer_cancel(&engine->wheel, &qp->timer);
	if (qp->on_acks)
		TAILQ_REMOVE(&engine->acks, qp, ack_entry);
	qp->on_acks = false;
	uroce_lock(&engine->blocked_lock);
	if (qp->on_blocked)
		TAILQ_REMOVE(&engine->blocked, qp, blocked_entry);
	qp->on_blocked = false;
	uroce_unlock(&engine->blocked_lock);
	uroce_unlock(&host->paths.progress_lock);
}

static void udp_interest_drop(struct uroce_qp *qp)
{
	if (qp->type == IBV_QPT_UD || qp->udp_counted)
		atomic_fetch_sub_explicit(&qp_host(qp)->udp_interest, 1, memory_order_relaxed);
	qp->udp_counted = false;
}

void uroce_qp_withdraw(struct uroce_qp *qp)
{
	uroce_lock(&qp->lock);
	uroce_qp_owed_flush(qp);
	qp->state = IBV_QPS_RESET; /* packets on their way to it are dropped */
	uroce_qp_show(qp);
	uroce_unlock(&qp->lock);
	qpn_free(qp);
	qp_unlist(qp);
	udp_interest_drop(qp);
}

static bool qp_is_of(const struct uroce_qp *qp, const struct uroce_context *ctx)
{
	return !ctx || to_vctx(qp->vqp.qp.context) == &ctx->vctx;
}

static bool qp_settled(struct uroce_qp *qp)
{
	bool done;

	uroce_lock(&qp->lock);
	done = uroce_qp_owed_flush(qp);
	uroce_unlock(&qp->lock);
	return done;
}

static bool qps_settled(struct uroce_host *host, const struct uroce_context *ctx)
{
	bool done = true;
	unsigned int left;

	uroce_lock(&host->paths.progress_lock);
	left = atomic_load(&host->qp_count);
	for (uint32_t i = 0; left && i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (!qp)
			continue;
		left--;
		if (qp_is_of(qp, ctx))
			done = qp_settled(qp) && done;
	}
	uroce_unlock(&host->paths.progress_lock);
	return done;
}

void uroce_qps_settle(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only)
{
	static const struct timespec pause = { .tv_nsec = SETTLE_PAUSE };

	/* A process that has none left ends at once. */
	if (!atomic_load(&host->qp_count))
		return;
	for (unsigned int i = 0; i < SETTLE_PAUSES; i++) {
		uroce_progress_drain(host);
		if (only ? qp_settled(only) : qps_settled(host, ctx))
			return;
		nanosleep(&pause, NULL);
	}
}

/* The QP at @index if it is one of @ctx: then nobody destroys it meanwhile. */
static struct uroce_qp *qp_of(struct uroce_host *host, const struct uroce_context *ctx,
			      uint32_t index)
{
	struct uroce_qp *qp;

	if (!atomic_load_explicit(&host->qps[index], memory_order_relaxed))
		return NULL;
	uroce_lock(&host->paths.progress_lock);
	qp = atomic_load_explicit(&host->qps[index], memory_order_acquire);
	if (qp && !qp_is_of(qp, ctx))
		qp = NULL;
	uroce_unlock(&host->paths.progress_lock);
	return qp;
}

void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx)
{
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = qp_of(host, ctx, i);

		if (qp)
			uroce_qp_withdraw(qp);
	}
}

void uroce_qps_peer_gone(struct uroce_host *host, const struct uroce_path *path, const void *peer)
{
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (!qp)
			continue;
		uroce_lock(&qp->lock);
		if (qp->type == IBV_QPT_RC && qp->av.path == path && qp->av.peer == peer) {
			qp->peer_lost = true;
			uroce_req_peer_lost(qp, uroce_now());
		}
		uroce_unlock(&qp->lock);
	}
}
