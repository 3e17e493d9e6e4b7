/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues, which the program polls without this library. */
#include "providers/mana/mana.h"

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx,
			  "ibv_create_cq_ex: completions of mana are polled by the program alone");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int cq_create(struct mana_cq *cq, const struct verbs_create_cq *in)
{
	const struct mana_ib_create_cq cmd = { .buf_addr = (uintptr_t)cq->queue.buf.base };
	struct verbs_udata udata = {
		.in = &cmd,
		/* The length that the first kernels know. Later fields are for RC. */
		.in_len = offsetof(struct mana_ib_create_cq, flags),
	};
	struct verbs_create_cq request = *in;

	request.udata = &udata;
	return uverbs_create_cq(&cq->vcq, &request);
}

int mana_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mana_cq *cq = to_mcq(&vcq->cq);
	int r = cq_check(vcq->cq.context, in);

	if (!r)
		r = mana_queue_make(to_mctx(vcq->cq.context), MANA_QUEUE_CQ, in->attr->cqe, 0,
				    &cq->queue);
	if (r < 0)
		return r;
	r = cq_create(cq, in);
	if (r < 0)
		kit_buf_free(&cq->queue.buf);
	return r;
}

int mana_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		kit_buf_free(&to_mcq(&vcq->cq)->queue.buf);
	return r;
}
