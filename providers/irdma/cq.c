/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues except for polling: memory, arming, resizing and removal of completions.
 *
 * After a resize the device writes into the new ring. Completions of earlier rings are polled
 * first. Polls are done with a ring when a later ring has a completion. Then a counter in the
 * shadow area tells the device to which ring the head belongs.
 */
#include "providers/irdma/wqe.h"
#include "providers/kit/cq.h"

enum {
	CQES_MIN = 4, /* of the smallest ring */
	WC_FLAGS_GEN3 = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
};

static int cq_check(struct ibv_context *ibctx, const char *verb, uint32_t cqe)
{
	uint32_t most = irdma_cqes_most(to_ictx(ibctx), to_ictx(ibctx)->max_cq);

	if (cqe && cqe <= most)
		return 0;
	verbs_err(ibctx, "%s: %u entries are not possible (1 to %u are)", verb, cqe, most);
	return -EINVAL;
}

static int ex_check(const struct irdma_context *ctx, const struct verbs_create_cq *in)
{
	struct ibv_context *ibctx = (struct ibv_context *)&ctx->vctx.context;
	uint64_t flags = IBV_WC_STANDARD_FLAGS;

	if (in->extended && ctx->generation == 1) {
		verbs_err(ibctx, "ibv_create_cq_ex: an X722 has no extended completion queues");
		return -EOPNOTSUPP;
	}
	if (ctx->features & IRDMA_FEATURE_TIMESTAMPS)
		flags |= WC_FLAGS_GEN3;
	return kit_cq_ex_check(ibctx, in, flags);
}

/* ---- rings */

/* Return the entries of a ring for @cqe completions. Each completion may take two entries. */
static uint32_t ring_entries(const struct irdma_context *ctx, uint32_t cqe)
{
	uint32_t entries = cqe + 1;

	if (ctx->features & IRDMA_FEATURE_CQE_64)
		entries = ROUND_UP(entries, 2u);
	else if (ctx->generation > 1)
		entries *= 2;
	return max_of(entries, (uint32_t)CQES_MIN);
}

uint32_t irdma_cqes_most(const struct irdma_context *ctx, uint32_t entries)
{
	if (ctx->features & IRDMA_FEATURE_CQE_64)
		entries &= ~1u;
	else if (ctx->generation > 1)
		entries /= 2;
	return max_of(entries, 1u) - 1;
}

/* Make a ring. Without the ability to resize its shadow area follows the ring. */
static int ring_make(struct irdma_cq *cq, struct irdma_ring *ring, uint32_t entries)
{
	struct irdma_context *ctx = to_ictx(cq->kit.vcq.cq.context);
	size_t bytes = ROUND_UP((size_t)entries * cq->stride, (size_t)IRDMA_PAGE);
	const struct irdma_mem_reg_req request = {
		.reg_type = IRDMA_MEMREG_TYPE_CQ,
		.cq_pages = bytes / IRDMA_PAGE,
	};
	size_t shadow = ctx->features & IRDMA_FEATURE_RESIZE ? 0 : IRDMA_SHADOW;
	int r = bytes / IRDMA_PAGE > UINT16_MAX ? -EINVAL : 0;

	if (!r)
		r = irdma_memory_make(&ring->memory, &ctx->pd.pd, bytes + shadow, request);
	if (r < 0)
		return r;
	ring->next = ring->base = ring->memory.buf.base;
	ring->end = ring->base + (size_t)entries * cq->stride;
	ring->phase = IRDMA_VALID;
	if (shadow)
		cq->shadow = ring->base + bytes;
	return 0;
}

static int shadow_make(struct irdma_cq *cq)
{
	struct irdma_context *ctx = to_ictx(cq->kit.vcq.cq.context);
	const struct irdma_mem_reg_req request = {
		.reg_type = IRDMA_MEMREG_TYPE_CQ,
		.cq_pages = 1,
	};
	int r;

	if (cq->shadow)
		return 0;
	r = irdma_memory_make(&cq->shadow_memory, &ctx->pd.pd, IRDMA_SHADOW, request);
	cq->shadow = cq->shadow_memory.buf.base;
	return r;
}

static void rings_free(struct irdma_ring *ring)
{
	while (ring) {
		struct irdma_ring *later = ring->later;

		kit_region_free(&ring->memory);
		free(ring);
		ring = later;
	}
}

