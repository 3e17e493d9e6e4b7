/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, resizing, and removal of the completions of
 * a queue pair. */
#include "providers/kit/cq.h"
#include "providers/mthca/wqe.h"

enum {
	CQE_COUNT_MAX = 1 << 17, /* largest number that a program may ask for */
	/* in the arming record */
	ARM_SOLICITED = 1,
	ARM_ALL = 2,
	ARM_SN_SHIFT = 3,
	ARM_TYPE_SHIFT = 5,
	ARM_NUMBER_SHIFT = 8,
	/* in the register of adapters with records */
	DB_ARM_SHIFT = 24,
	DB_SN_SHIFT = 28,
	/* in the register of adapters without records: minus ARM_SOLICITED or ARM_ALL */
	DB_TAVOR_ARM = 4 << 24,
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: mthca has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	return mlx_cq_check(ctx, in, 0, CQE_COUNT_MAX + 1);
}

/* Allocate a ring, whose entries belong to the adapter. */
static int ring_make(struct mthca_context *ctx, uint32_t count, struct kit_region *ret_memory)
{
	int r = mthca_region_make(ret_memory, &ctx->pd.pd, (size_t)count * CQE_BYTES,
				  MTHCA_MR_DMASYNC);

	for (uint32_t i = 0; !r && i < count; i++)
		((struct mthca_cqe *)ret_memory->buf.base)[i].owner = CQE_HARDWARE;
	return r;
}

static void cq_free(struct mthca_cq *cq)
{
	struct mthca_context *ctx = to_mctx(cq->vcq.cq.context);

	mthca_record_free(ctx, &cq->set_ci);
	mthca_record_free(ctx, &cq->arm);
	kit_region_free(&cq->memory);
}

static int cq_ask(struct mthca_cq *cq, const struct verbs_create_cq *in, uint32_t count)
{
	struct mthca_context *ctx = to_mctx(cq->vcq.cq.context);
	struct mthca_create_cq_resp resp = {};
	struct mthca_create_cq cmd = {
		.lkey = cq->memory.mr.ibv_mr.lkey,
		.pdn = ctx->pd_number,
		.arm_db_page = mthca_record_page(&cq->arm),
		.set_db_page = mthca_record_page(&cq->set_ci),
		.arm_db_index = cq->arm.index,
		.set_db_index = cq->set_ci.index,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->vcq, in, count - 1, &udata);

	if (r < 0)
		return r;
	cq->vcq.cq.cqe = count - 1;
	cq->number = resp.cqn & MTHCA_NUMBER_MASK;
	return 0;
}

/*
 * Prepare the next arming. With records, the upper half of a word is the first word of the
 * doorbell, and the lower half is the second word of the record. Without records it is the
 * doorbell.
 */
static void arm_prepare(struct mthca_cq *cq)
{
	uint32_t sn = cq->arm_sn & 3;

	for (uint32_t command = ARM_SOLICITED; command <= ARM_ALL; command++) {
		uint32_t record = cq->number << ARM_NUMBER_SHIFT |
				  MTHCA_RECORD_ARM << ARM_TYPE_SHIFT | sn << ARM_SN_SHIFT | command;
		uint32_t reg = sn << DB_SN_SHIFT | command << DB_ARM_SHIFT | cq->number;
		uint32_t tavor = DB_TAVOR_ARM - (command << DB_ARM_SHIFT) + cq->number;

		cq->arms[command == ARM_SOLICITED] =
			cq->arm.words ? (uint64_t)htobe32(reg) << 32 | htobe32(record)
				      : mlx_both(htobe32(tavor), UINT32_MAX);
	}
}

int mthca_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mthca_context *ctx = to_mctx(vcq->cq.context);
	struct mthca_cq *cq = to_mthca_cq(&vcq->cq);
	uint32_t count;
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	count = round_up_pow2(in->attr->cqe + 1);
	r = ring_make(ctx, count, &cq->memory);
	if (!r)
		r = mthca_record_alloc(ctx, MTHCA_RECORD_SET_CI, &cq->set_ci);
	if (!r)
		r = mthca_record_alloc(ctx, MTHCA_RECORD_ARM, &cq->arm);
	if (!r)
		r = cq_ask(cq, in, count);
	if (r < 0) {
		cq_free(cq);
		return r;
	}
	mthca_record_name(&cq->set_ci, MTHCA_RECORD_SET_CI, cq->number);
	mthca_record_name(&cq->arm, MTHCA_RECORD_ARM, cq->number);
	cq->ring = cq->memory.buf.base;
	cq->mask = count - 1;
	cq->last_qpn = MTHCA_NO_QPN;
	cq->arm_sn = 1;
	arm_prepare(cq);
	cq->doorbell = (char *)ctx->uar.base + MTHCA_REG_CQ;
	return 0;
}

int mthca_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_free(to_mthca_cq(&vcq->cq));
	return r;
}

/* ---- arming */

void mthca_cq_event(struct verbs_cq *vcq)
{
	struct mthca_cq *cq = to_mthca_cq(&vcq->cq);

	cq->arm_sn++;
	arm_prepare(cq);
}

/* Store both words of a record, if possible at once. */
static inline void arm_record_store(__be32 *words, __be32 counter, __be32 arm)
{
#if UINTPTR_MAX > UINT32_MAX
	*(volatile uint64_t *)(void *)words = mlx_both(counter, arm);
#else
	((volatile __be32 *)words)[0] = counter;
	barrier_to_device();
	((volatile __be32 *)words)[1] = arm;
#endif
}

