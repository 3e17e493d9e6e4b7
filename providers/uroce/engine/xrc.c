/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended reliable connections, IBTA vol. 1, annex A14. A connection delivers each packet to the
 * shared receive queue that the packet names. A receiving queue pair has several handles.
 */
#include "providers/uroce/engine/engine.h"

struct uroce_srq *uroce_xrc_srq(struct uroce_engine *engine, const struct uroce_domain *domain,
				uint32_t srqn)
{
	/* Pairs with the owner's release: a reader sees an initialised table and a complete SRQ. */
	_Atomic(struct uroce_srq *) *srqs =
		atomic_load_explicit(&engine->srqs, memory_order_acquire);
	struct uroce_srq *srq;

	if (!srqs)
		return NULL;
	srq = atomic_load_explicit(&srqs[uroce_srqn_index(srqn)], memory_order_acquire);
	return srq && srq->vsrq.srq_num == srqn && srq->domain == domain ? srq : NULL;
}

void uroce_xrc_srq_forget(struct uroce_qp *qp, const struct uroce_srq *srq)
{
	struct uroce_responder *resp = &qp->resp;

	assert_held(&qp->lock);
	if (qp->type != IBV_QPT_XRC_RECV)
		return;
	if (resp->srq == srq) {
		resp->srq = NULL;
		resp->have_rwqe = false; /* the remaining receives get no completion */
	}
	for (uint32_t i = 0; i < resp->res_size; i++)
		if (resp->res[i].srq == srq)
			resp->res[i].srq = NULL;
}

void uroce_xrc_event(struct uroce_qp *qp, enum ibv_event_type type)
{
	struct uroce_qp *handle;

	LIST_FOREACH(handle, &qp->handles, handle)
		qp->engine->events->async(handle->vqp.qp.context, (uintptr_t)&handle->vqp.qp, type,
					  &handle->events_raised);
}
