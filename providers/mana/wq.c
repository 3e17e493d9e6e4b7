/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receive work queues, and the tables that distribute packets among them. */
#include "providers/mana/mana.h"

static int no_post_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	verbs_err(wq->context, "wq %u: ibv_post_wq_recv: the program writes receives by itself",
		  wq->handle);
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int wq_create(struct mana_wq *wq, const struct verbs_create_wq *in)
{
	const struct mana_ib_create_wq cmd = {
		.wq_buf_addr = (uintptr_t)wq->queue.buf.base,
		.wq_buf_size = wq->queue.bytes,
	};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_create_wq request = *in;

	request.udata = &udata;
	return uverbs_create_wq(&wq->vwq, &request);
}

int mana_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in)
{
	struct mana_wq *wq = to_mwq(&vwq->wq);
	int r = mana_queue_make(to_mctx(vwq->wq.context), MANA_QUEUE_RQ, in->attr->max_wr,
				in->attr->max_sge, &wq->queue);

	if (r < 0)
		return r;
	wq->vwq.wq.post_recv = no_post_recv;
	r = wq_create(wq, in);
	if (r < 0)
		kit_buf_free(&wq->queue.buf);
	return r;
}

int mana_destroy_wq(struct verbs_wq *vwq)
{
	int r = uverbs_destroy_wq(vwq);

	if (!r)
		kit_buf_free(&to_mwq(&vwq->wq)->queue.buf);
	return r;
}

/* Create a table. Its queues get their numbers when a queue pair is created with it. */
int mana_create_rwq_ind_table(struct ibv_rwq_ind_table *ibtable,
			      const struct verbs_create_rwq_ind_table *in)
{
	struct mana_rwq_ind_table *table = (struct mana_rwq_ind_table *)ibtable;
	int r;

	table->count = 1u << in->attr->log_ind_tbl_size;
	table->wqs = calloc(table->count, sizeof(*table->wqs));
	if (!table->wqs)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++)
		table->wqs[i] = to_mwq(in->attr->ind_tbl[i]);
	r = uverbs_create_rwq_ind_table(ibtable, in);
	if (r < 0)
		free(table->wqs);
	return r;
}

int mana_destroy_rwq_ind_table(struct ibv_rwq_ind_table *ibtable)
{
	int r = uverbs_destroy_rwq_ind_table(ibtable);

	if (!r)
		free(((struct mana_rwq_ind_table *)ibtable)->wqs);
	return r;
}
