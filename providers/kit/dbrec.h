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
struct verbs_pd;

struct dbrec_pool {
	pthread_mutex_t lock; /* protects the pages; taken last */
	LIST_HEAD(, dbrec_page) pages;
	unsigned int stride; /* bytes between records */
	const struct kit_allocator
		*allocator; /* allocator of pages; NULL after dbrec_pool_init() */
	uint64_t type;	    /* resource type that is passed to the allocator of a parent domain */
};

/* @line: bytes of a cache line according to the kernel; an invalid value becomes 64 */
void dbrec_pool_init(struct dbrec_pool *pool, uint32_t line);
/* Free the pool. Pages with records that are still in use stay, because the device may read them
 * until its descriptor is closed. */
void dbrec_pool_destroy(struct dbrec_pool *pool);

/*
 * Allocate a record of two words, which are 0. The allocator of @parent is asked first. @parent may
 * be NULL or have no allocators. -ENOMEM; -EINVAL: the memory of @parent is not aligned. On failure
 * *@ret_record is NULL.
 */
int dbrec_alloc(struct dbrec_pool *pool, struct verbs_pd *parent, __be32 **ret_record);
/* Free a record, which may be NULL. @parent: the domain that dbrec_alloc() got */
void dbrec_free(struct dbrec_pool *pool, __be32 *record, struct verbs_pd *parent);

#endif
