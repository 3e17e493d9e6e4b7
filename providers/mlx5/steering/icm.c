/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the adapter for steering entries: areas of the kernel, which buddies divide into chunks
 * of a power of 2 of entries. The adapter may read a freed chunk until it has been synchronized.
 */
#include "providers/mlx5/steering/steering.h"

enum {
	ORDER_MOST = 20,
	WORD_BITS = 64,
};

/* Free pieces of each order: one bit each, and their number. */
struct dr_area {
	LIST_ENTRY(dr_area) link;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t address; /* of its first entry, for the adapter */
	uint32_t used;	  /* entries of chunks, freed ones too */
	uint64_t *bits[ORDER_MOST + 1];
	uint32_t counts[ORDER_MOST + 1];
	uint32_t hints[ORDER_MOST + 1]; /* no bit is set in words before it */
};

struct dr_free {
	struct dr_free *next;
	struct dr_chunk chunk;
};

/* ---- buddies */

static void bit_set(struct dr_area *area, unsigned int order, uint32_t n)
{
	area->bits[order][n / WORD_BITS] |= 1ull << n % WORD_BITS;
	area->counts[order]++;
	area->hints[order] = min_of(area->hints[order], n / WORD_BITS);
}

/* Clear a bit. Return whether it was set. */
static bool bit_take(struct dr_area *area, unsigned int order, uint32_t n)
{
	uint64_t bit = 1ull << n % WORD_BITS, *word = &area->bits[order][n / WORD_BITS];

	if (!(*word & bit))
		return false;
	*word &= ~bit;
	area->counts[order]--;
	return true;
}

/* Return the lowest free piece of an order that has one. */
static uint32_t bit_lowest(struct dr_area *area, unsigned int order)
{
	uint32_t word = area->hints[order];

	while (!area->bits[order][word])
		word++;
	area->hints[order] = word;
	return word * WORD_BITS + __builtin_ctzll(area->bits[order][word]);
}

static bool buddy_alloc(struct dr_area *area, unsigned int order, unsigned int order_max,
			uint32_t *ret_first)
{
	unsigned int from = order;
	uint32_t n;

	while (from <= order_max && !area->counts[from])
		from++;
	if (from > order_max)
		return false;
	n = bit_lowest(area, from);
	bit_take(area, from, n);
	for (; from > order; from--) {
		n *= 2;
		bit_set(area, from - 1, n + 1);
	}
	*ret_first = n << order;
	area->used += 1u << order;
	return true;
}

static void buddy_free(struct dr_area *area, unsigned int order, unsigned int order_max,
		       uint32_t first)
{
	uint32_t n = first >> order;

	area->used -= 1u << order;
	while (order < order_max && bit_take(area, order, n ^ 1)) {
		n /= 2;
		order++;
	}
	bit_set(area, order, n);
}

/* ---- areas */

static void area_free(struct dr_area *area)
{
	if (area->mr)
		ibv_dereg_mr(area->mr);
	if (area->dm)
		ibv_free_dm(area->dm);
	for (unsigned int i = 0; i <= ORDER_MOST; i++)
		free(area->bits[i]);
	free(area);
}

static uint64_t start_of(const struct ibv_dm *dm)
{
	return ((const struct mlx5_dm *)dm)->remote_va;
}

