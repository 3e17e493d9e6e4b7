/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/dbrec.h"

#include "libibverbs/provider.h"
#include "providers/kit/buf.h"
#include "util/log.h"
#include "util/util.h"

enum {
	RECORD_SIZE = 2 * sizeof(__be32), /* bytes; also the alignment */
	LINE_DEFAULT = 64,
	LINE_MIN = 8,
	/* records of a page at most; the rest of a larger page is unused */
	RECORDS_MAX = 4096 / LINE_MIN,
};

struct dbrec_page {
	LIST_ENTRY(dbrec_page) entry;
	struct kit_buf memory;
	unsigned int count, used;
	uint64_t taken[RECORDS_MAX / 64];
};

void dbrec_pool_init(struct dbrec_pool *pool, uint32_t line)
{
	bool usable = line >= LINE_MIN && line <= 4096 && !(line & (line - 1));

	pthread_mutex_init(&pool->lock, NULL);
	LIST_INIT(&pool->pages);
	pool->allocator = NULL;
	pool->type = 0;
	pool->stride = usable ? line : LINE_DEFAULT;
}

static void page_free(struct dbrec_page *page)
{
	LIST_REMOVE(page, entry);
	kit_buf_free(&page->memory);
	free(page);
}

void dbrec_pool_destroy(struct dbrec_pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
}

static struct dbrec_page *page_with_room(struct dbrec_pool *pool)
{
	struct dbrec_page *page;

	LIST_FOREACH(page, &pool->pages, entry)
		if (page->used < page->count)
			return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	if (kit_buf_alloc_from(&page->memory, 1, pool->allocator) < 0) {
		free(page);
		return NULL;
	}
	page->count =
		min_of((unsigned int)(page->memory.size / pool->stride), (unsigned int)RECORDS_MAX);
	LIST_INSERT_HEAD(&pool->pages, page, entry);
	return page;
}

static unsigned int page_take(struct dbrec_page *page)
{
	unsigned int word = 0, n;

	while (!~page->taken[word])
		word++;
	n = word * 64 + __builtin_ctzll(~page->taken[word]);
	page->taken[word] |= 1ull << n % 64;
	page->used++;
	return n;
}

static __be32 *pool_take(struct dbrec_pool *pool)
{
	struct dbrec_page *page;
	__be32 *record = NULL;

	pthread_mutex_lock(&pool->lock);
	page = page_with_room(pool);
	if (page)
		record = (void *)((char *)page->memory.base + page_take(page) * pool->stride);
	pthread_mutex_unlock(&pool->lock);
	return record;
}

/* Ask the allocator of the parent domain. -EAGAIN: the library must allocate the
 * record itself. */
static int parent_ask(const struct dbrec_pool *pool, struct verbs_pd *parent, __be32 **ret_record)
{
	void *record = parent->alloc(&parent->pd, parent->pd_context, RECORD_SIZE, RECORD_SIZE,
				     pool->type);

	if (record == IBV_ALLOCATOR_USE_DEFAULT)
		return -EAGAIN;
	if ((uintptr_t)record % RECORD_SIZE) {
		log_err("parent domain of pd %u: its allocator returned %p for a doorbell record, "
			"which must be aligned to %d bytes",
			parent->pd.handle, record, RECORD_SIZE);
		parent->free(&parent->pd, parent->pd_context, record, pool->type);
		return -EINVAL;
	}
	*ret_record = record;
	return 0;
}

int dbrec_alloc(struct dbrec_pool *pool, struct verbs_pd *parent, __be32 **ret_record)
{
	__be32 *record = NULL;
	int r = -EAGAIN;

	*ret_record = NULL;
	if (parent && parent->alloc)
		r = parent_ask(pool, parent, &record);
	if (r == -EAGAIN)
		record = pool_take(pool);
	if (!record)
		return r == -EINVAL ? r : -ENOMEM;
	record[0] = record[1] = 0;
	*ret_record = record;
	return 0;
}

/* Return a record to its page. Return: false if no page of the pool contains it. */
static bool pool_give(struct dbrec_pool *pool, const __be32 *record)
{
	struct dbrec_page *page;

	pthread_mutex_lock(&pool->lock);
	LIST_FOREACH(page, &pool->pages, entry) {
		size_t offset = (uintptr_t)record - (uintptr_t)page->memory.base;

		if (offset < page->memory.size) {
			unsigned int n = offset / pool->stride;

			page->taken[n / 64] &= ~(1ull << n % 64);
			if (!--page->used)
				page_free(page);
			break;
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return page;
}

void dbrec_free(struct dbrec_pool *pool, __be32 *record, struct verbs_pd *parent)
{
	if (record && !pool_give(pool, record) && parent && parent->alloc)
		parent->free(&parent->pd, parent->pd_context, record, pool->type);
}
