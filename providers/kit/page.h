/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a kernel driver lets a process map: registers and queues of a device. */
#ifndef PROVIDERS_KIT_PAGE_H
#define PROVIDERS_KIT_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>

struct kit_page {
	void *base; /* NULL: nothing is mapped, which may be unmapped, too */
	size_t length;
};

/*
 * @key: the kernel's, of the command that made what is mapped
 * @protection: PROT_
 * Return: 0, or a negative errno.
 */
int kit_page_map(struct ibv_context *ctx, uint64_t key, size_t length, int protection,
		 struct kit_page *ret_page);
void kit_page_unmap(struct kit_page *page);

/* The register at @offset of a page of the system, or NULL when none of 4 bytes is there. */
void *kit_page_register(const struct kit_page *page, uint32_t offset);

#endif
