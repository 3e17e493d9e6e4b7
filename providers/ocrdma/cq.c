/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, and removal of the completions of a queue
 * pair. The ring always has as many entries as the adapter supports. */
#include "providers/kit/cq.h"
#include "providers/ocrdma/wqe.h"

enum {
	/* Bits of the number of a queue, and their place in the doorbell. */
	ID_LOW_MASK = 0x3ff,
	ID_HIGH_MASK = 0xc00,
	ID_HIGH_SHIFT = 1,
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: ocrdma has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int cq_map(struct oc_cq *cq, const struct ocrdma_create_cq_uresp *resp)
{
	struct ibv_context *ctx = cq->vcq.cq.context;
	int r;

	if (resp->num_pages != 1 || !resp->max_hw_cqe ||
	    resp->page_size / CQE_BYTES < resp->max_hw_cqe || resp->cq_id & ~0xfffu) {
		verbs_err(
			ctx,
			"cq 0x%x: the kernel says %u entries in %u bytes of %u ranges: not possible",
			resp->cq_id, resp->max_hw_cqe, resp->page_size, resp->num_pages);
		return -EPROTO;
	}
	r = kit_page_map(ctx, resp->page_addr[0], resp->page_size, PROT_READ | PROT_WRITE,
			 &cq->queue);
	if (!r)
		r = kit_page_map(ctx, resp->db_page_addr, resp->db_page_size, PROT_WRITE,
				 &cq->registers);
	if (r < 0)
		return r;
	cq->doorbell = oc_register(ctx, &cq->registers, CQ_DOORBELL);
	return cq->doorbell ? 0 : -EPROTO;
}

static void cq_unmap(struct oc_cq *cq)
{
	kit_page_unmap(&cq->registers);
	kit_page_unmap(&cq->queue);
}

int oc_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct oc_cq *cq = to_oc_cq(&vcq->cq);
	struct ocrdma_create_cq_uresp resp = {};
	struct ocrdma_create_cq_ureq cmd = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = cq_check(vcq->cq.context, in);

	if (!r)
		r = kit_create_cq(vcq, in, in->attr->cqe, &udata);
	if (r < 0)
		return r;
	r = cq_map(cq, &resp);
	if (r < 0) {
		uverbs_destroy_cq(vcq);
		cq_unmap(cq);
		return r;
	}
	vcq->cq.cqe = in->attr->cqe; /* the kernel answers 0 */
	cq->ring = cq->queue.base;
	cq->count = resp.max_hw_cqe;
	cq->phase = CQE_VALID;
	cq->changes = resp.phase_change;
	cq->last_id = OC_NO_ID;
	cq->number = (resp.cq_id & ID_LOW_MASK) | (resp.cq_id & ID_HIGH_MASK) << ID_HIGH_SHIFT;
	mmio_write_32(cq->doorbell, htole32(cq->number));
	return 0;
}

/* The kernel checks the number of entries. The ring has them already. */
int oc_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	int r = uverbs_resize_cq(vcq, in);

	if (!r)
		vcq->cq.cqe = in->cqe;
	return r;
}

int oc_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_unmap(to_oc_cq(&vcq->cq));
	return r;
}

int oc_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	const struct oc_cq *cq = to_oc_cq(ibcq);

	announce(cq->doorbell, htole32(cq->number | CQ_ARM | (solicited_only ? CQ_SOLICITED : 0)));
	return 0;
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

void oc_cqs_lock(struct oc_qp *qp)
{
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

void oc_cqs_unlock(struct oc_qp *qp)
{
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

/* Mark the entries as consumed. A poll skips them. */
static void clean(struct oc_cq *cq, const struct oc_qp *qp)
{
	uint32_t at = cq->at, phase = cq->phase;
	uint64_t unused;

	if (cq->last == qp)
		cq->last_id = OC_NO_ID;
	for (uint32_t i = 0; i < cq->count; i++) {
		struct oc_cqe *cqe = &cq->ring[at];
		uint32_t flags = cqe_flags(cqe), number;

		if (!cqe_is_valid(flags, phase))
			break;
		barrier_from_device();
		number = le32toh(cqe->number);
		if ((number & CQE_ID_MASK) == qp->id) {
			if (qp->srq && flags & CQE_RECEIVE)
				oc_srq_take(qp->srq, number >> CQE_TAG_SHIFT, &unused);
			cqe->number = 0;
		}
		if (++at != cq->count)
			continue;
		at = 0;
		phase ^= cq->changes ? CQE_VALID : 0;
	}
}

void oc_cqs_clean(struct oc_qp *qp)
{
	clean(qp->recv_cq, qp);
	if (qp->send_cq != qp->recv_cq)
		clean(qp->send_cq, qp);
}
