/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/buf.h"

#include <sys/mman.h>

#include "libibverbs/provider.h"

int kit_buf_alloc(struct kit_buf *buf, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base;

	*buf = (struct kit_buf){};
	if (!size)
		return 0;
	size = ROUND_UP(size, page);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	if (verbs_dontfork_range(base, size)) {
		munmap(base, size);
		return -ENOMEM;
	}
	*buf = (struct kit_buf){ .base = base, .size = size };
	return 0;
}

void kit_buf_free(struct kit_buf *buf)
{
	if (!buf->base)
		return;
	verbs_dofork_range(buf->base, buf->size);
	munmap(buf->base, buf->size);
	*buf = (struct kit_buf){};
}
