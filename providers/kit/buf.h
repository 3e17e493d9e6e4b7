/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of a queue: whole pages, zeroed, not copied into children. */
#ifndef PROVIDERS_KIT_BUF_H
#define PROVIDERS_KIT_BUF_H

#include <stddef.h>

struct kit_buf {
	void *base; /* NULL: no memory, which may be freed, too */
	size_t size;
};

/* A size of 0 is no memory. -ENOMEM. */
int kit_buf_alloc(struct kit_buf *buf, size_t size);
void kit_buf_free(struct kit_buf *buf);

#endif
