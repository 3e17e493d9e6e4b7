/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP numbers: assigning them, and the end of a QP. */
#include <time.h>

#include "providers/uroce/host/counters.h"
#include "providers/uroce/host/progress.h"
#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/show.h"

enum {
	FINISH_PAUSE = 100000, /* ns: pause in which the peer may empty its full ring */
	FINISH_PAUSES =
		200, /* limit of pauses, because a process may not be scheduled for this long */
	QP_INDEX_MASK = (1 << UROCE_QP_INDEX_BITS) - 1,
	BLOCK = 1 << UROCE_QPN_BLOCK_BITS,
	BLOCK_MASK = BLOCK - 1,
	PART = 1 << UROCE_QPN_PART_BITS,
	REST_BLOCKS = 16, /* maximum of blocks that are claimed to let numbers rest */
};
#define REST 60000000000ull /* ns; as long as TCP keeps a closed connection */

/* --- numbers; under host->lock --- */

static unsigned int blocks_count(const struct uroce_host *host)
{
	unsigned int count = 0;

	for (uint32_t index = 0; index <= QP_INDEX_MASK; index += BLOCK)
		count += uroce_qpn_block(host, index) != 0;
	return count;
}

/* Claim a block, and take the next number from it. @needed: log a failure. */
static int block_add(struct uroce_host *host, bool needed)
{
	int slot = uroce_shm_slot_more(host->shm, needed);

	if (slot < 0)
		return slot;
	host->next_qpn = uroce_slot_place(slot) * BLOCK | (host->next_qpn & BLOCK_MASK);
	return 0;
}

/*
 * --- numbers that rest; under host->lock ---
 *
 * A peer, or a packet on its way, may name a QP for some time after that QP has gone. If a peer
 * knew the number, no other QP gets it for a minute, or until the process lacks numbers. Numbers
 * that peers of a former process may know rest as well.
 */

static void rest_begin(struct uroce_host *host, uint32_t index)
{
	struct uroce_rest *rest = &host->rests[uroce_qpn_strand(index)];

	host->resting[index] = (struct uroce_resting){ .until = uroce_now() + REST };
	if (rest->count++)
		host->resting[rest->last].next = index;
	else
		rest->first = index;
	rest->last = index;
}

static void rest_end_first(struct uroce_host *host, struct uroce_rest *rest)
{
	uint32_t index = rest->first;

	rest->first = host->resting[index].next;
	rest->count--;
	host->resting[index].until = 0;
}

static void rests_end(struct uroce_host *host, struct uroce_rest *rest)
{
	uint64_t now = rest->count ? uroce_now() : 0;

	while (rest->count && host->resting[rest->first].until <= now)
		rest_end_first(host, rest);
}

/*
 * Before the first use of a part of the first block, check whether a former process used it. If so,
 * let its numbers rest for a minute, because the kernel does not report how long they have rested.
 * Return: false: they have begun to rest. Further blocks were checked when they were claimed.
 */
static bool part_look(struct uroce_host *host, uint32_t index)
{
	uint16_t slot = uroce_qpn_block(host, index);
	uint32_t bit = 1u << uroce_qpn_part(index), first = index & ~(PART - 1u);

	if (slot != host->paths.slot || host->parts_looked & bit)
		return true;
	host->parts_looked |= bit;
	if (!uroce_shm_part_rests(slot, uroce_qpn_part(index)))
		return true;
	for (uint32_t i = first; i < first + PART; i++)
		rest_begin(host, i);
	return false;
}

/* --- the next number; under host->lock --- */

/* Return how many numbers of the strand no QP has. */
static uint32_t strand_left(const struct uroce_host *host, unsigned int strand)
{
	uint32_t of_others = BLOCK / (PATH_STRAND_MASK + 1);
	uint32_t of_block = strand ? of_others : BLOCK - (PATH_STRANDS - 1) * of_others;

	return blocks_count(host) * of_block - host->strand_qps[strand];
}

/* Return whether at least one of these numbers does not rest. */
static bool strand_ready(struct uroce_host *host, unsigned int strand)
{
	rests_end(host, &host->rests[strand]);
	return strand_left(host, strand) > host->rests[strand].count;
}

/*
 * Ensure that at least one free number of the strand does not rest. If necessary, end the rest of
 * the oldest number. Return: false if QPs use all numbers.
 */
static bool strand_free(struct uroce_host *host, unsigned int strand)
{
	if (!strand_left(host, strand))
		return false;
	if (!strand_ready(host, strand))
		rest_end_first(host, &host->rests[strand]);
	return true;
}

