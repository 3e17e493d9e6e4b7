/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of a queue: zeroed pages that fork() does not copy, or memory from the program's
 * allocator. */
#ifndef PROVIDERS_KIT_BUF_H
#define PROVIDERS_KIT_BUF_H

#include <stddef.h>
#include <stdint.h>

/* The allocator of the program for queue memory. If both functions are NULL, this library maps
 * pages. */
struct kit_allocator {
	void *(*alloc)(size_t size, void *data);
	void (*free)(void *base, void *data);
	void *data;
};

/* The type of pages for memory of this library. */
enum kit_pages {
	KIT_PAGES_ORDINARY,
	KIT_PAGES_HUGE_FIRST, /* ordinary pages if the system has no free huge pages */
	KIT_PAGES_HUGE,
};

/* @type: resource type that is passed to the allocator of a parent domain */
struct kit_memory {
	uint64_t type;
	enum kit_pages pages;
};

struct verbs_pd;

struct kit_buf {
	void *base; /* NULL: no memory; freeing it is allowed */
	size_t size;
	struct kit_allocator from;
	struct verbs_pd
		*parent; /* parent domain whose allocator supplied the memory, as @type; or NULL */
	uint64_t type;
};

/* Allocate memory. A size of 0 allocates nothing. -ENOMEM. */
int kit_buf_alloc(struct kit_buf *buf, size_t size);
/* Allocate memory from @allocator. If it is NULL or has no functions, call kit_buf_alloc(). */
int kit_buf_alloc_from(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator);
/*
 * Allocate memory of a queue. The allocator of @parent is asked first. @parent may be NULL or have
 * no allocators. -EINVAL: its memory does not begin at a page.
 */
int kit_buf_alloc_in(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator,
		     struct verbs_pd *parent, struct kit_memory memory);
void kit_buf_free(struct kit_buf *buf);

#endif
