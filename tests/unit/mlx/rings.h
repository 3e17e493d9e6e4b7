/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of receives in plain memory, for the fakes of both families of ConnectX. */
#ifndef TESTS_UNIT_MLX_RINGS_H
#define TESTS_UNIT_MLX_RINGS_H

#include "providers/mlx/mlx.h"
#include "tests/unit/page.h"

/* Make a ring of slots with @wqe_sge entries in a page. */
static inline void fake_rq(struct mlx_rq *rq, char *page, __be32 *record, uint32_t wqe_sge)
{
	uint32_t size = sizeof(struct mlx_data_seg) * wqe_sge, count = FAKE_PAGE / size;

	rq->ring = page;
	rq->shift = __builtin_ctz(size);
	rq->mask = count - 1;
	rq->max_post = count;
	rq->wqe_sge = wqe_sge;
	rq->max_sge = wqe_sge;
	rq->wr_ids = calloc(count, sizeof(*rq->wr_ids));
	rq->record = record;
}

/* Make a ring of free requests with one entry in a page. */
static inline void fake_srq_ring(struct mlx_srq *srq, struct ibv_context *ctx, char *page,
				 __be32 *record)
{
	srq->vsrq.srq.context = ctx;
	srq->ring = page;
	srq->shift = 5;
	srq->mask = FAKE_PAGE / 32 - 1;
	srq->max_sge = 1;
	srq->tail = srq->mask;
	srq->next = calloc(srq->mask + 1, sizeof(*srq->next));
	srq->wr_ids = calloc(srq->mask + 1, sizeof(*srq->wr_ids));
	srq->record = record;
	for (uint32_t i = 0; i <= srq->mask; i++) {
		srq->next[i] = (i + 1) & srq->mask;
		((struct mlx_srq_next_seg *)(page + 32 * i))->next_wqe_index =
			htobe16(srq->next[i]);
	}
}

/* Compare big-endian memory with @words in the byte order of the host. */
static inline void assert_words(const void *memory, const uint32_t *words, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(be32toh(((const __be32 *)memory)[i]), words[i]);
}
#define ASSERT_WORDS(memory, ...)                               \
	assert_words(memory, (const uint32_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

#endif