/* Claim another block, so that numbers can rest. */
static bool rest_block_add(struct uroce_host *host)
{
	uint64_t now = uroce_now();

	if (now < host->rests_full)
		return false;
	if (blocks_count(host) < REST_BLOCKS && block_add(host, false) >= 0)
		return true;
	host->rests_full = now + REST;
	return false;
}

/*
 * Choose the strand of a new QP: *@strand if that has free numbers, else the first strand. If the
 * first strand has no free number, claim another block for it, and if that fails take any strand.
 */
static int strand_choose(struct uroce_host *host, unsigned int *strand)
{
	int r = -ENOMEM;

	if (*strand && !strand_ready(host, *strand))
		*strand = 0;
	if (*strand || strand_ready(host, 0) || rest_block_add(host) || strand_free(host, 0))
		return 0;
	if (blocks_count(host) < UROCE_BLOCKS)
		r = block_add(host, true);
	for (unsigned int i = 1; r == -ENOMEM && i < PATH_STRANDS; i++) {
		if (!strand_free(host, i))
			continue;
		*strand = i;
		r = 0;
	}
	return r == -ENOMEM ? block_add(host, true) : r;
}

/*
 * Take the next free number of the strand. Numbers are assigned in order, beginning with a random
 * one.
 */
static int index_take(struct uroce_host *host, unsigned int strand, uint32_t *ret)
{
	int r = strand_choose(host, &strand);

	while (!r) {
		uint32_t index = host->next_qpn & QP_INDEX_MASK;

		/*
		 * Continue at the same place of the next block, so that the first number of that
		 * block is random as well.
		 */
		if (!uroce_qpn_block(host, index)) {
			host->next_qpn = index + BLOCK;
			continue;
		}
		if (!part_look(host, index)) {
			r = strand_choose(host, &strand);
			continue;
		}
		host->next_qpn = index + 1;
		if (uroce_qpn_strand(index) != strand || host->resting[index].until ||
		    atomic_load_explicit(&host->qps[index], memory_order_relaxed))
			continue;
		*ret = index;
		break;
	}
	return r;
}

/*
 * Return the strand that the QP should have. Each CQ gets a strand when it becomes the receive CQ
 * of a connected QP, and such QPs use the strand of their receive CQ. CQs get strands in turn, so
 * that CQs polled by different threads have different strands as far as possible. Other QPs use the
 * first strand, like packets of a network.
 */
static unsigned int strand_wanted(struct uroce_host *host, const struct uroce_qp *qp)
{
	struct uroce_cq *cq = qp->recv_cq;

	if (!cq || (qp->type != IBV_QPT_RC && qp->type != IBV_QPT_UC))
		return 0;
	if (!cq->strand_given)
		cq->strand = atomic_fetch_add(&host->next_strand, 1) % PATH_STRANDS;
	cq->strand_given = true;
	return cq->strand;
}

/* Let pollers of the QP's CQs poll the strand. */
static void cqs_join(struct uroce_qp *qp, unsigned int strand)
{
	unsigned int bit = 1u << strand;

	if (qp->send_cq)
		atomic_fetch_or_explicit(&qp->send_cq->strands, bit, memory_order_relaxed);
	if (qp->recv_cq)
		atomic_fetch_or_explicit(&qp->recv_cq->strands, bit, memory_order_relaxed);
}

void uroce_qp_network_join(struct uroce_qp *qp)
{
	cqs_join(qp, 0);
}

static void strand_join(struct uroce_host *host, struct uroce_qp *qp)
{
	host->strand_qps[qp->strand]++;
	cqs_join(qp, qp->strand);
	if (qp->type == IBV_QPT_UD)
		uroce_qp_network_join(qp);
	if (qp->strand)
		atomic_store_explicit(&host->strands_used, true, memory_order_relaxed);
}

int uroce_qpn_alloc(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	uint32_t index;
	int r;

	pthread_mutex_lock(&host->lock);
	r = index_take(host, strand_wanted(host, qp), &index);
	if (!r) {
		qp->vqp.qp.qp_num = (uint32_t)uroce_qpn_block(host, index) << UROCE_QPN_BLOCK_BITS |
				    (index & BLOCK_MASK);
		qp->strand = uroce_qpn_strand(index);
		strand_join(host, qp);
		/* Pairs with uroce_qp_find(): the QP is complete before its number can be found. */
		atomic_store_explicit(&host->qps[index], qp, memory_order_release);
		atomic_fetch_add(&host->qp_count, 1);
	}
	pthread_mutex_unlock(&host->lock);
	return r;
}

