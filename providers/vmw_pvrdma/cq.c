/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, and removal of the completions of a queue
 * pair. */
#include <string.h>

#include "providers/kit/cq.h"
#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	CQE_COUNT_MAX = 1 << 24,
	CQE_SHIFT = 6,
};
_Static_assert(sizeof(struct pvrdma_cqe) == 1 << CQE_SHIFT, "as the device writes it");

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: vmw_pvrdma has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	if (!in->attr->cqe || in->attr->cqe > CQE_COUNT_MAX) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  in->attr->cqe, CQE_COUNT_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Check that the queue that the kernel created fits into its memory. */
static int cq_accept(struct pvrdma_cq *cq, uint32_t entries, uint32_t cqn)
{
	uint32_t granted = cq->vcq.cq.cqe, page = to_pctx(cq->vcq.cq.context)->page_size;

	if (!granted || granted > entries || granted & (granted - 1)) {
		verbs_err(cq->vcq.cq.context,
			  "ibv_create_cq: the kernel grants %u entries of %u, not a power of 2",
			  granted, entries);
		return -EPROTO;
	}
	pvrdma_cq_name(cq, cqn & PVRDMA_UAR_HANDLE_MASK);
	cq->ring = pvrdma_ring_make((struct pvrdma_words *)cq->buf.base + 1,
				    (char *)cq->buf.base + page, granted, CQE_SHIFT);
	return 0;
}

static int cq_create(struct pvrdma_cq *cq, const struct verbs_create_cq *in, uint32_t entries)
{
	struct pvrdma_create_cq_resp resp = {};
	struct pvrdma_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.buf_size = cq->buf.size,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->vcq, in, entries, &udata);

	if (r < 0)
		return r;
	r = cq_accept(cq, entries, resp.cqn);
	if (r < 0)
		uverbs_destroy_cq(&cq->vcq);
	return r;
}

int pvrdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct pvrdma_context *ctx = to_pctx(vcq->cq.context);
	struct pvrdma_cq *cq = to_pcq(&vcq->cq);
	uint32_t entries;
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	entries = round_up_pow2(in->attr->cqe);
	r = pvrdma_buf_alloc(vcq->cq.context, &cq->buf, (uint64_t)entries << CQE_SHIFT);
	if (r < 0)
		return r;
	cq->uar = ctx->uar.base;
	cq->last_name = PVRDMA_NO_NAME;
	r = cq_create(cq, in, entries);
	if (r < 0)
		kit_buf_free(&cq->buf);
	return r;
}

int pvrdma_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		kit_buf_free(&to_pcq(&vcq->cq)->buf);
	return r;
}

int pvrdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	const struct pvrdma_cq *cq = to_pcq(ibcq);

	mmio_write_32(cq->uar + PVRDMA_UAR_CQ_OFFSET,
		      solicited_only ? cq->word_arm_solicited : cq->word_arm);
	return 0;
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

static void clean_locked(struct pvrdma_cq *cq, const struct pvrdma_qp *qp)
{
	struct pvrdma_ring *ring = &cq->ring;
	uint32_t freed = 0;
	int count = pvrdma_cq_look(cq);

	/* From the last entry back: entries that stay move towards the end. */
	for (int i = count; i-- > 0;) {
		const struct pvrdma_cqe *cqe = pvrdma_ring_slot(ring, ring->index + i);

		if ((cqe->qp & PVRDMA_HANDLE_MASK) == (qp->handle & PVRDMA_HANDLE_MASK))
			freed++;
		else if (freed)
			memcpy(pvrdma_ring_slot(ring, ring->index + i + freed), cqe, sizeof(*cqe));
	}
	if (!freed)
		return;
	ring->index = (ring->index + freed) & ring->mask;
	/* release: the remaining entries are moved before the device gets the freed ones */
	atomic_store_explicit(&ring->words->head, ring->index, memory_order_release);
}

void pvrdma_cqs_clean(struct pvrdma_qp *qp, bool gone)
{
	struct pvrdma_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	if (gone) {
		send_cq->last_name = recv_cq->last_name = PVRDMA_NO_NAME;
		idtable_take(&to_pctx(qp->vqp.qp.context)->qpns, qp->handle & PVRDMA_HANDLE_MASK,
			     pvrdma_qpn_entry(qp->vqp.qp.qp_num));
	}
	clean_locked(recv_cq, qp);
	if (send_cq != recv_cq)
		clean_locked(send_cq, qp);
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}