int mthca_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	const struct mthca_cq *cq = to_mthca_cq(ibcq);
	uint64_t word = cq->arms[!!solicited_only];
	/* number of polled entries, as last stored in the record */
	__be32 counter = *(volatile __be32 *)cq->set_ci.words;

	arm_record_store(cq->arm.words, counter, (uint32_t)word);
	barrier_to_device();
	mmio_write_64(cq->doorbell, mlx_both(word >> 32, counter));
	return 0;
}

int mthca_tavor_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	const struct mthca_cq *cq = to_mthca_cq(ibcq);

	mmio_write_64(cq->doorbell, likely(!solicited_only) ? cq->arms[0] : cq->arms[1]);
	return 0;
}

/* ---- resizing */

/* Return the number of entries that the program has not polled. */
static uint32_t waiting(const struct mthca_cq *cq)
{
	uint32_t n = 0;

	while (n <= cq->mask && mthca_cqe_is_valid(mthca_cqe_at(cq, cq->consumer + n)))
		n++;
	return n;
}

/*
 * Replace the ring, and move the entries of the old one. Without records the adapter counts entries
 * modulo the size of the ring. In a larger ring it goes on at the same place. The entries before
 * the end of the old ring are then before the end of the new one.
 */
static void ring_replace(struct mthca_cq *cq, const struct kit_region *memory, uint32_t count)
{
	uint32_t n = waiting(cq), old = cq->mask + 1;
	struct mthca_cqe *ring = memory->buf.base;

	if (!cq->set_ci.words && count > old) {
		cq->consumer &= cq->mask;
		if (mthca_cqe_is_valid(mthca_cqe_at(cq, cq->mask)))
			cq->consumer -= old;
	}
	for (uint32_t i = 0; i < n; i++)
		ring[(cq->consumer + i) & (count - 1)] = *mthca_cqe_at(cq, cq->consumer + i);
	cq->memory = *memory;
	cq->ring = ring;
	cq->mask = count - 1;
	cq->vcq.cq.cqe = count - 1;
}

static int resize_locked(struct mthca_cq *cq, uint32_t count)
{
	struct kit_region memory = {}, old = cq->memory;
	struct mthca_resize_cq cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	const struct verbs_resize_cq request = { .cqe = count - 1, .udata = &udata };
	int r;

	if (count == cq->mask + 1)
		return 0;
	if (waiting(cq) >= count) {
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: ibv_resize_cq: %u entries, %u completions are waiting",
			  cq->number, count - 1, waiting(cq));
		return -EINVAL;
	}
	r = ring_make(to_mctx(cq->vcq.cq.context), count, &memory);
	if (r < 0)
		return r;
	cmd.lkey = memory.mr.ibv_mr.lkey;
	r = uverbs_resize_cq(&cq->vcq, &request);
	if (r < 0) {
		kit_region_free(&memory);
		return r;
	}
	ring_replace(cq, &memory, count);
	kit_region_free(&old);
	return 0;
}

int mthca_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct mthca_cq *cq = to_mthca_cq(&vcq->cq);
	int r;

	if (in->cqe < 1 || in->cqe > CQE_COUNT_MAX) {
		verbs_err(vcq->cq.context, "cq 0x%x: ibv_resize_cq: %d entries are not possible",
			  cq->number, in->cqe);
		return -EINVAL;
	}
	spinlock_lock(&cq->lock);
	r = resize_locked(cq, round_up_pow2((uint32_t)in->cqe + 1));
	spinlock_unlock(&cq->lock);
	return r;
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

void mthca_cqs_lock(struct mthca_qp *qp)
{
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

void mthca_cqs_unlock(struct mthca_qp *qp)
{
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

/* Return whether an entry belongs to the queue pair. If it does, its receive goes back to the SRQ.
 */
static bool cqe_take(const struct mthca_qp *qp, const struct mthca_cqe *cqe)
{
	if (be32toh(cqe->qpn) != qp->number)
		return false;
	if (qp->srq && !mthca_cqe_is_send(cqe))
		mthca_srq_give(qp->srq, be32toh(cqe->wqe) >> qp->srq->shift);
	return true;
}

/* Entries that stay move towards the end. */
static void clean(struct mthca_cq *cq, const struct mthca_qp *qp)
{
	uint32_t end = cq->consumer + waiting(cq), freed = 0;

	if (cq->last == qp)
		cq->last_qpn = MTHCA_NO_QPN;
	barrier_from_device();
	while (end-- != cq->consumer) {
		const struct mthca_cqe *cqe = mthca_cqe_at(cq, end);

		if (cqe_take(qp, cqe))
			freed++;
		else if (freed)
			*mthca_cqe_at(cq, end + freed) = *cqe;
	}
	for (uint32_t i = 0; i < freed; i++)
		mthca_cqe_at(cq, cq->consumer + i)->owner = CQE_HARDWARE;
	if (!freed)
		return;
	cq->consumer += freed;
	mthca_cq_publish(cq, freed);
}

void mthca_cqs_clean(struct mthca_qp *qp)
{
	clean(qp->recv_cq, qp);
	if (qp->send_cq != qp->recv_cq)
		clean(qp->send_cq, qp);
}
