/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers and queues of a device that a kernel driver allows a process to map. */
#ifndef PROVIDERS_KIT_PAGE_H
#define PROVIDERS_KIT_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>

struct kit_page {
	void *base; /* NULL: no page is mapped, and unmapping is allowed */
	size_t length;
};

/*
 * @key: mmap offset from the answer of the kernel
 * @protection: PROT_ flags
 * Return: 0 or a negative errno.
 */
int kit_page_map(struct ibv_context *ctx, uint64_t key, size_t length, int protection,
		 struct kit_page *ret_page);
void kit_page_unmap(struct kit_page *page);

/* Return the register at @offset of a page of the system. NULL: no register of 4 bytes fits there.
 */
void *kit_page_register(const struct kit_page *page, uint32_t offset);

#endif