static void cq_free(struct irdma_cq *cq)
{
	rings_free(cq->old);
	rings_free(cq->done);
	kit_region_free(&cq->ring.memory);
	kit_region_free(&cq->shadow_memory);
}

/* ---- creation */

static int kernel_create(struct irdma_cq *cq, const struct verbs_create_cq *in, uint32_t entries)
{
	struct irdma_create_cq_req cmd = {
		.user_cq_buf = (uintptr_t)cq->ring.base,
		.user_shadow_area = (uintptr_t)cq->shadow,
	};
	struct irdma_create_cq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->kit.vcq, in, entries, &udata);

	if (r < 0)
		return r;
	cq->number = htole32(resp.cq_id);
	cq->kit.vcq.cq.cqe = in->attr->cqe;
	return 0;
}

int irdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct irdma_context *ctx = to_ictx(vcq->cq.context);
	struct irdma_cq *cq = to_icq(&vcq->cq);
	int r = ex_check(ctx, in);
	uint32_t entries;

	if (!r)
		r = cq_check(vcq->cq.context, "ibv_create_cq", in->attr->cqe);
	if (r < 0)
		return r;
	cq->stride = ctx->features & IRDMA_FEATURE_CQE_64 ? 2 * IRDMA_QUANTUM : IRDMA_QUANTUM;
	cq->generation = ctx->generation;
	cq->doorbell = (char *)ctx->doorbells.base + IRDMA_DB_ARM;
	entries = ring_entries(ctx, in->attr->cqe);
	r = ring_make(cq, &cq->ring, entries);
	if (!r)
		r = shadow_make(cq);
	if (!r)
		r = kernel_create(cq, in, entries);
	if (r < 0)
		cq_free(cq);
	else if (in->extended)
		irdma_cq_ex_set_slots(cq, in->attr->wc_flags);
	return r;
}

int irdma_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_free(to_icq(&vcq->cq));
	return r;
}

/* ---- arming */

/* Arm the queue. The sequence number tells the device that this is a new request. */
static void arm(struct irdma_cq *cq, bool any)
{
	uint32_t *at = (uint32_t *)(void *)(cq->shadow + AT_ARM);
	uint32_t word = le32toh(*at), sequence = word >> ARM_SEQUENCE_SHIFT;

	word = (word & ARM_SELECT_MASK) | ARM_SOLICITED | (any ? ARM_ANY : 0) |
	       ((sequence + 1) & ARM_SEQUENCE_MASK) << ARM_SEQUENCE_SHIFT;
	*(volatile uint32_t *)at = htole32(word);
	barrier_to_device();
	mmio_write_32(cq->doorbell, cq->number);
}

/* A request for solicited completions does not weaken a request for all completions. */
FLAT int arm_locked(struct irdma_cq *cq, int solicited_only)
{
	cq->armed_any |= !solicited_only;
	arm(cq, cq->armed_any);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int arm_waited(struct irdma_cq *cq, int solicited_only)
{
	spinlock_wait(&cq->lock);
	return arm_locked(cq, solicited_only);
}

int irdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct irdma_cq *cq = to_icq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return arm_waited(cq, solicited_only);
	return arm_locked(cq, solicited_only);
}

void irdma_cq_event(struct verbs_cq *vcq)
{
	struct irdma_cq *cq = to_icq(&vcq->cq);

	spinlock_lock(&cq->lock);
	cq->armed_any = false;
	spinlock_unlock(&cq->lock);
}

/* ---- resizing */

void irdma_cq_pass_rings(struct irdma_cq *cq, const struct irdma_ring *ring)
{
	uint32_t *at = (uint32_t *)(void *)(cq->shadow + AT_ARM);
	uint32_t word = le32toh(*at), passed = 0;

	while (cq->old && cq->old != ring) {
		struct irdma_ring *first = cq->old;

		cq->old = first->later;
		first->later = cq->done;
		cq->done = first;
		passed++;
	}
	if (!passed)
		return;
	word = (word & ~(uint32_t)ARM_SELECT_MASK) | ((word + passed) & ARM_SELECT_MASK);
	*(volatile uint32_t *)at = htole32(word);
}

/* Let polls continue with @fresh after the present ring, which moves to @kept. */
static void ring_switch(struct irdma_cq *cq, const struct irdma_ring *fresh,
			struct irdma_ring *kept)
{
	struct irdma_ring **last = &cq->old;

