/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that belongs to the firmware of adapters like those that mthca and mlx4 drive (ICM). The
 * driver gives pages for parts of it, and writes page tables there.
 */
#ifndef PCI_ICM_H
#define PCI_ICM_H

#include "tests/hosts/vm/pci/hcr.h"
#include "tests/hosts/vm/pci/loop.h"

enum {
	ICM_PAGE = 4096,
	ICM_MTT = 8, /* bytes of an entry of the page tables */
};

enum hcr_status icm_map(struct hcr_call *call);
enum hcr_status icm_unmap(struct hcr_call *call);
void icm_forget(void);
/* Return memory at an address; it is contiguous up to the end of the page. NULL: not mapped. */
uint8_t *icm_memory(uint64_t at);
/* Call @visit for each mapped page in a range of addresses. */
void icm_each(uint64_t from, uint64_t to, void (*visit)(uint64_t at, uint8_t *page));
/* Called for each page that is mapped. */
extern void (*icm_new_page)(uint64_t at);

/* The start of the page tables. */
extern uint64_t icm_tables;
/* Return the DMA address of a page of a table, or 0. @table: as contexts have it */
uint64_t icm_page(uint64_t table, uint64_t index);
/* Map @length bytes whose pages a table has. NULL: an entry is missing. */
uint8_t *icm_map_ring(uint64_t table, uint32_t page_shift, size_t length, struct loop_map *ret);

#endif