/* Allocate memory that is aligned to its size, if necessary out of twice the size. */
static int memory_make(const struct dr_icm *icm, struct dr_area *area, uint64_t length)
{
	struct mlx5dv_alloc_dm_attr dv = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct ibv_alloc_dm_attr attr = { .length = length };
	uint64_t skip;

	area->dm = mlx5dv_alloc_dm(icm->context, &attr, &dv);
	if (area->dm && start_of(area->dm) % length) {
		ibv_free_dm(area->dm);
		attr.length = 2 * length;
		area->dm = mlx5dv_alloc_dm(icm->context, &attr, &dv);
	}
	if (!area->dm)
		return -errno;
	skip = ROUND_UP(start_of(area->dm), length) - start_of(area->dm);
	if (skip + length > attr.length)
		skip = 0;
	area->address = start_of(area->dm) + skip;
	area->mr = ibv_reg_dm_mr(icm->pd, area->dm, skip, length,
				 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
					 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	return area->mr ? 0 : -errno;
}

static int area_make(struct dr_icm *icm)
{
	struct dr_area *area = calloc(1, sizeof(*area));
	int r = area ? 0 : -ENOMEM;

	for (unsigned int i = 0; !r && i <= icm->order_max; i++) {
		uint32_t bits = 1u << (icm->order_max - i);

		area->bits[i] = calloc((bits + WORD_BITS - 1) / WORD_BITS, sizeof(uint64_t));
		r = area->bits[i] ? 0 : -ENOMEM;
	}
	if (!r)
		r = memory_make(icm, area, (uint64_t)DR_ENTRY_SIZE << icm->order_max);
	if (r < 0) {
		if (area)
			area_free(area);
		return r;
	}
	bit_set(area, icm->order_max, 0);
	LIST_INSERT_HEAD(&icm->areas, area, link);
	return 0;
}

/* ---- chunks */

static bool areas_alloc(struct dr_icm *icm, unsigned int order, struct dr_chunk *ret)
{
	struct dr_area *area;

	LIST_FOREACH(area, &icm->areas, link) {
		if (!buddy_alloc(area, order, icm->order_max, &ret->first))
			continue;
		ret->area = area;
		ret->order = order;
		return true;
	}
	return false;
}

int dr_chunk_alloc(struct mlx5dv_dr_domain *domain, unsigned int order, struct dr_chunk *ret)
{
	struct dr_icm *icm = &domain->icm;
	int r;

	if (order > icm->order_max)
		return -EINVAL;
	if (areas_alloc(icm, order, ret))
		return 0;
	r = area_make(icm);
	if (r < 0)
		return r;
	return areas_alloc(icm, order, ret) ? 0 : -ENOMEM;
}

/* Release an area that the program does not need. */
static void areas_trim(struct mlx5dv_dr_domain *domain)
{
	struct dr_area *area = LIST_FIRST(&domain->icm.areas);

	while (domain->reclaims && area) {
		struct dr_area *next = LIST_NEXT(area, link);

		if (!area->used) {
			LIST_REMOVE(area, link);
			area_free(area);
		}
		area = next;
	}
}

int dr_icm_reclaim(struct mlx5dv_dr_domain *domain)
{
	struct dr_icm *icm = &domain->icm;
	int r = dr_ring_drain(domain->ring);

	if (!r)
		r = dr_steering_sync(domain);
	if (r < 0)
		return r;
	while (icm->freed) {
		struct dr_free *f = icm->freed;

		icm->freed = f->next;
		buddy_free(f->chunk.area, f->chunk.order, icm->order_max, f->chunk.first);
		free(f);
	}
	icm->freed_bytes = 0;
	areas_trim(domain);
	return 0;
}

void dr_chunk_free(struct mlx5dv_dr_domain *domain, const struct dr_chunk *chunk)
{
	struct dr_icm *icm = &domain->icm;
	struct dr_free *f = calloc(1, sizeof(*f));

	/* Without memory for the list the chunk stays in use until the domain ends. */
	if (!f)
		return;
	f->chunk = *chunk;
	f->next = icm->freed;
	icm->freed = f;
	icm->freed_bytes += (size_t)DR_ENTRY_SIZE << chunk->order;
	if (icm->freed_bytes >= (size_t)DR_ENTRY_SIZE << icm->order_max >> 1)
		dr_icm_reclaim(domain);
}

uint64_t dr_chunk_address(const struct dr_chunk *chunk, uint32_t index)
{
	return chunk->area->address + (uint64_t)(chunk->first + index) * DR_ENTRY_SIZE;
}

int dr_chunk_write(struct mlx5dv_dr_domain *domain, const struct dr_chunk *chunk, uint32_t index,
		   const void *from, size_t length)
{
	return dr_ring_write(domain->ring, (uint64_t)(chunk->first + index) * DR_ENTRY_SIZE,
			     chunk->area->mr->rkey, from, length);
}

void dr_icm_close(struct dr_icm *icm)
{
	struct dr_area *area;

	while (icm->freed) {
		struct dr_free *f = icm->freed;

		icm->freed = f->next;
		free(f);
	}
	while ((area = LIST_FIRST(&icm->areas))) {
		LIST_REMOVE(area, link);
		area_free(area);
	}
}