	while (*last)
		last = &(*last)->later;
	*kept = cq->ring;
	*last = kept;
	cq->ring = *fresh;
}

/* Let the kernel switch to a new ring. @kept: memory for the present ring */
static int resize(struct irdma_cq *cq, const struct verbs_resize_cq *in, uint32_t entries,
		  struct irdma_ring *kept)
{
	struct irdma_ring fresh = {}, *done;
	struct irdma_resize_cq_req cmd;
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_resize_cq request = { .cqe = entries, .udata = &udata };
	int r = ring_make(cq, &fresh, entries);

	if (r < 0)
		return r;
	cmd.user_cq_buffer = (uintptr_t)fresh.base;
	r = uverbs_resize_cq(&cq->kit.vcq, &request);
	if (r < 0) {
		kit_region_free(&fresh.memory);
		return r;
	}
	spinlock_lock(&cq->lock);
	ring_switch(cq, &fresh, kept);
	done = cq->done;
	cq->done = NULL;
	spinlock_unlock(&cq->lock);
	rings_free(done);
	return 0;
}

static int resize_serial(struct irdma_cq *cq, const struct verbs_resize_cq *in)
{
	uint32_t entries = ring_entries(to_ictx(cq->kit.vcq.cq.context), in->cqe);
	struct irdma_ring *kept;
	int r;

	if ((size_t)(cq->ring.end - cq->ring.base) == (size_t)entries * cq->stride)
		return 0;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	r = resize(cq, in, entries, kept);
	if (r < 0)
		free(kept);
	return r;
}

int irdma_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct irdma_context *ctx = to_ictx(vcq->cq.context);
	int r;

	if (!(ctx->features & IRDMA_FEATURE_RESIZE)) {
		verbs_err(vcq->cq.context, "ibv_resize_cq: the adapter cannot resize");
		return -EOPNOTSUPP;
	}
	r = cq_check(vcq->cq.context, "ibv_resize_cq", in->cqe);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ctx->resize);
	r = resize_serial(to_icq(&vcq->cq), in);
	if (!r)
		vcq->cq.cqe = in->cqe;
	pthread_mutex_unlock(&ctx->resize);
	return r;
}

/* ---- removal of completions */

/* Remove the completion of @qp. The entry stays, because the phase bit belongs to its place.
 * The receive of a shared queue is freed. */
static void cqe_clean(const struct irdma_cq *cq, const struct irdma_ring *ring, char *cqe,
		      uint64_t head, const struct irdma_qp *qp)
{
	char *at = head & CQE_OF_SRQ ? extension_of(cq, ring, cqe) + AT_SECOND : cqe + AT_SECOND;

	if (word_read(at) != irdma_handle(qp->id))
		return;
	word_write(at, 0);
	if (head & CQE_OF_SRQ && qp->srq)
		atomic_fetch_add_explicit(&qp->srq->tail, 1, memory_order_release);
}

static void ring_clean(const struct irdma_cq *cq, const struct irdma_ring *ring,
		       const struct irdma_qp *qp)
{
	size_t most = (ring->end - ring->base) / cq->stride;
	uint64_t phase = ring->phase;
	char *at = ring->next;

	for (size_t i = 0; i < most; i++) {
		uint64_t head = word_read(at + AT_HEADER);
		bool two = head & CQE_EXTENDED && cq->stride == IRDMA_QUANTUM;

		if ((head & IRDMA_VALID) != phase)
			return;
		barrier_from_device();
		cqe_clean(cq, ring, at, head, qp);
		for (int step = 0; step <= two; step++) {
			at += cq->stride;
			if (at == ring->end) {
				at = ring->base;
				phase ^= IRDMA_VALID;
			}
		}
	}
}

static void clean_locked(struct irdma_cq *cq, const struct irdma_qp *qp)
{
	cq->last_handle = 0;
	for (struct irdma_ring *ring = cq->old; ring; ring = ring->later)
		ring_clean(cq, ring, qp);
	ring_clean(cq, &cq->ring, qp);
}

void irdma_cqs_clean(struct irdma_qp *qp)
{
	struct irdma_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	clean_locked(send_cq, qp);
	if (recv_cq != send_cq)
		clean_locked(recv_cq, qp);
	idtable_remove(&to_ictx(qp->vqp.qp.context)->qps, qp->id);
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}