/* Free the number of a QP. Afterwards holders of host->lock do not find the QP by it. */
static void qpn_free(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	uint32_t index = uroce_qpn_index(qp->vqp.qp.qp_num);

	pthread_mutex_lock(&host->lock);
	uroce_counters_keep(qp);
	atomic_store_explicit(&host->qps[index], NULL, memory_order_release);
	if (qp->was_connected || qp->type == IBV_QPT_UD)
		rest_begin(host, index);
	host->strand_qps[qp->strand]--;
	atomic_fetch_sub(&host->qp_count, 1);
	pthread_mutex_unlock(&host->lock);
}

/* Remove the QP from every list that a pass walks, and wait for passes that handle it. */
static void qp_unlist(struct uroce_qp *qp)
{
	struct uroce_host *host = qp_host(qp);
	struct uroce_strand *strand = uroce_qp_strand(qp);

	path_host_stop(&host->paths);
	/* Cancel the timer only now, because a pass that found it due may have armed it again. */
	uroce_timer_cancel(&host->engine.wheel, &qp->timer);
	if (qp->on_acks)
		TAILQ_REMOVE(&strand->acks, qp, ack_entry);
	qp->on_acks = false;
	uroce_lock(&strand->blocked_lock);
	if (qp->on_blocked)
		TAILQ_REMOVE(&strand->blocked, qp, blocked_entry);
	qp->on_blocked = false;
	uroce_unlock(&strand->blocked_lock);
	path_host_go(&host->paths);
}

static void udp_interest_drop(struct uroce_qp *qp)
{
	if (qp->type == IBV_QPT_UD || qp->udp_counted)
		atomic_fetch_sub_explicit(&qp_host(qp)->udp_interest, 1, memory_order_relaxed);
	qp->udp_counted = false;
}

void uroce_qp_withdraw(struct uroce_qp *qp)
{
	uint32_t peer_qpn;

	uroce_lock(&qp->lock);
	peer_qpn = qp->dest_qpn;
	uroce_qp_owed_flush(qp);
	qp->state = IBV_QPS_RESET; /* drops packets that arrive from now on */
	uroce_qp_show(qp);
	uroce_cq_qp_purge(qp); /* before another QP gets its number */
	uroce_unlock(&qp->lock);
	uroce_qp_fence(qp, peer_qpn);
	/* Without its number the QP is not found, but a pass may still handle it. */
	uroce_shm_find_begin(qp_host(qp)->shm);
	qpn_free(qp);
	qp_unlist(qp);
	uroce_shm_find_end(qp_host(qp)->shm);
	udp_interest_drop(qp);
}

static bool qp_is_of(const struct uroce_qp *qp, const struct uroce_context *ctx)
{
	return !ctx || to_vctx(qp->vqp.qp.context) == &ctx->vctx;
}

static bool qp_finished(struct uroce_qp *qp)
{
	bool done;

	uroce_lock(&qp->lock);
	done = uroce_qp_owed_flush(qp);
	uroce_unlock(&qp->lock);
	return done;
}

static bool qps_finished(struct uroce_host *host, const struct uroce_context *ctx)
{
	struct uroce_qp *qp;
	bool done = true;

	uroce_lock(&host->paths.progress_lock);
	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++)
		if (qp_is_of(qp, ctx))
			done = qp_finished(qp) && done;
	uroce_unlock(&host->paths.progress_lock);
	return done;
}

void uroce_qps_finish(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only)
{
	static const struct timespec pause = { .tv_nsec = FINISH_PAUSE };

	/* Let a process without QPs end at once. */
	if (!atomic_load(&host->qp_count))
		return;
	for (unsigned int i = 0; i < FINISH_PAUSES; i++) {
		uroce_progress_drain(host);
		if (only ? qp_finished(only) : qps_finished(host, ctx))
			return;
		nanosleep(&pause, NULL);
	}
}

/*
 * Find the next QP of @ctx. The caller ensures that the program does not destroy the QP during the
 * call.
 */
static struct uroce_qp *qp_of(struct uroce_host *host, const struct uroce_context *ctx,
			      uint32_t *index)
{
	struct uroce_qp *qp;

	uroce_lock(&host->paths.progress_lock);
	while ((qp = uroce_qp_next(host, index)) && !qp_is_of(qp, ctx))
		++*index;
	uroce_unlock(&host->paths.progress_lock);
	return qp;
}

void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx)
{
	struct uroce_qp *qp;

	for (uint32_t i = 0; (qp = qp_of(host, ctx, &i)); i++)
		uroce_qp_withdraw(qp);
}
