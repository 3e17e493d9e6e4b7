/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of an extended completion queue. */
#ifndef PROVIDERS_KIT_CQ_EX_H
#define PROVIDERS_KIT_CQ_EX_H

#include <infiniband/verbs.h>

#include "libibverbs/provider.h"

/* A completion queue whose provider polls into an ibv_wc. The readers return members of this
 * ibv_wc. It is the first member of the provider's queue. */
struct kit_cq {
	struct verbs_cq vcq;
	struct ibv_wc current; /* protected by the lock of the queue */
};

static inline struct kit_cq *to_kit_cq(struct ibv_cq_ex *ex)
{
	return (struct kit_cq *)ex;
}

/* Make a polled completion the current one. */
static inline void kit_cq_keep(struct kit_cq *cq, const struct ibv_wc *wc)
{
	cq->current = *wc;
	cq->vcq.cq_ex.wr_id = wc->wr_id;
	cq->vcq.cq_ex.status = wc->status;
}

/* Check that @wc_flags, which the provider supports, include the fields that @in requests. Return:
 * 0 or -EOPNOTSUPP. */
int kit_cq_ex_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags);

/*
 * Set the functions that each queue has, and the functions that read the requested fields.
 * @from: functions of a provider; its other members are ignored
 * @wc_flags: IBV_WC_EX_ flags that the program requested
 */
void kit_cq_ex_set_slots(struct ibv_cq_ex *ex, const struct ibv_cq_ex *from, uint64_t wc_flags);

/* Set the functions of a kit_cq. @polls has start_poll(), next_poll() and end_poll(). Readers exist
 * for IBV_WC_STANDARD_FLAGS. */
void kit_cq_ex_set_kept(struct ibv_cq_ex *ex, const struct ibv_cq_ex *polls, uint64_t wc_flags);

#endif
