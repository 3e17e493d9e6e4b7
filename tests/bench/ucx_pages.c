// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loaded into ucx_perftest: puts its buffers on the pages that PAGES in the environment names, huge
 * or ordinary, and writes to them. Without this library ucx_perftest gets no huge pages for a
 * buffer of less than 2 MiB. Without the library it also sends from memory that it never wrote to.
 * All of that memory is one page of zeros, and a copy from there is a third faster than a copy of a
 * program's data.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	HUGE_PAGE = 2 << 20,
};

static size_t rounded(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

__attribute__((visibility("default"))) int posix_memalign(void **place, size_t alignment,
							  size_t size)
{
	const char *pages = getenv("PAGES");
	bool buffer = pages && size >= PAGE && alignment <= HUGE_PAGE;
	size_t unit = buffer ? HUGE_PAGE : alignment;
	void *memory = aligned_alloc(unit, rounded(size, unit));

	if (!memory)
		return ENOMEM;
	if (buffer) {
		madvise(memory, rounded(size, unit),
			strcmp(pages, "huge") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
		memset(memory, 1, size);
	}
	*place = memory;
	return 0;
}
