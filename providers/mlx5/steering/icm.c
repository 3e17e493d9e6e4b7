/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the adapter for steering entries: areas of the kernel, which buddies divide into chunks
 * of a power of 2 of entries. The adapter may read a freed chunk until it has been synchronized.
 */
#include "providers/mlx5/steering/steering.h"

enum {
	ORDER_MOST = 20,     /* entries of the largest chunk, log2 */
	ORDER_PATTERNS = 12, /* entries of the largest chunk of patterns, log2 */
	LOG_CHUNKS = 3,	     /* chunks of the largest size in all memory, log2 */
	LOG_ENTRY = 6,
	LOG_CHANGE = 3, /* bytes of a change of a header, log2 */
	WORD_BITS = 64,
};

/* Free pieces of each order: one bit each, and their number. */
struct dr_area {
	LIST_ENTRY(dr_area) link;
	struct dr_pool *pool;
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

/* Allocate aligned memory. If the kernel's memory is not aligned, allocate twice the size and use
 * the aligned part. */
static int memory_make(struct dr_area *area, uint64_t length, uint64_t align)
{
	struct mlx5dv_dr_domain *domain = area->pool->domain;
	struct mlx5dv_alloc_dm_attr dv = { .type = area->pool->type };
	struct ibv_alloc_dm_attr attr = { .length = length };
	uint64_t skip;

	area->dm = mlx5dv_alloc_dm(domain->context, &attr, &dv);
	if (area->dm && start_of(area->dm) % align) {
		ibv_free_dm(area->dm);
		attr.length = 2 * length;
		area->dm = mlx5dv_alloc_dm(domain->context, &attr, &dv);
	}
	if (!area->dm)
		return -errno;
	skip = ROUND_UP(start_of(area->dm), align) - start_of(area->dm);
	if (skip + length > attr.length)
		skip = 0;
	area->address = start_of(area->dm) + skip;
	area->mr = ibv_reg_dm_mr(domain->pd, area->dm, skip, length,
				 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
					 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	return area->mr ? 0 : -errno;
}

static int area_make(struct dr_pool *pool)
{
	uint64_t length = (uint64_t)pool->size << pool->order_max;
	struct dr_area *area = calloc(1, sizeof(*area));
	int r = area ? 0 : -ENOMEM;

	for (unsigned int i = 0; !r && i <= pool->order_max; i++) {
		uint32_t bits = 1u << (pool->order_max - i);

		area->bits[i] = calloc((bits + WORD_BITS - 1) / WORD_BITS, sizeof(uint64_t));
		r = area->bits[i] ? 0 : -ENOMEM;
	}
	if (!r) {
		area->pool = pool;
		r = memory_make(area, length, pool->aligned ? length : DR_ENTRY_SIZE);
	}
	if (r < 0) {
		if (area)
			area_free(area);
		return r;
	}
	bit_set(area, pool->order_max, 0);
	LIST_INSERT_HEAD(&pool->areas, area, link);
	return 0;
}

/* ---- pools */

static void pool_open(struct mlx5dv_dr_domain *domain, enum dr_pool_kind kind, uint8_t type,
		      unsigned int order_max, uint16_t size)
{
	size_t most = (size_t)size << order_max;

	domain->pools[kind] = (struct dr_pool){
		.domain = domain,
		.type = type,
		.order_max = order_max,
		.size = size,
		.aligned = kind == DR_POOL_ENTRIES,
		.freed_most = kind == DR_POOL_CHANGES ? most / 10 * 9 : most / 2,
	};
}

void dr_pools_open(struct mlx5dv_dr_domain *domain)
{
	const struct dr_caps *caps = &domain->caps;

	pool_open(domain, DR_POOL_ENTRIES, MLX5DV_DM_TYPE_STEERING_SW_ICM,
		  min_of((int)ORDER_MOST, caps->log_icm - LOG_ENTRY - LOG_CHUNKS), DR_ENTRY_SIZE);
	pool_open(domain, DR_POOL_CHANGES, MLX5DV_DM_TYPE_HEADER_MODIFY_SW_ICM,
		  min_of((int)ORDER_MOST, caps->log_changes - LOG_CHANGE - LOG_CHUNKS),
		  1 << LOG_CHANGE);
	pool_open(domain, DR_POOL_PATTERNS, MLX5DV_DM_TYPE_HEADER_MODIFY_PATTERN_SW_ICM,
		  ORDER_PATTERNS, 1 << LOG_CHANGE);
}

static void pool_close(struct dr_pool *pool)
{
	struct dr_area *area;

	while (pool->freed) {
		struct dr_free *f = pool->freed;

		pool->freed = f->next;
		free(f);
	}
	while ((area = LIST_FIRST(&pool->areas))) {
		LIST_REMOVE(area, link);
		area_free(area);
	}
}

void dr_pools_close(struct mlx5dv_dr_domain *domain)
{
	for (unsigned int i = 0; i < DR_POOLS; i++)
		pool_close(&domain->pools[i]);
}

unsigned int dr_pool_areas(const struct dr_pool *pool)
{
	const struct dr_area *area;
	unsigned int count = 0;

	LIST_FOREACH(area, &pool->areas, link)
		count++;
	return count;
}

/* Free areas without used chunks, if the domain reclaims memory. */
static void areas_trim(struct dr_pool *pool)
{
	struct dr_area *area = LIST_FIRST(&pool->areas);

	while (pool->domain->reclaims && area) {
		struct dr_area *next = LIST_NEXT(area, link);

		if (!area->used) {
			LIST_REMOVE(area, link);
			area_free(area);
		}
		area = next;
	}
}

static void freed_return(struct dr_pool *pool)
{
	while (pool->freed) {
		struct dr_free *f = pool->freed;

		pool->freed = f->next;
		buddy_free(f->chunk.area, f->chunk.order, pool->order_max, f->chunk.first);
		free(f);
	}
	pool->freed_bytes = 0;
	areas_trim(pool);
}

/* Wait until the adapter reads no freed chunk. */
static int adapter_wait(struct mlx5dv_dr_domain *domain)
{
	int r = dr_ring_drain(domain->ring);

	return r ? r : dr_steering_sync(domain);
}

int dr_pools_reclaim(struct mlx5dv_dr_domain *domain)
{
	int r = adapter_wait(domain);

	for (unsigned int i = 0; !r && i < DR_POOLS; i++)
		freed_return(&domain->pools[i]);
	return r;
}

/* ---- chunks */

static bool areas_alloc(struct dr_pool *pool, unsigned int order, struct dr_chunk *ret)
{
	struct dr_area *area;

	LIST_FOREACH(area, &pool->areas, link) {
		if (!buddy_alloc(area, order, pool->order_max, &ret->first))
			continue;
		ret->area = area;
		ret->order = order;
		return true;
	}
	return false;
}

int dr_chunk_alloc(struct dr_pool *pool, unsigned int order, struct dr_chunk *ret)
{
	int r;

	if (order > pool->order_max)
		return -EINVAL;
	if (areas_alloc(pool, order, ret))
		return 0;
	r = area_make(pool);
	if (r < 0)
		return r;
	return areas_alloc(pool, order, ret) ? 0 : -ENOMEM;
}

void dr_chunk_free(const struct dr_chunk *chunk)
{
	struct dr_pool *pool = chunk->area->pool;
	struct dr_free *f = calloc(1, sizeof(*f));

	/* Without memory for the list the chunk stays in use until the domain ends. */
	if (!f)
		return;
	f->chunk = *chunk;
	f->next = pool->freed;
	pool->freed = f;
	pool->freed_bytes += (size_t)pool->size << chunk->order;
	if (pool->freed_bytes >= pool->freed_most && !adapter_wait(pool->domain))
		freed_return(pool);
}

uint64_t dr_chunk_address(const struct dr_chunk *chunk, uint32_t index)
{
	return chunk->area->address + (uint64_t)(chunk->first + index) * chunk->area->pool->size;
}

int dr_chunk_write(const struct dr_chunk *chunk, uint32_t index, const void *from, size_t length)
{
	const struct dr_pool *pool = chunk->area->pool;

	return dr_ring_write(pool->domain->ring, (uint64_t)(chunk->first + index) * pool->size,
			     chunk->area->mr->rkey, from, length);
}
