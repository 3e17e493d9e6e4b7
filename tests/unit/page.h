/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory for a device's rings and registers in tests: a page between inaccessible pages. */
#ifndef TESTS_UNIT_PAGE_H
#define TESTS_UNIT_PAGE_H

#include <sys/mman.h>

#include "tests/unit/unit.h"

enum {
	FAKE_PAGE = 4096,
};

static inline void *fake_page(void)
{
	char *p = mmap(NULL, 3 * FAKE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + FAKE_PAGE, FAKE_PAGE, PROT_READ | PROT_WRITE), 0);
	return p + FAKE_PAGE;
}

static inline void fake_page_free(void *page)
{
	munmap((char *)page - FAKE_PAGE, 3 * FAKE_PAGE);
}

#endif
