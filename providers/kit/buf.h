/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of a queue: zeroed pages that fork() does not copy, or memory from the program's
 * allocator.
 */
#ifndef PROVIDERS_KIT_BUF_H
#define PROVIDERS_KIT_BUF_H

#include <stddef.h>
#include <stdint.h>

/* The program's allocator of device memory. Both functions NULL: this library maps pages. */
struct kit_allocator {
	void *(*alloc)(size_t size, void *data);
	void (*free)(void *base, void *data);
	void *data;
};

/* Which pages this library's own memory is on. */
enum kit_pages {
	KIT_PAGES_ORDINARY,
	KIT_PAGES_HUGE_FIRST, /* ordinary ones where the system has no huge ones left */
	KIT_PAGES_HUGE,
};

/* @type: what the allocator of a parent domain is told that it is for */
struct kit_memory {
	uint64_t type;
	enum kit_pages pages;
};

struct verbs_pd;

struct kit_buf {
	void *base; /* NULL: no memory, which may be freed, too */
	size_t size;
	struct kit_allocator from;
	struct verbs_pd *parent; /* whose allocator gave it, as @type; or NULL */
	uint64_t type;
};

/* A size of 0 is no memory. -ENOMEM. */
int kit_buf_alloc(struct kit_buf *buf, size_t size);
/* As the one above without @allocator, or with one that has no functions. */
int kit_buf_alloc_from(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator);
/*
 * Of a queue made with @parent, which may be NULL or have no allocators: its allocator is asked
 * first. -EINVAL: that gave memory which begins no page.
 */
int kit_buf_alloc_in(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator,
		     struct verbs_pd *parent, struct kit_memory memory);
void kit_buf_free(struct kit_buf *buf);

#endif
