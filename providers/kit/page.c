/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/page.h"

#include <string.h>

#include "libibverbs/provider.h"

int kit_page_map(struct ibv_context *ctx, uint64_t key, size_t length, int protection,
		 struct kit_page *ret_page)
{
	void *base = mmap(NULL, length, protection, MAP_SHARED, ctx->cmd_fd, key);

	if (base == MAP_FAILED) {
		int r = -errno;

		verbs_err(ctx, "cannot map %zu bytes at 0x%llx of the device: %s", length,
			  (unsigned long long)key, strerror(-r));
		return r;
	}
	*ret_page = (struct kit_page){ .base = base, .length = length };
	return 0;
}

void kit_page_unmap(struct kit_page *page)
{
	if (page->base)
		munmap(page->base, page->length);
	*page = (struct kit_page){};
}

void *kit_page_register(const struct kit_page *page, uint32_t offset)
{
	if (offset % sizeof(uint32_t) || offset > page->length - sizeof(uint32_t))
		return NULL;
	return (char *)page->base + offset;
}
