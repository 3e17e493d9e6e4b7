/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doorbell records: words that the device reads, each object's in a cache line of its own. */
#ifndef PROVIDERS_KIT_DBREC_H
#define PROVIDERS_KIT_DBREC_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>
#include <linux/types.h>

struct dbrec_page;
struct kit_allocator;

struct dbrec_pool {
	pthread_mutex_t lock; /* protects the pages; a leaf */
	LIST_HEAD(, dbrec_page) pages;
	unsigned int stride;		       /* bytes between records */
	const struct kit_allocator *allocator; /* of pages; NULL after dbrec_pool_init() */
};

/* @line: bytes of a cache line as the kernel says; what makes no sense is taken for 64. */
void dbrec_pool_init(struct dbrec_pool *pool, uint32_t line);
/* Records that were never given back stay: the device may look at them until its descriptor is
 * closed. */
void dbrec_pool_destroy(struct dbrec_pool *pool);

/* Two words of 0, or NULL. */
__be32 *dbrec_alloc(struct dbrec_pool *pool);
void dbrec_free(struct dbrec_pool *pool, __be32 *record);

#endif
