/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doorbell records: words that the device reads. The record of each object has its own cache line.
 */
#ifndef PROVIDERS_KIT_DBREC_H
#define PROVIDERS_KIT_DBREC_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>
#include <linux/types.h>

struct dbrec_page;
struct kit_allocator;

struct dbrec_pool {
	pthread_mutex_t lock; /* protects the pages; taken last */
	LIST_HEAD(, dbrec_page) pages;
	unsigned int stride; /* bytes between records */
	const struct kit_allocator
		*allocator; /* allocator of pages; NULL after dbrec_pool_init() */
};

/* @line: bytes of a cache line according to the kernel; an invalid value becomes 64 */
void dbrec_pool_init(struct dbrec_pool *pool, uint32_t line);
/* Free the pool. Pages with records that are still in use stay, because the device may read them
 * until its descriptor is closed. */
void dbrec_pool_destroy(struct dbrec_pool *pool);

/* Allocate a record of two words, which are 0. NULL: no memory. */
__be32 *dbrec_alloc(struct dbrec_pool *pool);
void dbrec_free(struct dbrec_pool *pool, __be32 *record);

#endif
