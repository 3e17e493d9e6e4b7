/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/buf.h"

#include <string.h>
#include <sys/mman.h>

#include "libibverbs/provider.h"
#include "util/log.h"

enum {
	HUGE_SHIFT = 21,
};
#define HUGE_PAGE ((size_t)1 << HUGE_SHIFT)

static void *pages_map(size_t size, int flags)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			  -1, 0);

	return base == MAP_FAILED ? NULL : base;
}

static void *pages_alloc(size_t size, const struct kit_allocator *from)
{
	void *base;

	if (from->alloc) {
		base = from->alloc(size, from->data);
		/* Require whole pages. Otherwise the fork protection of one object would apply to
		 * others. */
		if (base && (uintptr_t)base % sysconf(_SC_PAGESIZE)) {
			log_err("the program's allocator gave memory at %p, which begins no page",
				base);
			from->free(base, from->data);
			return NULL;
		}
		return base ? memset(base, 0, size) : NULL;
	}
	return pages_map(size, 0);
}

static void pages_free(void *base, size_t size, const struct kit_allocator *from)
{
	if (from->alloc)
		from->free(base, from->data);
	else
		munmap(base, size);
}

int kit_buf_alloc_from(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct kit_allocator from = {};
	void *base;

	*buf = (struct kit_buf){};
	if (!size)
		return 0;
	if (allocator)
		from = *allocator;
	size = ROUND_UP(size, page);
	base = pages_alloc(size, &from);
	if (!base)
		return -ENOMEM;
	if (verbs_dontfork_range(base, size)) {
		pages_free(base, size, &from);
		return -ENOMEM;
	}
	*buf = (struct kit_buf){ .base = base, .size = size, .from = from };
	return 0;
}

/* Ask the allocator of the parent domain. -EAGAIN: it leaves the allocation to the library. */
static int parent_ask(struct kit_buf *buf, size_t size, struct verbs_pd *parent, uint64_t type)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base = parent->alloc(&parent->pd, parent->pd_context, size, page, type);

	if (base == IBV_ALLOCATOR_USE_DEFAULT)
		return -EAGAIN;
	if (!base)
		return -ENOMEM;
	if ((uintptr_t)base % page) {
		log_err("parent domain of pd %u: its allocator gave %p for %zu bytes that are to be "
			"aligned to %zu",
			parent->pd.handle, base, size, page);
		parent->free(&parent->pd, parent->pd_context, base, type);
		return -EINVAL;
	}
	memset(base, 0, size);
	*buf = (struct kit_buf){ .base = base, .size = size, .parent = parent, .type = type };
	return 0;
}

/* Allocate huge pages. -EAGAIN: there are none, and ordinary pages are allowed. */
static int huge_alloc(struct kit_buf *buf, size_t size, enum kit_pages pages)
{
	size_t whole = ROUND_UP(size, HUGE_PAGE);
	void *base = pages_map(whole, MAP_HUGETLB | HUGE_SHIFT << MAP_HUGE_SHIFT);

	if (!base && pages == KIT_PAGES_HUGE_FIRST)
		return -EAGAIN;
	if (!base) {
		log_err("a queue of %zu bytes is to be on huge pages, and there are none: vm.nr_hugepages "
			"says how many of 2 MiB the system has",
			size);
		return -ENOMEM;
	}
	if (verbs_dontfork_range(base, whole)) {
		munmap(base, whole);
		return -ENOMEM;
	}
	*buf = (struct kit_buf){ .base = base, .size = whole };
	return 0;
}

int kit_buf_alloc_in(struct kit_buf *buf, size_t size, const struct kit_allocator *allocator,
		     struct verbs_pd *parent, struct kit_memory memory)
{
	bool own = !allocator || !allocator->alloc;
	int r = -EAGAIN;

	*buf = (struct kit_buf){};
	if (size && parent && parent->alloc)
		r = parent_ask(buf, ROUND_UP(size, (size_t)sysconf(_SC_PAGESIZE)), parent,
			       memory.type);
	if (r == -EAGAIN && size && own && memory.pages)
		r = huge_alloc(buf, size, memory.pages);
	return r == -EAGAIN ? kit_buf_alloc_from(buf, size, allocator) : r;
}

int kit_buf_alloc(struct kit_buf *buf, size_t size)
{
	return kit_buf_alloc_from(buf, size, NULL);
}

void kit_buf_free(struct kit_buf *buf)
{
	if (!buf->base)
		return;
	if (buf->parent) {
		buf->parent->free(&buf->parent->pd, buf->parent->pd_context, buf->base, buf->type);
	} else {
		verbs_dofork_range(buf->base, buf->size);
		pages_free(buf->base, buf->size, &buf->from);
	}
	*buf = (struct kit_buf){};
}
