/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages for the firmware, cut from blocks of 2 MiB. */
#include "providers/mlx5/vfio/function.h"

enum {
	BLOCK = 2 << 20,
	BLOCK_PAGES = BLOCK / VFIO_PAGE,
	BLOCKS_MAX = 2048, /* 4 GiB */
};

struct vfio_block {
	LIST_ENTRY(vfio_block) entry;
	struct vfio_map map;
	unsigned int used;
	uint64_t free[BLOCK_PAGES / 64]; /* bit n: page n is free */
};

static int block_make(struct vfio_context *v, struct vfio_block **ret_block)
{
	struct vfio_block *block, *b;
	unsigned int count = 0;
	int r;

	LIST_FOREACH(b, &v->blocks, entry)
		count++;
	if (count == BLOCKS_MAX) {
		verbs_err(&v->vctx.context, "the firmware asks for more than %d MiB",
			  BLOCKS_MAX * (BLOCK >> 20));
		return -ENOMEM;
	}
	block = malloc(sizeof(*block));
	if (!block)
		return -ENOMEM;
	*block = (struct vfio_block){};
	r = vfio_buffer_make(v, BLOCK, BLOCK, &block->map);
	if (r < 0) {
		free(block);
		return r;
	}
	memset(block->free, 0xff, sizeof(block->free));
	LIST_INSERT_HEAD(&v->blocks, block, entry);
	*ret_block = block;
	return 0;
}

static void block_free(struct vfio_context *v, struct vfio_block *block)
{
	LIST_REMOVE(block, entry);
	vfio_buffer_free(v, &block->map);
	free(block);
}

static struct vfio_block *block_with_room(struct vfio_context *v)
{
	struct vfio_block *block;

	LIST_FOREACH(block, &v->blocks, entry)
		if (block->used < BLOCK_PAGES)
			return block;
	return NULL;
}

static int page_take(struct vfio_context *v, uint64_t *ret_page)
{
	struct vfio_block *block = block_with_room(v);
	int r = block ? 0 : block_make(v, &block);
	unsigned int i = 0, bit;

	if (r < 0)
		return r;
	while (!block->free[i])
		i++;
	bit = __builtin_ctzll(block->free[i]);
	block->free[i] &= ~(1ull << bit);
	block->used++;
	*ret_page = block->map.iova + (uint64_t)(i * 64 + bit) * VFIO_PAGE;
	return 0;
}

static int page_put(struct vfio_context *v, uint64_t page)
{
	struct vfio_block *block;
	uint64_t index;

	LIST_FOREACH(block, &v->blocks, entry) {
		index = (page - block->map.iova) / VFIO_PAGE;
		if (page < block->map.iova || index >= BLOCK_PAGES || page % VFIO_PAGE)
			continue;
		if (block->free[index / 64] >> index % 64 & 1)
			break;
		block->free[index / 64] |= 1ull << index % 64;
		if (!--block->used)
			block_free(v, block);
		return 0;
	}
	return -EINVAL;
}

int vfio_pool_take(struct vfio_context *v, unsigned int count, uint64_t *ret_pages)
{
	unsigned int i = 0;
	int r = 0;

	pthread_mutex_lock(&v->pool_lock);
	while (!r && i < count) {
		r = page_take(v, &ret_pages[i]);
		if (!r)
			i++;
	}
	while (r < 0 && i)
		page_put(v, ret_pages[--i]);
	pthread_mutex_unlock(&v->pool_lock);
	return r;
}

int vfio_pool_put(struct vfio_context *v, uint64_t page)
{
	int r;

	pthread_mutex_lock(&v->pool_lock);
	r = page_put(v, page);
	pthread_mutex_unlock(&v->pool_lock);
	return r;
}

int vfio_pool_open(struct vfio_context *v)
{
	struct vfio_block *block;

	return block_make(v, &block);
}

void vfio_pool_close(struct vfio_context *v)
{
	while (!LIST_EMPTY(&v->blocks))
		block_free(v, LIST_FIRST(&v->blocks));
}
