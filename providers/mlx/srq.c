/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues: their memory, and posting. The doorbell is only a record in memory. */
#include <stdlib.h>

#include "providers/mlx/mlx.h"

enum {
	WQE_MIN = 32,
};

int mlx_srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr, unsigned int types,
		  uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_context *ctx = vsrq->srq.context;

	if (!(types & 1u << vsrq->srq_type)) {
		verbs_err(ctx, "ibv_create_srq_ex: type %d is not supported", vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (attr->max_wr > max_wr) {
		verbs_err(ctx, "ibv_create_srq: max_wr %u is too much (at most %u)", attr->max_wr,
			  max_wr);
		return -EINVAL;
	}
	if (attr->max_sge > max_sge) {
		verbs_err(ctx, "ibv_create_srq: %u scatter/gather entries, at most %u are possible",
			  attr->max_sge, max_sge);
		return -EINVAL;
	}
	return 0;
}

int mlx_srq_make(struct mlx_srq *srq, struct dbrec_pool *records, const struct ibv_srq_attr *attr,
		 struct kit_memory memory)
{
	uint32_t wqe = max_of(WQE_MIN + 0u, MLX_SEGMENT + MLX_SEGMENT * attr->max_sge);
	uint32_t count = round_up_pow2(attr->max_wr + 1);
	int r;

	srq->records = records;
	srq->mask = count - 1;
	srq->shift = __builtin_ctz(round_up_pow2(wqe));
	srq->tail = count - 1;
	srq->next = calloc(count, sizeof(*srq->next));
	srq->wr_ids = calloc(count, sizeof(*srq->wr_ids));
	if (!srq->next || !srq->wr_ids)
		return -ENOMEM;
	r = dbrec_alloc(records, to_vpd(srq->vsrq.srq.pd), &srq->record);
	if (r < 0)
		return r;
	r = kit_buf_alloc_in(&srq->buf, (size_t)count << srq->shift, records->allocator,
			     to_vpd(srq->vsrq.srq.pd), memory);
	if (r < 0)
		return r;
	srq->ring = srq->buf.base;
	for (uint32_t i = 0; i < count; i++) {
		struct mlx_srq_next_seg *seg = (void *)(srq->ring + ((size_t)i << srq->shift));

		srq->next[i] = (i + 1) & srq->mask;
		seg->next_wqe_index = htobe16(srq->next[i]);
	}
	return 0;
}

void mlx_srq_free(struct mlx_srq *srq)
{
	kit_buf_free(&srq->buf);
	dbrec_free(srq->records, srq->record, to_vpd(srq->vsrq.srq.pd));
	free(srq->next);
	free(srq->wr_ids);
}

int mlx_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		mlx_srq_free(to_msrq(&vsrq->srq));
	return r;
}

/* ---- posting */

static inline void srq_build(struct mlx_srq *srq, uint32_t slot, const struct ibv_recv_wr *wr)
{
	char *wqe = srq->ring + ((size_t)slot << srq->shift);
	struct mlx_data_seg *seg = (void *)(wqe + sizeof(struct mlx_srq_next_seg));
	uint32_t n = wr->num_sge;

	for (uint32_t i = 0; i < n; i++)
		mlx_segment_write(&seg[i], wr->sg_list[i].length, wr->sg_list[i].lkey,
				  wr->sg_list[i].addr);
	if (n < srq->max_sge)
		mlx_segment_end(&seg[n]);
	srq->wr_ids[slot] = wr->wr_id;
}

__attribute__((noinline, cold)) static int srq_refuse(struct mlx_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.max_post = srq->mask,
		.max_sge = srq->max_sge,
	};

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->said, wr, &limits);
}

int mlx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx_srq *srq = to_msrq(ibsrq);
	uint16_t posted;

	spinlock_lock(&srq->lock);
	posted = srq->posted;
	for (; wr; wr = wr->next) {
		if (unlikely((uint32_t)wr->num_sge > srq->max_sge || srq->head == srq->tail ||
			     (wr->num_sge && !wr->sg_list))) {
			*bad_wr = wr;
			break;
		}
		srq_build(srq, srq->head, wr);
		srq->head = srq->next[srq->head];
		posted++;
	}
	if (posted != srq->posted) {
		srq->posted = posted;
		barrier_to_device();
		srq->record[0] = htobe32(posted);
	}
	spinlock_unlock(&srq->lock);
	return likely(!wr) ? 0 : srq_refuse(srq, wr);
}

/* Post request @index again. The last free request is never used, so that @index can be linked
 * before the next request takes its contents. */
static void again_locked(struct mlx_srq *srq, uint32_t index)
{
	const size_t head_size = sizeof(struct mlx_srq_next_seg);
	char *from = srq->ring + ((size_t)index << srq->shift);
	char *to = srq->ring + ((size_t)srq->head << srq->shift);

	mlx_srq_link(srq, index);
	memcpy(to + head_size, from + head_size, ((size_t)1 << srq->shift) - head_size);
	srq->wr_ids[srq->head] = srq->wr_ids[index];
	srq->head = srq->next[srq->head];
	srq->posted++;
	barrier_to_device();
	srq->record[0] = htobe32(srq->posted);
}

bool mlx_srq_again(struct mlx_srq *srq, uint32_t index)
{
	bool good;

	spinlock_lock(&srq->lock);
	good = index <= srq->mask && index != srq->head;
	if (good)
		again_locked(srq, index);
	spinlock_unlock(&srq->lock);
	return good;
}
