/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/icm.h"

#include <stdlib.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

enum {
	LEAF_SHIFT = 21,
	LEAF_PAGES = (1 << LEAF_SHIFT) / ICM_PAGE,
	LEAVES = 8192, /* 16 GiB */
	PRESENT = 1,
	MAILBOX = 4096,
	PAIR = 16, /* an address in ICM and one of memory, whose low bits are a size */
};

void (*icm_new_page)(uint64_t at);
uint64_t icm_tables;
static uint64_t *leaves[LEAVES];

static uint64_t *page_at(uint64_t at, bool make)
{
	uint64_t n = at >> LEAF_SHIFT;

	if (n >= LEAVES)
		return NULL;
	if (!leaves[n] && make) {
		leaves[n] = calloc(LEAF_PAGES, sizeof(*leaves[n]));
		if (!leaves[n])
			play_die("memory");
	}
	return leaves[n] ? &leaves[n][at / ICM_PAGE % LEAF_PAGES] : NULL;
}

uint8_t *icm_memory(uint64_t at)
{
	const uint64_t *page = page_at(at, false);

	return page && *page ? (uint8_t *)play_memory(*page) + at % ICM_PAGE : NULL;
}

static bool map_block(uint64_t at, uint64_t memory, uint64_t pages)
{
	for (; pages; pages--, at += ICM_PAGE, memory += ICM_PAGE) {
		uint64_t *page = page_at(at, true);

		if (!page)
			return false;
		*page = memory;
		if (icm_new_page)
			icm_new_page(at);
	}
	return true;
}

enum hcr_status icm_map(struct hcr_call *call)
{
	const uint8_t *in = hcr_in(call);

	for (uint32_t i = 0; i < call->modifier && i < MAILBOX / PAIR; i++) {
		uint64_t at = get64(in + PAIR * i), memory = get64(in + PAIR * i + 8);
		uint64_t size = memory % ICM_PAGE;

		if (size > 20 || !map_block(at & ~(ICM_PAGE - 1ull), memory - size, 1ull << size))
			return HCR_BAD_PARAMETER;
	}
	return HCR_OK;
}

enum hcr_status icm_unmap(struct hcr_call *call)
{
	for (uint32_t i = 0; i < call->modifier; i++) {
		uint64_t *page = page_at(call->in + (uint64_t)i * ICM_PAGE, false);

		if (page)
			*page = 0;
	}
	return HCR_OK;
}

void icm_forget(void)
{
	for (int i = 0; i < LEAVES; i++) {
		free(leaves[i]);
		leaves[i] = NULL;
	}
}

void icm_each(uint64_t from, uint64_t to, void (*visit)(uint64_t at, uint8_t *page))
{
	for (uint64_t at = from; at < to; at += ICM_PAGE) {
		uint8_t *page;

		if (!leaves[at >> LEAF_SHIFT]) {
			at |= (1 << LEAF_SHIFT) - ICM_PAGE;
			continue;
		}
		page = icm_memory(at);
		if (page)
			visit(at, page);
	}
}

uint64_t icm_page(uint64_t table, uint64_t index)
{
	const uint8_t *entry = icm_memory(icm_tables + table + index * ICM_MTT);
	uint64_t page = entry ? get64(entry) : 0;

	return page & PRESENT ? page & ~(ICM_PAGE - 1ull) : 0;
}

uint8_t *icm_map_ring(uint64_t table, uint32_t page_shift, size_t length, struct loop_map *ret)
{
	size_t page = (size_t)1 << page_shift;
	uint32_t count = (length + page - 1) >> page_shift;
	uint64_t *list = calloc(count, sizeof(*list));

	*ret = (struct loop_map){ 0 };
	if (!list)
		play_die("memory for %u pages", count);
	for (uint32_t i = 0; i < count; i++) {
		list[i] = icm_page(table, i);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	ret->length = count * page;
	ret->at = play_map_pages(list, count, page);
	free(list);
	return ret->at;
}
